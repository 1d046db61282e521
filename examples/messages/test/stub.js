// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// A stand-in for the shell's `window.nacre`, added by the test server only. The query says what state it shows:
// ?snapshot=<JSON>&api=<origin>&plain=1 (a plain browser: nothing is defined).
(() => {
  "use strict";
  const query = new URLSearchParams(location.search);
  if (query.has("plain")) return;
  const root = document.documentElement;
  const phone = matchMedia("(max-width: 639.98px)");
  const mark = () => root.toggleAttribute("data-phone", phone.matches);
  phone.addEventListener("change", mark);
  mark();
  root.toggleAttribute("data-touch", query.has("touch"));
  root.dataset.platform = "linux";
  root.classList.add("native");

  const profile = { id: "u1", email: "camille.moreau@ville.example", name: "Camille Moreau", language: query.get("language") };
  const session = new EventTarget();
  session.current = {
    state: "signedIn", reason: null, error: null, profile, server: "reachable", keptIn: "secret-service", notice: null,
    ...JSON.parse(query.get("snapshot") ?? "{}"),
  };
  const calls = [];
  /** What the tests drive: another snapshot, as the shell would send it. */
  const become = (change) => {
    session.current = { ...session.current, ...change };
    session.dispatchEvent(new CustomEvent("change", { detail: session.current }));
  };
  Object.assign(session, {
    async signIn() {
      calls.push("signIn");
      become({ state: "signingIn", reason: null, error: null });
      return new Promise(() => {});
    },
    async cancelSignIn() {
      calls.push("cancelSignIn");
      become({ state: "signedOut", reason: "cancelled" });
    },
    async reopenBrowser() {
      calls.push("reopenBrowser");
    },
    async signOut() {
      calls.push("signOut");
      become({ state: "signedOut", reason: "signed_out", profile: null });
      return { outcome: "signedOut", sharedSessionMayLiveOn: query.has("livesOn") };
    },
    async validate() {
      calls.push("validate");
      return session.current;
    },
  });
  const updates = Object.assign(new EventTarget(), {
    state: { phase: "idle", running: "0.1.0", builtIn: true, staged: null, received: 0, size: 0, failed: null, held: false,
      ...JSON.parse(query.get("updates") ?? "{}") },
    /** Every page confirms its start; only whoever asks counts that. */
    confirmed: 0,
    async confirm() {
      updates.confirmed += 1;
    },
    async apply() {
      calls.push("apply");
      if (updates.refusal) throw Object.assign(new Error("refused"), { code: updates.refusal });
      return new Promise(() => {});
    },
  });
  /** Another state of the updates, as the shell would send it. */
  const update = (change) => {
    updates.state = { ...updates.state, ...change };
    updates.dispatchEvent(new CustomEvent("change", { detail: updates.state }));
  };
  const people = JSON.parse(query.get("accounts") ?? "null");
  const accounts = people && Object.assign(new EventTarget(), {
    list: people,
    current: people[0],
    async add() {
      return leave("add");
    },
    async switch(id) {
      return leave(`switch ${id}`);
    },
  });
  const leave = (call) => {
    calls.push(call);
    if (accounts.refusal) throw Object.assign(new Error("refused"), { code: accounts.refusal });
    return new Promise(() => {});
  };
  window.nacre = Object.freeze({
    platform: "linux",
    api: Object.freeze({ origin: query.get("api") ?? "" }),
    can: (name) => name === "print" || (name === "accounts" && accounts !== null),
    version: Object.freeze({
      native: { version: "1.2.0", build: "42" }, web: { version: "0.1.0", stamp: "a1b2c3d" }, platform: "linux",
      report: "app 1.2.0 (42) · web 0.1.0 (a1b2c3d) · linux",
    }),
    session,
    ...(accounts && { accounts }),
    updates,
  });
  window.testing = { accounts, become, calls, profile, update, updates };
})();
