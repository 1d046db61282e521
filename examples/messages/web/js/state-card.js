// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// What a view shows when it has nothing to show (LK-3): a picture, what it is, what to do.

import { h, icon } from "../shared/dom.js";

export function stateCard({ picture, title, text, action, alert = false }) {
  return h("div", { class: "state-card", role: alert ? "alert" : undefined },
    h("span", { class: `state-picture ${picture}` }, icon(picture)),
    h("p", { class: "state-title" }, title),
    text && h("p", { class: "state-text", dir: "auto" }, text),
    action && h("button", { class: "button secondary", type: "button", on: { click: action.run } }, action.label));
}
