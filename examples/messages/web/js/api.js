// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// The mail API. In the shell every request leaves through the page channel, which attaches the session and the CSRF token;
// in a plain browser the page is same-origin with the gateway and asks for the token itself.

/** Why a call failed: `offline` (no answer; `network` then says whether not even a connection), `expired` (401), `gone` (404), `refused` (any other answer). */
export class ApiError extends Error {
  constructor(kind, { status = 0, code = kind, message = kind } = {}) {
    super(message);
    this.kind = kind;
    this.status = status;
    this.network = kind === "offline" && status === 0;
    this.code = code;
  }
}

/** What an answer that is none means. 502 to 504 come from something in front of the server: for the person it is not there. */
export function failure(status, body) {
  const kind = status === 401 ? "expired" : status === 404 ? "gone" : status >= 502 && status <= 504 ? "offline" : "refused";
  return new ApiError(kind, { status, code: body?.code, message: body?.message });
}

export class Api {
  #csrf = null;

  /** `origin`: "" in a browser. `onAnswer(kind, began)` hears of every outcome, so that one place knows about the network. */
  constructor({ origin = "", native = false, onAnswer = () => {} }) {
    this.base = `${origin}/api/v1.0/`;
    this.native = native;
    this.onAnswer = onAnswer;
  }

  /** Absolute address of the folder attachments and inline images are served from; also the frame's image source. */
  get blobs() {
    return new URL(`${this.base}blob/`, document.baseURI).href;
  }

  blob(id) {
    return `${this.blobs}${encodeURIComponent(id)}/`;
  }

  me = () => this.#call("users/me/");
  mailboxes = () => this.#call("mailboxes/");

  threads({ mailbox, q, cursor, limit = 100 }, signal) {
    const query = new URLSearchParams({ mailbox, limit });
    if (q) query.set("q", q);
    if (cursor) query.set("cursor", cursor);
    return this.#call(`threads/?${query}`, { signal });
  }

  thread(id, signal) {
    return this.#call(`threads/${encodeURIComponent(id)}/`, { signal });
  }

  /** Where a whole message is saved from, as an `.eml` file. */
  source(id) {
    return new URL(`${this.base}messages/${encodeURIComponent(id)}/source/`, document.baseURI).href;
  }

  /** Where a part is saved from, whatever its kind: `<a download>` alone does not hold for another origin. */
  download(id) {
    return `${this.blob(id)}?download=1`;
  }

  /** Folder under which the server fetches a message's remote images once the person has asked for them (NB-12: `api.media`). */
  remoteImages(message) {
    return new URL(`${this.base}remote-image/${encodeURIComponent(message)}/`, document.baseURI).href;
  }

  allowRemoteImages = (message) => this.#call(`messages/${encodeURIComponent(message)}/remote-images/`, { method: "POST", json: { allow: true } });
  contacts = (q, signal) => this.#call(`contacts/?${new URLSearchParams({ q })}`, { signal });
  attachedMessage = (id, signal) => this.#call(`blob/${encodeURIComponent(id)}/message/`, { signal });

  draft = (id, signal) => this.#call(`drafts/${id}/`, { signal });
  saveDraft = (id, draft, keepalive = false) => this.#call(`drafts/${id}/`, { method: "PUT", json: draft, keepalive });
  discardDraft = (id) => this.#call(`drafts/${id}/`, { method: "DELETE" });
  sendDraft = (id) => this.#call(`drafts/${id}/send/`, { method: "POST" });
  detach = (draft, id) => this.#call(`drafts/${draft}/attachments/${encodeURIComponent(id)}/`, { method: "DELETE" });

  /** One message of an archive; `source` is its bytes. */
  bring(source, mailbox, signal) {
    return this.#call(`imports/?${new URLSearchParams({ mailbox })}`, { method: "POST", body: source, type: "message/rfc822", signal, patience: 120_000 });
  }

  /** A part's bytes, or the first `limit` of them, as a Blob. */
  async bytes(id, { signal, limit } = {}) {
    const headers = limit ? { Range: `bytes=0-${limit - 1}` } : {};
    let response;
    try {
      response = await fetch(this.blob(id), { headers, signal });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new ApiError("offline", { message: String(error) });
    }
    if (!response.ok) throw failure(response.status, await response.json().catch(() => null));
    return response.blob();
  }

  /** What an upload needs beside its bytes; `upload.js` sends it, since only XMLHttpRequest tells how far it is. */
  async uploadTarget(draft, file, position) {
    const headers = { "X-File-Name": encodeURIComponent(file.name), "X-File-Position": String(position), "Content-Type": file.type || "application/octet-stream", Accept: "application/json" };
    if (!this.native) headers["X-CSRFToken"] = await this.#token();
    return { url: `${this.base}drafts/${draft}/attachments/`, headers };
  }

  flags(id, flags) {
    return this.#call(`threads/${encodeURIComponent(id)}/flags/`, { method: "POST", json: flags });
  }

  async #call(path, { method = "GET", json, body, type = "application/json", signal, keepalive, patience = 20_000 } = {}) {
    const headers = { Accept: "application/json" };
    if (json !== undefined || body !== undefined) headers["Content-Type"] = type;
    if (method !== "GET" && !this.native) headers["X-CSRFToken"] = await this.#token();
    const began = performance.now();
    let response;
    try {
      response = await fetch(this.base + path, {
        method,
        headers,
        body: json === undefined ? body : JSON.stringify(json),
        keepalive,
        signal: signal ? AbortSignal.any([signal, AbortSignal.timeout(patience)]) : AbortSignal.timeout(patience),
      });
    } catch (error) {
      if (signal?.aborted) throw error;
      this.onAnswer("offline", began);
      throw new ApiError("offline", { message: String(error) });
    }
    const answer = await response.json().catch(() => null);
    if (response.ok && answer !== null) {
      this.onAnswer("ok", began);
      return answer;
    }
    const error = failure(response.status, answer);
    if (error.kind === "refused" && response.status === 403) this.#csrf = null;
    // One address behind a broken proxy does not mean that the server is gone: the view says it, not the whole page.
    if (error.kind !== "offline") this.onAnswer(error.kind, began);
    throw error;
  }

  async #token() {
    if (this.#csrf === null) this.#csrf = (await this.#call("csrf/")).csrf_token;
    return this.#csrf;
  }
}
