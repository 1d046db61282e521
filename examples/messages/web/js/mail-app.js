// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// The mail itself: folders, list, conversation, and what keys and buttons do. It is built once per sign-in and stays
// behind the sign-in card when the session ends.

import { h, icon, typing } from "../shared/dom.js";
import { accountName } from "./account.js";
import { Composer } from "./composer.js";
import { Draft } from "./draft.js";
import { openFolders } from "./folders-sheet.js";
import { i18n, m, t } from "./i18n.js";
import { ListView } from "./list-view.js";
import { openPreview } from "./preview.js";
import { printThread } from "./print.js";
import { answer, newDraftId } from "./reply.js";
import { go, readRoute, routeTo } from "./router.js";
import { Store, folders } from "./store.js";
import { ThreadView } from "./thread-view.js";

const drawings = { inbox: "inbox", starred: "star", drafts: "pen", sent: "send", archive: "archive", trash: "trash" };
/** What the bar of a phone has room for; the rest is behind "More". */
const tabs = ["inbox", "starred", "drafts", "sent"];
const wide = matchMedia("(min-width: 900px)");

export class MailApp {
  #api;
  #session;
  #toaster;
  #dialogs;
  #route = { mailbox: null, thread: null, q: "", draft: null };
  #composer = null;
  #fresh = null; // a draft that nobody has seen yet, by its id
  #back = null; // where the focus was before writing
  #searchTimer = 0;
  #stop = new AbortController();

  /** `dialogs`: openAccount(returnTo), openHelp(), openImport(returnTo). */
  constructor({ api, session, toaster, dialogs }) {
    this.#api = api;
    this.#session = session;
    this.#toaster = toaster;
    this.#dialogs = dialogs;
    this.store = new Store(api);
    this.list = new ListView(this.store, {
      href: (item) => routeTo(this.#placeOf(item)),
      open: (item) => (this.#route.mailbox === "drafts" ? go(this.#placeOf(item)) : this.openThread(item.id)),
      flag: (id, change) => this.flag(id, change),
      clearSearch: () => this.search(""),
      profile: () => session.current.profile,
      retry: () => this.retry(),
    });
    const canPrint = !session.native || window.nacre.can("print");
    this.reader = new ThreadView(this.store, api, {
      close: () => this.closeThread(),
      flag: (id, change) => this.flag(id, change),
      unread: (id) => this.markUnread(id),
      retry: () => this.retry(),
      print: canPrint ? (article) => printThread(this.reader, article) : null,
      profile: () => session.current.profile,
      answer: (kind, message) => this.#answer(kind, message),
      preview: (part, all) => openPreview({ part, all, api }),
    });
    this.element = this.#build();
    const { signal } = this.#stop;
    this.store.addEventListener("folders", () => this.#showCounts());
    this.store.addEventListener("list", () => this.#showCounts());
    window.addEventListener("hashchange", () => this.follow(), { signal });
    window.addEventListener("popstate", () => this.follow(), { signal });
    document.addEventListener("keydown", (event) => this.#key(event), { signal });
    document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && this.refresh(), { signal });
    i18n.onChange(() => this.#showCounts());
  }

  end() {
    this.#stop.abort();
    this.#composer?.end();
    this.store.reset();
    this.element.remove();
  }

  // What is on the page

  #build() {
    this.banner = h("div", { class: "banners" });
    const link = (folder, short) =>
      h("a", { class: "folder", href: routeTo({ mailbox: folder }), data: { folder }, on: { click: (event) => this.#chooseFolder(event, folder) } },
        icon(drawings[folder]), h("span", { class: "folder-name one-line" }, m(short && folder === "inbox" ? "folder.inbox.tab" : `folder.${folder}`)),
        h("span", { class: "folder-count", hidden: true }, h("span", { "aria-hidden": "true", class: "folder-number" }), h("span", { class: "hidden-text folder-words" })));
    const account = (className) =>
      h("button", { class: className, type: "button", "aria-haspopup": "dialog", on: { click: (event) => this.#dialogs.openAccount(event.currentTarget) } });
    const write = (className) =>
      h("button", { class: className, type: "button", "aria-label": m("compose.new"), title: m("compose.new"), "aria-keyshortcuts": "c", on: { click: () => this.compose() } }, icon("pen"), h("span", { class: "compose-word" }, m("compose.new")));
    this.more = h("button", { class: "folder more-folders", type: "button", "aria-haspopup": "dialog", on: { click: () => this.#openFolders() } },
      icon("more-wide"), h("span", { class: "folder-name one-line" }, m("folder.more")));
    this.railAccount = account("account-button");
    this.topAccount = account("account-round");
    this.searchField = h("input", {
      type: "search", class: "search-field", autocomplete: "off", autocapitalize: "none", spellcheck: "false", enterkeyhint: "search",
      placeholder: m("search.placeholder"), "aria-keyshortcuts": "/",
      "aria-label": m("search.label", () => ({ folder: t(`folder.${this.#route.mailbox ?? "inbox"}`) })),
      on: {
        input: () => {
          clearTimeout(this.#searchTimer);
          this.#searchTimer = setTimeout(() => this.search(this.searchField.value), 220);
          this.clearButton.hidden = this.searchField.value === "";
        },
        keydown: (event) => this.#searchKey(event),
      },
    });
    this.clearButton = h("button", {
      class: "icon-button search-clear", type: "button", hidden: true, "aria-label": m("search.clear"),
      on: { click: () => (this.search(""), this.searchField.focus()) },
    }, icon("close"));
    this.title = h("h2", { class: "list-title one-line" });
    this.subtitle = h("p", { class: "list-subtitle muted" });
    return h("div", { class: "mail" },
      h("a", { class: "skip", href: "#/", on: { click: (event) => (event.preventDefault(), this.list.focus()) } }, m("app.skip")),
      h("h1", { class: "hidden-text" }, m("app.name")),
      this.banner,
      h("div", { class: "panes" },
        h("div", { class: "rail" },
          h("div", { class: "brand", "aria-hidden": "true" }, h("img", { src: "icon.svg", width: "32", height: "32", alt: "" }), h("span", null, m("app.name"))),
          write("button primary write"),
          h("nav", { class: "folders", "aria-label": m("folder.list") }, folders.map((folder) => link(folder, false))),
          this.railAccount),
        h("main", { class: "main" },
          h("section", { class: "list-pane", "aria-label": m("list.name") },
            h("header", { class: "list-head" },
              h("div", { class: "list-line" },
                h("div", { class: "list-names" }, this.title, this.subtitle),
                h("button", { class: "icon-button refresh", type: "button", "aria-label": m("list.refresh"), title: m("list.refresh"), on: { click: () => this.retry() } }, icon("refresh")),
                this.topAccount),
              h("div", { class: "search", role: "search" }, icon("search"), this.searchField, h("kbd", { class: "search-key", "aria-hidden": "true" }, "/"), this.clearButton)),
            this.list.element,
            write("button primary float")),
          this.reader.element)),
      h("nav", { class: "tabs", "aria-label": m("folder.list") }, tabs.map((folder) => link(folder, true)), this.more));
  }

  /** Shows the account as the session knows it, cached profile included. */
  showAccount() {
    const { profile, server } = this.#session.current;
    const name = accountName(profile);
    const avatar = (size) => h("nc-avatar", { size, name: profile?.name ?? "", email: profile?.email ?? "" });
    for (const button of [this.railAccount, this.topAccount]) button.setAttribute("aria-label", t("account.menu", { name }));
    this.topAccount.replaceChildren(avatar("small"));
    this.railAccount.replaceChildren(
      avatar("small"),
      h("span", { class: "account-text" },
        h("bdi", { class: "one-line account-name" }, name),
        server === "unreachable"
          ? h("span", { class: "account-offline" }, icon("offline"), t("account.cached"))
          : profile?.email ? h("bdi", { class: "one-line muted account-mail" }, profile.email) : ""),
      icon("chevron"));
  }

  #showCounts() {
    const { mailbox, thread } = this.#route;
    for (const link of this.element.querySelectorAll(".folder")) {
      const { folder } = link.dataset;
      const current = folder === mailbox;
      link.classList.toggle("current", current);
      if (current) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
      if (!folder) continue;
      const known = this.store.folders.get(folder);
      const number = folder === "inbox" ? (known?.unread ?? 0) : folder === "drafts" ? (known?.total ?? 0) : 0;
      link.querySelector(".folder-count").hidden = number === 0;
      link.querySelector(".folder-count").classList.toggle("quiet", folder === "drafts");
      link.querySelector(".folder-number").textContent = number > 999 ? "999+" : i18n.number(number);
      link.querySelector(".folder-words").textContent = `, ${t(folder === "drafts" ? "folder.drafts.count" : "folder.unread", { n: number })}`;
    }
    this.more.classList.toggle("current", mailbox !== null && !tabs.includes(mailbox));
    this.element.classList.toggle("reading", thread !== null || this.#route.draft !== null);
    this.element.classList.toggle("composing", this.#route.draft !== null);
    this.#showTitle();
  }

  #showTitle() {
    const { mailbox } = this.#route;
    if (!mailbox) return;
    this.title.textContent = t(`folder.${mailbox}`);
    const { list } = this.store;
    const unread = this.store.folders.get(mailbox)?.unread ?? 0;
    this.subtitle.textContent =
      list.status !== "ready" ? "" : list.q ? t("search.results", { n: list.total })
        : [t(mailbox === "drafts" ? "folder.drafts.count" : "folder.total", { n: list.total }), mailbox === "inbox" && unread > 0 && t("folder.unread", { n: unread })].filter(Boolean).join(" · ");
    const subject = this.store.thread.data?.subject;
    const place = this.#route.thread && subject ? subject : `${t(`folder.${mailbox}`)}${mailbox === "inbox" && unread > 0 ? ` (${i18n.number(unread)})` : ""}`;
    document.title = `${place} – ${t("app.name")}`;
  }

  // Where the person is

  follow() {
    const route = readRoute();
    const before = this.#route;
    this.#route = route;
    if (route.draft !== before.draft) this.#write(route.draft);
    if (route.mailbox !== before.mailbox || route.q !== before.q) {
      if (document.activeElement !== this.searchField) this.searchField.value = route.q;
      this.clearButton.hidden = this.searchField.value === "";
      this.searchField.setAttribute("aria-label", t("search.label", { folder: t(`folder.${route.mailbox}`) }));
      this.store.openList(route.mailbox, route.q);
    }
    if (route.mailbox === "drafts" && route.draft !== before.draft) this.list.select(route.draft);
    if (route.thread !== before.thread) {
      this.list.select(route.thread);
      if (route.thread) this.#readThread(route.thread);
      else this.store.closeThread();
    }
    this.#showCounts();
  }

  async #readThread(id) {
    await this.store.openThread(id);
    if (this.store.thread.id !== id || this.store.thread.status !== "ready") return;
    this.#showTitle();
    if (this.store.find(id)?.unread ?? false) this.store.flag(id, { unread: false }).catch(() => {});
  }

  #chooseFolder(event, folder) {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    clearTimeout(this.#searchTimer);
    this.searchField.value = "";
    this.goFolder(folder);
  }

  goFolder(folder) {
    if (folder === this.#route.mailbox && !this.#route.q && !this.#route.thread) {
      this.list.element.scrollTo({ top: 0 });
      this.refresh();
    }
    go({ mailbox: folder });
  }

  #placeOf(item) {
    return this.#route.mailbox === "drafts" ? { ...this.#route, thread: null, draft: item.id } : { ...this.#route, thread: item.id, draft: null };
  }

  openThread(id) {
    go({ ...this.#route, thread: id, draft: null });
    if (!wide.matches) this.reader.focusHeading();
  }

  closeThread() {
    const { thread } = this.#route;
    if (!thread) return;
    go({ ...this.#route, thread: null });
    this.list.select(thread);
    this.list.selected = null;
    this.list.focus();
  }

  search(q) {
    clearTimeout(this.#searchTimer);
    if (this.searchField.value !== q) this.searchField.value = q;
    this.clearButton.hidden = q === "";
    if (q.trim() === this.#route.q) return;
    go({ mailbox: this.#route.mailbox, q: q.trim(), draft: this.#route.draft }, { replace: this.#route.q !== "" });
  }

  /** Everything again, visibly. */
  retry() {
    const { mailbox, q, thread } = this.#route;
    this.store.loadFolders();
    this.store.openList(mailbox, q, { keep: true });
    if (thread && this.store.thread.status === "error") this.#readThread(thread);
  }

  /** Quietly, when the window is shown again or the server is back. */
  refresh() {
    if (this.#session.current.state !== "signedIn" || this.#route.mailbox === null) return;
    // What waited on this device goes to the server now.
    if (this.#composer?.draft.status === "kept") this.#composer.draft.save().catch(() => {});
    this.retry();
  }

  // Writing

  compose() {
    this.#start({});
  }

  #answer(kind, message) {
    const subject = this.store.thread.data?.subject ?? "";
    this.#start(answer(kind, message, { subject, me: this.#session.current.profile?.email }));
  }

  #start(content) {
    this.#back = document.activeElement;
    const draft = new Draft(this.#api, newDraftId());
    draft.start(content);
    this.#fresh = draft;
    go({ ...this.#route, draft: draft.id });
  }

  /** Shows the composer for a draft, or takes it away. */
  #write(id) {
    const had = this.#composer !== null;
    if (this.#composer) {
      this.#composer.end();
      this.#composer = null;
    }
    if (id) {
      const draft = this.#fresh?.id === id ? this.#fresh : new Draft(this.#api, id);
      this.#composer = new Composer(draft, this.#api, {
        close: () => this.closeDraft(),
        renamed: (other) => history.replaceState(null, "", routeTo((this.#route = { ...this.#route, draft: other }))),
        preview: (part, all, returnTo) => openPreview({ part, all, api: this.#api, returnTo }),
        suggest: async (text, signal) => (await this.#api.contacts(text, signal)).results,
        sent: (result) => this.#sent(result),
        discarded: () => {
          this.closeDraft();
          this.#toaster.show({ text: t("compose.discarded"), dismissLabel: t("app.dismiss") });
        },
      });
      this.element.querySelector(".main").append(this.#composer.element);
      this.element.classList.add("composing", "reading");
      if (draft !== this.#fresh) draft.load().then(() => this.#composer?.draft === draft && document.activeElement === document.body && this.#composer.focus());
      this.#composer.focus();
    } else if (had) {
      this.element.classList.remove("composing");
      this.element.classList.toggle("reading", this.#route.thread !== null);
      this.#returnFocus();
    }
    this.#fresh = null;
  }

  #returnFocus() {
    const back = this.#back;
    this.#back = null;
    if (back?.isConnected && back.checkVisibility?.()) back.focus();
    else if (this.#route.thread) this.reader.focusHeading();
    else this.list.focus();
  }

  /** Leaves what is being written; it is kept as a draft. */
  closeDraft() {
    if (!this.#route.draft) return;
    go({ ...this.#route, draft: null });
    // The draft is on its way to the server: the list shows it after that.
    setTimeout(() => this.refresh(), 400);
  }

  #sent({ thread, undelivered = [] }) {
    const { thread: open } = this.#route;
    go({ ...this.#route, draft: null });
    if (open === thread) this.#readThread(thread);
    this.refresh();
    const dismissLabel = t("app.dismiss");
    const action = open === thread ? undefined : { label: t("compose.sent.view"), run: () => go({ mailbox: "sent", thread }) };
    if (undelivered.length === 0) this.#toaster.show({ text: t("compose.sent"), dismissLabel, action });
    else this.#toaster.show({ text: t("compose.sent.elsewhere", { n: undelivered.length, addresses: undelivered.slice(0, 2).join(", ") }), dismissLabel, action, milliseconds: 12_000 });
  }

  async #openFolders() {
    const chosen = await openFolders({
      folders: folders.filter((folder) => !tabs.includes(folder)), drawings, current: this.#route.mailbox, returnTo: this.more,
    });
    if (chosen === "import") this.#dialogs.openImport(this.more);
    else if (chosen) this.goFolder(chosen);
  }

  // What the person does

  async flag(id, change) {
    const subject = this.store.find(id)?.subject || this.store.thread.data?.subject || t("list.nosubject");
    const isolated = `\u2068${subject}\u2069`;
    const dismissLabel = t("app.dismiss");
    const moves = "mailbox" in change;
    // Read on: the next conversation on a wide window, the list on a narrow one.
    if (moves && this.#route.thread === id) this.#leave(id);
    const hadFocus = moves && this.list.hasFocus;
    try {
      const pending = this.store.flag(id, change);
      if (hadFocus) this.list.focus();
      const { undo } = await pending;
      const done = moves ? `done.${change.mailbox}` : change.starred === false ? "done.unstar" : change.unread === true ? "done.unread" : null;
      if (!done) return;
      this.#toaster.show({
        text: t(done, { subject: isolated }), dismissLabel,
        action: {
          label: t("app.undo"),
          run: () => undo().then(
            () => this.#toaster.show({ text: t("done.undone"), dismissLabel }),
            (error) => this.#refused(error, isolated)),
        },
      });
    } catch (error) {
      this.#refused(error, isolated);
    }
  }

  #refused(error, subject) {
    if (error.kind === "expired") return;
    const key = error.kind === "offline" ? "done.failed.offline" : "done.failed";
    this.#toaster.show({ text: t(key, { subject }), dismissLabel: t("app.dismiss"), milliseconds: 8000 });
  }

  #leave(id) {
    const { items } = this.store.list;
    const index = items.findIndex((item) => item.id === id);
    const next = wide.matches && index >= 0 ? (items[index + 1] ?? items[index - 1]) : null;
    go({ ...this.#route, thread: next?.id ?? null }, { replace: true });
    if (!next) queueMicrotask(() => this.list.focus());
  }

  markUnread(id) {
    if (this.#route.thread === id) this.closeThread();
    this.flag(id, { unread: true });
  }

  #step(step) {
    const { thread } = this.#route;
    if (thread && !this.list.hasFocus) {
      const { items } = this.store.list;
      const next = items[items.findIndex((item) => item.id === thread) + step];
      if (next) go({ ...this.#route, thread: next.id }, { replace: true });
    } else {
      this.list.hasFocus ? this.list.move(step) : this.list.focus();
    }
  }

  #searchKey(event) {
    if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      if (this.searchField.value) this.search("");
      else this.list.focus();
    } else if (event.key === "Enter" || event.key === "ArrowDown") {
      event.preventDefault();
      this.search(this.searchField.value);
      this.list.focus();
    }
  }

  #key(event) {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    if (this.element.inert || !this.element.isConnected) return;
    if (this.#composer) {
      // While something is written, letters are words; only help and leaving remain.
      if (event.key === "?") (event.preventDefault(), this.#dialogs.openHelp());
      if (event.key === "Escape") (event.preventDefault(), this.closeDraft());
      return;
    }
    const drafts = this.#route.mailbox === "drafts";
    const id = this.list.hasFocus ? this.list.currentItem?.id : (this.#route.thread ?? this.list.currentItem?.id);
    const item = this.store.find(id);
    const newest = this.#route.thread ? this.reader.newest : null;
    const inList = this.list.hasFocus;
    const inReader = this.reader.element.contains(document.activeElement);
    const run = {
      j: () => this.#step(1),
      k: () => this.#step(-1),
      ArrowDown: inReader ? null : () => this.#step(1),
      ArrowUp: inReader ? null : () => this.#step(-1),
      Home: inList ? () => this.list.move(-Infinity) : null,
      End: inList ? () => this.list.move(Infinity) : null,
      PageDown: inList ? () => this.list.move(Math.max(1, Math.floor(this.list.element.clientHeight / 88) - 1)) : null,
      PageUp: inList ? () => this.list.move(-Math.max(1, Math.floor(this.list.element.clientHeight / 88) - 1)) : null,
      ArrowRight: inList && this.#route.thread ? () => this.reader.focusHeading() : null,
      ArrowLeft: inReader ? () => (wide.matches ? this.list.focus() : this.closeThread()) : null,
      Escape: () => (this.#route.thread ? this.closeThread() : this.#route.q ? this.search("") : null),
      "/": () => (this.searchField.focus(), this.searchField.select()),
      "?": () => this.#dialogs.openHelp(),
      c: () => this.compose(),
      r: newest ? () => this.#answer("reply", newest) : null,
      a: newest ? () => this.#answer("replyAll", newest) : null,
      f: newest ? () => this.#answer("forward", newest) : null,
      p: newest && this.reader.canPrint ? () => this.reader.print() : null,
      e: id && !drafts && this.#route.mailbox !== "archive" && this.#route.mailbox !== "trash" ? () => this.flag(id, { mailbox: "archive" }) : null,
      "#": id && !drafts && this.#route.mailbox !== "trash" ? () => this.flag(id, { mailbox: "trash" }) : null,
      Delete: id && !drafts && this.#route.mailbox !== "trash" ? () => this.flag(id, { mailbox: "trash" }) : null,
      s: id && !drafts ? () => this.flag(id, { starred: !(item?.starred ?? this.store.thread.data?.starred) }) : null,
      u: id && !drafts ? () => this.markUnread(id) : null,
      ...Object.fromEntries(folders.map((folder, at) => [at + 1, () => this.goFolder(folder)])),
    }[event.key];
    if (!run) return;
    event.preventDefault();
    run();
  }
}
