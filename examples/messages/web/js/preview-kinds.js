// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// One viewer per kind of attachment: an element, or an error of kind "unshown" whose message says why there is none.

import { h, icon } from "../shared/dom.js";
import { readCalendar } from "./ics.js";
import { i18n, m, t } from "./i18n.js";
import { mailBody } from "./mail-body.js";

const longestText = 200_000;

class Unshown extends Error {
  kind = "unshown";
}

/** Resolves when a picture or the beginning of a film is there. */
function loaded(element, event, signal) {
  return new Promise((resolve, reject) => {
    element.addEventListener(event, resolve, { once: true, signal });
    element.addEventListener("error", () => reject(new Unshown("preview.broken")), { once: true, signal });
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

async function image(part, { api, signal }) {
  const picture = h("img", { src: api.blob(part.id), alt: part.name, decoding: "async" });
  await loaded(picture, "load", signal);
  const zoom = h("button", { class: "preview-image", type: "button", "aria-pressed": "false", "aria-label": m("preview.zoom", { name: part.name }), on: { click: () => {
    const large = zoom.getAttribute("aria-pressed") !== "true";
    zoom.setAttribute("aria-pressed", String(large));
    if (large) zoom.parentElement.scrollTo({ left: (zoom.scrollWidth - zoom.parentElement.clientWidth) / 2, top: 0 });
  } } }, picture);
  return zoom;
}

/** A player asks for the parts it needs (Range), so a long film starts at once and takes no memory (NB-4). */
async function player(tag, part, { api, signal, fail }) {
  const element = h(tag, { controls: true, preload: "metadata", playsinline: tag === "video", src: api.blob(part.id), "aria-label": part.name });
  signal.addEventListener("abort", () => {
    element.pause();
    element.removeAttribute("src");
    element.load();
  });
  const ready = loaded(element, "loadedmetadata", signal);
  await ready;
  element.addEventListener("error", () => fail(new Unshown("preview.broken")), { signal });
  return tag === "audio" ? h("div", { class: "preview-sound" }, h("span", { class: "state-picture" }, icon("sound")), element) : element;
}

async function pdf(part, { api, signal }) {
  if (navigator.pdfViewerEnabled === false) throw new Unshown("preview.nopdf");
  const bytes = await api.bytes(part.id, { signal });
  // What only calls itself a PDF would be shown as what it is.
  if (!(await bytes.slice(0, 1024).text()).includes("%PDF-")) throw new Unshown("preview.broken");
  const address = URL.createObjectURL(new Blob([bytes], { type: "application/pdf" }));
  signal.addEventListener("abort", () => URL.revokeObjectURL(address));
  return h("iframe", { src: address, title: part.name, class: "preview-pdf" });
}

async function text(part, { api, signal }) {
  const bytes = await api.bytes(part.id, { signal, limit: longestText });
  const words = new TextDecoder("utf-8").decode(await bytes.arrayBuffer());
  return h("div", { class: "preview-text scrolls", tabindex: "0", role: "region", "aria-label": part.name },
    h("pre", { dir: "auto" }, words),
    part.size > longestText && h("p", { class: "muted" }, m("preview.cut", () => ({ size: i18n.size(longestText) }))));
}

async function calendar(part, { api, signal }) {
  const bytes = await api.bytes(part.id, { signal, limit: 1_000_000 });
  const events = readCalendar(await bytes.text());
  if (events.length === 0) throw new Unshown("preview.noevent");
  return h("div", { class: "preview-events scrolls", tabindex: "0", role: "region", "aria-label": part.name },
    events.map((event) => h("article", { class: event.cancelled ? "event cancelled" : "event" },
      event.start && h("div", { class: "event-day", "aria-hidden": "true" }, h("span", null, i18n.date(event.start.date, { month: "short" })), h("strong", null, i18n.date(event.start.date, { day: "numeric" }))),
      h("div", { class: "event-what" },
        h("h3", { dir: "auto" }, event.summary || t("preview.event")),
        event.cancelled && h("p", { class: "event-cancelled" }, m("preview.event.cancelled")),
        event.start && h("p", null, icon("calendar"), h("span", null, when(event), event.repeats && ` · ${t("preview.event.repeats")}`)),
        event.place && h("p", { dir: "auto" }, icon("place"), h("span", null, event.place)),
        (event.organizer || event.people.length > 0) && h("p", null, icon("people"), h("span", null, people(event))),
        event.text && h("p", { class: "event-text", dir: "auto" }, event.text)))));
}

function when({ start, end }) {
  const whole = { weekday: "long", day: "numeric", month: "long", year: "numeric" };
  if (start.allDay) {
    // The end of whole days is the day after (RFC 5545 section 3.6.1).
    const last = end ? new Date(end.date.getFullYear(), end.date.getMonth(), end.date.getDate() - 1) : start.date;
    return last > start.date ? `${i18n.date(start.date, whole)} – ${i18n.date(last, whole)}` : i18n.date(start.date, whole);
  }
  const from = i18n.date(start.date, { ...whole, hour: "numeric", minute: "2-digit" });
  if (!end) return from;
  const sameDay = start.date.toDateString() === end.date.toDateString();
  return `${from} – ${i18n.date(end.date, sameDay ? { hour: "numeric", minute: "2-digit" } : { ...whole, hour: "numeric", minute: "2-digit" })}`;
}

function people({ organizer, people: all }) {
  const names = [...new Set([organizer, ...all].filter(Boolean))];
  const shown = names.slice(0, 6).map((name) => `\u2068${name}\u2069`).join(", ");
  return names.length > 6 ? t("preview.event.more", { names: shown, n: names.length - 6 }) : shown;
}

async function message(part, { api, signal }) {
  const mail = await api.attachedMessage(part.id, signal);
  const from = mail.from ?? {};
  const files = (mail.attachments ?? []).filter((one) => !one.inline);
  return h("div", { class: "preview-mail scrolls", tabindex: "0", role: "region", "aria-label": part.name },
    h("h3", { dir: "auto" }, mail.subject || t("list.nosubject")),
    h("p", { class: "muted" }, h("bdi", null, from.name ? `${from.name} <${from.email}>` : from.email || t("list.nosender")), mail.sent_at && ` · ${i18n.date(new Date(mail.sent_at), { dateStyle: "long", timeStyle: "short" })}`),
    mail.to?.length > 0 && h("p", { class: "muted" }, m("thread.to", { names: mail.to.map((one) => `\u2068${one.name || one.email}\u2069`).join(", ") })),
    mailBody({ ...mail, attachments: [] }, api),
    files.length > 0 && h("p", { class: "muted preview-inner" }, icon("clip"), h("span", null, m("preview.inside", { names: files.map((one) => `\u2068${one.name}\u2069`).join(", ") }))));
}

export const viewers = {
  image, pdf, text, calendar, message,
  video: (part, context) => player("video", part, context),
  audio: (part, context) => player("audio", part, context),
};
