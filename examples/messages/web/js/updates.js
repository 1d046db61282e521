// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// A new version of this page: that it is there, taking it, and that one did not start (UP-6, UP-7, LK-8). In a plain
// browser, and in an app without updates, nothing of it exists.

import { h, icon } from "../shared/dom.js";
import { m, t } from "./i18n.js";

const seenKey = "messages.update.failed";

export class Updates extends EventTarget {
  #updates = window.nacre?.updates;
  #taking = false;

  constructor(toaster) {
    super();
    this.toaster = toaster;
    this.#updates?.addEventListener("change", () => this.#changed());
  }

  /** The page stands: a new version that never says so is taken back. */
  started() {
    this.#updates?.confirm().catch(() => {});
    this.#changed();
  }

  /** The version that waits, or null. */
  get ready() {
    const state = this.#updates?.state;
    return state?.phase === "staged" ? (state.staged ?? null) : null;
  }

  /** The version that did not start here, or null. */
  get failed() {
    return this.#updates?.state.failed ?? null;
  }

  banner() {
    return h("div", { class: "banner news", role: "status", data: { update: this.ready } },
      icon("refresh"), h("p", null, m("update.ready")),
      h("button", { class: "button quiet", type: "button", disabled: this.#taking, on: { click: () => this.#take() } },
        m(this.#taking ? "update.taking" : "update.take")));
  }

  /** For the account menu. */
  note() {
    return this.failed && h("p", { class: "account-note" }, icon("info"), h("span", null, m("update.failed", { version: this.failed })));
  }

  get key() {
    return `${this.ready} ${this.#taking}`;
  }

  async #take() {
    this.#taking = true;
    this.#changed();
    try {
      await this.#updates.apply(); // the page goes
    } catch (error) {
      this.#taking = false;
      this.#changed();
      this.toaster.show({ text: t(error.code === "update.held" ? "update.held" : "update.nottaken"), dismissLabel: t("app.dismiss") });
    }
  }

  #changed() {
    this.#sayFailed();
    this.dispatchEvent(new Event("change"));
  }

  /** Once for each version; the account menu goes on saying it. */
  #sayFailed() {
    const version = this.failed;
    if (!version) return;
    try {
      if (localStorage.getItem(seenKey) === version) return;
      localStorage.setItem(seenKey, version);
    } catch {
      return; // then the account menu says it alone
    }
    this.toaster.show({ text: t("update.failed", { version }), dismissLabel: t("app.dismiss"), milliseconds: 8000 });
  }
}
