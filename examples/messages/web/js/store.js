// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// What the app knows of the mailbox: folders, the list on screen, the thread on screen. Changes are shown at once and
// taken back when the server does not agree (LK-4, LK-8).

export const folders = ["inbox", "starred", "drafts", "sent", "archive", "trash"];
const page = 200;

export class Store extends EventTarget {
  #api;
  #listAbort = null;
  #threadAbort = null;
  #more = null;
  #wanted = -1; // the row the window asks for last
  #known = new Map(); // threads opened before: shown at once, and offline

  constructor(api) {
    super();
    this.#api = api;
    this.reset();
  }

  reset() {
    this.#listAbort?.abort();
    this.#threadAbort?.abort();
    this.#known.clear();
    this.folders = new Map();
    this.list = { mailbox: null, q: "", items: [], next: null, total: 0, status: "idle", error: null, moreError: null };
    this.thread = { id: null, data: null, status: "idle", error: null };
  }

  #say(what) {
    this.dispatchEvent(new Event(what));
  }

  async loadFolders() {
    try {
      for (const folder of await this.#api.mailboxes()) this.folders.set(folder.id, folder);
      this.#say("folders");
    } catch {
      // counts are an extra; the list itself tells what is wrong
    }
  }

  /** Shows a folder or a search in it. `keep`: leave what is on screen until the answer is there. */
  async openList(mailbox, q = "", { keep = false } = {}) {
    this.#listAbort?.abort();
    const abort = (this.#listAbort = new AbortController());
    this.#more = null;
    const same = this.list.mailbox === mailbox && this.list.q === q;
    if (!(keep && same && this.list.status === "ready")) {
      this.list = { mailbox, q, items: [], next: null, total: 0, status: "loading", error: null, moreError: null };
      this.#say("list");
    }
    try {
      const answer = await this.#api.threads({ mailbox, q, limit: page }, abort.signal);
      const older = keep && same ? this.#older(answer) : null;
      const items = older ? [...answer.results, ...older] : answer.results;
      this.list = {
        mailbox, q, items, next: older ? this.list.next : (answer.next ?? null), total: Math.max(answer.total ?? 0, items.length),
        status: "ready", error: null, moreError: null,
      };
    } catch (error) {
      if (abort.signal.aborted) return;
      if (keep && same && this.list.status === "ready") return; // what is on screen is better than an error page
      this.list = { ...this.list, status: "error", error };
    }
    this.#say("list");
  }

  /** What was loaded beyond the first page stays on a refresh, so that nobody is thrown back to the top. */
  #older(answer) {
    const last = answer.results.at(-1);
    if (this.list.status !== "ready" || !answer.next || !last || this.list.items.length <= page) return null;
    const fresh = new Set(answer.results.map((item) => item.id));
    return this.list.items.filter((item) => !fresh.has(item.id) && item.last_at <= last.last_at);
  }

  /** Loads further pages until row `index` is there. */
  loadMore(index) {
    const list = this.list;
    this.#wanted = index;
    if (this.#more || list.status !== "ready" || !list.next || index < list.items.length) return;
    const signal = this.#listAbort.signal;
    this.#more = (async () => {
      try {
        while (list.next && this.#wanted >= list.items.length && !signal.aborted) {
          const answer = await this.#api.threads({ mailbox: list.mailbox, q: list.q, cursor: list.next, limit: page }, signal);
          const have = new Set(list.items.map((item) => item.id));
          list.items.push(...answer.results.filter((item) => !have.has(item.id)));
          list.next = answer.next ?? null;
          if (list.next === null) list.total = list.items.length;
          list.moreError = null;
          if (!signal.aborted) this.#say("rows");
        }
      } catch (error) {
        if (signal.aborted) return;
        list.moreError = error;
        this.#say("rows");
      } finally {
        if (!signal.aborted) this.#more = null;
      }
    })();
  }

  async openThread(id) {
    this.#threadAbort?.abort();
    const abort = (this.#threadAbort = new AbortController());
    const known = this.#known.get(id) ?? null;
    this.thread = { id, data: known, status: known ? "ready" : "loading", error: null };
    this.#say("thread");
    try {
      const data = await this.#api.thread(id, abort.signal);
      this.#known.set(id, data);
      const changed = JSON.stringify(data) !== JSON.stringify(known);
      this.thread = { id, data, status: "ready", error: null };
      if (changed) this.#say("thread");
    } catch (error) {
      if (abort.signal.aborted || known) return;
      this.thread = { id, data: null, status: "error", error };
      this.#say("thread");
    }
  }

  closeThread() {
    this.#threadAbort?.abort();
    this.thread = { id: null, data: null, status: "idle", error: null };
    this.#say("thread");
  }

  find(id) {
    return this.list.items.find((item) => item.id === id) ?? null;
  }

  /**
   * Changes flags of a thread on screen and on the server. Resolves to {before, undo} or throws after taking it back.
   * `before` holds the values the change replaced.
   */
  async flag(id, change) {
    const list = this.list;
    const index = list.items.findIndex((item) => item.id === id);
    const row = index < 0 ? null : list.items[index];
    const data = this.thread.id === id ? this.thread.data : (this.#known.get(id) ?? null);
    const mailbox = data?.mailbox ?? row?.mailbox ?? (["starred", "sent"].includes(list.mailbox) ? "inbox" : list.mailbox);
    const before = {};
    if ("mailbox" in change) before.mailbox = mailbox;
    if ("unread" in change) before.unread = row?.unread ?? !change.unread;
    if ("starred" in change) before.starred = row?.starred ?? data?.starred ?? !change.starred;

    const apply = (values) => {
      if (row) Object.assign(row, values);
      if (data) {
        if ("starred" in values) data.starred = values.starred;
        if ("mailbox" in values) data.mailbox = values.mailbox;
      }
      const at = list.items.indexOf(row);
      const belongs = !("mailbox" in values) || values.mailbox === list.mailbox || (["starred", "sent"].includes(list.mailbox) && values.mailbox !== "trash");
      if (row && !belongs && at >= 0) {
        list.items.splice(at, 1);
        list.total -= 1;
      } else if (row && belongs && at < 0) {
        list.items.splice(Math.min(index, list.items.length), 0, row);
        list.total += 1;
      }
      if (list === this.list) this.#say("rows");
      this.#say("flags");
    };
    const count = (values, was) => {
      const unread = row?.unread ?? false;
      const of = (folder, step) => {
        const known = this.folders.get(folder);
        if (known) known.unread = Math.max(0, known.unread + step);
      };
      if ("mailbox" in values && unread && values.mailbox !== was.mailbox) {
        of(was.mailbox, -1);
        of(values.mailbox, 1);
      }
      if ("unread" in values && values.unread !== was.unread) of(mailbox, values.unread ? 1 : -1);
      this.#say("folders");
    };
    apply(change);
    count(change, before);
    const takeBack = () => {
      apply(before);
      count(before, change);
    };
    try {
      await this.#api.flags(id, change);
    } catch (error) {
      takeBack();
      throw error;
    }
    return {
      before,
      undo: async () => {
        takeBack();
        await this.#api.flags(id, before).catch((error) => {
          apply(change);
          throw error;
        });
      },
    };
  }
}
