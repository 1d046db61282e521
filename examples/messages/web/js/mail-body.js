// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// The body of one message: plain text in the page, HTML in a frame.

import { fill, h, icon } from "../shared/dom.js";
import { i18n, m } from "./i18n.js";
import { mailDocument, prepareMail } from "./mail-html.js";
import { measureMail } from "./mail-measure.js";
import { plainBody } from "./plain-text.js";

const font = 'system-ui, -apple-system, "Cantarell", "Noto Sans", "Segoe UI", sans-serif';

export function mailBody(message, api) {
  if (message.html) return htmlBody(message, api);
  if (message.text?.trim()) return plainBody(message.text);
  return h("p", { class: "plain nothing" }, m("thread.empty"));
}

function htmlBody(message, api) {
  // A message inside an attachment has no address of its own to fetch images under: they stay hidden.
  const canShow = message.id !== undefined;
  const state = { showRemote: canShow && message.remote_images === true, showQuote: false };
  const name = message.from?.name || message.from?.email || "";
  const notice = h("div", { class: "remote-notice", hidden: true });
  const stage = h("div", { class: "mail-stage" });
  const ruler = h("div", { class: "mail-ruler", "aria-hidden": "true", inert: true });
  const fold = h("button", { class: "fold", type: "button", hidden: true, "aria-expanded": "false" });
  const body = h("div", { class: "mail-body" }, notice, h("div", { class: "mail-clip" }, stage, ruler), fold);
  let stop = null;

  const render = () => {
    stop?.();
    const prepared = prepareMail(message.html, {
      attachments: message.attachments, blob: (id) => api.blob(id), remote: (url) => remoteImage(api, message, url), showRemote: state.showRemote, showQuote: state.showQuote,
    });
    const frame = h("iframe", {
      // No allow-scripts and no allow-same-origin, ever: the message can neither run nor reach the page, the session or
      // the bridge (SH-8, NB-10). Links may open a window, which the shell hands to the system browser.
      sandbox: "allow-popups allow-popups-to-escape-sandbox",
      referrerpolicy: "no-referrer",
      title: m("thread.body", { name }),
      class: prepared.coloured ? "mail-frame paper" : "mail-frame",
    });
    frame.srcdoc = mailDocument(prepared, {
      blobs: api.blobs, remoteImages: state.showRemote ? api.remoteImages(message.id) : null, font, language: i18n.language,
    });
    for (const box of [stage, ruler]) {
      box.classList.toggle("paper", prepared.coloured);
      box.classList.toggle("inset", !prepared.grounded);
    }
    stage.replaceChildren(frame);
    notice.hidden = !prepared.hasRemote || state.showRemote;
    fold.hidden = !prepared.hasQuote;
    fold.setAttribute("aria-expanded", String(state.showQuote));
    fill(fold, m(state.showQuote ? "thread.unquote" : "thread.quote"));
    const start = () => {
      stop = measureMail(ruler, prepared, {
        font,
        onSize: ({ width, height }) => {
          // A letter that does not fold to the window is shown smaller, as a whole.
          const available = ruler.clientWidth || width;
          const scale = Math.max(0.4, Math.min(1, available / width));
          frame.style.width = `${width}px`;
          frame.style.height = `${height + 2}px`;
          frame.style.transform = scale < 1 ? `scale(${scale})` : "";
          stage.style.setProperty("--mail-height", `${Math.ceil((height + 2) * scale)}px`);
        },
      });
    };
    if (body.isConnected) start();
    else queueMicrotask(start);
  };
  const words = h("p", null, m("thread.remote"));
  const show = h("button", { class: "button quiet", type: "button", on: { click: async () => {
    show.disabled = true;
    try {
      await api.allowRemoteImages(message.id);
      message.remote_images = state.showRemote = true;
      render();
    } catch (error) {
      fill(words, m(error.kind === "offline" ? "thread.remote.offline" : "thread.remote.failed"));
      words.setAttribute("role", "alert");
    } finally {
      show.disabled = false;
    }
  } } }, m("thread.remote.show"));
  fill(notice, icon("image"), words, canShow && show);
  fold.addEventListener("click", () => {
    state.showQuote = !state.showQuote;
    render();
  });
  render();
  return body;
}

/** Never the sender's server itself: ours fetches the image, so the sender learns nothing about the reader (`api.media`, NB-12). */
function remoteImage(api, message, url) {
  return `${api.remoteImages(message.id)}?url=${encodeURIComponent(url)}`;
}
