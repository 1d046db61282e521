// One matrix for the page, a worker and a frame, in the app and in an ordinary browser: what a fetch comes to, in a form
// that two engines can agree on. `run(api)` answers {name: outcome}.
const hex = (bytes) => [...new Uint8Array(bytes)].map((b) => b.toString(16).padStart(2, "0")).join("");
const sha = async (bytes) => hex(await crypto.subtle.digest("SHA-256", bytes));
const same = (a, b) => {
  const [one, other] = [new Uint8Array(a), new Uint8Array(b)];
  return one.length === other.length && one.every((byte, i) => byte === other[i]);
};
const make = (size) => {
  const bytes = new Uint8Array(size);
  for (let i = 0; i < size; i++) bytes[i] = (i * 31 + (i >> 8)) & 255;
  return bytes;
};

// Engines word their errors differently; what counts is their kind.
const failure = (error) => ({ error: error?.name ?? String(error) });

const outcome = async (api, url, init) => {
  try {
    const response = await fetch(api + url, { credentials: "include", ...init });
    const seen = { status: response.status, type: response.type, redirected: response.redirected, ok: response.ok };
    if (response.url) seen.url = response.url.replace(api, "").replace(/[?]\d.*/, "?");
    if (response.headers.get("x-answer")) seen.answer = response.headers.get("x-answer");
    const copy = response.body ? response.clone() : null;
    const bytes = await response.arrayBuffer();
    if (copy && !same(await copy.arrayBuffer(), bytes)) seen.clone = "differs";
    if (response.headers.get("content-type") === "application/json") {
      const echo = JSON.parse(new TextDecoder().decode(bytes));
      delete echo.cookie;
      seen.echo = echo;
    } else {
      seen.size = bytes.byteLength;
      seen.sha = await sha(bytes);
    }
    return seen;
  } catch (error) {
    return failure(error);
  }
};

const bodies = {
  none: () => undefined,
  text: (size) => "é".repeat(size / 2),
  params: (size) => new URLSearchParams({ a: "1 &=é", b: "x".repeat(size) }),
  blob: (size) => new Blob([make(size)], { type: "image/png" }),
  slice: (size) => new Blob([make(size + 10)]).slice(5, 5 + size),
  buffer: (size) => make(size).buffer,
  view: (size) => make(size + 20).subarray(10, 10 + size),
  form: (size) => {
    const form = new FormData();
    form.append("field", "value é");
    form.append("file", new File([make(size)], "ä \"b\".bin", { type: "a/b" }));
    return form;
  },
};

const cases = (scope) => {
  const list = [];
  const add = (name, work) => list.push([name, work]);
  const small = scope === "page" ? [0, 1, 70_000, 3_000_000] : [1, 70_000];
  for (const method of ["GET", "HEAD", "DELETE", "OPTIONS", "POST", "PUT", "PATCH"]) {
    add(`${method} without a body`, (api) => outcome(api, "/echo", { method, headers: { "X-Test": "1" } }));
  }
  for (const method of scope === "page" ? ["POST", "PUT", "PATCH", "DELETE"] : ["POST"]) {
    for (const kind of Object.keys(bodies).slice(1)) {
      for (const size of method === "POST" ? small : [1000]) {
        add(`${method} ${kind} of ${size}`, (api) => outcome(api, "/echo", { method, body: bodies[kind](size) }));
      }
    }
  }
  for (const size of [0, 1, 65_536, 1_000_001, ...(scope === "page" ? [8_000_000] : [])]) {
    add(`GET ${size} bytes`, (api) => outcome(api, `/bytes?n=${size}`));
  }
  for (const code of [201, 204, 205, 304, 400, 401, 404, 418, 500, 503]) {
    add(`status ${code}`, (api) => outcome(api, `/status?code=${code}`));
  }
  for (const code of [301, 302, 303, 307, 308]) {
    for (const redirect of ["follow", "manual", "error"]) {
      add(`${code} ${redirect}`, (api) => outcome(api, `/redirect?code=${code}`, { redirect }));
    }
    add(`POST ${code}`, (api) => outcome(api, `/redirect?code=${code}`, { method: "POST", body: "moved" }));
    add(`PUT ${code}`, (api) => outcome(api, `/redirect?code=${code}`, { method: "PUT", body: "moved" }));
  }
  add("five redirects", (api) => outcome(api, "/redirect?code=302&left=5"));
  add("a loop of redirects", (api) => outcome(api, "/loop"));
  add("a redirect to nowhere", (api) => outcome(api, "/redirect?code=302&to=" + encodeURIComponent("https://nowhere.invalid/")));
  add("a redirect to another scheme", (api) => outcome(api, "/redirect?code=302&to=" + encodeURIComponent("file:///etc/passwd")));
  add("gzip", (api) => outcome(api, "/gzip?n=100000"));
  add("invalid UTF-8 as text", async (api) => (await fetch(api + "/text", { credentials: "include" })).text());
  add("a body that ends early", (api) => outcome(api, "/cut"));
  add("a chunk that ends early", (api) => outcome(api, "/cut?how=chunk"));
  add("200 headers", async (api) => {
    const response = await fetch(api + "/headers?n=200", { credentials: "include" });
    return [response.status, await response.text()];
  });
  add("integrity of another body", (api) =>
    outcome(api, "/bytes?n=1", { integrity: "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=" }));
  add("a method that is none", (api) => outcome(api, "/echo", { method: "bad method" }));
  add("a body on GET", (api) => outcome(api, "/echo", { method: "GET", body: "x" }));
  add("credentials omit", async (api) => {
    const response = await fetch(api + "/echo", { credentials: "omit" });
    return [response.status, response.type];
  });
  add("no-cors is opaque", async (api) => {
    const response = await fetch(api + "/status?code=200", { mode: "no-cors", credentials: "omit" });
    return [response.type, response.status];
  });
  add("abort before it begins", async (api) => {
    const control = new AbortController();
    control.abort();
    return outcome(api, "/echo", { signal: control.signal });
  });
  add("abort while waiting for the body", async (api) => {
    const control = new AbortController();
    try {
      const response = await fetch(api + "/slow?abort=" + scope, { signal: control.signal, credentials: "include" });
      const reader = response.body.getReader();
      await reader.read();
      control.abort();
      for (;;) if ((await reader.read()).done) return "ended";
    } catch (error) {
      return failure(error);
    }
  });
  add("abort by timeout", async (api) => {
    try {
      const response = await fetch(api + "/slow?timeout=" + scope, { signal: AbortSignal.timeout(300), credentials: "include" });
      await response.arrayBuffer();
      return "ended";
    } catch (error) {
      return failure(error);
    }
  });
  add("a body is streamed", async (api) => {
    const response = await fetch(api + "/slow?n=12", { credentials: "include" });
    const reader = response.body.getReader();
    let pieces = 0;
    while (!(await reader.read()).done) pieces++;
    return pieces >= 3 ? "in pieces" : `in ${pieces}`;
  });
  add("a body is read once", async (api) => {
    const response = await fetch(api + "/bytes?n=1", { credentials: "include" });
    await response.text();
    return response.text().then(() => "twice", failure);
  });
  add("keepalive", (api) => outcome(api, "/echo", { method: "POST", body: "kept", keepalive: true }));
  add("a header that nobody may set", async (api) => {
    const response = await fetch(api + "/echo", { headers: { "X-Test": "1", Host: "evil", "Sec-Fetch-Site": "none" }, credentials: "include" });
    return (await response.json()).test;
  });
  if (typeof XMLHttpRequest !== "undefined") {
    add("XHR upload progress", (api) =>
      new Promise((done) => {
        const request = new XMLHttpRequest();
        let last = 0;
        request.upload.onprogress = (event) => (last = event.loaded);
        request.onload = () => done([request.status, last, JSON.parse(request.responseText).size]);
        request.onerror = () => done("error");
        request.open("PUT", api + "/echo");
        request.withCredentials = true;
        request.send(new Blob([make(2_000_000)]));
      }));
    add("XHR abort", (api) =>
      new Promise((done) => {
        const request = new XMLHttpRequest();
        request.onabort = () => done("aborted " + request.readyState);
        request.onprogress = () => request.abort();
        request.open("GET", api + "/slow?xhr=" + scope);
        request.send();
      }));
    add("a synchronous XHR", (api) => {
      const request = new XMLHttpRequest();
      request.open("GET", api + "/status?code=200", false);
      request.withCredentials = true;
      request.send();
      return request.responseText;
    });
    add("XHR response types", (api) =>
      Promise.all(["arraybuffer", "blob", "text", "json"].map((type) =>
        new Promise((done) => {
          const request = new XMLHttpRequest();
          request.onload = () => done(type + " " + (request.response?.size ?? request.response?.byteLength ?? typeof request.response));
          request.onerror = () => done(type + " error");
          request.responseType = type;
          request.open("GET", api + (type === "json" ? "/echo" : "/bytes?n=1000"));
          request.withCredentials = true;
          request.send();
        }))));
  }
  add("EventSource", (api) =>
    new Promise((done) => {
      const seen = [];
      const source = new EventSource(api + "/events", { withCredentials: true });
      const note = (event) => {
        seen.push([event.type, event.data, event.lastEventId, event.origin === api]);
        if (seen.length === 3) {
          source.close();
          done([seen, source.readyState, source.withCredentials, source.url === api + "/events"]);
        }
      };
      source.addEventListener("note", note);
      source.onmessage = note;
    }));
  add("EventSource of no events", (api) =>
    new Promise((done) => {
      const source = new EventSource(api + "/text", { withCredentials: true });
      source.onerror = () => done(source.readyState);
      source.onopen = () => done("open");
    }));
  const socket = (api, path, protocols, work) =>
    new Promise((done) => {
      const made = new WebSocket(api.replace(/^http/, "ws") + path, protocols);
      const seen = [];
      made.binaryType = "arraybuffer";
      made.onmessage = (event) => {
        seen.push(typeof event.data === "string" ? event.data.slice(0, 40) : [...new Uint8Array(event.data.slice(0, 4)), event.data.byteLength]);
        work?.(made, seen);
      };
      made.onopen = () => work?.(made, seen);
      made.onclose = (event) => done([seen, made.protocol, made.readyState, event.code, event.reason, event.wasClean]);
    });
  add("WebSocket", (api) =>
    socket(api, "/socket?x=1", ["other", "echo"], (made, seen) => {
      const next = [() => made.send("é ✓"), () => made.send(make(70_000)), () => made.send(new Blob([make(3)])),
        () => made.send(make(9).subarray(2, 6).buffer.slice(2, 6)), () => made.send(""), () => made.send("split"),
        () => made.send("close 4001 enough")];
      next[seen.length]();
    }));
  add("WebSocket closed by the page", (api) => socket(api, "/socket", [], (made) => made.close(3001, "bye")));
  add("WebSocket that breaks", (api) => socket(api, "/socket", "echo", (made) => made.send("cut")));
  add("WebSocket that is refused", (api) => socket(api, "/status?code=403", []));
  add("WebSocket with a bad subprotocol", (api) => new WebSocket(api.replace(/^http/, "ws") + "/socket", "a b") && "made");
  if (typeof Image !== "undefined") {
    add("an image", (api) =>
      new Promise((done) => {
        const image = new Image();
        image.onload = () => done(image.naturalWidth);
        image.onerror = () => done("error");
        image.src = api + "/pixel";
      }));
    add("an image by srcset", (api) =>
      new Promise((done) => {
        const image = new Image();
        image.onload = () => done([image.naturalWidth, image.currentSrc === api + "/pixel?1"]);
        image.onerror = () => done("error");
        image.srcset = `${api}/pixel?1, ${api}/pixel?4 4x`;
      }));
    add("an image in markup", (api) =>
      new Promise((done) => {
        const box = document.createElement("div");
        box.innerHTML = `<img src="${api}/pixel?markup">`;
        const image = box.firstChild;
        image.onload = () => done([image.naturalWidth, image.src === api + "/pixel?markup", image.getAttribute("src") === image.src]);
        image.onerror = () => done("error");
        document.body.append(box);
      }));
  }
  if (scope === "page") {
    add("a shared worker's fetch", (api) =>
      new Promise((done) => {
        const made = new SharedWorker("shared.js");
        made.port.onmessage = (event) => done(event.data);
        made.port.postMessage(api);
      }));
    for (const type of ["classic", "module"]) {
      add(`a ${type} worker of a blob`, (api) =>
        new Promise((done) => {
          const text = "onmessage = (e) => fetch(e.data + '/status?code=200', {credentials: 'include'}).then(r => r.text()).then(postMessage, e => postMessage(e.name))";
          const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
          const made = new Worker(url, { type });
          URL.revokeObjectURL(url);
          made.onmessage = (event) => done(event.data);
          made.onerror = () => done("error");
          made.postMessage(api);
        }));
    }
  }
  return list;
};

globalThis.run = async (api, scope) => {
  const results = {};
  const list = cases(scope);
  // A few at a time, as a page would.
  await Promise.all(Array.from({ length: 4 }, async () => {
    for (let next = list.shift(); next; next = list.shift()) {
      const [name, work] = next;
      try {
        results[name] = await Promise.race([
          work(api), new Promise((done) => setTimeout(() => done("never"), 15_000))]);
      } catch (error) {
        results[name] = failure(error);
      }
    }
  }));
  return results;
};

if (typeof WorkerGlobalScope !== "undefined") {
  onmessage = async (event) => postMessage(await run(event.data, "worker"));
} else if (window.top !== window) {
  onmessage = async (event) => parent.postMessage(await run(event.data, "frame"), "*");
} else {
  globalThis.runAll = async (api) => {
    const page = await run(api, "page");
    const worker = await new Promise((done) => {
      const made = new Worker("fetch.js");
      made.onmessage = (event) => done(event.data);
      made.postMessage(api);
    });
    const frame = await new Promise((done) => {
      const made = document.createElement("iframe");
      made.src = "frame.html";
      made.onload = () => made.contentWindow.postMessage(api, "*");
      onmessage = (event) => done(event.data);
      document.body.append(made);
    });
    return { page, worker, frame };
  };
}
