// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// One face for two worlds: in the shell the session belongs to `window.nacre.session`; in a plain browser it is the
// gateway's cookie, and signing in and out are navigations.

const emptySnapshot = {
  state: "unknown", reason: null, error: null, profile: null, server: "unknown", keptIn: "memory", notice: null,
};

const placeKey = "messages.place";

/** Signing in leaves the page in a plain browser; the fragment does not travel with it. */
function rememberPlace() {
  try {
    sessionStorage.setItem(placeKey, location.hash);
  } catch {
    // then the person starts in the inbox
  }
}

function returnToPlace() {
  try {
    const place = sessionStorage.getItem(placeKey);
    sessionStorage.removeItem(placeKey);
    if (place && location.hash === "") history.replaceState(null, "", place);
  } catch {
    // as above
  }
}

/** `current` is the snapshot, "change" says that it is another one. */
export class NativeSession extends EventTarget {
  #nacre;
  #serverDown = false;
  #downSince = 0;

  constructor(nacre) {
    super();
    this.#nacre = nacre;
    nacre.session.addEventListener("change", () => this.dispatchEvent(new Event("change")));
  }

  native = true;

  get current() {
    const snapshot = { ...emptySnapshot, ...this.#nacre.session.current };
    if (this.#serverDown && snapshot.state === "signedIn") snapshot.server = "unreachable";
    return snapshot;
  }

  /** What the API calls saw. The 401 itself is handled in the shell, which then says so (SE-4). */
  heard(kind, began = Infinity) {
    const down = kind === "offline";
    if (down) this.#downSince = performance.now();
    // An answer to a question asked before the failure proves nothing.
    if (down === this.#serverDown || (!down && began < this.#downSince)) return;
    this.#serverDown = down;
    this.dispatchEvent(new Event("change"));
  }

  signIn = () => this.#nacre.session.signIn();
  cancelSignIn = () => this.#nacre.session.cancelSignIn();
  reopenBrowser = () => this.#nacre.session.reopenBrowser();
  signOut = () => this.#nacre.session.signOut();

  async validate() {
    const snapshot = await this.#nacre.session.validate();
    if (snapshot?.server === "reachable") this.heard("ok");
  }
}

export class BrowserSession extends EventTarget {
  #api;

  constructor(api) {
    super();
    this.#api = api;
    returnToPlace();
    this.current = { ...emptySnapshot };
  }

  native = false;

  #set(change) {
    this.current = { ...this.current, ...change };
    this.dispatchEvent(new Event("change"));
  }

  heard(kind) {
    if (kind === "expired" && this.current.state === "signedIn") {
      this.#set({ state: "signedOut", reason: "session_expired" });
    }
    const server = kind === "offline" ? "unreachable" : "reachable";
    if (server !== this.current.server) this.#set({ server });
  }

  async validate() {
    try {
      const me = await this.#api.me();
      this.#set({
        state: "signedIn", reason: null,
        profile: { id: me.id, email: me.email, name: me.full_name, language: me.language },
      });
    } catch (error) {
      if (this.current.state !== "unknown") return;
      if (error.kind === "expired") this.#set({ state: "signedOut" });
      else this.#set({ state: "signedOut", reason: "failed", error: { code: error.kind === "offline" ? "unreachable" : error.code, message: error.message } });
    }
  }

  async signIn() {
    rememberPlace();
    location.assign(`${this.#api.base}authenticate/?returnTo=${encodeURIComponent(location.pathname)}`);
  }

  async cancelSignIn() {}
  async reopenBrowser() {}

  async signOut() {
    location.assign(`${this.#api.base}logout/`);
    return { outcome: "signedOut", sharedSessionMayLiveOn: false };
  }
}
