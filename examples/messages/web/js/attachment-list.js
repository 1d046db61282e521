// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// The attachments under a message: a press shows one, the arrow saves it.

import { h, icon } from "../shared/dom.js";
import { i18n, m, t } from "./i18n.js";
import { kindOf, shownName } from "./kinds.js";

/** `open(part, all)` shows one; parts that stand in the text are not listed. */
export function attachmentList(message, api, open) {
  const shown = (message.attachments ?? []).filter((part) => !part.inline);
  if (shown.length === 0) return null;
  return h("section", { class: "attachments" },
    h("h4", null, icon("clip"), h("span", null, m("thread.attachments", { n: shown.length }))),
    h("ul", { role: "list" }, shown.map((part) => {
      const name = shownName(part.name) || t("thread.unnamed");
      const kind = kindOf(part);
      const about = () => ({ name, size: i18n.size(part.size) });
      return h("li", { class: "attachment" },
        h("button", { class: "attachment-open", type: "button", "aria-label": m("preview.open.size", about), on: { click: () => open(part, shown) } },
          h("span", { class: `kind ${kind.drawing}` },
            kind.view === "image"
              ? h("img", { src: api.blob(part.id), alt: "", loading: "lazy", on: { error: (event) => event.target.replaceWith(icon("image")) } })
              : icon(kind.drawing)),
          h("span", { class: "what" },
            h("bdi", { class: "one-line" }, name),
            h("span", { class: "muted" }, i18n.size(part.size)))),
        h("a", { class: "icon-button", href: api.download(part.id), download: name, "aria-label": m("thread.download", about), title: m("thread.download", about) }, icon("download")));
    })));
}
