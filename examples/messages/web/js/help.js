// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// The keyboard help; its last entry is the version, which a press copies for a report (LK-10, UP-11).

import { h, icon } from "../shared/dom.js";
import { openSheet } from "../shared/elements.js";
import { versionLine } from "./account.js";
import { m } from "./i18n.js";

export function openHelp({ returnTo, toaster } = {}) {
  const keys = (...names) => names.map((name, at) => [at > 0 && h("span", { class: "muted" }, " ", m("help.or"), " "), h("kbd", null, name)]);
  const line = (what, ...names) => h("div", { class: "help-line" }, h("dt", null, m(what)), h("dd", null, keys(...names)));
  const group = (title, ...lines) => h("section", { class: "help-group" }, h("h3", null, m(title)), h("dl", null, lines));
  return openSheet({
    labelledBy: "help-title", className: "help", returnTo,
    build: (close) => [
      h("div", { class: "sheet-head" },
        h("h2", { id: "help-title" }, m("help.title")),
        h("button", { class: "icon-button", type: "button", "aria-label": m("app.close"), on: { click: () => close() } }, icon("close"))),
      h("div", { class: "help-groups" },
        group("help.move",
          line("help.next", "↓", "j"), line("help.previous", "↑", "k"), line("help.open", m("help.enter")),
          h("div", { class: "help-line" }, h("dt", null, m("help.folders")),
            h("dd", null, h("kbd", null, "1"), h("span", { class: "muted" }, " ", m("help.to"), " "), h("kbd", null, "6")))),
        group("help.write",
          line("compose.new", "c"), line("thread.reply", "r"), line("thread.replyall", "a"), line("thread.forward", "f"),
          h("div", { class: "help-line" }, h("dt", null, m("compose.send")), h("dd", null, h("kbd", null, m("help.control")), h("span", { class: "muted" }, " + "), h("kbd", null, m("help.enter"))))),
        group("help.act", line("thread.archive", "e"), line("thread.star", "s"), line("thread.unread", "u"), line("thread.trash", "#"), line("thread.print", "p")),
        group("help.other", line("help.search", "/"), line("help.files", "←", "→"), line("help.close", m("help.escape")), line("help.help", "?"))),
      versionLine({ toaster, className: "menu-row version" }),
    ],
  });
}
