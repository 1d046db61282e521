// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// A notification for mail that came while nobody looked (LK-10). It says that there is mail, not what is in it: a lock
// screen is read by others.

import { h, icon } from "../shared/dom.js";
import { m, t } from "./i18n.js";

const storageKey = "messages.notify";
const pause = 60_000;

export class NewMail {
  #api;
  #session;
  #newest = null;

  /** `onNew()`: there is mail the page does not show yet. */
  constructor({ api, session, onNew }) {
    this.#api = api;
    this.#session = session;
    this.onNew = onNew;
    setInterval(() => this.look(), pause);
  }

  get supported() {
    return "Notification" in window;
  }

  get on() {
    try {
      return this.supported && Notification.permission === "granted" && localStorage.getItem(storageKey) === "on";
    } catch {
      return false;
    }
  }

  async turn(on) {
    if (on && Notification.permission === "default") await Notification.requestPermission();
    try {
      localStorage.setItem(storageKey, on && Notification.permission === "granted" ? "on" : "off");
    } catch {
      // the choice then lasts as long as the page
    }
  }

  /** Looks for newer mail than before; says so when the window is hidden. */
  async look() {
    if (!this.on || this.#session.current.state !== "signedIn") return;
    let newest;
    try {
      newest = (await this.#api.threads({ mailbox: "inbox", limit: 1 })).results[0];
    } catch {
      return; // the page itself says when the server is gone
    }
    const before = this.#newest;
    this.#newest = newest?.last_at ?? "";
    if (before === null || !newest?.unread || newest.last_at <= before) return;
    this.onNew();
    if (document.visibilityState === "visible") return;
    const note = new Notification(t("app.name"), { body: t("notify.new"), tag: "new-mail", icon: new URL("icon.svg", document.baseURI).href });
    note.addEventListener("click", () => {
      window.focus();
      note.close();
    });
  }

  /** The entry of the account menu. */
  row() {
    if (!this.supported) {
      return h("div", { class: "menu-row" }, icon("bell"), h("span", { class: "grow" }, m("notify.title"), h("span", { class: "muted menu-note" }, m("notify.unsupported"))));
    }
    const note = h("span", { class: "muted menu-note", role: "status" });
    const row = h("button", { class: "menu-row", type: "button", role: "switch", on: { click: async () => {
      await this.turn(!this.on);
      show();
    } } }, icon("bell"), h("span", { class: "grow" }, m("notify.title"), note), h("span", { class: "switch", "aria-hidden": "true" }));
    const show = () => {
      row.setAttribute("aria-checked", String(this.on));
      note.textContent = Notification.permission === "denied" ? t("notify.denied") : "";
    };
    show();
    return row;
  }
}
