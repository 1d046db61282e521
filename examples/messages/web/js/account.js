// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// The account menu, the version line, signing out.

import { h, icon } from "../shared/dom.js";
import { openSheet } from "../shared/elements.js";
import { accountRows } from "./accounts.js";
import { chooseLanguage, i18n, m, t } from "./i18n.js";
import { languageNames, languages } from "./strings.js";

export function languageSwitch() {
  const group = h("div", { class: "segmented", role: "group", "aria-label": m("app.language") });
  for (const language of languages) {
    group.append(h("button", {
      type: "button", lang: language, "aria-pressed": String(language === i18n.language), data: { language },
      on: { click: () => {
        chooseLanguage(language);
        for (const button of group.children) button.setAttribute("aria-pressed", String(button.dataset.language === language));
      } },
    }, languageNames[language]));
  }
  return group;
}

/** UP-11: "Version X" and "Web interface Y" in the shell, "Version Y" in a browser; a click copies the report. */
export function versionLine({ toaster, className = "version" }) {
  const web = document.querySelector("meta[name=version]")?.content ?? "0";
  const version = window.nacre?.version;
  const report = version?.report ?? `web ${web} · browser`;
  const copy = async () => {
    let copied = true;
    try {
      await navigator.clipboard.writeText(report);
    } catch {
      copied = copyOldWay(report);
    }
    toaster.show({ text: t(copied ? "version.copied" : "version.notcopied", { report }), dismissLabel: t("app.dismiss") });
  };
  return h("button", { class: className, type: "button", title: m("version.copy"), on: { click: copy } },
    h("span", { class: "version-text" },
      h("span", null, m("version.app", { version: version?.native?.version ?? web })),
      version && h("span", null, m("version.web", { version: version.web?.version ?? web }))),
    icon("copy"), h("span", { class: "hidden-text" }, ", ", m("version.copy")));
}

/** Where the clipboard interface is refused (no permission, not focused). */
function copyOldWay(text) {
  const field = h("textarea", { class: "hidden-text", readonly: true, "aria-hidden": "true" });
  field.value = text;
  (document.querySelector("dialog[open]") ?? document.body).append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  return done;
}

export function accountName(profile) {
  return profile?.name || profile?.email || t("account.unknown");
}

/** Opens the account menu; resolves to "help", "import", "signOut" or nothing. */
export function openAccountMenu({ session, toaster, newMail, updates, returnTo }) {
  const { profile, server, keptIn } = session.current;
  const note = session.native && keptIn === "memory" ? "account.memory" : session.native && keptIn === "passphrase" ? "account.passphrase" : null;
  return openSheet({
    label: t("account.title"), className: "account-menu", returnTo,
    build: (close) => [
      h("div", { class: "account-head" },
        h("nc-avatar", { size: "large", name: profile?.name ?? "", email: profile?.email ?? "" }),
        h("div", { class: "account-who" },
          h("h2", { class: "one-line" }, h("bdi", null, profile ? accountName(profile) : m("account.unknown"))),
          profile?.email && h("p", { class: "muted one-line" }, h("bdi", null, profile.email)),
          server === "unreachable" && h("p", { class: "account-offline" }, icon("offline"), h("span", null, m("account.cached"))))),
      note && h("p", { class: "account-note" }, icon("info"), h("span", null, m(note))),
      updates?.note(),
      accountRows({ toaster, close }),
      h("div", { class: "menu-row" }, icon("globe"), h("span", { class: "grow" }, m("app.language")), languageSwitch()),
      newMail?.row(),
      h("button", { class: "menu-row", type: "button", on: { click: () => close("import") } },
        icon("import"), h("span", { class: "grow" }, m("import.open"))),
      h("button", { class: "menu-row", type: "button", on: { click: () => close("help") } },
        icon("keyboard"), h("span", { class: "grow" }, m("account.help")), h("kbd", { "aria-hidden": "true" }, "?")),
      h("button", { class: "menu-row", type: "button", on: { click: () => close("signOut") } },
        icon("sign-out"), h("span", { class: "grow" }, m("account.signout"))),
      versionLine({ toaster, className: "menu-row version" }),
    ],
  });
}

/** Asks before signing out; resolves to true when confirmed (LK-8: names what ends). */
export async function confirmSignOut({ session, returnTo }) {
  const { profile } = session.current;
  const answer = await openSheet({
    labelledBy: "sign-out-title", kind: "alertdialog", returnTo,
    build: (close) => [
      h("h2", { id: "sign-out-title" }, m("signout.title")),
      h("p", { class: "dialog-text" }, m("signout.text", () => ({ email: profile?.email ?? accountName(profile) }))),
      h("p", { class: "dialog-text" }, m("signout.shared")),
      h("div", { class: "dialog-actions" },
        h("button", { class: "button secondary", type: "button", on: { click: () => close(false) } }, m("signout.stay")),
        h("button", { class: "button danger", type: "button", on: { click: () => close(true) } }, m("account.signout"))),
    ],
  });
  return answer === true;
}
