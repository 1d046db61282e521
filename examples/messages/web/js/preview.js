// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// Looking at an attachment without leaving the conversation. What could act as a page is never opened here: it can be saved.

import { afterPatience, fill, h, icon } from "../shared/dom.js";
import { openSheet } from "../shared/elements.js";
import { i18n, m, t } from "./i18n.js";
import { kindOf, shownName } from "./kinds.js";
import { viewers } from "./preview-kinds.js";
import { stateCard } from "./state-card.js";

/** Opens a part; the arrows go through `all` of them. */
export function openPreview({ part, all, api, returnTo }) {
  let at = Math.max(0, all.indexOf(part));
  let stop = null;
  const heading = h("h2", { id: "preview-title", class: "one-line", tabindex: "-1" });
  const about = h("p", { class: "muted one-line preview-about" });
  const stage = h("div", { class: "preview-stage" });
  const save = h("a", { class: "icon-button", data: { part: "save" } }, icon("download"));
  const word = h("p", { class: "hidden-text", role: "status" });
  const step = (label, drawing, by) =>
    h("button", { class: "icon-button", type: "button", "aria-label": m(label), title: m(label), on: { click: () => go(at + by) } }, icon(drawing));
  const before = step("preview.before", "left", -1);
  const after = step("preview.after", "right", 1);

  const end = () => {
    stop?.abort();
    stop = null;
  };
  const show = async () => {
    end();
    const abort = (stop = new AbortController());
    const one = all[at];
    const name = shownName(one.name) || t("thread.unnamed");
    const kind = kindOf(one);
    fill(heading, h("bdi", null, name));
    about.textContent = [i18n.size(one.size), all.length > 1 && t("preview.place", { at: at + 1, n: all.length })].filter(Boolean).join(" · ");
    word.textContent = all.length > 1 ? `${name}, ${about.textContent}` : "";
    save.href = api.download(one.id);
    save.setAttribute("download", name);
    save.setAttribute("aria-label", t("thread.download", { name, size: i18n.size(one.size) }));
    save.title = save.getAttribute("aria-label");
    for (const button of [before, after]) button.hidden = all.length < 2;
    before.disabled = at === 0;
    after.disabled = at === all.length - 1;
    stage.className = `preview-stage ${kind.view ?? "none"}`;
    fill(stage);
    const wait = afterPatience(() => fill(stage, h("div", { class: "preview-wait" }, h("p", { class: "hidden-text", role: "status" }, m("preview.loading")), h("span", { class: "bone" }))));
    abort.signal.addEventListener("abort", wait);
    try {
      const content = kind.view ? await viewers[kind.view](one, { api, signal: abort.signal, fail: (error) => !abort.signal.aborted && problem(one, error) }) : unseen(one, "preview.none");
      if (abort.signal.aborted) return;
      wait();
      fill(stage, content);
    } catch (error) {
      if (abort.signal.aborted) return;
      wait();
      problem(one, error);
    }
  };
  const saving = (one) => h("a", { class: "button secondary", href: api.download(one.id), download: shownName(one.name) || t("thread.unnamed") }, icon("download"), m("preview.save"));
  const unseen = (one, text) => h("div", { class: "state-card" },
    h("span", { class: "state-picture" }, icon(kindOf(one).drawing)),
    h("p", { class: "state-title" }, h("bdi", null, shownName(one.name) || t("thread.unnamed"))),
    h("p", { class: "state-text" }, m(text)), saving(one));
  const problem = (one, error) => {
    if (error?.kind === "unshown") return fill(stage, unseen(one, error.message));
    const offline = error?.kind === "offline";
    const card = stateCard({
      picture: offline ? "offline" : "alert", title: m(offline ? "offline.title" : "preview.failed"),
      text: m(offline ? "preview.offline" : error?.kind === "gone" ? "preview.gone" : "preview.failed.text"), action: { label: m("app.retry"), run: show }, alert: true,
    });
    fill(stage, card);
  };
  const go = (to) => {
    if (to < 0 || to >= all.length) return;
    at = to;
    show();
    // A button that has just gone off keeps no focus.
    if (document.activeElement === document.body || document.activeElement?.disabled) heading.focus();
  };

  return openSheet({
    labelledBy: "preview-title", className: "preview", returnTo,
    build: (close) => {
      const head = h("header", { class: "preview-head" },
        h("div", { class: "preview-names" }, heading, about), before, after, save,
        h("button", { class: "icon-button", type: "button", "aria-label": m("app.close"), title: m("app.close"), on: { click: () => close() } }, icon("close")));
      const whole = h("div", { class: "preview-whole", on: { keydown: (event) => {
        // A player and a field use the arrows themselves.
        if (event.target.closest("video, audio, iframe, .scrolls")) return;
        if (event.key === "ArrowLeft") go(at - 1);
        if (event.key === "ArrowRight") go(at + 1);
      } } }, head, stage, word);
      queueMicrotask(show);
      return whole;
    },
  }).then((value) => {
    end();
    return value;
  });
}

