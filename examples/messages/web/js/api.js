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

  flags(id, flags) {
    return this.#call(`threads/${encodeURIComponent(id)}/flags/`, { method: "POST", json: flags });
  }

  async #call(path, { method = "GET", json, signal } = {}) {
    const headers = { Accept: "application/json" };
    if (json !== undefined) headers["Content-Type"] = "application/json";
    if (method !== "GET" && !this.native) headers["X-CSRFToken"] = await this.#token();
    const began = performance.now();
    let response;
    try {
      response = await fetch(this.base + path, {
        method,
        headers,
        body: json === undefined ? undefined : JSON.stringify(json),
        signal: signal ? AbortSignal.any([signal, AbortSignal.timeout(20_000)]) : AbortSignal.timeout(20_000),
      });
    } catch (error) {
      if (signal?.aborted) throw error;
      this.onAnswer("offline", began);
      throw new ApiError("offline", { message: String(error) });
    }
    const body = await response.json().catch(() => null);
    if (response.ok && body !== null) {
      this.onAnswer("ok", began);
      return body;
    }
    // 502 to 504 come from something in front of the server: for the person it is not there.
    const kind =
      response.status === 401 ? "expired" : response.status === 404 ? "gone" : response.status >= 502 && response.status <= 504 ? "offline" : "refused";
    if (kind === "refused" && response.status === 403) this.#csrf = null;
    // One address behind a broken proxy does not mean that the server is gone: the view says it, not the whole page.
    if (kind !== "offline") this.onAnswer(kind, began);
    throw new ApiError(kind, { status: response.status, code: body?.code, message: body?.message });
  }

  async #token() {
    if (this.#csrf === null) this.#csrf = (await this.#call("csrf/")).csrf_token;
    return this.#csrf;
  }
}
