// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// A menu of actions: beside its button on a wide window, a bottom sheet on a phone. Arrows move, Esc closes, the focus
// goes back to the button.

import { h, icon } from "../shared/dom.js";
import { openSheet } from "../shared/elements.js";

/** `items`: {drawing, label, run} or {drawing, label, href, download}; false ones are left out. */
export async function openMenu(button, { label, items, returnTo = button }) {
  const entries = items.filter(Boolean);
  const opened = openSheet({
    label, className: "menu", returnTo,
    build: (close) => h("div", { class: "menu-list", on: { keydown: (event) => move(event) } },
      entries.map((item, at) => {
        const content = [icon(item.drawing), h("span", { class: "grow" }, item.label), item.key && h("kbd", { "aria-hidden": "true" }, item.key)];
        return item.href
          ? h("a", { class: "menu-row", href: item.href, download: item.download, on: { click: () => setTimeout(close, 0) } }, content)
          : h("button", { class: "menu-row", type: "button", on: { click: () => close(at) } }, content);
      })),
  });
  place(document.querySelector("dialog.menu[open]"), button);
  const chosen = await opened;
  if (typeof chosen === "number") entries[chosen].run();
}

function place(dialog, button) {
  if (document.documentElement.hasAttribute("data-phone")) return;
  const box = button.getBoundingClientRect();
  const { width, height } = dialog.getBoundingClientRect();
  const below = box.bottom + 4 + height <= innerHeight - 8;
  dialog.style.margin = "0";
  dialog.style.top = `${Math.max(8, below ? box.bottom + 4 : box.top - height - 4)}px`;
  dialog.style.left = `${Math.max(8, Math.min(innerWidth - width - 8, box.right - width))}px`;
}

function move(event) {
  const step = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
  if (!step) return;
  event.preventDefault();
  const rows = [...event.currentTarget.querySelectorAll(".menu-row")];
  const at = rows.indexOf(document.activeElement) + step;
  rows[Math.max(0, Math.min(rows.length - 1, Number.isFinite(at) ? (at + rows.length) % rows.length : at))].focus();
}
