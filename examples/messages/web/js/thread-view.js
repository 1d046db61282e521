// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// One conversation: its subject, what can be done with it, and its messages, older ones folded.

import { afterPatience, fill, h, icon } from "../shared/dom.js";
import { i18n, m, t } from "./i18n.js";
import { mailBody } from "./mail-body.js";
import { stateCard } from "./state-card.js";

export class ThreadView {
  #store;
  #api;
  #act;
  #waiting = null;
  #shown = null; // id of the thread whose messages are on screen
  #open = new Set();

  /** `act`: close(), flag(id, change), unread(id), retry(), print() or null, profile(). */
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
        this.#act.print && tool("print", "print", "thread.print", () => this.#act.print()),
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
    fill(this.body, h("div", { class: "reader-column" }, this.heading, list));
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
            open ? fullDate(date) : i18n.when(date))),
        open && mailBody(message, this.#api),
        open && this.#attachments(message));
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

  #attachments(message) {
    const shown = (message.attachments ?? []).filter((part) => !part.inline);
    if (shown.length === 0) return null;
    return h("section", { class: "attachments" },
      h("h4", null, icon("clip"), h("span", null, m("thread.attachments", { n: shown.length }))),
      h("ul", { role: "list" }, shown.map((part) => {
        const name = part.name || t("thread.unnamed");
        const picture = part.type.startsWith("image/") ? "image" : /calendar/.test(part.type) ? "calendar" : /message\/rfc822/.test(part.type) ? "envelope" : "file";
        return h("li", null,
          h("a", { class: "attachment", href: this.#api.blob(part.id), download: name, "aria-label": m("thread.download", () => ({ name, size: i18n.size(part.size) })) },
            h("span", { class: `kind ${picture}` },
              picture === "image" && !/svg/.test(part.type)
                ? h("img", { src: this.#api.blob(part.id), alt: "", loading: "lazy", on: { error: (event) => event.target.replaceWith(icon("image")) } })
                : icon(picture)),
            h("span", { class: "what" },
              h("bdi", { class: "one-line" }, name),
              h("span", { class: "muted" }, i18n.size(part.size))),
            icon("download")));
      })));
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
  const text = message.text || new DOMParser().parseFromString(message.html ?? "", "text/html").body.textContent;
  return text.replace(/\s+/g, " ").trim().slice(0, 140);
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
