// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// Something being written. It is saved a moment after every change; what the server does not have yet is kept on this
// device, so that neither a lost connection nor a closed window costs a word.

import { samePerson } from "./address.js";

const prefix = "messages.draft.";
const parts = ["to", "cc", "bcc", "subject", "text", "in_reply_to", "forward_of"];
const empty = { to: [], cc: [], bcc: [], subject: "", text: "", in_reply_to: null, forward_of: null, attachments: [] };

/** Forgets what is kept here: after signing out nothing of it stays. */
export function forgetKeptDrafts() {
  try {
    for (const key of Object.keys(localStorage)) if (key.startsWith(prefix)) localStorage.removeItem(key);
  } catch {
    // nothing could be kept either
  }
}

/** "change": other content or another status. `status`: loading, fresh, dirty, saving, saved, kept (offline), failed, gone. */
export class Draft extends EventTarget {
  #api;
  #timer = 0;
  #running = null;
  #version = 0;
  #savedVersion = 0;

  constructor(api, id) {
    super();
    this.#api = api;
    this.id = id;
    this.content = { ...empty };
    this.limits = { bytes: 25_000_000, files: 20 };
    this.status = "loading";
    this.error = null;
    this.savedAt = null;
    this.onServer = false;
    this.over = false;
  }

  #say(status, error = null) {
    this.status = status;
    this.error = error;
    this.dispatchEvent(new Event("change"));
  }

  /** Begins with this content; an answer without a word of its own is not worth keeping. */
  start(content) {
    this.content = { ...empty, ...content };
    this.begun = JSON.stringify(this.#plain());
    // What is passed on has attachments to fetch: the server puts them to the draft when it first sees it.
    if (content.forward_of) this.change({});
    else this.#say("fresh");
  }

  /** Fetches it; what was kept here and is newer wins. */
  async load(signal) {
    const kept = this.#kept();
    try {
      this.#take(await this.#api.draft(this.id, signal));
      if (kept && JSON.stringify(kept) !== JSON.stringify(this.#plain())) return this.change(kept);
      this.#say("saved");
    } catch (error) {
      if (signal?.aborted) return;
      if (kept) {
        this.content = { ...empty, ...kept };
        this.change({});
      } else {
        this.#say(error.kind === "gone" ? "gone" : "failed", error);
      }
    }
  }

  #take(answer) {
    this.onServer = true;
    this.limits = answer.limits ?? this.limits;
    this.savedAt = new Date(answer.updated_at);
    this.content = { ...empty, ...answer };
    this.begun ??= null;
  }

  #plain() {
    return Object.fromEntries(parts.map((part) => [part, this.content[part]]));
  }

  /** Nothing that anybody would miss. */
  get isUntouched() {
    const { to, cc, bcc, subject, text, attachments } = this.content;
    if (attachments.length > 0) return false;
    if (this.begun && this.begun === JSON.stringify(this.#plain())) return true;
    return to.length + cc.length + bcc.length === 0 && subject.trim() === "" && text.trim() === "";
  }

  change(values) {
    if (this.over) return;
    Object.assign(this.content, values);
    this.#version += 1;
    this.#keep();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.save().catch(() => {}), 900);
    if (this.status !== "saving") this.#say("dirty");
  }

  /** Saves what is not saved yet; resolves when the server has it all, throws when it has not. */
  async save({ keepalive = false, force = false } = {}) {
    clearTimeout(this.#timer);
    while (this.#running) await this.#running.catch(() => {});
    if (this.over || (this.#version === this.#savedVersion && (this.onServer || (!force && this.isUntouched)))) return;
    const version = this.#version;
    this.#say("saving");
    this.#running = this.#api.saveDraft(this.id, this.#plain(), keepalive);
    try {
      const answer = await this.#running;
      this.#savedVersion = version;
      // What a forwarded message brings along is known once; after that, files come and go by themselves.
      if (!this.onServer) this.content.attachments = answer.attachments ?? [];
      this.onServer = true;
      this.limits = answer.limits ?? this.limits;
      this.savedAt = new Date(answer.updated_at);
      if (this.#version === version) {
        this.#drop();
        this.#say("saved");
      } else {
        this.#say("dirty");
      }
    } catch (error) {
      this.#say(error.kind === "gone" ? "gone" : error.kind === "offline" || error.kind === "expired" ? "kept" : "failed", error);
      throw error;
    } finally {
      this.#running = null;
    }
  }

  /** After this nothing is saved any more. */
  end() {
    clearTimeout(this.#timer);
    this.over = true;
    this.#drop();
  }

  /** A copy under another name, for one that was sent or discarded elsewhere. */
  rename(id) {
    this.#drop();
    this.id = id;
    this.onServer = false;
    this.content.attachments = [];
    this.change({});
  }

  hasPerson(person) {
    return [...this.content.to, ...this.content.cc, ...this.content.bcc].some((one) => samePerson(one, person));
  }

  #keep() {
    try {
      localStorage.setItem(prefix + this.id, JSON.stringify(this.#plain()));
    } catch {
      // full or refused: the server still gets it
    }
  }

  #drop() {
    try {
      localStorage.removeItem(prefix + this.id);
    } catch {
      // as above
    }
  }

  #kept() {
    try {
      return JSON.parse(localStorage.getItem(prefix + this.id));
    } catch {
      return null;
    }
  }
}
