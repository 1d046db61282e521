// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
//
// The API's pictures, sounds and films in a page of the patched channel (NB-4): their addresses are turned into the media
// proxy's at the page's own host as they are set, and read back as they were. Nothing of them crosses the bridge.
(kit) => {
  "use strict";
  if (typeof document === "undefined") return;
  const { apiURL, base, origin } = kit;
  const proxy = origin + "/_capacitor_http_interceptor_?u=";

  const wrap = (value) => {
    const url = apiURL(value);
    // A fragment says where a film begins, and stays outside.
    return url ? proxy + encodeURIComponent(url.href) + new URL(value, base()).hash : value;
  };
  const unwrap = (value) => {
    if (typeof value !== "string" || !value.startsWith(proxy)) return value;
    const [address, hash] = value.slice(proxy.length).split("#");
    return decodeURIComponent(address) + (hash === undefined ? "" : "#" + hash);
  };

  // Candidates of a srcset: an address up to white space, without commas at its ends, and what it is for.
  const inSet = (change) => (value) =>
    typeof value === "string" ? value.replace(/([^\s,]\S*[^\s,])(\s+[^,]*)?/g, (_, url, rest = "") => change(url) + rest) : value;
  const [wrapSet, unwrapSet] = [inSet(wrap), inSet(unwrap)];
  const wrapping = (name) => (name === "srcset" ? wrapSet : wrap);
  const unwrapping = (name) => (name === "srcset" ? unwrapSet : unwrap);

  const attributes = new Map([
    [HTMLImageElement, ["src", "srcset"]], [HTMLMediaElement, ["src"]], [HTMLVideoElement, ["poster"]],
    [HTMLSourceElement, ["src", "srcset"]], [HTMLTrackElement, ["src"]],
  ]);
  const mine = (element) => {
    const names = [];
    for (const [kind, own] of attributes) if (element instanceof kind) names.push(...own);
    return names;
  };
  const { getAttribute, setAttribute } = Element.prototype;

  for (const [kind, names] of attributes) {
    for (const name of names) {
      const native = Object.getOwnPropertyDescriptor(kind.prototype, name);
      Object.defineProperty(kind.prototype, name, {
        ...native,
        get() {
          return unwrapping(name)(native.get.call(this));
        },
        set(value) {
          native.set.call(this, wrapping(name)(String(value)));
        },
      });
    }
    const current = Object.getOwnPropertyDescriptor(kind.prototype, "currentSrc");
    if (current) {
      Object.defineProperty(kind.prototype, "currentSrc", {
        ...current,
        get() {
          return unwrap(current.get.call(this));
        },
      });
    }
    kind.prototype.getAttribute = function (name) {
      return unwrapping(String(name).toLowerCase())(getAttribute.call(this, name));
    };
    kind.prototype.setAttribute = function (name, value) {
      const lower = String(name).toLowerCase();
      setAttribute.call(this, name, mine(this).includes(lower) ? wrapping(lower)(String(value)) : value);
    };
  }

  // What comes by the parser has its attributes from the start.
  const turn = (element) => {
    for (const name of mine(element)) {
      const value = getAttribute.call(element, name);
      if (value === null) continue;
      const wrapped = wrapping(name)(value);
      if (wrapped !== value) setAttribute.call(element, name, wrapped);
    }
  };
  const everything = "img,video,audio,source,track";
  const observer = new MutationObserver((records) => {
    for (const { type, target, addedNodes } of records) {
      if (type === "attributes") turn(target);
      for (const node of addedNodes) {
        if (node.nodeType !== Node.ELEMENT_NODE) continue;
        turn(node);
        node.querySelectorAll(everything).forEach(turn);
      }
    }
  });
  const watch = (root) =>
    observer.observe(root, { subtree: true, childList: true, attributes: true, attributeFilter: ["src", "srcset", "poster"] });
  watch(document);
  const attachShadow = Element.prototype.attachShadow;
  Element.prototype.attachShadow = function (options) {
    const root = attachShadow.call(this, options);
    watch(root);
    return root;
  };
}
