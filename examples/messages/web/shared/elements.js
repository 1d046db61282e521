// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// The few custom elements the example apps share. They keep their content in the light DOM so that base.css styles them.

import { add, fill, h, icon } from "./dom.js";
import { icons } from "./icons.js";

const svg = (tag, attributes) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
};

function draw(name) {
  const drawing = svg("svg", {
    viewBox: "0 0 24 24", fill: "none", stroke: "currentColor", "stroke-width": "1.75",
    "stroke-linecap": "round", "stroke-linejoin": "round", "aria-hidden": "true", focusable: "false",
  });
  for (const path of icons[name] ?? []) {
    const filled = path.startsWith("fill:");
    drawing.append(svg("path", filled ? { d: path.slice(5), fill: "currentColor", "stroke-width": "1" } : { d: path }));
  }
  return drawing;
}

const drawings = Object.create(null); // drawn once, then copied: lists show the same few over and over

/** `<nc-icon name="inbox">`: a drawing in the text's colour, hidden from screen readers. */
export class NcIcon extends HTMLElement {
  static observedAttributes = ["name"];
  attributeChangedCallback() {
    const name = this.getAttribute("name");
    drawings[name] ??= draw(name);
    this.replaceChildren(drawings[name].cloneNode(true));
  }
}

/** `<nc-avatar name="…" email="…">`: initials, on a hue that stays with the address. */
export class NcAvatar extends HTMLElement {
  static observedAttributes = ["name", "email"];
  attributeChangedCallback() {
    const email = this.getAttribute("email") ?? "";
    const name = (this.getAttribute("name") || email).trim();
    const words = name.replace(/[^\p{L}\p{N}\s]/gu, " ").trim().split(/\s+/).filter(Boolean);
    const picked = words.length > 1 ? [words[0], words.at(-1)] : words.slice(0, 1);
    this.textContent = picked.map((word) => [...word][0]).join("").toLocaleUpperCase() || "?";
    const hues = [215, 262, 322, 8, 30, 150, 178, 196];
    let hash = 0;
    for (const character of email || name) hash = (hash * 31 + character.codePointAt(0)) % 8191;
    this.style.setProperty("--hue", hues[hash % hues.length]);
    this.setAttribute("aria-hidden", "true");
  }
}

/** `<nc-toaster>`: one toast at a time, announced politely; it waits while it has the pointer or the focus. */
export class NcToaster extends HTMLElement {
  #timer = 0;
  connectedCallback() {
    this.setAttribute("role", "status");
    this.setAttribute("aria-live", "polite");
  }
  /** `action`: {label, run}. `dismissLabel` names the close button. */
  show({ text, action, dismissLabel, milliseconds = action ? 8000 : 4000 }) {
    clearTimeout(this.#timer);
    const close = () => {
      clearTimeout(this.#timer);
      toast.remove();
    };
    const toast = h("div", { class: "toast", dir: "auto" }, h("p", null, text));
    if (action) {
      add(toast, [h("button", { class: "button", type: "button", on: { click: () => (close(), action.run()) } }, action.label)]);
    }
    add(toast, [
      h("button", { class: "icon-button", type: "button", "aria-label": dismissLabel, on: { click: close } }, icon("close")),
    ]);
    const wait = () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => (toast.matches(":hover, :focus-within") ? wait() : close()), milliseconds);
    };
    fill(this, toast);
    wait();
    return close;
  }
  clear() {
    clearTimeout(this.#timer);
    this.replaceChildren();
  }
}

/**
 * Opens a modal dialog: a card on a wide window, a bottom sheet on a phone. The browser makes the rest inert; we keep
 * Tab inside (LK-5), close on Esc and on the backdrop, and give the focus back to `returnTo` or to where it was.
 * `build(close)` returns the content; the promise settles with what `close` was given.
 */
export function openSheet({ label, labelledBy, kind = "dialog", className = "", dismissible = true, returnTo, build }) {
  const before = returnTo ?? document.activeElement;
  return new Promise((resolve) => {
    let result;
    const close = (value) => {
      result = value;
      dialog.close();
    };
    const dialog = h("dialog", {
      class: `sheet ${className}`, role: kind, "aria-modal": "true", "aria-label": label, "aria-labelledby": labelledBy,
    });
    dialog.addEventListener("cancel", (event) => {
      if (!dismissible) event.preventDefault();
    });
    dialog.addEventListener("click", (event) => {
      if (event.target !== dialog || !dismissible) return;
      const box = dialog.getBoundingClientRect();
      const inside = event.clientX >= box.left && event.clientX <= box.right && event.clientY >= box.top && event.clientY <= box.bottom;
      if (!inside) close();
    });
    dialog.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key !== "Tab") return;
      const stops = [...dialog.querySelectorAll("a[href], button:not(:disabled), input:not(:disabled), select, textarea, summary, iframe, audio[controls], video[controls], [tabindex='0']")].filter(
        (stop) => stop.offsetParent !== null,
      );
      const edge = event.shiftKey ? stops[0] : stops.at(-1);
      if (document.activeElement === edge || !dialog.contains(document.activeElement)) {
        event.preventDefault();
        (event.shiftKey ? stops.at(-1) : stops[0])?.focus();
      }
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
      resolve(result);
    });
    add(dialog, [build(close)].flat());
    document.body.append(dialog);
    dialog.showModal();
  });
}

customElements.define("nc-icon", NcIcon);
customElements.define("nc-avatar", NcAvatar);
customElements.define("nc-toaster", NcToaster);
