// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// The files of a message being written: chosen, dropped or pasted, two on their way at a time, each with its progress, its
// reason when it failed, and a way to stop, repeat or remove it. Limits are said before anything is sent.

import { fill, h, icon } from "../shared/dom.js";
import { i18n, m, t } from "./i18n.js";
import { kindOf, shownName } from "./kinds.js";
import { uploadFile } from "./upload.js";

const atOnce = 2;
let number = 0;

export class AttachmentsField {
  #items = [];
  #api;
  #draft;

  /** `onChange()`: another state; `open(item)`: shows one; `say(text)`: a word for screen readers. */
  constructor({ api, draft, onChange, open, say }) {
    this.#api = api;
    this.#draft = draft;
    this.onChange = onChange;
    this.open = open;
    this.say = say;
    this.input = h("input", { type: "file", multiple: true, class: "hidden-text", tabindex: "-1", "aria-hidden": "true", on: { change: () => {
      this.add([...this.input.files]);
      this.input.value = "";
    } } });
    this.list = h("ul", { class: "files", role: "list", "aria-label": m("compose.files") });
    this.hint = h("p", { class: "field-hint" });
    this.element = h("div", { class: "compose-files" }, this.input, this.list, this.hint);
    this.take(draft.content.attachments);
    this.#stopListening = i18n.onChange(() => this.#draw());
  }

  #stopListening;

  end() {
    this.#stopListening();
    for (const item of this.#items) item.abort?.abort();
  }

  choose() {
    this.input.click();
  }

  /** Files that the server has already. */
  take(attachments) {
    const known = new Set(this.#items.map((item) => item.id));
    for (const one of attachments) if (!known.has(one.id)) this.#items.push({ ...one, key: (number += 1), state: "done" });
    this.#draw();
  }

  get pending() {
    return this.#items.filter((item) => item.state === "waiting" || item.state === "sending").length;
  }

  get failed() {
    return this.#items.filter((item) => item.state === "failed").length;
  }

  get count() {
    return this.#items.length;
  }

  #bytes(except) {
    return this.#items.filter((item) => item !== except && item.state !== "failed").reduce((sum, item) => sum + item.size, 0);
  }

  add(files) {
    for (const file of files) {
      const position = this.#items.reduce((last, one) => Math.max(last, one.position ?? 0), 0) + 1;
      const item = { position, key: (number += 1), id: null, name: file.name || t("thread.unnamed"), type: file.type, size: file.size, file, state: "waiting", progress: 0 };
      this.#items.push(item);
      this.#check(item);
    }
    this.#draw();
    this.#run();
    this.onChange();
  }

  #check(item) {
    const { bytes, files } = this.#draft.limits;
    const others = this.#items.filter((one) => one !== item && one.state !== "failed").length;
    if (item.size > bytes) this.#fail(item, "compose.file.toolarge", false, { limit: i18n.size(bytes) });
    else if (this.#bytes(item) + item.size > bytes) this.#fail(item, "compose.file.nospace", false, { limit: i18n.size(bytes) });
    else if (others >= files) this.#fail(item, "compose.file.toomany", false, { n: files });
  }

  #fail(item, reason, again, values = {}) {
    Object.assign(item, { state: "failed", reason, again, values });
    this.say(`${item.name}: ${t(reason, values)}`);
  }

  async #run() {
    while (this.#items.filter((item) => item.state === "sending").length < atOnce) {
      const item = this.#items.find((one) => one.state === "waiting");
      if (!item) return;
      this.#send(item);
    }
  }

  async #send(item) {
    item.state = "sending";
    item.progress = 0;
    item.abort = new AbortController();
    this.#draw();
    try {
      // The draft has to be there before its files.
      if (!this.#draft.onServer) await this.#draft.save({ force: true });
      item.abort.signal.throwIfAborted();
      const answer = await uploadFile(this.#api, this.#draft.id, item.file, {
        position: item.position,
        signal: item.abort.signal,
        onProgress: (part) => {
          item.progress = part;
          this.#progress(item);
        },
      });
      Object.assign(item, answer, { state: "done", file: null });
      this.#draft.content.attachments = [...this.#draft.content.attachments.filter((one) => one.id !== item.id), answer];
      this.say(t("compose.file.attached", { name: item.name }));
    } catch (error) {
      if (item.abort.signal.aborted) {
        this.#items = this.#items.filter((one) => one !== item);
        this.say(t("compose.file.cancelled", { name: item.name }));
      } else {
        const large = error.code === "attachments_too_large" || error.status === 413;
        const many = error.code === "too_many_attachments";
        const { limits } = this.#draft;
        if (many) this.#fail(item, "compose.file.toomany", false, { n: limits.files });
        else if (large) this.#fail(item, "compose.file.toolarge", false, { limit: i18n.size(limits.bytes) });
        else this.#fail(item, error.kind === "offline" ? "compose.file.offline" : error.kind === "expired" ? "compose.file.expired" : "compose.file.failed", true);
      }
    }
    this.#draw();
    this.onChange();
    this.#run();
  }

  retry(item) {
    item.state = "waiting";
    this.#check(item);
    this.#draw();
    this.#run();
    this.onChange();
  }

  async #remove(item) {
    const at = this.#items.indexOf(item);
    if (item.state === "sending") return item.abort.abort();
    this.#items.splice(at, 1);
    if (item.id) {
      this.#draft.content.attachments = this.#draft.content.attachments.filter((one) => one.id !== item.id);
      this.#api.detach(this.#draft.id, item.id).catch((error) => {
        if (error.kind === "gone") return;
        this.#items.splice(at, 0, item);
        this.#draft.content.attachments = [...this.#draft.content.attachments, item];
        this.say(t("compose.file.kept", { name: item.name }));
        this.#draw();
        this.onChange();
      });
    }
    this.say(t("compose.file.removed", { name: item.name }));
    this.#draw();
    this.onChange();
    const next = this.list.children[Math.min(at, this.#items.length - 1)];
    (next?.querySelector("button:last-of-type") ?? this.element.closest(".composer")?.querySelector("textarea"))?.focus();
  }

  #progress(item) {
    const row = this.list.querySelector(`[data-key="${item.key}"]`);
    if (!row) return;
    const percent = Math.round(item.progress * 100);
    const bar = row.querySelector("[role=progressbar]");
    bar?.setAttribute("aria-valuenow", String(percent));
    bar?.style.setProperty("--part", `${percent}%`);
    row.querySelector(".file-state").textContent = this.#words(item);
  }

  #words(item) {
    if (item.state === "failed") return t(item.reason, item.values);
    if (item.state === "waiting") return t("compose.file.waiting", { size: i18n.size(item.size) });
    if (item.state === "sending") return t("compose.file.sending", { percent: i18n.number(item.progress, { style: "percent" }), size: i18n.size(item.size) });
    return i18n.size(item.size);
  }

  #draw() {
    const active = this.list.contains(document.activeElement) ? document.activeElement.closest("li")?.dataset.key : null;
    const button = (drawing, label, item, run) =>
      h("button", { class: "icon-button", type: "button", "aria-label": t(label, { name: shownName(item.name) }), title: t(label, { name: shownName(item.name) }), on: { click: run } }, icon(drawing));
    fill(this.list, this.#items.map((item) =>
      h("li", { class: `upload ${item.state}`, data: { key: item.key } },
        h("span", { class: `kind ${kindOf(item).drawing}` }, icon(item.state === "failed" ? "alert" : kindOf(item).drawing)),
        h("span", { class: "what" },
          item.state === "done"
            ? h("button", { class: "file-name", type: "button", "aria-label": t("preview.open", { name: shownName(item.name) }), on: { click: () => this.open(item, this.#items.filter((one) => one.id)) } }, h("bdi", { class: "one-line" }, shownName(item.name)))
            : h("bdi", { class: "one-line" }, shownName(item.name)),
          h("span", { class: "muted file-state", role: item.state === "failed" ? "alert" : undefined }, this.#words(item)),
          item.state === "sending" && h("span", {
            class: "bar", role: "progressbar", "aria-label": t("compose.file.progress", { name: item.name }), "aria-valuemin": "0", "aria-valuemax": "100",
            "aria-valuenow": String(Math.round(item.progress * 100)),
          })),
        item.state === "failed" && item.again && button("refresh", "compose.file.retry", item, () => this.retry(item)),
        button("close", item.state === "sending" ? "compose.file.cancel" : "compose.file.remove", item, () => this.#remove(item)))));
    for (const item of this.#items) if (item.state === "sending") this.#progress(item);
    this.list.hidden = this.#items.length === 0;
    const { bytes, files } = this.#draft.limits;
    const used = this.#bytes();
    this.hint.textContent = this.#items.length === 0 ? "" : t("compose.limit", { used: i18n.size(used), limit: i18n.size(bytes), n: files });
    if (active) this.list.querySelector(`[data-key="${active}"] button`)?.focus();
  }
}
