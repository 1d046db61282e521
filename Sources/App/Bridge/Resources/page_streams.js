// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
//
// XMLHttpRequest, EventSource and WebSocket of the patched page channel, on the kit of page_fetch.js. Written from the
// XHR, HTML and WebSockets standards. What is not for the API's origin is the web view's own object, untouched.
(kit) => {
  "use strict";
  const scope = globalThis;
  const { apiURL, extract, call, cancel, bodyOf, toBase64, base } = kit;
  const { EventTarget, Event, ProgressEvent, MessageEvent, CloseEvent, DOMException, TypeError, URL, Headers } = scope;

  /** Event handler attributes, `onmessage` say, for an EventTarget of ours. */
  const handlers = (prototype, names) => {
    for (const name of names) {
      const set = new WeakMap();
      Object.defineProperty(prototype, "on" + name, {
        configurable: true,
        enumerable: true,
        get() {
          return set.get(this)?.handler ?? null;
        },
        set(handler) {
          let entry = set.get(this);
          if (!entry) {
            entry = { handler: null };
            set.set(this, entry);
            this.addEventListener(name, (event) => entry.handler?.call(this, event));
          }
          entry.handler = typeof handler === "function" ? handler : null;
        },
      });
    }
  };
  const constants = (target, values) => {
    for (const [name, value] of Object.entries(values)) {
      for (const place of [target, target.prototype]) Object.defineProperty(place, name, { value, enumerable: true });
    }
  };
  /** A constructor that makes ours for the API's addresses and the native one for others; instanceof holds for both. */
  const choose = (native, ours) => {
    Object.setPrototypeOf(ours.prototype, native.prototype);
    return new Proxy(native, {
      construct: (target, list, made) => {
        const mine = list.length > 0 && ours.takes(list[0]);
        return mine ? ours.make(...list) : Reflect.construct(target, list, made);
      },
    });
  };

  // -- XMLHttpRequest: the native object, whose events and handlers serve; an API's request is answered by ours.

  const NativeXHR = scope.XMLHttpRequest;
  const forbiddenMethods = ["CONNECT", "TRACE", "TRACK"];
  const usual = ["DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT"];

  class XMLHttpRequest extends NativeXHR {
    /** The API's request, or null while the address is another's. */
    #own = null;
    #type = "";
    #timeout = 0;
    #credentials = false;
    #mime = null;

    open(method, address, asynchronous = true, user, password) {
      this.#own?.stop.abort();
      const url = apiURL(address);
      if (!url) {
        this.#own = null;
        if (arguments.length < 3) super.open(method, address);
        else super.open(method, address, asynchronous, user, password);
        super.responseType = asynchronous ? this.#type : "";
        if (asynchronous) super.timeout = this.#timeout;
        super.withCredentials = this.#credentials;
        if (this.#mime) super.overrideMimeType(this.#mime);
        return;
      }
      const upper = String(method).toUpperCase();
      if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(method)) throw new DOMException("This is no method.", "SyntaxError");
      if (forbiddenMethods.includes(upper)) throw new DOMException("No page may use this method.", "SecurityError");
      if (!asynchronous) {
        throw new DOMException("A synchronous request cannot be carried; use fetch.", "InvalidAccessError");
      }
      this.#own = {
        url, method: usual.includes(upper) ? upper : String(method), headers: new Headers(), sent: false, state: 1,
        answer: null, chunks: [], size: 0, text: "", decoder: null, value: undefined, failed: false,
        stop: new AbortController(),
      };
      this.#changed(this.#own, 1);
    }

    setRequestHeader(name, value) {
      const own = this.#own;
      if (!own) return super.setRequestHeader(name, value);
      if (own.state !== 1 || own.sent) throw new DOMException("The request is not open.", "InvalidStateError");
      // A Request keeps the list of what no page may set.
      const allowed = new scope.Request(own.url, { headers: [[name, String(value).trim()]] }).headers;
      for (const [one, text] of allowed) own.headers.append(one, text);
    }

    send(body = null) {
      const own = this.#own;
      if (!own) return super.send(body);
      if (own.state !== 1 || own.sent) throw new DOMException("The request is not open.", "InvalidStateError");
      own.sent = true;
      const source = own.method === "GET" || own.method === "HEAD" ? null : extract(body);
      if (source?.type && !own.headers.has("content-type")) own.headers.set("content-type", source.type);
      own.hasUpload = !!source;
      own.total = source?.blob?.size ?? 0;
      this.#progress(this, "loadstart", 0, 0);
      if (own.hasUpload) this.#progress(this.upload, "loadstart", 0, own.total);
      if (this.#own !== own || own.failed) return;
      if (this.#timeout > 0) {
        own.timer = setTimeout(() => this.#end(own, "timeout"), this.#timeout);
      }
      this.#run(own, source).catch((error) => this.#end(own, "error", error));
    }

    async #run(own, source) {
      let last = 0;
      const plan = {
        url: own.url, method: own.method, headers: [...own.headers], source, signal: own.stop.signal,
        credentials: "include",
        progress: (loaded, total) => {
          last = loaded;
          if (!own.failed && own.state < 2) this.#progress(this.upload, "progress", loaded, total);
        },
      };
      const { answer, url } = await kit.follow(plan);
      if (own.failed) return;
      if (own.hasUpload) {
        this.#progress(this.upload, "load", last, own.total);
        this.#progress(this.upload, "loadend", last, own.total);
      }
      own.answer = answer;
      own.responseURL = url.href;
      this.#changed(own, 2);
      const length = Number(answer.headers.get("content-length"));
      own.length = answer.headers.has("content-encoding") || !Number.isFinite(length) ? 0 : length;
      const reader = answer.body?.getReader();
      let seen = 0;
      while (reader) {
        const { done, value } = await reader.read();
        if (own.failed) return void reader.cancel().catch(() => {});
        if (done) break;
        own.size += value.byteLength;
        if (this.#type === "" || this.#type === "text") own.text += this.#decoder(own).decode(value, { stream: true });
        else own.chunks.push(value);
        if (own.state !== 3 || performance.now() - seen >= 50) {
          seen = performance.now();
          this.#changed(own, 3);
          if (own.failed) return;
          this.#progress(this, "progress", own.size, own.length);
        }
      }
      if (own.failed) return;
      if (own.decoder) own.text += own.decoder.decode();
      clearTimeout(own.timer);
      this.#progress(this, "progress", own.size, own.length);
      this.#changed(own, 4);
      this.#progress(this, "load", own.size, own.length);
      this.#progress(this, "loadend", own.size, own.length);
    }

    #charset(own) {
      const type = this.#mime ?? own.answer?.headers.get("content-type") ?? "";
      return type.match(/charset\s*=\s*"?([^";\s]+)/i)?.[1] ?? "utf-8";
    }
    #decoder(own) {
      if (!own.decoder) {
        try {
          own.decoder = new TextDecoder(this.#charset(own));
        } catch {
          own.decoder = new TextDecoder();
        }
      }
      return own.decoder;
    }

    #changed(own, state) {
      own.state = state;
      if (this.#own === own) this.dispatchEvent(new Event("readystatechange"));
    }
    #progress(target, name, loaded, total) {
      target.dispatchEvent(new ProgressEvent(name, { lengthComputable: total > 0, loaded, total }));
    }

    /** Ends it as `error`, `timeout` or `abort`, once. */
    #end(own, name) {
      if (own.failed || own.state === 4) return;
      const hadAnswer = own.answer !== null;
      own.failed = true;
      own.answer = null;
      own.text = "";
      own.chunks = [];
      clearTimeout(own.timer);
      own.stop.abort();
      this.#changed(own, 4);
      if (this.#own !== own) return;
      if (own.hasUpload && !hadAnswer) {
        this.#progress(this.upload, name, 0, 0);
        this.#progress(this.upload, "loadend", 0, 0);
      }
      this.#progress(this, name, 0, 0);
      this.#progress(this, "loadend", 0, 0);
    }

    abort() {
      const own = this.#own;
      if (!own) return super.abort();
      if (own.sent && own.state < 4) this.#end(own, "abort");
      if (own.state === 4) own.state = 0;
      own.failed = true;
      own.answer = null;
    }

    get readyState() {
      return this.#own ? this.#own.state : super.readyState;
    }
    get status() {
      return this.#own ? (this.#own.answer?.status ?? 0) : super.status;
    }
    get statusText() {
      return this.#own ? (this.#own.answer?.statusText ?? "") : super.statusText;
    }
    get responseURL() {
      return this.#own ? (this.#own.answer ? this.#own.responseURL : "") : super.responseURL;
    }
    getResponseHeader(name) {
      return this.#own ? (this.#own.answer?.headers.get(name) ?? null) : super.getResponseHeader(name);
    }
    getAllResponseHeaders() {
      if (!this.#own) return super.getAllResponseHeaders();
      return this.#own.answer ? [...this.#own.answer.headers].map(([n, v]) => `${n}: ${v}\r\n`).join("") : "";
    }
    overrideMimeType(type) {
      this.#mime = String(type);
      if (!this.#own) super.overrideMimeType(type);
    }
    get timeout() {
      return this.#own ? this.#timeout : super.timeout;
    }
    set timeout(value) {
      this.#timeout = Number(value) || 0;
      if (!this.#own) super.timeout = value;
    }
    get withCredentials() {
      return this.#own ? this.#credentials : super.withCredentials;
    }
    set withCredentials(value) {
      this.#credentials = !!value;
      if (!this.#own) super.withCredentials = value;
    }
    get responseType() {
      return this.#own ? this.#type : super.responseType;
    }
    set responseType(value) {
      if (!this.#own) {
        super.responseType = value;
        this.#type = super.responseType;
        return;
      }
      if (this.#own.state >= 3) throw new DOMException("The answer is being read.", "InvalidStateError");
      if (["", "arraybuffer", "blob", "document", "json", "text"].includes(value)) this.#type = value;
    }
    get responseText() {
      if (!this.#own) return super.responseText;
      if (this.#type !== "" && this.#type !== "text") {
        throw new DOMException(`The answer is ${this.#type}, not text.`, "InvalidStateError");
      }
      return this.#own.state >= 3 ? this.#own.text : "";
    }
    get responseXML() {
      if (!this.#own) return super.responseXML;
      if (this.#type !== "" && this.#type !== "document") {
        throw new DOMException(`The answer is ${this.#type}, no document.`, "InvalidStateError");
      }
      return this.#document(this.#own);
    }
    get response() {
      const own = this.#own;
      if (!own) return super.response;
      if (this.#type === "" || this.#type === "text") return own.state >= 3 ? own.text : "";
      if (own.state !== 4 || own.failed) return null;
      if (own.value === undefined) own.value = this.#value(own);
      return own.value;
    }
    #value(own) {
      const type = this.#mime ?? own.answer.headers.get("content-type") ?? "text/xml";
      switch (this.#type) {
        case "blob":
          return new Blob(own.chunks, { type: this.#mime ?? own.answer.headers.get("content-type") ?? "" });
        case "document":
          return this.#document(own, type);
        case "json":
          try {
            return JSON.parse(new TextDecoder().decode(this.#bytes(own)));
          } catch {
            return null;
          }
        default:
          return this.#bytes(own).buffer;
      }
    }
    #bytes(own) {
      const all = new Uint8Array(own.size);
      let place = 0;
      for (const chunk of own.chunks) {
        all.set(chunk, place);
        place += chunk.byteLength;
      }
      return all;
    }
    #document(own) {
      if (own.state !== 4 || own.failed || typeof DOMParser === "undefined") return null;
      const type = (this.#mime ?? own.answer.headers.get("content-type") ?? "text/xml").split(";")[0].trim().toLowerCase();
      const isHTML = type === "text/html";
      if (isHTML ? this.#type !== "document" : !(type.endsWith("/xml") || type.endsWith("+xml"))) return null;
      const text = this.#type === "document" ? this.#decoder(own).decode(this.#bytes(own)) : own.text;
      const made = new DOMParser().parseFromString(text, isHTML ? "text/html" : "application/xml");
      return made.querySelector("parsererror") ? null : made;
    }
  }
  if (NativeXHR) scope.XMLHttpRequest = XMLHttpRequest;

  // -- EventSource (HTML standard, "server-sent events").

  class ApiEventSource {
    static takes = (address) => apiURL(address) !== null;
    static make(address, options) {
      const source = Reflect.construct(EventTarget, [], ApiEventSource);
      source.begin(apiURL(address), !!options?.withCredentials);
      return source;
    }
    begin(url, withCredentials) {
      this._ = { url, withCredentials, state: 0, last: "", delay: 3000, stop: new AbortController() };
      Object.defineProperty(this, "_", { enumerable: false });
      queueMicrotask(() => this.connect());
    }
    get url() {
      return this._.url.href;
    }
    get readyState() {
      return this._.state;
    }
    get withCredentials() {
      return this._.withCredentials;
    }
    close() {
      this._.state = 2;
      this._.stop.abort();
      clearTimeout(this._.timer);
    }
    async connect() {
      const own = this._;
      if (own.state === 2) return;
      const headers = [["accept", "text/event-stream"], ["cache-control", "no-store"]];
      if (own.last) headers.push(["last-event-id", own.last]);
      let answer;
      try {
        const plan = { url: own.url, method: "GET", headers, source: null, credentials: "include", signal: own.stop.signal };
        ({ answer } = await kit.follow(plan));
      } catch {
        return this.again();
      }
      if (own.state === 2) return;
      const type = (answer.headers.get("content-type") ?? "").split(";")[0].trim().toLowerCase();
      if (answer.status !== 200 || type !== "text/event-stream") {
        // The server's own failures are final, the ones that stand for a network's are not.
        answer.body?.cancel().catch(() => {});
        if (answer.headers.has("x-nacre-reason") && answer.status >= 502) return this.again();
        own.state = 2;
        return void this.dispatchEvent(new Event("error"));
      }
      own.state = 1;
      this.dispatchEvent(new Event("open"));
      try {
        await this.read(answer.body);
      } catch {}
      this.again();
    }
    again() {
      const own = this._;
      if (own.state === 2) return;
      own.state = 0;
      this.dispatchEvent(new Event("error"));
      if (own.state === 2) return;
      own.timer = setTimeout(() => this.connect(), own.delay);
    }
    async read(body) {
      const own = this._;
      const reader = body.getReader();
      const decoder = new TextDecoder();
      let rest = "";
      let [data, type, id] = ["", "", own.last];
      let afterReturn = false;
      const line = (text) => {
        if (text === "") {
          own.last = id;
          if (data !== "") {
            const event = new MessageEvent(type || "message", {
              data: data.slice(0, -1), origin: own.url.origin, lastEventId: own.last,
            });
            if (own.state !== 2) this.dispatchEvent(event);
          }
          [data, type] = ["", ""];
          return;
        }
        if (text.startsWith(":")) return;
        const colon = text.indexOf(":");
        const field = colon < 0 ? text : text.slice(0, colon);
        const value = colon < 0 ? "" : text.slice(colon + (text[colon + 1] === " " ? 2 : 1));
        if (field === "data") data += value + "\n";
        else if (field === "event") type = value;
        else if (field === "id" && !value.includes("\0")) id = value;
        else if (field === "retry" && /^[0-9]+$/.test(value)) own.delay = Number(value);
      };
      for (;;) {
        const { done, value } = await reader.read();
        if (done || own.state === 2) return;
        let text = decoder.decode(value, { stream: true });
        if (afterReturn && text.startsWith("\n")) text = text.slice(1);
        if (text) afterReturn = text.endsWith("\r");
        const lines = (rest + text).split(/\r\n|\n|\r/);
        rest = lines.pop();
        lines.forEach(line);
      }
    }
  }
  if (scope.EventSource) {
    const Native = scope.EventSource;
    handlers(ApiEventSource.prototype, ["open", "message", "error"]);
    constants(ApiEventSource, { CONNECTING: 0, OPEN: 1, CLOSED: 2 });
    scope.EventSource = choose(Native, ApiEventSource);
  }

  // -- WebSocket.

  const socketURL = (address) => {
    try {
      const url = new URL(String(address), base());
      const seen = url.protocol === "wss:" || url.protocol === "https:" ? apiURL(url.href.replace(/^ws/, "http")) : null;
      return seen && { seen, url };
    } catch {
      return null;
    }
  };
  const byteLength = (text) => new TextEncoder().encode(text).byteLength;

  class ApiWebSocket {
    static takes = (address) => socketURL(address) !== null;
    static make(address, protocols) {
      const { seen, url } = socketURL(address);
      if (String(address).includes("#")) throw new DOMException("An address of a socket has no fragment.", "SyntaxError");
      const list = protocols === undefined ? [] : typeof protocols === "string" ? [protocols] : [...protocols].map(String);
      if (new Set(list).size !== list.length || list.some((word) => !/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(word))) {
        throw new DOMException("A subprotocol is a word, and each another.", "SyntaxError");
      }
      const socket = Reflect.construct(EventTarget, [], ApiWebSocket);
      url.protocol = "wss:";
      const own = {
        url: url.href, state: 0, type: "blob", buffered: 0, chosen: "", id: crypto.randomUUID(), line: Promise.resolve(),
        stop: new AbortController(),
      };
      Object.defineProperty(socket, "_", { value: own });
      socket.run(seen, list).catch(() => socket.over(1006, "", false));
      return socket;
    }
    get url() {
      return this._.url;
    }
    get readyState() {
      return this._.state;
    }
    get protocol() {
      return this._.chosen;
    }
    get extensions() {
      return "";
    }
    get bufferedAmount() {
      return this._.buffered;
    }
    get binaryType() {
      return this._.type;
    }
    set binaryType(value) {
      if (value === "blob" || value === "arraybuffer") this._.type = value;
    }

    async run(url, protocols) {
      const own = this._;
      const head = await call("socket", { id: own.id, method: "GET", url: url.href, headers: [], protocols });
      if (own.state !== 0) {
        cancel(own.id);
        return this.over(1006, "", false);
      }
      own.chosen = head.protocol;
      own.state = 1;
      this.dispatchEvent(new Event("open"));
      const reader = bodyOf(own.id, head.token, own.stop.signal, null).getReader();
      // Records: kind, length in four bytes, payload; pieces of the stream begin and end anywhere.
      let held = [];
      let size = 0;
      const take = (count) => {
        const out = new Uint8Array(count);
        let place = 0;
        while (place < count) {
          const first = held[0];
          const part = first.subarray(0, count - place);
          out.set(part, place);
          place += part.byteLength;
          if (part.byteLength === first.byteLength) held.shift();
          else held[0] = first.subarray(part.byteLength);
        }
        size -= count;
        return out;
      };
      let head5 = null;
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return this.over(1006, "", false);
        held.push(value);
        size += value.byteLength;
        for (;;) {
          if (!head5 && size >= 5) head5 = take(5);
          if (!head5) break;
          const length = ((head5[1] << 24) | (head5[2] << 16) | (head5[3] << 8) | head5[4]) >>> 0;
          if (size < length) break;
          const [kind, payload] = [head5[0], take(length)];
          head5 = null;
          if (kind === 8) {
            const code = length >= 2 ? (payload[0] << 8) | payload[1] : 1005;
            return this.over(code, new TextDecoder().decode(payload.subarray(2)), code !== 1006);
          }
          if (own.state !== 1) continue;
          const data =
            kind === 1 ? new TextDecoder().decode(payload) : own.type === "blob" ? new Blob([payload]) : payload.buffer;
          this.dispatchEvent(new MessageEvent("message", { data, origin: new URL(own.url).origin }));
        }
      }
    }

    over(code, reason, wasClean) {
      const own = this._;
      if (own.state === 3) return;
      own.state = 3;
      own.stop.abort();
      cancel(own.id);
      if (!wasClean) this.dispatchEvent(new Event("error"));
      this.dispatchEvent(new CloseEvent("close", { code, reason, wasClean }));
    }

    send(data) {
      const own = this._;
      if (own.state === 0) throw new DOMException("The socket is not open yet.", "InvalidStateError");
      const tag = Object.prototype.toString.call(data).slice(8, -1);
      const isBlob = tag === "Blob" || tag === "File";
      const isBytes = tag === "ArrayBuffer" || ArrayBuffer.isView(data);
      const text = isBlob || isBytes ? null : String(data);
      const size = isBlob ? data.size : isBytes ? data.byteLength : byteLength(text);
      own.buffered += size;
      if (own.state !== 1) return;
      // A copy, for the page may write on into its array.
      const view = isBytes && ArrayBuffer.isView(data);
      const bytes = !isBytes ? null
        : new Uint8Array(view ? data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength) : data.slice(0));
      own.line = own.line.then(async () => {
        const whole = isBlob ? new Uint8Array(await data.arrayBuffer()) : bytes;
        const message = text === null ? { kind: "binary", data: toBase64(whole) } : { kind: "text", data: text };
        await call("send", { id: own.id, ...message });
        own.buffered -= size;
      }).catch(() => this.over(1006, "", false));
    }

    close(code, reason = "") {
      const own = this._;
      if (code !== undefined && code !== 1000 && !(code >= 3000 && code <= 4999)) {
        throw new DOMException("A page closes with 1000 or 3000 to 4999.", "InvalidAccessError");
      }
      if (byteLength(String(reason)) > 123) throw new DOMException("The reason is longer than 123 bytes.", "SyntaxError");
      if (own.state >= 2) return;
      if (own.state === 0) {
        own.state = 2;
        cancel(own.id);
        return;
      }
      own.state = 2;
      own.line = own.line
        .then(() => call("send", { id: own.id, kind: "close", code: code ?? null, reason: String(reason) }))
        .catch(() => this.over(1006, "", false));
      // A server that does not answer keeps nobody waiting.
      setTimeout(() => this.over(1006, "", false), 10_000);
    }
  }
  if (scope.WebSocket) {
    const Native = scope.WebSocket;
    handlers(ApiWebSocket.prototype, ["open", "message", "error", "close"]);
    constants(ApiWebSocket, { CONNECTING: 0, OPEN: 1, CLOSING: 2, CLOSED: 3 });
    scope.WebSocket = choose(Native, ApiWebSocket);
  }
}
