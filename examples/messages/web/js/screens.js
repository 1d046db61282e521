// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// The pages around the session: signed out, signing in, cancelled, failed, expired, locked. Each says what is the case
// and has the one thing to do next. The same card lies over the kept page when a session ends in mid-work.

import { h, icon } from "../shared/dom.js";
import { languageSwitch, versionLine } from "./account.js";
import { m } from "./i18n.js";

/** Reasons we have a sentence for, by the error's open code; any other gets the general one with its code. */
const failures = {
  network: ["transport.unreachable", "transport.timeout", "transport.tls", "transport.protocol", "sign_in.server", "unreachable"],
  timeout: ["sign_in.expired"],
  refused: ["sign_in.refused"],
  limit: ["sign_in.too_many"],
  browser: ["browser.absent"],
  store: ["sign_in.store", "secrets.absent", "secrets.damaged", "secrets.locked"],
};

export function failureKind(code) {
  return Object.keys(failures).find((kind) => failures[kind].includes(code)) ?? "other";
}

/** Which page a snapshot asks for; null: the mail itself. */
export function screenFor(snapshot) {
  if (snapshot.state === "signedIn") return null;
  if (snapshot.state !== "signedOut") return snapshot.state;
  return { session_expired: "expired", session_revoked: "revoked", failed: "failed", cancelled: "cancelled" }[snapshot.reason] ?? "signedOut";
}

/**
 * The content of one page. `context`: session, toaster, act {signIn, cancel, reopen, retry}, sharedMayLiveOn,
 * `kept`: the mail is still behind it.
 */
export function screenCard(kind, context) {
  const { session, act, kept } = context;
  const { error, profile, reason } = session.current;
  const button = (style, label, run, drawing) =>
    h("button", { class: `button large ${style}`, type: "button", on: { click: run } }, drawing && icon(drawing), label);
  const signIn = (label = m("signin.button")) => button("primary", label, act.signIn);
  const heading = (text) => h(kept ? "h2" : "h1", { id: "screen-title", tabindex: "-1" }, text);
  const how = session.native && h("p", { class: "screen-how" }, m("signin.how"));
  const quiet = (drawing, text) => h("p", { class: "screen-note", role: "status" }, icon(drawing), h("span", null, text));

  // Cancelled in mid-work: the page is still there, and so is the need to sign in.
  switch (kept && kind === "cancelled" ? "expired" : kind) {
    case "unknown":
      return [mark(), h("p", { class: "screen-how", role: "status" }, m("app.opening"))];
    case "signingIn":
      return [
        picture("browser", "waiting"), heading(m("signin.opening")), h("p", { class: "screen-text", role: "status" }, m("signin.opening.text")),
        h("div", { class: "wait-line", role: "progressbar", "aria-label": m("signin.waiting") }),
        h("div", { class: "screen-actions" }, button("secondary", m("signin.reopen"), act.reopen, "external"), button("quiet", m("app.cancel"), act.cancel)),
      ];
    case "failed": {
      const why = failureKind(error?.code);
      return [
        picture("alert", "bad"), heading(m("signin.failed")), h("p", { class: "screen-text", role: "alert" }, m(`signin.failed.${why}`)),
        why === "other" && error?.code && h("p", { class: "screen-code" }, m("signin.code", { code: error.code })),
        h("div", { class: "screen-actions" }, signIn(m("app.retry"))), how,
      ];
    }
    case "expired":
    case "revoked":
      return [
        kept ? picture("lock") : mark(), heading(m(kind === "revoked" ? "signin.revoked" : "signin.expired")),
        h("p", { class: "screen-text", role: "alert" }, m(kind === "revoked" ? "signin.revoked.text" : "signin.expired.text")),
        kind === "cancelled" && quiet("info", m("signin.cancelled")),
        h("div", { class: "screen-actions" },
          signIn(profile?.name ? m("signin.continue", { name: `\u2068${profile.name}\u2069` }) : m("signin.again"))), how,
      ];
    case "locked":
      return [
        picture("lock"), heading(m("locked.title")), h("p", { class: "screen-text" }, m("locked.text")),
        h("div", { class: "screen-actions" }, button("primary", m("locked.retry"), act.retry)),
      ];
    default: // signed out, with or without a word about how it came to that
      return [
        mark(), heading(m("app.name")), h("p", { class: "screen-lead" }, m("app.what")),
        kind === "cancelled" && quiet("info", m("signin.cancelled")),
        context.sharedMayLiveOn ? quiet("info", m("signin.shared")) : reason === "signed_out" && quiet("check", m("signin.signedout")),
        h("div", { class: "screen-actions" }, signIn()), how,
      ];
  }
}

export function screenFoot({ toaster }) {
  return h("footer", { class: "screen-foot" }, languageSwitch(), versionLine({ toaster }));
}

function mark() {
  return h("img", { class: "mark", src: "icon.svg", width: "80", height: "80", alt: "" });
}

function picture(name, tone = "") {
  return h("span", { class: `state-picture ${name} ${tone}` }, icon(name));
}

export const screenTitle = (kind) =>
  ({ signingIn: "signin.opening", failed: "signin.failed", expired: "signin.expired", revoked: "signin.revoked", locked: "locked.title" })[kind] ?? "app.name";

