// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// Start: which session, which page, and what lasts (banners). Everything else has its own module.

import { add, afterPatience, fill, h, icon } from "../shared/dom.js";
import "../shared/elements.js";
import { confirmSignOut, openAccountMenu } from "./account.js";
import { otherAccounts } from "./accounts.js";
import { Api } from "./api.js";
import { forgetKeptDrafts } from "./draft.js";
import { openHelp } from "./help.js";
import { i18n, m, settleLanguage, t } from "./i18n.js";
import { openImport } from "./import-view.js";
import { MailApp } from "./mail-app.js";
import { NewMail } from "./new-mail.js";
import { screenCard, screenFoot, screenFor, screenTitle } from "./screens.js";
import { BrowserSession, NativeSession } from "./session.js";
import { Updates } from "./updates.js";

class App {
  #mail = null;
  #owner = null; // whose mail `#mail` shows
  #screen = null;
  #sharedMayLiveOn = false;
  #dismissedNotice = null;
  #waiting = null;
  #downSince = null;
  #lastRecovery = 0;

  constructor(root, toaster, alarm) {
    this.root = root;
    this.toaster = toaster;
    this.alarm = alarm;
    const native = window.nacre !== undefined;
    this.api = new Api({ origin: native ? window.nacre.api.origin : "", native, onAnswer: (kind, began) => this.session?.heard(kind, began) });
    this.session = native ? new NativeSession(window.nacre) : new BrowserSession(this.api);
    this.updates = new Updates(toaster);
    this.updates.addEventListener("change", () => this.#showBanners(this.session.current));
    this.session.addEventListener("change", () => this.show());
    i18n.onChange(() => this.#mail?.showAccount());
    window.addEventListener("online", () => this.retry());
    setInterval(() => {
      if (this.#downSince !== null && document.visibilityState === "visible") this.retry();
    }, 20_000);
    settleLanguage(this.session.current.profile);
    this.show();
    this.updates.started();
    if (!native) this.session.validate();
  }

  show() {
    const snapshot = this.session.current;
    settleLanguage(snapshot.profile);
    const kind = screenFor(snapshot);
    const changed = snapshot.profile && this.#owner && snapshot.profile.id !== this.#owner;
    // After signing out, or for somebody else, nothing of the earlier account stays on the page.
    const over = snapshot.state === "signedOut" && !["session_expired", "session_revoked", "failed", "cancelled"].includes(snapshot.reason);
    if (this.#mail && (changed || over)) this.#dropMail();
    if (over || changed) forgetKeptDrafts();
    // Signed in, but not yet known as whom: the mail behind may be somebody else's, so it stays behind.
    if (kind === null && this.#mail && this.#owner && !snapshot.profile) this.#showScreen("unknown", snapshot);
    else if (kind === null) this.#showMail(snapshot);
    else this.#showScreen(kind, snapshot);
    this.#showBanners(snapshot);
    this.#followServer(kind === null ? snapshot.server : "unknown");
  }

  /** Fills what is missing once the server is back; not in a hurry, since "back" may last for one answer only. */
  #followServer(server) {
    if (server === "unreachable") {
      this.#downSince ??= performance.now();
    } else if (server === "reachable" && this.#downSince !== null) {
      const down = performance.now() - this.#downSince;
      this.#downSince = null;
      if (down > 1500) this.toaster.show({ text: t("offline.back"), dismissLabel: t("app.dismiss") });
      if (performance.now() - this.#lastRecovery > 10_000) this.#mail?.refresh();
      this.#lastRecovery = performance.now();
    } else if (server === "unknown") {
      this.#downSince = null;
    }
  }

  #dropMail() {
    this.#mail?.end();
    this.#mail = null;
    this.#owner = null;
    this.toaster.clear();
  }

  #showMail(snapshot) {
    const back = this.#screen !== null;
    this.#removeScreen();
    this.#sharedMayLiveOn = false;
    this.#owner ??= snapshot.profile?.id ?? null;
    if (!this.#mail) {
      const session = this.session;
      this.#mail = new MailApp({
        api: this.api, session, toaster: this.toaster,
        dialogs: { openAccount: (returnTo) => this.#account(returnTo), openHelp: () => openHelp({ toaster: this.toaster }), openImport: (returnTo) => this.#import(returnTo) },
      });
      this.root.append(this.#mail.element);
      this.#mail.showAccount();
      this.#mail.store.loadFolders();
      this.#mail.follow();
      this.newMail ??= new NewMail({ api: this.api, session, onNew: () => this.#mail?.refresh() });
      return;
    }
    this.#mail.showAccount();
    if (back) {
      this.#mail.element.inert = false;
      this.#mail.refresh();
      this.#mail.list.focus();
    }
  }

  #showScreen(kind, snapshot) {
    const kept = this.#mail !== null;
    const key = `${kind} ${kept} ${snapshot.error?.code} ${snapshot.reason} ${this.#sharedMayLiveOn}`;
    if (this.#screen?.dataset.key === key) return;
    const again = this.#screen !== null;
    document.querySelector("dialog[open]")?.close();
    this.#removeScreen();
    const card = h("div", { class: "screen-card" });
    const build = () =>
      fill(card, screenCard(kind, {
        session: this.session, toaster: this.toaster, kept, sharedMayLiveOn: this.#sharedMayLiveOn,
        act: { signIn: () => this.signIn(), cancel: () => this.session.cancelSignIn(), reopen: () => this.session.reopenBrowser(), retry: () => this.retry() },
      }));
    if (kept) {
      this.#mail.element.inert = true;
      this.#screen = h("div", { class: "screen kept", role: "alertdialog", "aria-modal": "true", "aria-labelledby": "screen-title" }, card);
    } else {
      this.#screen = h("main", { class: "screen" }, card, kind !== "unknown" && [otherAccounts({ toaster: this.toaster }), screenFoot({ toaster: this.toaster })]);
    }
    this.#screen.dataset.key = key;
    this.#screen.dataset.kind = kind;
    if (kind === "unknown") this.#waiting = afterPatience(build);
    else build();
    this.root.append(this.#screen);
    document.title = kind === "unknown" || kind === "signedOut" || kind === "cancelled" ? t("app.name") : `${t(screenTitle(kind))} – ${t("app.name")}`;
    if (kind === "expired" || kind === "revoked") this.alarm.textContent = t(`signin.${kind}.text`);
    else this.alarm.textContent = "";
    if (again || kept) card.querySelector("#screen-title")?.focus({ preventScroll: true });
  }

  #removeScreen() {
    this.#waiting?.();
    this.#waiting = null;
    this.#screen?.remove();
    this.#screen = null;
    this.alarm.textContent = "";
  }

  #showBanners(snapshot) {
    if (!this.#mail) return;
    const down = snapshot.server === "unreachable";
    const notice = snapshot.notice && snapshot.notice !== this.#dismissedNotice ? snapshot.notice : null;
    const key = `${down} ${notice} ${this.updates.key}`;
    if (this.#mail.banner.dataset.key === key) return;
    this.#mail.banner.dataset.key = key;
    fill(this.#mail.banner,
      this.updates.ready && this.updates.banner(),
      down && h("div", { class: "banner", role: "status" },
        icon("offline"),
        h("p", null, h("span", { class: "for-wide" }, m("offline.banner")), h("span", { class: "for-phone" }, m("offline.banner.short"))),
        h("button", { class: "button quiet", type: "button", on: { click: () => this.retry() } }, m("app.retry"))),
      notice && h("div", { class: "banner", role: "status" },
        // The shell speaks English; what we have in the person's language is said in it.
        icon("info"), h("p", { dir: "auto" }, snapshot.keptIn === "memory" && /keyring/i.test(notice) ? m("account.memory") : notice),
        h("button", { class: "icon-button", type: "button", "aria-label": m("app.dismiss"), on: { click: () => {
          this.#dismissedNotice = notice;
          this.show();
        } } }, icon("close"))));
  }

  async retry() {
    await this.session.validate().catch(() => {});
    if (this.session.current.state === "signedIn") this.#mail?.refresh();
  }

  async signIn() {
    this.#sharedMayLiveOn = false;
    await this.session.signIn()?.catch?.(() => {}); // the snapshot says what came of it
  }

  async #account(returnTo) {
    const choice = await openAccountMenu({ session: this.session, toaster: this.toaster, newMail: this.newMail, updates: this.updates, returnTo });
    if (choice === "help") openHelp({ returnTo, toaster: this.toaster });
    if (choice === "import") this.#import(returnTo);
    if (choice === "signOut" && (await confirmSignOut({ session: this.session, returnTo }))) this.signOut();
  }

  async #import(returnTo) {
    const result = await openImport({ api: this.api, returnTo });
    if (!result) return;
    this.#mail?.refresh();
    if (result.show) this.#mail?.goFolder(result.show);
  }

  async signOut() {
    try {
      const answer = await this.session.signOut();
      this.#sharedMayLiveOn = answer?.sharedSessionMayLiveOn === true;
      this.show();
    } catch {
      this.toaster.show({ text: t("signout.failed"), dismissLabel: t("app.dismiss") });
    }
  }
}

// A file dropped beside its place would take the page's place.
for (const type of ["dragover", "drop"]) window.addEventListener(type, (event) => event.preventDefault());

const toaster = h("nc-toaster");
const alarm = h("div", { class: "hidden-text", role: "alert", "aria-live": "assertive" });
add(document.body, [toaster, alarm]);
new App(document.getElementById("app"), toaster, alarm);
