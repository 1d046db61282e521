// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// One conversation: its subject, what can be done with it, and its messages, older ones folded.

import { afterPatience, fill, h, icon } from "../shared/dom.js";
import { attachmentList } from "./attachment-list.js";
import { i18n, m, t } from "./i18n.js";
import { mailBody } from "./mail-body.js";
import { openMenu } from "./menu.js";
import { wordsOf } from "./reply.js";
import { stateCard } from "./state-card.js";

export class ThreadView {
  #store;
  #api;
  #act;
  #waiting = null;
  #shown = null; // id of the thread whose messages are on screen
  #open = new Set();

  /**
   * `act`: close(), flag(id, change), unread(id), retry(), print(article) or null, profile(), answer(kind, message), preview(part, all).
   */
  constructor(store, api, act) {
    this.#store = store;
    this.#api = api;
    this.#act = act;
    this.tools = h("div", { class: "reader-tools", role: "toolbar", "aria-label": m("thread.actions") });
    this.body = h("div", { class: "reader-scroll", tabindex: "-1" });
    this.element = h("section", { class: "reader", "aria-label": m("thread.name") }, this.tools, this.body);
    store.addEventListener("thread", () => this.render());
    store.addEventListener("flags", () => this.#renderTools());
    i18n.onChange(() => {
      this.#shown = null;
      this.render();
    });
    this.render();
  }

  get item() {
    return this.#store.find(this.#store.thread.id);
  }

  render() {
    const { thread } = this.#store;
    this.#waiting?.();
    this.#waiting = null;
    this.#renderTools();
    this.body.setAttribute("aria-busy", String(thread.status === "loading"));
    if (thread.status === "ready") return this.#renderMessages(thread.data);
    this.#shown = null;
    if (thread.status === "loading") {
      fill(this.body);
      this.#waiting = afterPatience(() => fill(this.body, skeleton()));
    } else if (thread.status === "error") {
      const kind = thread.error.kind;
      const retry = { label: m("app.retry"), run: () => this.#act.retry() };
      fill(this.body, kind === "gone"
        ? stateCard({ picture: "envelope", title: m("thread.gone"), text: m("thread.gone.text"), action: { label: m("thread.back"), run: () => this.#act.close() }, alert: true })
        : kind === "offline"
          ? stateCard({ picture: "offline", title: m("offline.title"), text: m("offline.thread"), action: retry, alert: true })
          : stateCard({ picture: "alert", title: m("thread.error"), text: m("thread.error.text"), action: retry, alert: true }));
    } else {
      fill(this.body, stateCard({ picture: "envelope", title: m("thread.none"), text: m("thread.none.text", { key: "?" }) }));
    }
  }

  #renderTools() {
    const { thread } = this.#store;
    const part = this.tools.contains(document.activeElement) ? document.activeElement.dataset.part : null;
    const tool = (name, drawing, label, run, more) =>
      h("button", { class: "icon-button", type: "button", "aria-label": m(label), title: m(label), data: { part: name }, on: { click: run }, ...more }, icon(drawing));
    const { id, data } = thread;
    const ready = thread.status === "ready";
    const folder = data?.mailbox ?? "inbox";
    const starred = this.item?.starred ?? data?.starred ?? false;
    this.tools.hidden = thread.status === "idle";
    fill(this.tools,
      tool("back", "back", "thread.back", () => this.#act.close(), { class: "icon-button back" }),
      h("span", { class: "gap" }),
      ready && [
        folder === "inbox"
          ? tool("archive", "archive", "thread.archive", () => this.#act.flag(id, { mailbox: "archive" }))
          : tool("restore", "inbox", "thread.restore", () => this.#act.flag(id, { mailbox: "inbox" })),
        folder !== "trash" && tool("trash", "trash", "thread.trash", () => this.#act.flag(id, { mailbox: "trash" })),
        tool("unread", "unread", "thread.unread", () => this.#act.unread(id)),
        this.#act.print && tool("print", "print", "thread.print", () => this.#act.print(null)),
        tool("star", starred ? "star-full" : "star", "thread.star", () => this.#act.flag(id, { starred: !starred }), { "aria-pressed": String(starred) }),
      ]);
    if (part) this.tools.querySelector(`[data-part=${part}]`)?.focus();
  }

  #renderMessages(thread) {
    const again = this.#shown === thread.id;
    if (!again) {
      this.#open = new Set([thread.messages.at(-1)?.id]);
      this.body.scrollTop = 0;
    }
    this.#shown = thread.id;
    // Of a long conversation the middle is folded to one line.
    const { messages } = thread;
    const folded = !again && messages.length > 4 ? messages.slice(1, -2) : [];
    const list = h("div", { class: "messages" });
    for (const message of messages) {
      if (folded.includes(message)) {
        if (message === folded[0]) {
          const more = h("button", { class: "earlier", type: "button", on: { click: () => {
            const shown = folded.map((one) => this.#message(one));
            more.replaceWith(...shown);
            shown[0].querySelector("button")?.focus();
          } } }, h("span", null, m("thread.earlier", { n: folded.length })));
          list.append(more);
        }
      } else {
        list.append(this.#message(message));
      }
    }
    this.heading = h("h2", { class: "subject", tabindex: "-1", dir: "auto" }, thread.subject || m("list.nosubject"));
    fill(this.body, h("div", { class: "reader-column" }, this.heading, list, this.#answerBar()));
  }

  get canPrint() {
    return this.#act.print !== null;
  }

  print() {
    this.#act.print(null);
  }

  /** The newest message: what an answer to the conversation answers. */
  get newest() {
    return this.#store.thread.status === "ready" ? (this.#store.thread.data.messages.at(-1) ?? null) : null;
  }

  /** More than one person would hear of an answer. */
  #goesToMany(message) {
    const mine = this.#act.profile()?.email?.toLowerCase();
    const others = [...(message.to ?? []), ...(message.cc ?? [])].filter((one) => one.email?.toLowerCase() !== mine && one.email?.toLowerCase() !== message.from?.email?.toLowerCase());
    return others.length > 0;
  }

  #answerBar() {
    const message = this.newest;
    if (!message) return null;
    const button = (kind, drawing, label, key) =>
      h("button", { class: "button secondary", type: "button", "aria-keyshortcuts": key, data: { answer: kind }, on: { click: () => this.#act.answer(kind, message) } }, icon(drawing), h("span", null, m(label)));
    return h("div", { class: "answer-bar", role: "group", "aria-label": m("thread.answer") },
      button("reply", "reply", "thread.reply", "r"),
      this.#goesToMany(message) && button("replyAll", "reply-all", "thread.replyall", "a"),
      button("forward", "forward", "thread.forward", "f"));
  }

  #menu(event, message, article) {
    const run = (kind) => () => this.#act.answer(kind, message);
    const subject = this.#store.thread.data?.subject || t("list.nosubject");
    openMenu(event.currentTarget, {
      label: m("thread.more", { name: message.from?.name || message.from?.email || t("list.nosender") }),
      items: [
        { drawing: "reply", label: m("thread.reply"), run: run("reply") },
        this.#goesToMany(message) && { drawing: "reply-all", label: m("thread.replyall"), run: run("replyAll") },
        { drawing: "forward", label: m("thread.forward"), run: run("forward") },
        this.#act.print && { drawing: "print", label: m("thread.print.one"), run: () => this.#act.print(article) },
        { drawing: "download", label: m("thread.eml"), href: this.#api.source(message.id), download: `${subject}.eml` },
      ],
    });
  }

  #message(message) {
    const from = message.from ?? {};
    const name = from.name || from.email || t("list.nosender");
    const date = new Date(message.sent_at);
    const article = h("article", { class: "message" });
    const draw = () => {
      const open = this.#open.has(message.id);
      article.classList.toggle("open", open);
      const toggle = h("button", {
        class: "message-toggle", type: "button", "aria-expanded": String(open),
        "aria-label": m(open ? "thread.collapse" : "thread.expand", { name }),
        on: { click: () => {
          if (open) this.#open.delete(message.id);
          else this.#open.add(message.id);
          draw();
          article.querySelector(".message-toggle")?.focus();
        } },
      });
      fill(article,
        h("header", { class: "message-head" },
          toggle,
          h("nc-avatar", { name: from.name ?? "", email: from.email ?? "" }),
          h("div", { class: "message-who" },
            h("h3", { class: "one-line" }, h("bdi", null, name), open && from.name && from.email && h("span", { class: "address" }, " ", h("bdi", null, from.email))),
            open ? this.#recipients(message) : h("p", { class: "one-line muted", dir: "auto" }, preview(message))),
          h("time", { class: "message-when", datetime: message.sent_at, title: i18n.date(date, { dateStyle: "full", timeStyle: "short" }) },
            open ? fullDate(date) : i18n.when(date)),
          open && h("div", { class: "message-acts" },
            h("button", { class: "icon-button", type: "button", "aria-label": m("thread.reply.to", { name }), title: m("thread.reply"), on: { click: () => this.#act.answer("reply", message) } }, icon("reply")),
            h("button", { class: "icon-button", type: "button", "aria-haspopup": "dialog", "aria-label": m("thread.more", { name }), title: m("thread.more.short"), on: { click: (event) => this.#menu(event, message, article) } }, icon("more")))),
        open && mailBody(message, this.#api),
        open && attachmentList(message, this.#api, (part, all) => this.#act.preview(part, all)));
    };
    draw();
    return article;
  }

  #recipients(message) {
    const mine = this.#act.profile()?.email?.toLowerCase();
    const names = (people) => (people ?? []).map((one) => (one.email?.toLowerCase() === mine ? t("thread.me") : `\u2068${one.name || one.email}\u2069`)).join(", ");
    const to = names(message.to);
    const copies = names(message.cc);
    if (!to && !copies) return null;
    return h("p", { class: "muted recipients" }, m(copies ? "thread.tocc" : "thread.to", { names: to, copies }));
  }

  focusHeading() {
    this.heading?.isConnected ? this.heading.focus({ preventScroll: true }) : this.body.focus({ preventScroll: true });
  }
}

function fullDate(date) {
  const year = date.getFullYear() === new Date().getFullYear() ? {} : { year: "numeric" };
  return `${i18n.date(date, { day: "numeric", month: "short", ...year })}, ${i18n.date(date, { timeStyle: "short" })}`;
}

function preview(message) {
  return wordsOf(message).replace(/\s+/g, " ").trim().slice(0, 140);
}

function skeleton() {
  const bone = (width, height = 12) => {
    const element = h("span", { class: "bone" });
    element.style.width = width;
    element.style.height = `${height}px`;
    return element;
  };
  return h("div", { class: "reader-column thread-skeleton" },
    h("p", { class: "hidden-text", role: "status" }, m("thread.loading")),
    bone("62%", 20),
    h("div", { class: "bone-card", "aria-hidden": "true" },
      h("div", { class: "bone-head" }, bone("40px", 40), h("span", { class: "bone-lines" }, bone("34%"), bone("22%"))),
      ["94%", "88%", "97%", "42%"].map((width) => bone(width)),
      h("span", { class: "gap" }),
      ["90%", "96%", "65%"].map((width) => bone(width))));
}
