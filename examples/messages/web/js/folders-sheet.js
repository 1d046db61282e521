// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// The folders a phone's bar has no room for.

import { h, icon } from "../shared/dom.js";
import { openSheet } from "../shared/elements.js";
import { m } from "./i18n.js";

/** Resolves to a folder, "import", or nothing. */
export function openFolders({ folders, drawings, current, returnTo }) {
  return openSheet({
    label: m("folder.list"), className: "menu", returnTo,
    build: (close) => h("div", { class: "menu-list" },
      folders.map((folder) => h("button", { class: "menu-row", type: "button", "aria-current": folder === current ? "page" : undefined, on: { click: () => close(folder) } },
        icon(drawings[folder]), h("span", { class: "grow" }, m(`folder.${folder}`)))),
      h("button", { class: "menu-row", type: "button", on: { click: () => close("import") } }, icon("import"), h("span", { class: "grow" }, m("import.open")))),
  });
}
