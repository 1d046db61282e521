// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
//
// The patched page channel: for web views that take no proxy. What the page asks of the API's origin is handed to the
// app over the bridge, bodies in pieces; the body of an answer is fetched at the page's own host, so that the engine
// streams it. Everything else is the web view's own, untouched. Runs behind the bridge's script in the top frame, in
// the page's own frames, which speak through the top frame, and first thing in its workers, which speak through a port.
//
// Nothing here is a guard: a page may say what it likes, and the app checks every message. Written from the Fetch
// standard. The value is the kit that page_streams.js builds on, or nothing where there is nobody to speak to.
((configuration) => {
  "use strict";
  if (!configuration) return null;
  const scope = globalThis;
  const isWindow = typeof window !== "undefined";
  const shared = Symbol.for("nacre.page-fetch");
  const WORKER_MARK = "nacre-worker";
  const PIECE = 384 * 1024;
  const nativeFetch = scope.fetch.bind(scope);
  const { Request, Response, Headers, TypeError, DOMException, URL, Blob, ReadableStream } = scope;
  const tag = (value) => Object.prototype.toString.call(value).slice(8, -1);

  // -- The line to the app: call(method, options) answers a promise.

  /** The other end of a port: carries for a worker, and forgets what it has begun when it is ended. */
  const serve = (port, call) => {
    const begun = new Set();
    port.onmessage = async ({ data }) => {
      const { n, method, options } = data;
      if (method === "open" || method === "socket") begun.add(options.id);
      if (method === "cancel") begun.delete(options.id);
      try {
        port.postMessage({ n, value: await call(method, options) });
      } catch (error) {
        port.postMessage({ n, error: { code: error?.code, message: String(error?.message ?? error) } });
      }
    };
    return () => {
      for (const id of begun) call("cancel", { id }).catch(() => {});
      port.close();
    };
  };

  /**
   * A worker waits for the port that its maker sends as the first message, which the worker's own script never sees. A
   * shared one gets a port of every page that joins it, and speaks through the last.
   */
  const overPort = () => {
    const waiting = new Map();
    let last = 0;
    let port = null;
    const line = new Promise((resolve) => {
      const listen = (target) => {
        const first = (event) => {
          if (!event.data || event.data.nacrePort !== WORKER_MARK) return;
          event.stopImmediatePropagation();
          target.removeEventListener("message", first);
          [port] = event.ports;
          port.onmessage = ({ data: { n, value, error } }) => {
            const { resolve, reject } = waiting.get(n);
            waiting.delete(n);
            if (error) reject(Object.assign(new Error(error.message), { code: error.code }));
            else resolve(value);
          };
          resolve();
        };
        target.addEventListener("message", first);
      };
      if (typeof SharedWorkerGlobalScope === "undefined") listen(scope);
      else scope.addEventListener("connect", (event) => listen(event.ports[0]));
    });
    return async (method, options) => {
      await line;
      return new Promise((resolve, reject) => {
        waiting.set(++last, { resolve, reject });
        port.postMessage({ n: last, method, options });
      });
    };
  };

  let call;
  if (!isWindow) {
    call = overPort();
    // The mark on the address was ours to make; the worker sees the one it was made with.
    const plain = new URL(scope.location.href.replace(new RegExp(`[?&]${WORKER_MARK}=[a-z]+(?=#|$)`), ""));
    try {
      Object.defineProperty(scope, "location", { get: () => plain, configurable: true });
    } catch {}
  } else if (window === window.top) {
    const promise = window.Capacitor?.nativePromise;
    // The frames' copy of this script comes by here too, and the bridge's is not for every document.
    if (!promise || window[shared]) return null;
    call = (method, options) => promise("NacreFetch", method, options);
    Object.defineProperty(window, shared, { value: call });
  } else {
    try {
      // Throws in a sandboxed or foreign frame, where the page's powers have no place.
      call = window.top.location.origin === configuration.origin && window.top[shared];
    } catch {}
    if (!call) return null;
  }

  const open = new Set();
  const cancel = (id) => void call("cancel", { id }).catch(() => {});
  if (isWindow && window !== window.top) {
    // The top frame's bridge outlives its frames.
    window.addEventListener("pagehide", () => open.forEach(cancel));
  }

  const base = () => (isWindow ? document.baseURI : scope.location.href);
  /** The address if it is the API's, else null. */
  const apiURL = (input) => {
    try {
      const url = new URL(typeof input === "object" && tag(input) === "Request" ? input.url : String(input), base());
      url.hash = "";
      return url.origin === configuration.apiOrigin ? url : null;
    } catch {
      return null;
    }
  };

  // -- Bodies of requests.

  const toBase64 = (bytes) => {
    if (bytes.toBase64) return bytes.toBase64();
    let text = "";
    for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
    return btoa(text);
  };

  /** multipart/form-data as the HTML standard encodes it; files stay references, so that they are read in pieces. */
  const multipart = (form) => {
    const boundary = "----NacreFormBoundary" + crypto.randomUUID().replaceAll("-", "");
    const escape = (name) => name.replaceAll("\n", "%0A").replaceAll("\r", "%0D").replaceAll('"', "%22");
    const lines = (text) => text.replace(/\r\n|\r|\n/g, "\r\n");
    const parts = [];
    for (const [name, value] of form) {
      const head = `--${boundary}\r\nContent-Disposition: form-data; name="${escape(lines(name))}"`;
      if (typeof value === "string") parts.push(`${head}\r\n\r\n${lines(value)}\r\n`);
      else {
        const type = value.type || "application/octet-stream";
        parts.push(`${head}; filename="${escape(value.name)}"\r\nContent-Type: ${type}\r\n\r\n`, value, "\r\n");
      }
    }
    parts.push(`--${boundary}--\r\n`);
    return { blob: new Blob(parts), type: "multipart/form-data; boundary=" + boundary };
  };

  /** What is sent for a body (Fetch standard, "extract a body"): bytes that can be read again, or a stream that cannot. */
  const extract = (body) => {
    if (body === undefined || body === null) return null;
    switch (tag(body)) {
      case "Blob":
      case "File":
        return { blob: body, type: body.type || null };
      case "FormData":
        return multipart(body);
      case "URLSearchParams":
        return { blob: new Blob([String(body)]), type: "application/x-www-form-urlencoded;charset=UTF-8" };
      case "ReadableStream":
        if (body.locked) throw new TypeError("The body's stream is being read.");
        return { stream: body, type: null };
      case "ArrayBuffer":
      case "SharedArrayBuffer":
        return { blob: new Blob([body]), type: null };
      case "Document":
        return { blob: new Blob([new XMLSerializer().serializeToString(body)]), type: "text/html;charset=UTF-8" };
    }
    if (ArrayBuffer.isView(body)) return { blob: new Blob([body]), type: null };
    return { blob: new Blob([String(body)]), type: "text/plain;charset=UTF-8" };
  };

  /** Bodies in pieces, a few at a time: a page that sends a hundred files fills neither memory nor the app's limits. */
  let sending = 0;
  const turns = [];
  const turn = async () => {
    if (sending >= 16) await new Promise((resolve) => turns.push(resolve));
    else sending++;
    return () => {
      const next = turns.shift();
      if (next) next();
      else sending--;
    };
  };

  /** The body itself could not be read, as opposed to sent. */
  class BodyFailure {
    constructor(error) {
      this.error = error;
    }
  }
  const ownFault = (error) => {
    throw new BodyFailure(error);
  };

  const write = async (id, bytes) => {
    for (let i = 0; i < bytes.byteLength; i += PIECE) {
      await call("write", { id, data: toBase64(bytes.subarray(i, i + PIECE)) });
    }
  };

  const upload = async (id, source, progress) => {
    if (source.stream) {
      const reader = source.stream.getReader();
      try {
        for (;;) {
          const { done, value } = await reader.read().catch(ownFault);
          if (done) break;
          if (tag(value) !== "Uint8Array") {
            ownFault(new TypeError("A request's stream holds something else than Uint8Array."));
          }
          await write(id, value);
        }
      } catch (error) {
        reader.cancel(error instanceof BodyFailure ? error.error : error).catch(() => {});
        throw error;
      }
    } else {
      for (let i = 0; i < source.blob.size; i += PIECE) {
        const piece = new Uint8Array(await source.blob.slice(i, i + PIECE).arrayBuffer().catch(ownFault));
        await call("write", { id, data: toBase64(piece) });
        progress?.(Math.min(i + PIECE, source.blob.size), source.blob.size);
      }
    }
    await call("finish", { id });
  };

  // -- One exchange with the API.

  const aborted = (signal) => signal.reason ?? new DOMException("The request was aborted.", "AbortError");
  const failure = (error) =>
    error instanceof TypeError || error instanceof DOMException ? error : new TypeError(String(error?.message ?? error));

  /** The promise, or the signal's reason as soon as it is there. */
  const unless = (signal, promise, stop) => {
    if (!signal) return promise;
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        stop();
        reject(aborted(signal));
      };
      if (signal.aborted) return onAbort();
      signal.addEventListener("abort", onAbort, { once: true });
      promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
    });
  };

  /** The bytes that wait under a token, as a stream that ends with the signal's reason where it is aborted. */
  const bodyOf = (id, token, signal, encoding) => {
    const stop = new AbortController();
    const onAbort = () => {
      stop.abort();
      cancel(id);
    };
    if (signal?.aborted) onAbort();
    signal?.addEventListener("abort", onAbort, { once: true });
    let reader;
    const over = () => {
      open.delete(id);
      signal?.removeEventListener("abort", onAbort);
    };
    const fetched = nativeFetch(`${configuration.origin}/_nacre_/exchange/${token}`, {
      signal: stop.signal, cache: "no-store", credentials: "omit", referrerPolicy: "no-referrer",
    });
    fetched.catch(() => {});
    return new ReadableStream({
      async pull(controller) {
        try {
          if (!reader) {
            const answer = await fetched;
            if (!answer.ok || !answer.body) throw new TypeError("The answer's body is gone.");
            const plain = encoding ? answer.body.pipeThrough(new DecompressionStream(encoding)) : answer.body;
            reader = plain.getReader();
          }
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
          over();
          controller.close();
        } catch (error) {
          over();
          controller.error(signal?.aborted ? aborted(signal) : failure(error));
        }
      },
      cancel(reason) {
        over();
        stop.abort(reason);
        cancel(id);
      },
    });
  };

  const encodings = { gzip: "gzip", "x-gzip": "gzip", deflate: "deflate" };

  /**
   * Sends one request and answers {status, statusText, headers, body}; redirects are answers.
   * `plan`: {url, method, headers, source, credentials, keepalive, signal, progress}.
   */
  const exchange = async (plan) => {
    const { signal, source } = plan;
    if (signal?.aborted) throw aborted(signal);
    const id = crypto.randomUUID();
    open.add(id);
    const stop = () => {
      open.delete(id);
      cancel(id);
    };
    let body = null;
    let done = () => {};
    try {
      if (source?.blob && source.blob.size <= PIECE) {
        body = toBase64(new Uint8Array(await source.blob.arrayBuffer()));
      } else if (source) {
        const mine = turn();
        // Whoever no longer waits hands the turn on when it comes.
        done = await unless(signal, mine, () => {
          stop();
          mine.then((release) => release());
        });
        body = { length: source.blob ? source.blob.size : null };
      }
    } catch (error) {
      open.delete(id);
      throw signal?.aborted ? aborted(signal) : failure(error);
    }
    if (signal?.aborted) {
      open.delete(id);
      done();
      throw aborted(signal);
    }
    const head = call("open", {
      id, method: plan.method, url: plan.url.href, headers: plan.headers, body,
      credentials: plan.credentials, keepalive: !!plan.keepalive,
    });
    head.catch(() => {});
    let broken = null;
    if (body && typeof body === "object") {
      const whole = upload(id, source, plan.progress).finally(done);
      broken = new Promise((_, reject) =>
        whole.catch((error) => {
          // A server may answer before the body is whole, and take no more of it: then its answer counts. Only a body
          // that cannot be read ends the request.
          if (!(error instanceof BodyFailure)) return setTimeout(() => reject(error), 500);
          cancel(id);
          reject(error.error);
        }));
    } else if (source) {
      plan.progress?.(source.blob.size, source.blob.size);
    }
    let answer;
    try {
      answer = await unless(signal, broken ? Promise.race([head, broken]) : head, stop);
    } catch (error) {
      stop();
      throw signal?.aborted ? aborted(signal) : failure(error);
    }
    const encoding = answer.headers.find(([name]) => name === "content-encoding")?.[1].trim().toLowerCase();
    if (answer.token) answer.body = bodyOf(id, answer.token, signal, encodings[encoding]);
    else open.delete(id);
    return answer;
  };

  // -- fetch.

  const facts = new WeakMap();
  const known = (response, values) => {
    facts.set(response, values);
    return response;
  };

  for (const name of ["url", "type", "redirected", "status", "ok"]) {
    const native = Object.getOwnPropertyDescriptor(Response.prototype, name);
    Object.defineProperty(Response.prototype, name, {
      ...native,
      get() {
        const own = facts.get(this);
        return own && name in own ? own[name] : native.get.call(this);
      },
    });
  }
  const nativeClone = Response.prototype.clone;
  Response.prototype.clone = function clone() {
    const copy = nativeClone.call(this);
    const own = facts.get(this);
    return own ? known(copy, own) : copy;
  };

  // Engines word a stream's error in their own way where they read it whole; a page waits for its signal's reason.
  for (const name of ["arrayBuffer", "blob", "bytes", "formData", "json", "text"]) {
    const native = Response.prototype[name];
    if (!native) continue;
    Response.prototype[name] = function () {
      const whole = native.call(this);
      const signal = facts.get(this)?.signal;
      return signal ? whole.catch((error) => Promise.reject(signal.aborted ? aborted(signal) : error)) : whole;
    };
  }

  const filtered = (type, url) =>
    known(Response.error(), { type, url, status: 0, ok: false, redirected: false });

  const checkIntegrity = async (response, wanted) => {
    const algorithms = { sha256: "SHA-256", sha384: "SHA-384", sha512: "SHA-512" };
    const parts = wanted.trim().split(/\s+/).map((word) => word.match(/^(sha256|sha384|sha512)-([^?]+)/)).filter(Boolean);
    if (parts.length === 0) return response;
    const best = parts.map(([, name]) => name).sort().at(-1);
    const bytes = await response.arrayBuffer();
    const digest = toBase64(new Uint8Array(await crypto.subtle.digest(algorithms[best], bytes)));
    if (!parts.some(([, name, value]) => name === best && value === digest)) {
      throw new TypeError("The answer is not the one that integrity names.");
    }
    return known(new Response(bytes, { status: response.status, statusText: response.statusText, headers: response.headers }),
      facts.get(response));
  };

  const isRedirect = ({ status, headers }) => [301, 302, 303, 307, 308].includes(status) && headers.has("location");

  /**
   * Sends a plan and follows where it is redirected (Fetch standard, "HTTP-redirect fetch"): {answer, url, hops}, or
   * {response} of the web view's own fetch where another server takes over.
   */
  const follow = async (plan) => {
    for (let hops = 0; ; hops++) {
      const answer = await exchange(plan);
      answer.headers = new Headers(answer.headers);
      if (!isRedirect(answer) || plan.redirect === "manual") return { answer, url: plan.url, hops };
      answer.body?.cancel().catch(() => {});
      if (plan.redirect === "error") throw new TypeError("The answer is a redirect.");
      if (hops >= 20) throw new TypeError("The answer redirects too often.");
      const next = new URL(answer.headers.get("location"), plan.url);
      if (next.protocol !== "https:" && next.protocol !== "http:") {
        throw new TypeError("The answer redirects to no web address.");
      }
      next.hash = "";
      if (answer.status !== 303 && plan.source?.stream) {
        throw new TypeError("A stream cannot be sent again after a redirect.");
      }
      const becomesGet =
        ((answer.status === 301 || answer.status === 302) && plan.method === "POST") ||
        (answer.status === 303 && plan.method !== "GET" && plan.method !== "HEAD");
      if (becomesGet) {
        plan.method = "GET";
        plan.source = null;
        const told = ["content-encoding", "content-language", "content-location", "content-type", "content-length"];
        plan.headers = plan.headers.filter(([name]) => !told.includes(name));
      }
      plan.url = next;
      if (next.origin === configuration.apiOrigin) continue;
      // Somebody else's server: the web view's own fetch, with nothing that was meant for the API.
      const headers = plan.headers.filter(([name]) => !["authorization", "x-csrftoken"].includes(name));
      const response = await nativeFetch(next, {
        method: plan.method, headers, body: plan.source?.blob, signal: plan.signal, mode: plan.mode ?? "cors",
        credentials: "omit", referrerPolicy: "no-referrer",
      });
      return { answer: response, url: new URL(response.url || next), hops: hops + 1, response };
    }
  };

  const patchedFetch = async (url, input, init) => {
    const given = init ?? {};
    const isRequest = typeof input === "object" && tag(input) === "Request";
    const { body: given_body, ...rest } = given;
    let source = extract(given_body);
    const request = new Request(input, rest);
    const method = request.method;
    if (source && (method === "GET" || method === "HEAD")) throw new TypeError(`A ${method} has no body.`);
    if (!source && isRequest && given_body !== null && method !== "GET" && method !== "HEAD") {
      // Blob and form alike: the engine has encoded it, and says how in the request's own Content-Type.
      const blob = await request.blob();
      source = blob.size > 0 ? { blob, type: null } : null;
    }
    const signal = given.signal ?? (isRequest ? input.signal : null) ?? null;
    if (signal?.aborted) throw aborted(signal);
    if (request.mode === "same-origin") throw new TypeError("The API is of another origin.");
    const headers = new Headers(request.headers);
    if (source?.type && !headers.has("content-type")) headers.set("content-type", source.type);

    const plan = {
      url, method, headers: [...headers], source, credentials: request.credentials, keepalive: request.keepalive, signal,
    };
    if (plan.keepalive && (source?.stream || source?.blob?.size > 65_536)) throw new TypeError("What is kept alive sends no more than 64 KB.");
    plan.redirect = request.redirect;
    plan.mode = request.mode;
    const { answer, url: last, hops, response: others } = await follow(plan);
    if (others) return known(others, { redirected: true });
    if (request.redirect === "manual" && isRedirect(answer)) {
      answer.body?.cancel().catch(() => {});
      return filtered("opaqueredirect", last.href);
    }
    if (request.mode === "no-cors") {
      answer.body?.cancel().catch(() => {});
      return filtered("opaque", "");
    }
    const isNull = [204, 205, 304].includes(answer.status);
    const body = isNull ? null : (answer.body ?? (plan.method === "HEAD" ? null : new Uint8Array()));
    const response = known(
      new Response(body, { status: answer.status, statusText: answer.statusText, headers: answer.headers }),
      { url: last.href, type: "cors", redirected: hops > 0, signal });
    return request.integrity ? checkIntegrity(response, request.integrity) : response;
  };

  scope.fetch = function fetch(input, init) {
    const url = arguments.length > 0 ? apiURL(input) : null;
    if (!url) return nativeFetch(...arguments);
    return patchedFetch(url, input, init);
  };

  // -- navigator.sendBeacon.

  if (isWindow && navigator.sendBeacon) {
    const nativeBeacon = navigator.sendBeacon.bind(navigator);
    navigator.sendBeacon = function sendBeacon(address, data) {
      const url = apiURL(address);
      if (!url) return nativeBeacon(...arguments);
      const source = extract(data);
      if (source?.stream) throw new TypeError("A beacon carries no stream.");
      if (source?.blob.size > 65_536) return false;
      const headers = source?.type ? [["content-type", source.type]] : [];
      exchange({ url, method: "POST", headers, source, credentials: "include", keepalive: true })
        .then((answer) => answer.body?.cancel(), () => {});
      return true;
    };
  }

  // -- Workers.

  const NativeWorker = scope.Worker;
  const NativeShared = scope.SharedWorker;
  if (NativeWorker) {
    const ends = new WeakMap();
    const nativeXHR = scope.XMLHttpRequest;
    /** The address under which the app serves the worker's patch first, or the same one where it cannot be patched. */
    const prepared = (address, options) => {
      const kind = options?.type === "module" ? "module" : "classic";
      const url = new URL(String(address), base());
      if (url.origin === configuration.origin && url.protocol === "https:") {
        url.search += (url.search ? "&" : "?") + `${WORKER_MARK}=${kind}`;
        return url;
      }
      if (url.protocol !== "blob:") return null;
      // Read at once: pages revoke such an address as soon as the worker is made.
      const request = new nativeXHR();
      request.open("GET", url.href, false);
      request.send();
      const path = `${configuration.origin}/_nacre_/page-fetch.js`;
      const text = request.responseText;
      const strict = /^\s*(['"])use strict\1/.test(text) ? '"use strict";' : "";
      const first = kind === "module" ? `import "${path}";` : `${strict}importScripts("${path}");`;
      return URL.createObjectURL(new Blob([first, text], { type: "text/javascript" }));
    };
    const attempt = (address, options) => {
      try {
        return prepared(address, options);
      } catch {
        return null; // the native constructor says what is wrong
      }
    };
    if (NativeShared) {
      scope.SharedWorker = class SharedWorker extends NativeShared {
        constructor(address, options) {
          // A shared worker of a blob would be another one each time, were its text put into a new one.
          const place = String(address).startsWith("blob:") ? null : attempt(address, options);
          super(place ?? address, options);
          if (!place) return;
          const { port1, port2 } = new MessageChannel();
          serve(port1, call);
          this.port.postMessage({ nacrePort: WORKER_MARK }, [port2]);
        }
      };
    }
    scope.Worker = class Worker extends NativeWorker {
      constructor(address, options) {
        const place = attempt(address, options);
        super(place ?? address, options);
        if (!place) return;
        const { port1, port2 } = new MessageChannel();
        ends.set(this, serve(port1, call));
        super.postMessage({ nacrePort: WORKER_MARK }, [port2]);
      }
      terminate() {
        ends.get(this)?.();
        super.terminate();
      }
    };
  }

  return { apiURL, extract, follow, toBase64, call, cancel, bodyOf, base, origin: configuration.origin };
})(/*nacre:configuration*/ null)
