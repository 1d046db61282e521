// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// Routes live in the fragment: `#/inbox`, `#/inbox/thread-id`, `#/archive?q=train`. So the bundle needs no server rules.

import { folders } from "./store.js";

export function readRoute(hash = location.hash) {
  const [path, query] = hash.replace(/^#\/?/, "").split("?", 2);
  const [folder, id] = path.split("/", 2);
  let thread = null;
  try {
    thread = id ? decodeURIComponent(id) : null;
  } catch {
    thread = null; // a mangled link opens the folder
  }
  return { mailbox: folders.includes(folder) ? folder : "inbox", thread, q: new URLSearchParams(query).get("q") ?? "" };
}

export function routeTo({ mailbox, thread = null, q = "" }) {
  const query = q ? `?${new URLSearchParams({ q })}` : "";
  return `#/${mailbox}${thread ? `/${encodeURIComponent(thread)}` : ""}${query}`;
}

export function go(route, { replace = false } = {}) {
  const hash = routeTo(route);
  if (hash === location.hash) return;
  if (replace) history.replaceState(null, "", hash);
  else history.pushState(null, "", hash);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}
