// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// Bringing an archive in: choose, watch, and hear which messages did not come over and why. It can be stopped at any
// moment; done again, it goes on where it was, since the server knows what it has.

import { fill, h, icon } from "../shared/dom.js";
import { openSheet } from "../shared/elements.js";
import { openArchive, subjectOf } from "./archive.js";
import { i18n, m, t } from "./i18n.js";
import { ZipError } from "./zip.js";

/** Resolves to {show: folder or null} when something was brought in, else to nothing. */
export async function openImport({ api, returnTo }) {
  const run = new ImportRun(api);
  let finish;
  const answer = await openSheet({
    labelledBy: "import-title", className: "import", returnTo, dismissible: true,
    build: (close) => {
      finish = close;
      const body = h("div", { class: "import-body" });
      run.attach(body, (value) => close(value));
      return [
        h("div", { class: "sheet-head" },
          h("h2", { id: "import-title" }, m("import.title")),
          h("button", { class: "icon-button", type: "button", "aria-label": m("app.close"), on: { click: () => finish() } }, icon("close"))),
        body,
      ];
    },
  });
  run.cancel();
  return answer ?? (run.imported > 0 ? { show: null } : null);
}

class ImportRun {
  imported = 0;
  #duplicates = 0;
  #failed = [];
  #abort = null;
  #mailbox = "archive";
  #body = null;
  #close = null;

  constructor(api) {
    this.api = api;
  }

  attach(body, close) {
    this.#body = body;
    this.#close = close;
    this.#choose(null);
  }

  cancel() {
    this.#abort?.abort();
  }

  // The first step

  #choose(problem) {
    const input = h("input", { type: "file", class: "hidden-text", accept: ".mbox,.zip,.eml,application/mbox,application/zip,message/rfc822", tabindex: "-1", "aria-hidden": "true", on: { change: () => input.files[0] && this.#start(input.files[0]) } });
    const zone = h("div", {
      class: "import-drop",
      on: {
        dragover: (event) => (event.preventDefault(), zone.classList.add("over")),
        dragleave: () => zone.classList.remove("over"),
        drop: (event) => {
          event.preventDefault();
          zone.classList.remove("over");
          if (event.dataTransfer.files[0]) this.#start(event.dataTransfer.files[0]);
        },
      },
    },
      h("span", { class: "state-picture" }, icon("import")),
      h("p", null, m("import.what")),
      h("button", { class: "button primary", type: "button", on: { click: () => input.click() } }, m("import.choose")), input);
    const folder = (name) => h("button", { type: "button", "aria-pressed": String(this.#mailbox === name), data: { folder: name }, on: { click: (event) => {
      this.#mailbox = name;
      for (const one of event.currentTarget.parentElement.children) one.setAttribute("aria-pressed", String(one.dataset.folder === name));
    } } }, m(`folder.${name}`));
    fill(this.#body,
      h("p", { class: "dialog-text" }, m("import.text")),
      problem && h("p", { class: "import-problem", role: "alert" }, icon("alert"), h("span", null, problem)),
      h("div", { class: "import-where" }, h("span", { id: "import-where" }, m("import.where")), h("div", { class: "segmented", role: "group", "aria-labelledby": "import-where" }, folder("archive"), folder("inbox"))),
      zone);
    if (problem) this.#body.querySelector(".button.primary").focus();
  }

  async #start(file) {
    let archive;
    try {
      archive = await openArchive(file);
    } catch (error) {
      return this.#choose(t(error instanceof ZipError ? error.key : "import.unreadable"));
    }
    this.imported = this.#duplicates = 0;
    this.#failed = [];
    this.#abort = new AbortController();
    this.#progress(file, archive);
    const ended = await this.#run(archive, this.#abort.signal);
    if (ended !== "closed") this.#summary(file, ended);
  }

  // While it runs

  #progress(file, archive) {
    this.bar = h("div", { class: "bar", role: "progressbar", "aria-label": m("import.progress"), "aria-valuemin": "0", "aria-valuemax": "100", "aria-valuenow": "0" });
    this.line = h("p", { class: "import-line", role: "status" });
    this.trouble = h("div", { class: "import-problem", role: "alert", hidden: true });
    fill(this.#body,
      h("p", { class: "import-file" }, icon("file"), h("bdi", { class: "one-line" }, file.name), h("span", { class: "muted" }, i18n.size(file.size))),
      this.bar, this.line, this.trouble,
      h("div", { class: "dialog-actions" }, h("button", { class: "button secondary", type: "button", on: { click: () => this.#abort.abort("stopped") } }, m("app.cancel"))));
    this.#body.querySelector(".button").focus();
    this.#count(archive, 0);
  }

  #count(archive, done) {
    const percent = Math.round(done * 100);
    this.bar.setAttribute("aria-valuenow", String(percent));
    this.bar.style.setProperty("--part", `${percent}%`);
    const n = this.imported + this.#duplicates + this.#failed.length;
    const words = archive.count === null ? t("import.done", { n }) : t("import.of", { n, count: archive.count });
    this.line.textContent = this.#failed.length > 0 ? `${words} · ${t("import.failed.count", { n: this.#failed.length })}` : words;
  }

  /** Resolves to "done", "stopped", "expired" or "closed" (the dialog has gone). */
  async #run(archive, signal) {
    try {
      for await (const one of archive.messages(signal)) {
        await this.#bring(one, signal);
        this.#count(archive, one.done);
      }
      return "done";
    } catch (error) {
      if (signal.aborted) return signal.reason === "stopped" ? "stopped" : "closed";
      if (error.kind === "expired") return "expired";
      this.#failed.push({ name: "", reason: t(error instanceof ZipError ? error.key : "import.unreadable") });
      return "done";
    }
  }

  async #bring(one, signal) {
    let bytes = null;
    let name = one.name;
    for (;;) {
      try {
        bytes ??= await one.read();
        const subject = name === null ? subjectOf(bytes) : "";
        name ??= subject ? t("import.named", { n: one.number, subject: `\u2068${subject}\u2069` }) : t("import.number", { n: one.number });
        const answer = await this.api.bring(bytes, this.#mailbox, signal);
        if (answer.status === "duplicate") this.#duplicates += 1;
        else this.imported += 1;
        return;
      } catch (error) {
        signal.throwIfAborted();
        if (error.kind === "expired") throw error;
        if (error.kind === "offline") {
          await this.#patience(signal);
          continue;
        }
        const key = error instanceof ZipError ? error.key : error.code === "no_message" ? "import.nomessage" : error.code === "too_many_parts" ? "import.parts" : error.status === 413 ? "import.toolarge" : error.kind === "refused" ? "import.refused" : "import.unreadable";
        this.#failed.push({ name: name ?? t("import.number", { n: one.number }), reason: t(key) });
        return;
      }
    }
  }

  /** The server is gone: nothing is lost, it goes on when the person says so or the connection is back. */
  #patience(signal) {
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer);
        window.removeEventListener("online", end);
        this.trouble.hidden = true;
        if (signal.aborted) reject(signal.reason);
        else resolve();
      };
      const timer = setTimeout(end, 15_000);
      window.addEventListener("online", end);
      signal.addEventListener("abort", end, { once: true });
      this.trouble.hidden = false;
      fill(this.trouble, icon("offline"), h("span", null, m("import.offline")), h("button", { class: "button quiet", type: "button", on: { click: end } }, m("app.retry")));
    });
  }

  // The last step

  #summary(file, ended) {
    const { imported } = this;
    const failed = this.#failed;
    const title = ended === "stopped" ? "import.stopped" : ended === "expired" ? "import.expired" : failed.length > 0 ? "import.partly" : "import.finished";
    const report = failed.map((one) => `${one.name}: ${one.reason}`).join("\n");
    fill(this.#body,
      h("p", { class: failed.length > 0 || ended !== "done" ? "import-result warn" : "import-result", role: "status", tabindex: "-1" }, icon(failed.length > 0 || ended !== "done" ? "alert" : "check"), h("strong", null, m(title))),
      h("ul", { class: "import-counts", role: "list" },
        h("li", null, m("import.count.new", { n: imported })),
        this.#duplicates > 0 && h("li", null, m("import.count.known", { n: this.#duplicates })),
        failed.length > 0 && h("li", null, m("import.failed.count", { n: failed.length }))),
      ended === "stopped" && h("p", { class: "dialog-text" }, m("import.again")),
      failed.length > 0 && h("div", { class: "import-failed", tabindex: "0", role: "region", "aria-label": m("import.failed.list") },
        h("ul", { role: "list" }, failed.slice(0, 500).map((one) => h("li", null, h("bdi", null, one.name), h("span", { class: "muted" }, one.reason))))),
      h("div", { class: "dialog-actions" },
        failed.length > 0 && h("a", { class: "button quiet", href: URL.createObjectURL(new Blob([report], { type: "text/plain" })), download: `${file.name}-errors.txt` }, m("import.report")),
        h("button", { class: "button secondary", type: "button", on: { click: () => this.#close() } }, m("app.close")),
        imported > 0 && h("button", { class: "button primary", type: "button", on: { click: () => this.#close({ show: this.#mailbox }) } }, m("import.show", () => ({ folder: t(`folder.${this.#mailbox}`) })))));
    this.#body.querySelector(".import-result").focus();
  }
}
