// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// What an answer or a forwarded message begins with: people, subject, quoted text.

import { unique } from "./address.js";
import { i18n, t } from "./i18n.js";

const answerMark = /^(?:re|rép?|aw|antw|sv|vs|ref)\s*(?:\[\d+\])?\s*:\s*/iu;
const forwardMark = /^(?:fwd?|tr|wg|enc|rv|i)\s*:\s*/iu;

/** An identifier for a new draft; the page makes it, so that saving twice makes one draft. */
export function newDraftId() {
  return crypto.randomUUID();
}

/** `kind`: "reply", "replyAll" or "forward". `me`: the person's own address. */
export function answer(kind, message, { subject, me }) {
  const own = (person) => me && person.email?.toLowerCase() === me.toLowerCase();
  const from = message.from ?? { name: "", email: "" };
  // An answer to one's own message goes on to those it went to.
  const mine = own(from);
  const to = kind === "forward" ? [] : mine ? message.to : [from];
  const cc = kind === "replyAll" ? (mine ? message.cc : [...message.to, ...message.cc].filter((person) => !own(person))) : [];
  const people = unique((to ?? []).filter((person) => person.email));
  return {
    to: people, cc: unique((cc ?? []).filter((person) => person.email && !people.some((one) => one.email.toLowerCase() === person.email.toLowerCase()))), bcc: [],
    subject: marked(kind, subject),
    text: kind === "forward" ? forwarded(message, subject) : quoted(message),
    in_reply_to: message.id, forward_of: kind === "forward" ? message.id : null, attachments: [],
  };
}

function marked(kind, subject) {
  const plain = (subject ?? "").trim();
  if (kind === "forward") return forwardMark.test(plain) ? plain : `${t("compose.mark.forward")} ${plain}`.trim();
  return answerMark.test(plain) ? plain : `${t("compose.mark.reply")} ${plain}`.trim();
}

/** The words of a message, whatever its form. */
export function wordsOf(message) {
  if (message.text?.trim()) return message.text.replace(/\r\n?/g, "\n").replace(/\s+$/u, "");
  if (!message.html) return "";
  const page = new DOMParser().parseFromString(message.html, "text/html");
  for (const element of page.querySelectorAll("script, style, title, template, noscript")) element.remove();
  for (const element of page.querySelectorAll("br")) element.replaceWith("\n");
  for (const element of page.querySelectorAll("p, div, tr, li, h1, h2, h3, h4, blockquote, table")) element.append("\n");
  return page.body.textContent.replace(/[ \t\u00a0]+/g, " ").replace(/ ?\n ?/g, "\n").replace(/\n{3,}/g, "\n\n").trim();
}

const who = (person) => (person?.name && person?.email ? `${person.name} <${person.email}>` : (person?.name || person?.email || t("list.nosender")));

function quoted(message) {
  const date = i18n.date(new Date(message.sent_at), { dateStyle: "long", timeStyle: "short" });
  const lines = wordsOf(message).split("\n").map((line) => (line.startsWith(">") ? `>${line}` : `> ${line}`.trimEnd()));
  return `\n\n${t("compose.quote", { date, name: who(message.from) })}\n${lines.join("\n")}\n`;
}

function forwarded(message, subject) {
  const date = i18n.date(new Date(message.sent_at), { dateStyle: "long", timeStyle: "short" });
  const head = [
    t("compose.forwarded"),
    t("compose.head.from", { value: who(message.from) }),
    t("compose.head.date", { value: date }),
    t("compose.head.subject", { value: subject ?? "" }),
    t("compose.head.to", { value: (message.to ?? []).map(who).join(", ") }),
  ];
  return `\n\n${head.join("\n")}\n\n${wordsOf(message)}\n`;
}
