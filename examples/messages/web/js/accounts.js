// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// Several accounts in one app: who is there, going over to one, adding one. Each starts the app anew, so that nothing of
// one account is ever on another's page. In a plain browser, and in an app with one account, nothing of it exists.

import { h, icon } from "../shared/dom.js";
import { m, t } from "./i18n.js";

const accounts = window.nacre?.can("accounts") ? window.nacre.accounts : null;

/** The rows of the account menu: everybody, the one in use marked, and another one. `close` ends the menu. */
export function accountRows({ toaster, close }) {
  if (!accounts) return null;
  const { list, current } = accounts;
  const choose = (account) => {
    close();
    if (account.id !== current?.id) go(toaster, () => accounts.switch(account.id));
  };
  return h("div", { class: "accounts" },
    list.length > 1 && h("ul", { "aria-label": m("accounts.list") },
      list.map((account) => h("li", null, row(account, account.id === current?.id, () => choose(account))))),
    h("button", { class: "menu-row", type: "button", data: { account: "add" }, on: { click: () => (close(), go(toaster, () => accounts.add())) } },
      icon("people"), h("span", { class: "grow" }, m("accounts.add"))));
}

/** Below a page that has no account menu: the way back to whoever else is here. */
export function otherAccounts({ toaster }) {
  const others = (accounts?.list ?? []).filter(({ id, used, name, email }) => id !== accounts.current?.id && (used || name || email));
  if (others.length === 0) return null;
  return h("nav", { class: "accounts other-accounts", "aria-labelledby": "other-accounts" },
    h("h2", { id: "other-accounts" }, m("accounts.others")),
    h("ul", null, others.map((account) => h("li", null, row(account, false, () => go(toaster, () => accounts.switch(account.id)))))));
}

function row(account, isCurrent, run) {
  const { id, name, email, signedIn } = account;
  // Where it tells them apart, the server, too.
  const servers = new Set(accounts.list.map(({ server }) => server).filter(Boolean));
  const lines = [name && email, servers.size > 1 && account.server?.replace(/^https?:\/\//, "")].filter(Boolean);
  return h("button", { class: "menu-row account-row", type: "button", "aria-current": isCurrent && "true", autofocus: isCurrent, data: { account: id }, on: { click: run } },
    h("nc-avatar", { size: "small", name: name ?? "", email: email ?? "" }),
    h("span", { class: "grow account-lines" },
      h("bdi", { class: "one-line" }, name || email || m("accounts.new")),
      lines.map((line) => h("bdi", { class: "one-line muted" }, line)),
      !signedIn && h("span", { class: "one-line muted" }, m("accounts.out"))),
    isCurrent && icon("check"));
}

async function go(toaster, leave) {
  try {
    await leave(); // the page goes
  } catch (error) {
    toaster.show({ text: t(error.code === "accounts.too_many" ? "accounts.many" : "accounts.failed"), dismissLabel: t("app.dismiss") });
  }
}
