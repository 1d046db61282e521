// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// Where a message is written. It takes the place of the conversation (on a phone, of the whole page) and can be left at
// any moment: the draft stays.

import { afterPatience, fill, h, icon } from "../shared/dom.js";
import { openSheet } from "../shared/elements.js";
import { isAddress } from "./address.js";
import { AttachmentsField } from "./attachments-field.js";
import { i18n, m, t } from "./i18n.js";
import { RecipientsField } from "./recipients.js";
import { stateCard } from "./state-card.js";

export class Composer {
  #api;
  #act;
  #sending = false;
  #problem = null;
  #built = false;
  #waiting = null;
  #off = [];

  /** `draft`: a `Draft`. `act`: close(), sent(answer), discarded(draft), preview(item, all, returnTo), suggest(text, signal). */
  constructor(draft, api, act) {
    this.draft = draft;
    this.#api = api;
    this.#act = act;
    this.live = h("p", { class: "hidden-text", role: "status", "aria-live": "polite" });
    this.body = h("div", { class: "compose-body" });
    this.title = h("h2", { class: "compose-title one-line", tabindex: "-1" });
    this.status = h("p", { class: "compose-status muted one-line" });
    this.sendButton = h("button", { class: "button primary compose-send", type: "button", title: m("compose.send.keys"), on: { click: () => this.send() } }, icon("send"), h("span", null, m("compose.send")));
    this.attachButton = h("button", { class: "icon-button", type: "button", "aria-label": m("compose.attach"), title: m("compose.attach"), on: { click: () => this.files?.choose() } }, icon("clip"));
    this.discardButton = h("button", { class: "icon-button", type: "button", "aria-label": m("compose.discard"), title: m("compose.discard"), on: { click: () => this.discard() } }, icon("trash"));
    this.reason = h("p", { class: "compose-reason muted", id: "send-reason", role: "status" });
    this.problem = h("div", { class: "compose-problem", role: "alert", hidden: true });
    this.element = h("section", { class: "composer", "aria-label": m("compose.name"), on: { keydown: (event) => this.#key(event) } },
      h("header", { class: "compose-head" },
        h("button", { class: "icon-button compose-close", type: "button", "aria-label": m("compose.close"), title: m("compose.close"), on: { click: () => this.#act.close() } }, icon("back")),
        h("div", { class: "compose-names" }, this.title, this.status),
        this.discardButton, this.attachButton, this.sendButton),
      this.problem, this.body, this.reason, this.live);
    draft.addEventListener("change", () => this.render());
    this.#off.push(i18n.onChange(() => this.render()));
    this.#dropZone();
    const hide = () => document.visibilityState === "hidden" && this.draft.save({ keepalive: true }).catch(() => {});
    document.addEventListener("visibilitychange", hide);
    // Words are kept in any case; a file that is only half there is not.
    const leave = (event) => (this.files?.pending ?? 0) > 0 && event.preventDefault();
    window.addEventListener("beforeunload", leave);
    this.#off.push(() => document.removeEventListener("visibilitychange", hide), () => window.removeEventListener("beforeunload", leave));
    this.render();
  }

  /** Takes it off the page; what is written stays, unless there is nothing. */
  end() {
    this.#waiting?.();
    for (const off of this.#off) off();
    this.files?.end();
    for (const field of [this.to, this.cc, this.bcc]) field?.end();
    this.element.remove();
    const { draft } = this;
    if (draft.over || draft.status === "loading" || draft.status === "gone") return;
    if (draft.isUntouched) {
      draft.end();
      if (draft.onServer) this.#api.discardDraft(draft.id).catch(() => {});
    } else {
      draft.save().catch(() => {});
    }
  }

  focus() {
    if (!this.#built) return this.title.focus({ preventScroll: true });
    const { to, text } = this.draft.content;
    if (to.length === 0) return this.to.focus();
    this.text.focus({ preventScroll: true });
    if (text.startsWith("\n")) this.text.setSelectionRange(0, 0);
    this.text.scrollTop = 0;
  }

  say(text) {
    this.live.textContent = "";
    requestAnimationFrame(() => (this.live.textContent = text));
  }

  // What is on the page

  render() {
    const { draft } = this;
    this.#waiting?.();
    this.#waiting = null;
    this.title.textContent = draft.content.subject.trim() || t("compose.new");
    this.title.dir = "auto";
    if (!this.#built && draft.status === "loading") {
      this.#waiting = afterPatience(() => fill(this.body, skeleton()));
    } else if (!this.#built && (draft.status === "gone" || draft.status === "failed")) {
      fill(this.body, draft.status === "gone"
        ? stateCard({ picture: "envelope", title: m("compose.gone"), text: m("compose.gone.text"), action: { label: m("compose.close"), run: () => this.#act.close() }, alert: true })
        : draft.error?.kind === "offline"
          ? stateCard({ picture: "offline", title: m("offline.title"), text: m("compose.offline.open"), action: { label: m("app.retry"), run: () => this.draft.load() }, alert: true })
          : stateCard({ picture: "alert", title: m("compose.error"), text: m("thread.error.text"), action: { label: m("app.retry"), run: () => this.draft.load() }, alert: true }));
    } else if (!this.#built) {
      this.#build();
    } else {
      this.files.take(draft.content.attachments);
    }
    for (const button of [this.sendButton, this.attachButton, this.discardButton]) button.hidden = !this.#built;
    this.#showStatus();
    this.#showReason();
  }

  #build() {
    this.#built = true;
    const { draft } = this;
    const { content } = draft;
    const people = (label, part) => {
      const field = new RecipientsField({ label, suggest: this.#act.suggest, say: (text) => this.say(text), onChange: (list) => draft.change({ [part]: list }) });
      field.people = content[part];
      return field;
    };
    this.to = people("compose.to", "to");
    this.cc = people("compose.cc", "cc");
    this.bcc = people("compose.bcc", "bcc");
    const more = h("button", { class: "button quiet compose-more", type: "button", "aria-expanded": "false", on: { click: () => {
      show(true);
      this.cc.focus();
    } } }, m("compose.ccbcc"));
    const show = (shown) => {
      this.cc.element.hidden = this.bcc.element.hidden = !shown;
      more.hidden = shown;
    };
    show(content.cc.length + content.bcc.length > 0);
    this.to.list.before(more);
    this.subject = h("input", {
      id: "compose-subject", type: "text", dir: "auto", autocomplete: "off", maxlength: "500", enterkeyhint: "next",
      on: { input: () => draft.change({ subject: this.subject.value }), keydown: (event) => {
        if (event.key === "Enter" && !event.ctrlKey && !event.metaKey) (event.preventDefault(), this.text.focus());
      } },
    });
    this.subject.value = content.subject;
    this.text = h("textarea", { class: "compose-text", dir: "auto", "aria-label": m("compose.text"), placeholder: m("compose.placeholder"), on: {
      input: () => draft.change({ text: this.text.value }),
      paste: (event) => {
        if (!event.clipboardData?.files.length || event.clipboardData.getData("text/plain")) return;
        event.preventDefault();
        this.files.add([...event.clipboardData.files]);
      },
    } });
    this.text.value = content.text;
    this.files = new AttachmentsField({
      api: this.#api, draft, onChange: () => this.#showReason(), say: (text) => this.say(text),
      open: (item, all) => this.#act.preview(item, all, document.activeElement),
    });
    fill(this.body,
      h("div", { class: "compose-fields" }, this.to.element, this.cc.element, this.bcc.element,
        h("div", { class: "compose-field" }, h("label", { for: "compose-subject" }, m("compose.subject")), this.subject)),
      this.files.element, this.text);
  }

  #showStatus() {
    const { status, savedAt, error } = this.draft;
    const key = { saving: "compose.saving", kept: error?.kind === "expired" ? "compose.kept.expired" : "compose.kept", failed: "compose.notsaved", gone: "compose.elsewhere" }[status];
    this.status.textContent = !this.#built ? "" : key ? t(key) : status === "saved" && savedAt ? t("compose.saved", { time: i18n.date(savedAt, { timeStyle: "short" }) }) : "";
    this.status.classList.toggle("warn", status === "kept" || status === "failed" || status === "gone");
    if (this.#built && status === "gone" && this.#problem !== "gone") {
      this.#fail("gone", t("compose.elsewhere.text"), { label: m("compose.keepcopy"), run: () => {
        this.#fail(null);
        this.draft.rename(crypto.randomUUID());
        this.#act.renamed(this.draft.id);
      } });
    }
  }

  /** Sending is off only while a file or the message itself is on its way, and then that is said (LK-7). */
  #showReason() {
    const pending = this.files?.pending ?? 0;
    this.sendButton.disabled = this.#sending || pending > 0;
    this.reason.textContent = this.#sending ? t("compose.sending") : pending > 0 ? t("compose.wait", { n: pending }) : "";
    if (this.reason.textContent) this.sendButton.setAttribute("aria-describedby", "send-reason");
    else this.sendButton.removeAttribute("aria-describedby");
  }

  #fail(kind, text, action) {
    this.#problem = kind;
    this.problem.hidden = !kind;
    fill(this.problem, kind && [icon("alert"), h("p", null, text), action && h("button", { class: "button quiet", type: "button", on: { click: action.run } }, action.label)]);
  }

  // What the person does

  #key(event) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      if (!this.sendButton.disabled) this.send();
    } else if (event.key === "Escape" && !event.defaultPrevented) {
      event.preventDefault();
      event.stopPropagation();
      this.#act.close();
    }
  }

  #dropZone() {
    let depth = 0;
    const has = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
    const off = () => {
      depth = 0;
      this.element.classList.remove("dropping");
    };
    this.element.dataset.drop = t("compose.drop");
    this.element.addEventListener("dragenter", (event) => {
      if (!has(event)) return;
      event.preventDefault();
      depth += 1;
      this.element.dataset.drop = t("compose.drop");
      this.element.classList.add("dropping");
    });
    this.element.addEventListener("dragover", (event) => has(event) && event.preventDefault());
    this.element.addEventListener("dragleave", () => (depth -= 1) <= 0 && off());
    this.element.addEventListener("drop", (event) => {
      off();
      if (!has(event)) return;
      event.preventDefault();
      this.files?.add([...event.dataTransfer.files]);
    });
  }

  async send() {
    if (this.#sending || !this.#built) return;
    this.#fail(null);
    const fields = [this.to, this.cc, this.bcc];
    for (const field of fields) field.commit();
    const wrong = fields.find((field) => field.people.some((person) => !isAddress(person.email)));
    if (wrong) return wrong.focus();
    if (fields.every((field) => field.people.length === 0)) {
      this.to.fail("compose.nobody");
      return this.to.focus();
    }
    if (this.files.failed > 0 && !(await this.#ask("compose.ask.failed", { n: this.files.failed }))) return;
    const { subject } = this.draft.content;
    if (subject.trim() === "" && !(await this.#ask("compose.ask.nosubject"))) return this.subject.focus();
    this.#sending = true;
    this.#showReason();
    try {
      await this.draft.save({ force: !this.draft.onServer });
      const answer = await this.#api.sendDraft(this.draft.id);
      this.draft.end();
      this.#act.sent(answer);
    } catch (error) {
      if (error.kind === "gone") return this.draft.dispatchEvent(new Event("change"));
      const key = error.kind === "offline" ? "compose.failed.offline" : error.kind === "expired" ? "compose.failed.expired" : "compose.failed";
      this.#fail("send", t(key), { label: m("app.retry"), run: () => this.send() });
    } finally {
      this.#sending = false;
      this.#showReason();
    }
  }

  async #ask(key, values) {
    const answer = await openSheet({
      labelledBy: "ask-title", kind: "alertdialog",
      build: (close) => [
        h("h2", { id: "ask-title" }, m(key, values)),
        h("div", { class: "dialog-actions" },
          h("button", { class: "button secondary", type: "button", on: { click: () => close(false) } }, m("compose.ask.back")),
          h("button", { class: "button primary", type: "button", on: { click: () => close(true) } }, m("compose.ask.send"))),
      ],
    });
    return answer === true;
  }

  async discard() {
    if (!this.draft.isUntouched) {
      const answer = await openSheet({
        labelledBy: "discard-title", kind: "alertdialog", returnTo: this.discardButton,
        build: (close) => [
          h("h2", { id: "discard-title" }, m("compose.discard.title", { subject: `\u2068${this.draft.content.subject.trim() || t("list.nosubject")}\u2069` })),
          h("p", { class: "dialog-text" }, m("compose.discard.text")),
          h("div", { class: "dialog-actions" },
            h("button", { class: "button secondary", type: "button", on: { click: () => close(false) } }, m("compose.discard.keep")),
            h("button", { class: "button danger", type: "button", on: { click: () => close(true) } }, m("compose.discard"))),
        ],
      });
      if (answer !== true) return;
    }
    this.draft.end();
    try {
      if (this.draft.onServer) await this.#api.discardDraft(this.draft.id);
      this.#act.discarded();
    } catch (error) {
      if (error.kind === "gone") return this.#act.discarded();
      this.draft.over = false;
      this.#fail("discard", t(error.kind === "offline" ? "compose.discard.offline" : "compose.discard.failed"), { label: m("app.retry"), run: () => this.discard() });
    }
  }
}

function skeleton() {
  const bone = (width) => {
    const element = h("span", { class: "bone" });
    element.style.width = width;
    return element;
  };
  return h("div", { class: "compose-skeleton" }, h("p", { class: "hidden-text", role: "status" }, m("compose.loading")), ["40%", "64%", "0", "92%", "86%", "48%"].map(bone));
}
