// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// Elements without markup strings: nothing in the apps ever passes data through an HTML parser.

import { Live, bindLive } from "./i18n.js";

/** Makes an element. `on` holds listeners, `data` the data set; a `Live` value follows the language. */
export function h(tag, props, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") {
      for (const [type, listener] of Object.entries(value)) element.addEventListener(type, listener);
    } else if (name === "data") {
      for (const [key, text] of Object.entries(value)) if (text !== undefined) element.dataset[key] = text;
    } else if (value instanceof Live) {
      bindLive(element, () => element.setAttribute(name, value.toString()));
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  add(element, children);
  return element;
}

/** Adds nodes, text and live text; leaves out null, undefined and false. */
export function add(parent, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    if (child instanceof Live) {
      const text = document.createTextNode("");
      bindLive(parent, () => (text.data = child.toString()));
      parent.append(text);
    } else {
      parent.append(child);
    }
  }
  return parent;
}

/** Replaces the content of `parent`. */
export function fill(parent, ...children) {
  parent.replaceChildren();
  return add(parent, children);
}

export const icon = (name) => h("nc-icon", { name });

/** True where a key press belongs to a field and not to the app's shortcuts. */
export function typing(target) {
  return target instanceof Element && target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]") !== null;
}

/** Calls `show` after 300 ms unless cancelled first (LK-3: no skeleton for what comes at once). */
export function afterPatience(show, delay = 300) {
  const timer = setTimeout(show, delay);
  return () => clearTimeout(timer);
}
