// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// Routes live in the fragment: `#/inbox`, `#/inbox/thread-id`, `#/archive?q=train`, `#/inbox/thread-id?draft=draft-id` while
// something is being written. So the bundle needs no server rules, and a reload leads back to the same sentence.

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
  const values = new URLSearchParams(query);
  const draft = values.get("draft");
  return {
    mailbox: folders.includes(folder) ? folder : "inbox", thread, q: values.get("q") ?? "",
    draft: draft && /^[A-Za-z0-9-]{16,64}$/.test(draft) ? draft : null,
  };
}

export function routeTo({ mailbox, thread = null, q = "", draft = null }) {
  const values = new URLSearchParams({ ...(q && { q }), ...(draft && { draft }) }).toString();
  const query = values && `?${values}`;
  return `#/${mailbox}${thread ? `/${encodeURIComponent(thread)}` : ""}${query}`;
}

export function go(route, { replace = false } = {}) {
  const hash = routeTo(route);
  if (hash === location.hash) return;
  if (replace) history.replaceState(null, "", hash);
  else history.pushState(null, "", hash);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}
