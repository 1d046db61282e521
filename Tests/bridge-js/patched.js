// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
//
// Tests of the patched page channel's script, behind the bridge's own two: `native.exchange` is a fake of the app's end,
// which answers requests from what it is given; bodies of answers come from this page's own server (`/_nacre_/exchange/`).

const api = "https://localhost:8901";

/** The requests the app was asked for, with their bodies put together from their pieces. */
const asked = [];
const open = (id) => asked.find((one) => one.id === id);
const bytesOf = (base64) => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
let respond = () => ({ status: 200, statusText: "OK", headers: [], token: null });

native.answer = async (message) => {
  if (message.pluginId !== "NacreFetch") return { success: true, data: {} };
  const { options } = message;
  try {
    switch (message.methodName) {
      case "open": {
        const one = { ...options, pieces: [], cancelled: false };
        asked.push(one);
        if (typeof options.body === "string") one.pieces.push(bytesOf(options.body));
        const whole = options.body && typeof options.body === "object" ? new Promise((done) => (one.finish = done)) : null;
        await whole;
        one.text = new TextDecoder().decode(await new Blob(one.pieces).arrayBuffer());
        return { success: true, data: await respond(one) };
      }
      case "write":
        open(options.id).pieces.push(bytesOf(options.data));
        await soon();
        return { success: true };
      case "finish":
        open(options.id).finish();
        return { success: true };
      case "cancel":
        if (open(options.id)) open(options.id).cancelled = true;
        return { success: true };
      default:
        return { success: false, error: { code: "INVALID", message: "No." } };
    }
  } catch (error) {
    return { success: false, error: { code: error.code ?? "FAILED", message: error.message } };
  }
};

const answer = (values) => (respond = typeof values === "function" ? values : () => ({ statusText: "", headers: [], token: null, ...values }));
const last = () => asked.at(-1);
const header = (name) => last().headers.filter(([n]) => n.toLowerCase() === name).map(([, v]) => v).join(", ");
const sent = async (body, more = {}) => {
  await fetch(api + "/x", { method: "POST", body, ...more });
  return [last().text, header("content-type")];
};

Object.assign(tests, {
  "NB-1: only the API's requests are handed over": async () => {
    answer({ status: 200 });
    const before = asked.length;
    await fetch("/plain").catch(() => {});
    equal(asked.length, before);
    await fetch(api + "/x?y=1#part", { headers: { "X-Test": "1", Host: "evil" }, credentials: "omit" });
    equal([last().method, last().url, last().credentials, header("x-test"), header("host")], ["GET", api + "/x?y=1", "omit", "1", ""]);
  },
  "NB-2: every kind of body arrives byte for byte, with its type": async () => {
    answer({ status: 200 });
    equal(await sent("é"), ["é", "text/plain;charset=UTF-8"]);
    equal(await sent(new URLSearchParams({ a: "1 &" })), ["a=1+%26", "application/x-www-form-urlencoded;charset=UTF-8"]);
    equal(await sent(new Blob(["b"], { type: "a/b" })), ["b", "a/b"]);
    equal(await sent(new TextEncoder().encode("xxview").subarray(2)), ["view", ""]);
    equal(await sent(new TextEncoder().encode("buffer").buffer), ["buffer", ""]);
    equal(await sent({}), ["[object Object]", "text/plain;charset=UTF-8"], "as every browser");
    equal(await sent("{}", { headers: { "Content-Type": "application/json" } }), ["{}", "application/json"]);
    const form = new FormData();
    form.append('a"b\n', "one\ntwo");
    form.append("file", new File(["data"], "ä\r.txt", { type: "text/plain" }));
    const [text, type] = await sent(form);
    const boundary = type.match(/^multipart\/form-data; boundary=(.+)$/)[1];
    equal(text.split("--" + boundary), [
      "", '\r\nContent-Disposition: form-data; name="a%22b%0D%0A"\r\n\r\none\r\ntwo\r\n',
      '\r\nContent-Disposition: form-data; name="file"; filename="ä%0D.txt"\r\nContent-Type: text/plain\r\n\r\ndata\r\n', "--\r\n",
    ]);
    const request = new Request(api + "/x", { method: "PUT", body: "of a request" });
    await fetch(request);
    equal([last().method, last().text, header("content-type")], ["PUT", "of a request", "text/plain;charset=UTF-8"]);
  },
  "NB-2, NB-6: large bodies and streams go in pieces, each after the one before": async () => {
    answer({ status: 200 });
    const large = new Uint8Array(1_000_000).map((_, i) => i * 7);
    await fetch(api + "/x", { method: "PUT", body: large });
    equal([last().body, last().pieces.length], [{ length: 1_000_000 }, 3]);
    equal(new Uint8Array(await new Blob(last().pieces).arrayBuffer()).every((byte, i) => byte === large[i]), true);
    const stream = new ReadableStream({
      start(controller) {
        for (const text of ["one ", "two ", "three"]) controller.enqueue(new TextEncoder().encode(text));
        controller.close();
      },
    });
    await fetch(api + "/x", { method: "POST", body: stream, duplex: "half" });
    equal([last().body, last().text], [{ length: null }, "one two three"]);
    const wrong = new ReadableStream({ start: (controller) => void controller.enqueue("text") });
    equal((await rejected(fetch(api + "/x", { method: "POST", body: wrong, duplex: "half" }))).name, "TypeError");
    equal(last().cancelled, true);
  },
  "NB-2: what cannot be is refused before the app hears of it": async () => {
    const before = asked.length;
    for (const init of [{ method: "GET", body: "x" }, { method: "no method" }, { mode: "same-origin" }, { headers: { "a b": "c" } }]) {
      equal((await rejected(fetch(api + "/x", init))).name, "TypeError", JSON.stringify(init));
    }
    equal((await rejected(fetch(api + "/x", { method: "POST", keepalive: true, body: "x".repeat(70_000) }))).name, "TypeError");
    const stream = new Blob(["x"]).stream();
    equal((await rejected(fetch(api + "/x", { method: "POST", keepalive: true, body: stream, duplex: "half" }))).name, "TypeError");
    const control = new AbortController();
    control.abort(new Error("mine"));
    equal((await rejected(fetch(api + "/x", { signal: control.signal }))).message, "mine");
    equal(asked.length, before);
  },
  "an answer: status, fields, address, and a body from the page's own host": async () => {
    answer({ status: 201, statusText: "Created", headers: [["x-answer", "yes"]], token: "hello" });
    const response = await fetch(api + "/x");
    equal([response.status, response.statusText, response.ok, response.type, response.url, response.redirected],
      [201, "Created", true, "cors", api + "/x", false]);
    equal([response.headers.get("x-answer"), response instanceof Response], ["yes", true]);
    const copy = response.clone();
    equal([copy.url, copy.type, await copy.text(), await response.text()], [api + "/x", "cors", "body of hello", "body of hello"]);
    answer({ status: 204 });
    equal((await fetch(api + "/x")).body, null);
    answer({ status: 200, token: "missing" });
    equal((await rejected((await fetch(api + "/x")).text())).name, "TypeError");
  },
  "NB-2: an abort reaches the app, before the head and in the body, with the signal's reason": async () => {
    answer(() => new Promise(() => {}));
    const control = new AbortController();
    const waiting = rejected(fetch(api + "/x", { signal: control.signal }));
    await soon();
    control.abort();
    equal((await waiting).name, "AbortError");
    await soon();
    equal(last().cancelled, true);
    answer({ status: 200, token: "endless" });
    const response = await fetch(api + "/x", { signal: AbortSignal.timeout(200) });
    equal((await rejected(response.arrayBuffer())).name, "TimeoutError");
    await soon();
    equal(last().cancelled, true);
  },
  "NB-6: uploads that are given up while they wait for their turn hand it on": async () => {
    // Answers that wait for us, so that the first sixteen keep their turns.
    const held = [];
    answer(() => new Promise((done) => held.push(() => done({ status: 200, statusText: "OK", headers: [], token: null }))));
    const body = new Blob([new Uint8Array(400_000)]);
    const control = new AbortController();
    const running = Array.from({ length: 16 }, () => fetch(api + "/x", { method: "POST", body }));
    await soon();
    const waiting = Array.from({ length: 16 }, () => rejected(fetch(api + "/x", { method: "POST", body, signal: control.signal })));
    await soon();
    control.abort("why");
    equal([...new Set(await Promise.all(waiting))], ["why"]);
    const until = async (done) => { for (let i = 0; i < 500 && !done(); i++) await soon(); };
    await until(() => held.length === 16);
    for (const one of held) one();
    await Promise.all(running);
    answer({ status: 200 });
    equal((await fetch(api + "/x", { method: "POST", body })).status, 200);
  },
  "redirects: followed as a browser does, or an answer, or an error": async () => {
    const to = (location, status) => answer((one) => ({
      status: one.url.endsWith("/x") ? status : 200, statusText: "", token: null, headers: one.url.endsWith("/x") ? [["location", location]] : [],
    }));
    to("/y", 302);
    const response = await fetch(api + "/x", { method: "POST", body: "once", headers: { "Content-Type": "a/b", "X-Test": "1" } });
    equal([response.url, response.redirected, last().method, last().body, header("content-type"), header("x-test")],
      [api + "/y", true, "GET", null, "", "1"]);
    to("/y", 307);
    await fetch(api + "/x", { method: "POST", body: "twice" });
    equal([last().method, last().text], ["POST", "twice"]);
    const manual = await fetch(api + "/x", { redirect: "manual" });
    equal([manual.type, manual.status, manual.url], ["opaqueredirect", 0, api + "/x"]);
    equal((await rejected(fetch(api + "/x", { redirect: "error" }))).name, "TypeError");
    to("file:///etc/passwd", 302);
    equal((await rejected(fetch(api + "/x"))).name, "TypeError");
    to("/x", 302);
    const before = asked.length;
    equal((await rejected(fetch(api + "/x"))).name, "TypeError");
    equal(asked.length - before, 21);
  },
  "credentials never follow to another server": async () => {
    answer({ status: 302, headers: [["location", location.origin + "/elsewhere"]] });
    const response = await fetch(api + "/x", { headers: { Authorization: "Bearer secret", "X-Test": "1" } });
    const seen = await response.json();
    equal([seen.authorization, seen.test, response.redirected], [null, "1", true]);
  },
  "a failure of the app is a network error": async () => {
    answer(() => { throw Object.assign(new Error("too many"), { code: "page.busy" }); });
    equal((await rejected(fetch(api + "/x"))).name, "TypeError");
  },
  "XHR: events in their order, progress of both ways, types": async () => {
    answer({ status: 200, headers: [["content-type", "text/plain"], ["x-answer", "yes"]], token: "hello" });
    const request = new XMLHttpRequest();
    const seen = [];
    for (const name of ["readystatechange", "loadstart", "load", "loadend", "error"]) {
      request.addEventListener(name, () => seen.push(name + request.readyState));
    }
    let loaded = 0;
    request.upload.onprogress = (event) => (loaded = event.loaded);
    request.open("POST", api + "/x");
    request.setRequestHeader("X-Test", "1");
    request.setRequestHeader("Cookie", "a=b");
    request.send("hello");
    await new Promise((done) => (request.onloadend = done));
    await soon();
    equal(seen.filter((name, i) => name !== seen[i - 1]), ["readystatechange1", "loadstart1", "readystatechange2", "readystatechange3",
      "readystatechange4", "load4", "loadend4"]);
    equal([request.status, request.responseText, request.responseURL, request.getResponseHeader("X-Answer"), loaded],
      [200, "body of hello", api + "/x", "yes", 5]);
    equal([header("x-test"), header("cookie")], ["1", ""]);
    equal(request instanceof XMLHttpRequest, true);
  },
  "XHR: timeout, abort and what cannot be": async () => {
    answer(() => new Promise(() => {}));
    const end = (set) =>
      new Promise((done) => {
        const request = new XMLHttpRequest();
        for (const name of ["timeout", "abort", "error", "load"]) request["on" + name] = () => done([name, request.readyState, request.status]);
        request.open("GET", api + "/x");
        set(request);
        request.send();
      });
    equal(await end((request) => (request.timeout = 50)), ["timeout", 4, 0]);
    await soon();
    equal(last().cancelled, true);
    equal(await end((request) => setTimeout(() => request.abort(), 30)), ["abort", 4, 0]);
    let name = null;
    try {
      new XMLHttpRequest().open("GET", api + "/x", false);
    } catch (error) {
      name = error.name;
    }
    equal(name, "InvalidAccessError");
  },
  "an EventSource comes back with the last id, unless it is closed": async () => {
    answer((one) => ({ status: 200, statusText: "", headers: [["content-type", "text/event-stream"]], token: one.headers.some(([n]) => n === "last-event-id") ? "endless" : "events" }));
    const source = new EventSource(api + "/events");
    const seen = [];
    source.addEventListener("note", (event) => seen.push([event.data, event.lastEventId]));
    equal([source instanceof EventSource, source.readyState, source.url], [true, 0, api + "/events"]);
    await new Promise((done) => (source.onopen = done));
    const first = asked.length;
    for (let i = 0; i < 100 && asked.length === first; i++) await soon();
    equal(seen, [["one\ntwo", "7"]]);
    equal(header("last-event-id"), "7");
    source.close();
    await soon();
    equal([source.readyState, last().cancelled], [2, true]);
    answer({ status: 204, headers: [] });
    const none = new EventSource(api + "/none");
    await new Promise((done) => (none.onerror = done));
    equal(none.readyState, 2);
  },
  "a beacon is sent and kept alive, a large one is not": async () => {
    answer({ status: 204 });
    equal(navigator.sendBeacon(api + "/beacon", new Blob(["b"], { type: "a/b" })), true);
    for (let i = 0; i < 50 && last()?.url !== api + "/beacon"; i++) await soon();
    await soon();
    equal([last().method, last().text, last().keepalive, header("content-type")], ["POST", "b", true, "a/b"]);
    equal(navigator.sendBeacon(api + "/beacon", "x".repeat(70_000)), false);
  },
  "NB-4: the API's media is shown by the proxy, and reads as it was written": () => {
    const image = new Image();
    image.src = api + "/a b.png#t=1";
    const raw = Element.prototype.getAttribute.call(image, "src");
    equal(raw, location.origin + "/_capacitor_http_interceptor_?u=" + encodeURIComponent(api + "/a%20b.png") + "#t=1");
    equal([image.src, image.getAttribute("src")], [api + "/a%20b.png#t=1", api + "/a%20b.png#t=1"]);
    image.setAttribute("src", "https://other.example/x.png");
    equal(image.src, "https://other.example/x.png");
    image.srcset = `${api}/1.png, ${api}/2.png 2x,https://other.example/3.png 3x`;
    const set = Element.prototype.getAttribute.call(image, "srcset");
    const proxied = (name) => location.origin + "/_capacitor_http_interceptor_?u=" + encodeURIComponent(api + name);
    equal(set, `${proxied("/1.png")}, ${proxied("/2.png")} 2x,https://other.example/3.png 3x`);
    equal(image.srcset, `${api}/1.png, ${api}/2.png 2x,https://other.example/3.png 3x`);
    const video = document.createElement("video");
    video.poster = api + "/p.png";
    equal([video.poster, Element.prototype.getAttribute.call(video, "poster").startsWith(location.origin + "/_cap")], [api + "/p.png", true]);
  },
});
