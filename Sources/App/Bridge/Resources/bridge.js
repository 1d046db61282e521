// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
//
// The page's half of the bridge: main world, document start, top frame of app.origin only. It offers what a bundle
// built for Capacitor 8 expects of its host, and `window.nacre`. Written from the contract, not from their code.
//
// Whom it trusts: this world *is* the page and may use everything here, so nothing below is a guard against the page.
// Frames are kept out elsewhere: neither script is injected there, the message handler exists in the isolated world only,
// and the app checks origin and frame of every message again. The event name that joins the two worlds is random for
// each load, made here and told once, before any script of the page runs, so that no script can meet it by guessing.
(() => {
  "use strict";
  const configuration = /*nacre:configuration*/ null;
  // Nothing of it in a window that the page has opened: that is a page of the web, as in a browser.
  if (!configuration || window.top !== window || window.opener) return;

  const { platform, pluginHeaders } = configuration;
  const send = document.dispatchEvent.bind(document);
  const listen = document.addEventListener.bind(document);
  const unlisten = document.removeEventListener.bind(document);
  const { parse, stringify } = JSON;
  const Event = CustomEvent;

  // -- The line to the isolated world.

  const channel = "nacre-" + crypto.randomUUID();
  const waiting = [];
  let connected = false;

  const post = (message) => {
    const text = stringify(message);
    // Here rather than in the app: so much text would have to be copied to it first.
    if (text.length > configuration.largest) {
      const limit = `${configuration.largest >> 20} MB`;
      throw new CapacitorException(`The message is larger than ${limit}; send bulk data with fetch.`, "bridge.too_large");
    }
    if (connected) send(new Event(channel + "-out", { detail: text }));
    else waiting.push(text);
  };
  const greet = () => send(new Event("nacre-hello", { detail: channel }));
  const connect = () => {
    if (connected) return;
    connected = true;
    unlisten("nacre-here", greet);
    for (const text of waiting.splice(0)) send(new Event(channel + "-out", { detail: text }));
  };
  listen(channel + "-ready", connect, { once: true });
  listen("nacre-here", greet);
  greet();

  // -- Calls and their results.

  const pending = new Map();
  let lastId = Math.floor(Math.random() * 0x7fffffff);

  class CapacitorException extends Error {
    constructor(message, code, data) {
      super(message);
      this.code = code;
      this.data = data;
    }
  }

  const exception = (error) => {
    const made = new CapacitorException(error.message, error.code, error.data);
    for (const key of Object.keys(error)) if (key !== "message") made[key] = error[key];
    return made;
  };

  /** Sends a call; `stored` is what gets its results: `{callback}` or `{resolve, reject}`, or nobody. */
  const toNative = (pluginId, methodName, options, stored) => {
    let callbackId = "-1";
    if (methodName === "removeListener") {
      // The app stops sending after a removal; what is already on its way must not arrive either.
      pending.delete(options?.callbackId);
      stored = undefined;
    }
    if (stored && (typeof stored.callback === "function" || typeof stored.resolve === "function")) {
      callbackId = String(++lastId);
      pending.set(callbackId, stored);
    }
    try {
      post({ type: "message", callbackId, pluginId, methodName, options: options ?? {} });
    } catch (error) {
      // Options that JSON or the bridge cannot carry: the call settles all the same.
      pending.delete(callbackId);
      if (stored?.reject) stored.reject(error);
      else throw error;
    }
    return callbackId;
  };

  const fromNative = (result) => {
    const stored = pending.get(result.callbackId);
    if (!stored) return;
    const error = result.success ? null : exception(result.error ?? { message: "The call failed." });
    if (typeof stored.callback === "function") {
      if (result.save === false) pending.delete(result.callbackId);
      if (error) stored.callback(null, error);
      else stored.callback(result.data);
      return;
    }
    pending.delete(result.callbackId);
    if (error) stored.reject(error);
    else stored.resolve(result.data);
  };

  listen(channel + "-in", (event) => {
    const message = parse(event.detail);
    try {
      capacitor.fromNative(message);
    } catch (error) {
      capacitor.handleError(error);
    }
  });

  const nativePromise = (plugin, method, options) =>
    new Promise((resolve, reject) => void capacitor.toNative(plugin, method, options, { resolve, reject }));

  const nativeCallback = (plugin, method, options, callback) => {
    if (typeof options === "function") [options, callback] = [undefined, options];
    return capacitor.toNative(plugin, method, options, callback ? { callback } : undefined);
  };

  const removeListener = (plugin, callbackId, eventName) =>
    void capacitor.toNative(plugin, "removeListener", { callbackId, eventName });

  const addListener = (plugin, eventName, callback) => {
    const callbackId = capacitor.nativeCallback(plugin, "addListener", { eventName }, callback);
    return { remove: async () => removeListener(plugin, callbackId, eventName) };
  };

  // -- window.Capacitor.

  const createEvent = (name, data) => {
    const made = new window.Event(name, { bubbles: false, cancelable: false });
    return Object.assign(made, data);
  };

  const triggerEvent = (name, target, data) => {
    const made = createEvent(name, data);
    if (target === "document") return document.dispatchEvent(made);
    if (target === "window") return window.dispatchEvent(made);
    return document.querySelector(target)?.dispatchEvent(made) ?? false;
  };

  const handleError = (error) => {
    const report = {
      message: String(error?.message ?? error).slice(0, 4000),
      errorObject: String(error?.stack ?? "").slice(0, 16000),
      url: location.pathname, // never the query: it may hold what must not be logged
    };
    post({ type: "js.error", error: report });
    console.error(error);
  };

  const convertFileSrc = (path) => {
    if (typeof path !== "string") return path;
    const base = configuration.serverUrl;
    if (path.startsWith("/")) return `${base}/_capacitor_file_${path}`;
    if (path.startsWith("file://")) return `${base}/_capacitor_file_${path.slice("file://".length)}`;
    if (path.startsWith("content://")) return `${base}/_capacitor_content_/${path.slice("content://".length)}`;
    return path;
  };

  const pluginFor = (header) => {
    const plugin = {};
    for (const { name, rtype } of header.methods) {
      plugin[name] =
        rtype === "promise"
          ? (options) => nativePromise(header.name, name, options)
          : (options, callback) => nativeCallback(header.name, name, options, callback);
    }
    plugin.addListener = (eventName, callback) => addListener(header.name, eventName, callback);
    return plugin;
  };

  const unimplemented = (plugin, method) =>
    new CapacitorException(`"${plugin}.${method}()" is not implemented on ${platform}`, "UNIMPLEMENTED");

  const headerOf = (name) => pluginHeaders.find((header) => header.name === name);

  const capacitor = Object.assign(window.Capacitor ?? {}, {
    DEBUG: configuration.debug,
    isLoggingEnabled: configuration.debug,
    PluginHeaders: pluginHeaders,
    Plugins: Object.fromEntries(pluginHeaders.map((header) => [header.name, pluginFor(header)])),
    Exception: CapacitorException,
    getPlatform: () => platform,
    isNativePlatform: () => true,
    isPluginAvailable: (name) => headerOf(name) !== undefined,
    // For bundles without @capacitor/core, which brings its own and replaces this one.
    registerPlugin: (name) => {
      const known = headerOf(name) ? pluginFor(headerOf(name)) : {};
      return new Proxy(known, {
        get: (target, key) => {
          if (key in target || typeof key !== "string" || key === "then" || key === "toJSON") return target[key];
          return () => Promise.reject(unimplemented(name, key));
        },
      });
    },
    convertFileSrc,
    getServerUrl: () => configuration.serverUrl,
    toNative,
    fromNative,
    nativePromise,
    nativeCallback,
    addListener,
    removeListener,
    createEvent,
    triggerEvent,
    handleError,
    handleWindowError: (message, url, line, col, error) => void handleError(error ?? message),
    withPlugin: () => {},
    logJs: () => {},
    logToNative: () => {},
    logFromNative: () => {},
  });
  window.Capacitor = capacitor;
  window.CapacitorCustomPlatform = { name: platform, plugins: {} };
  window.WEBVIEW_SERVER_URL = configuration.serverUrl;

  // What older bundles listen to.
  navigator.app = { exitApp: () => nativePromise("App", "exitApp") };
  const addDocumentListener = document.addEventListener;
  document.addEventListener = function (name, handler, ...rest) {
    if (this === document && name === "deviceready" && handler) {
      queueMicrotask(() => (handler.handleEvent ?? handler).call(handler, createEvent("deviceready")));
    }
    if (this === document && name === "backbutton") {
      addListener("App", "backButton", () => triggerEvent("backbutton", "document"));
    }
    return addDocumentListener.call(this, name, handler, ...rest);
  };

  // -- Marks on <html> before the first paint.

  let shrunk = null;
  /** What of the page the system covers, in CSS pixels (SH-5), and the keyboard's effect (SH-9). */
  const cover = (root, surface) => {
    for (const side of ["top", "right", "bottom", "left"]) {
      root.style.setProperty(`--safe-${side}`, `${surface[side]}px`);
      root.style.setProperty(`--safe-area-inset-${side}`, `${surface[side]}px`);
    }
    root.style.setProperty("--keyboard", `${surface.keyboard}px`);
    shrunk?.style.removeProperty("height");
    const box = { body: () => document.body, ionic: () => document.querySelector("ion-app") }[surface.resize]?.();
    shrunk = surface.covered > 0 ? (box ?? null) : null;
    shrunk?.style.setProperty("height", `calc(100% - ${surface.covered}px)`);
  };

  const mark = (root) => {
    root.classList.add("native");
    root.dataset.platform = platform;
    const follow = (query, name) => {
      const media = matchMedia(query);
      const apply = () => root.toggleAttribute(name, media.matches);
      media.addEventListener("change", apply);
      apply();
    };
    follow("(max-width: 639.98px)", "data-phone");
    if (typeof configuration.touch === "boolean") root.toggleAttribute("data-touch", configuration.touch);
    else follow("(pointer: coarse) and (hover: none)", "data-touch");
    if (configuration.surface) cover(root, configuration.surface);
  };
  if (document.documentElement) {
    mark(document.documentElement);
  } else {
    new MutationObserver((_, observer) => {
      if (!document.documentElement) return;
      observer.disconnect();
      mark(document.documentElement);
    }).observe(document, { childList: true });
  }

  // -- window.nacre.

  const freeze = (value) => {
    if (value && typeof value === "object") Object.values(Object.freeze(value)).forEach(freeze);
    return value;
  };
  let current = freeze(configuration.session);

  /** A sign-in ends in an outcome, never in an exception: a page shows one of three things. */
  const outcome = async (method) => {
    try {
      return await nativePromise("Nacre", method);
    } catch (error) {
      return { outcome: "failed", error: { code: error.code ?? "failed", message: error.message } };
    }
  };

  class Session extends EventTarget {
    /** The present state; a frozen object, another one after each "change". */
    get current() {
      return current;
    }
    signIn() {
      return outcome("signIn");
    }
    cancelSignIn() {
      return nativePromise("Nacre", "cancelSignIn");
    }
    reopenBrowser() {
      return nativePromise("Nacre", "reopenBrowser");
    }
    signOut() {
      return outcome("signOut");
    }
    validate() {
      return nativePromise("Nacre", "validate");
    }
  }
  const session = new Session();
  addListener("Nacre", "session", (snapshot, error) => {
    if (error || stringify(snapshot) === stringify(current)) return;
    current = freeze(snapshot);
    session.dispatchEvent(new Event("change", { detail: current }));
  });

  addListener("Nacre", "surface", (surface, error) => {
    if (!error && document.documentElement) cover(document.documentElement, surface);
  });
  addListener("Nacre", "trigger", (event, error) => {
    if (!error) triggerEvent(event.name, event.target, event.data);
  });

  // Only in apps whose server a person chooses: whoever changes it asks the person, and the app starts anew.
  const server = configuration.server && Object.freeze({
    ...configuration.server,
    change: () => nativePromise("NacreServer", "change"),
    // For the page that asks.
    choose: (address) => nativePromise("NacreServer", "choose", { address }),
    keep: () => nativePromise("NacreServer", "keep"),
  });

  // Only in apps that a person may use with several accounts: whoever goes over to another starts the app anew.
  let accountList = freeze(configuration.accounts);
  class Accounts extends EventTarget {
    /** Everybody the app knows here, as frozen objects; others after each "change". */
    get list() {
      return accountList.list;
    }
    /** The one whose data this page works with. */
    get current() {
      return accountList.list.find(({ id }) => id === configuration.accounts.current) ?? null;
    }
    add() {
      return nativePromise("NacreAccounts", "add");
    }
    switch(id) {
      return nativePromise("NacreAccounts", "switch", { id });
    }
    remove(id) {
      return nativePromise("NacreAccounts", "remove", { id });
    }
  }
  const accounts = configuration.accounts && new Accounts();
  if (accounts) {
    addListener("NacreAccounts", "change", (list, error) => {
      if (error || stringify(list) === stringify(accountList)) return;
      accountList = freeze(list);
      accounts.dispatchEvent(new Event("change", { detail: accountList.list }));
    });
  }

  // Only in apps with updates over the air. A page asks, holds and confirms; which release it is, nobody asks it.
  let update = freeze(configuration.updates);
  class Updates extends EventTarget {
    /** `{phase, running, builtIn, staged, received, size, failed, held}`; another frozen object after each "change". */
    get state() {
      return update;
    }
    /** Looks for a release now: `{outcome, version | reason | code, message}`. */
    check() {
      return nativePromise("NacreUpdates", "check");
    }
    /** Shows the staged one; the page goes. */
    apply() {
      return nativePromise("NacreUpdates", "apply");
    }
    /** Holds the staged one back while something must not be interrupted; what `release` wants. */
    async hold(options) {
      return (await nativePromise("NacreUpdates", "hold", options)).id;
    }
    release(id) {
      return nativePromise("NacreUpdates", "release", { id });
    }
    /** The page has started. A new bundle that does not say so in time is taken back. */
    confirm() {
      return nativePromise("NacreUpdates", "confirm");
    }
    /** Why this bundle, why not another. */
    report() {
      return nativePromise("NacreUpdates", "report");
    }
  }
  const updates = update && new Updates();
  if (updates) {
    addListener("NacreUpdates", "change", (state, error) => {
      if (error || stringify(state) === stringify(update)) return;
      update = freeze(state);
      updates.dispatchEvent(new Event("change", { detail: update }));
    });
  }

  const capabilities = new Set(configuration.capabilities);
  const nacre = Object.freeze({
    platform,
    api: Object.freeze({ origin: configuration.apiOrigin }),
    can: (name) => capabilities.has(name),
    version: freeze(configuration.version),
    session,
    ...(server && { server }),
    ...(accounts && { accounts }),
    ...(updates && { updates }),
    /** The text of a problem report for a person to read and to send: versions, last faults, last lines of the log. */
    report: async () => (await nativePromise("Nacre", "report")).text,
  });
  Object.defineProperty(window, "nacre", { value: nacre, enumerable: true });
})();
