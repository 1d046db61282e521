// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
//
// Tests of the bridge's two scripts. Each runs in a page of its own; `native` is a fake of the app's end.

const equal = (seen, wanted, what = "") => {
  const [a, b] = [JSON.stringify(seen), JSON.stringify(wanted)];
  if (a !== b) throw new Error(`${what} saw ${a}, wanted ${b}`);
};
const rejected = async (promise) => {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("was not rejected");
};
const soon = () => new Promise((resolve) => setTimeout(resolve, 20));
const C = window.Capacitor;

const tests = {
  "the surface is there before the first script of the page": () => {
    equal(window.seenAtFirstScript, { capacitor: true, nacre: true, native: true, platform: "linux", state: "signedIn",
      touch: true, top: "47px" });
  },
  "NB-9: platform, native, server URL, file sources": () => {
    equal(C.getPlatform(), "linux");
    equal(C.isNativePlatform(), true);
    equal(C.getServerUrl(), "https://localhost");
    equal(window.CapacitorCustomPlatform.name, "linux");
    equal(C.convertFileSrc("/a/b"), "https://localhost/_capacitor_file_/a/b");
    equal(C.convertFileSrc("file:///a/b"), "https://localhost/_capacitor_file_/a/b");
    equal(C.convertFileSrc("content://a"), "https://localhost/_capacitor_content_/a");
    equal(C.convertFileSrc("https://x/"), "https://x/");
    equal(C.isPluginAvailable("App"), true);
    equal(C.isPluginAvailable("Radio"), false);
  },
  "where a person chooses the server, nacre.server says which and asks for another": async () => {
    equal([nacre.server.asking, nacre.server.origin], [false, "https://mail.example.org"]);
    equal(Object.isFrozen(nacre.server), true);
    native.answer = () => ({ success: true, data: { outcome: "asking" } });
    equal(await nacre.server.change(), { outcome: "asking" });
    await nacre.server.choose("a.example");
    equal(native.calls("NacreServer").map(({ message }) => [message.methodName, message.options]),
      [["change", {}], ["choose", { address: "a.example" }]]);
  },
  "with several accounts, nacre.accounts lists them, and goes over to another by the app": async () => {
    equal(nacre.accounts.list.map(({ name }) => name), ["Ada", "Bob"]);
    equal([nacre.accounts.current.id, Object.isFrozen(nacre.accounts.list[0])], ["first", true]);
    native.answer = () => ({ success: true, data: { outcome: "switching" } });
    equal(await nacre.accounts.switch("b"), { outcome: "switching" });
    await nacre.accounts.add();
    native.answer = () => ({ success: false, error: { code: "accounts.unknown", message: "There is no such account." } });
    equal((await rejected(nacre.accounts.remove("c"))).code, "accounts.unknown");
    const calls = native.calls("NacreAccounts").filter(({ message }) => message.methodName !== "addListener");
    equal(calls.map(({ message }) => [message.methodName, message.options]),
      [["switch", { id: "b" }], ["add", {}], ["remove", { id: "c" }]]);
    native.answer = () => ({ success: true, data: {} });
    const seen = [];
    nacre.accounts.addEventListener("change", ({ detail }) => seen.push(detail.length));
    const { message } = native.calls("NacreAccounts").find((one) => one.message.methodName === "addListener");
    const tell = (data) => native.event({ callbackId: message.callbackId, pluginId: "NacreAccounts", success: true, save: true, data });
    const list = [{ id: "first", name: "Ada" }];
    tell({ current: "first", list });
    tell({ current: "first", list });
    await soon();
    equal([seen, nacre.accounts.list.length, nacre.accounts.current.name], [[1], 1, "Ada"]);
  },
  "UP-6: nacre.updates says the state, and asks, holds, applies and confirms": async () => {
    equal(nacre.updates.state.running, "0.1.0");
    equal([Object.isFrozen(nacre.updates.state), Object.isFrozen(nacre)], [true, true]);
    native.answer = () => ({ success: true, data: { id: "h1", outcome: "current" } });
    equal((await nacre.updates.check()).outcome, "current");
    equal(await nacre.updates.hold({ reason: "writing", seconds: 30 }), "h1");
    await nacre.updates.release("h1");
    await nacre.updates.apply();
    await nacre.updates.confirm();
    await nacre.updates.report();
    equal(native.calls("NacreUpdates").map(({ message }) => [message.methodName, message.options]).slice(-6),
      [["check", {}], ["hold", { reason: "writing", seconds: 30 }], ["release", { id: "h1" }], ["apply", {}],
        ["confirm", {}], ["report", {}]]);
  },
  "UP-6: a staged release is a change of nacre.updates, once": async () => {
    let seen = [];
    nacre.updates.addEventListener("change", ({ detail }) => seen.push(detail.staged));
    const listener = native.calls("NacreUpdates").find(({ message }) => message.methodName === "addListener").message;
    const say = (data) => native.event({ callbackId: listener.callbackId, pluginId: "NacreUpdates", methodName: "addListener", save: true, success: true, data });
    const staged = { ...nacre.updates.state, phase: "staged", staged: "0.2.0" };
    say(staged);
    say(staged);
    await soon();
    equal(seen, ["0.2.0"]);
    equal(nacre.updates.state.staged, "0.2.0");
  },
  "NB-10: a message carries the origin and frame the page cannot write": async () => {
    await C.nativePromise("App", "getInfo", { origin: "https://evil.example", top: false });
    const { envelope } = native.calls("App").at(-1);
    equal(envelope.origin, location.origin);
    equal(envelope.top, true);
  },
  "a promise call resolves with the data, under a string id": async () => {
    native.answer = () => ({ success: true, data: { name: "Messages" } });
    const before = native.log.length;
    equal(await C.Plugins.App.getInfo(), { name: "Messages" });
    equal(native.log.length - before, 1, "messages sent");
    const { message } = native.calls("App").at(-1);
    equal(typeof message.callbackId, "string");
    equal(message.options, {});
    equal(message.type, "message");
  },
  "a rejection carries code, data and every further key": async () => {
    native.answer = () => ({ success: false, error: { message: "No.", code: "UNIMPLEMENTED", data: { a: 1 }, extra: 2 } });
    const error = await rejected(C.nativePromise("App", "nothing"));
    equal([error.message, error.code, error.data, error.extra], ["No.", "UNIMPLEMENTED", { a: 1 }, 2]);
    equal(error instanceof C.Exception, true);
  },
  "a call the app does not take settles": async () => {
    native.answer = () => { throw new Error("The bridge answers only the app's own page."); };
    const error = await rejected(C.nativePromise("App", "getInfo"));
    equal(error.code, "UNAVAILABLE");
  },
  "a call the app cannot read settles, by the app's own word for it": async () => {
    native.refuses = { code: "bridge.malformed", message: "The options must be an object." };
    const error = await rejected(C.nativePromise("App", "getInfo"));
    equal([error.code, error.message], ["bridge.malformed", "The options must be an object."]);
  },
  "a message that is too large settles here, and never leaves": async () => {
    const before = native.log.length;
    const error = await rejected(C.nativePromise("App", "getInfo", { text: "x".repeat(1 << 20) }));
    equal([error.code, error instanceof C.Exception], ["bridge.too_large", true]);
    equal(native.log.length, before);
    equal(await C.nativePromise("App", "getInfo", { text: "x".repeat(1000) }), {});
  },
  "NB-10: a message says which document sent it, and the app can ask the window for the same word": async () => {
    await C.nativePromise("App", "getInfo");
    const { document: name } = native.calls("App").at(-1).envelope;
    equal(name, nacreReceiveIdentity);
    equal(name.length, 36);
  },
  "options that JSON cannot carry reject": async () => {
    const loop = {};
    loop.loop = loop;
    await rejected(C.nativePromise("App", "getInfo", loop));
  },
  "a listener gets every event and none after its removal": async () => {
    const seen = [];
    const handle = C.addListener("App", "appUrlOpen", (data) => seen.push(data.url));
    const { message } = native.calls("App").at(-1);
    equal([message.methodName, message.options], ["addListener", { eventName: "appUrlOpen" }]);
    const event = (url) => native.event({ callbackId: message.callbackId, save: true, success: true, data: { url } });
    event("a");
    event("b");
    await handle.remove();
    event("c");
    equal(seen, ["a", "b"]);
    const removal = native.calls("App").at(-1).message;
    equal([removal.methodName, removal.callbackId], ["removeListener", "-1"]);
    equal(removal.options, { callbackId: message.callbackId, eventName: "appUrlOpen" });
  },
  "a removal through a header method, as @capacitor/core does it, ends the callback too": async () => {
    const seen = [];
    const id = C.nativeCallback("App", "addListener", { eventName: "x" }, (data) => seen.push(data));
    C.nativeCallback("App", "removeListener", { eventName: "x", callbackId: id }, () => {});
    native.event({ callbackId: id, save: true, success: true, data: 1 });
    equal(seen, []);
  },
  "a callback ends with save:false": () => {
    const seen = [];
    const id = C.nativeCallback("Files", "read", {}, (data) => seen.push(data));
    native.event({ callbackId: id, save: true, success: true, data: 1 });
    native.event({ callbackId: id, save: false, success: true, data: 2 });
    native.event({ callbackId: id, save: true, success: true, data: 3 });
    equal(seen, [1, 2]);
  },
  "an exception in a listener does not end the bridge, and is reported": async () => {
    const id = C.nativeCallback("Files", "read", {}, () => { throw new Error("mine"); });
    native.event({ callbackId: id, save: true, success: true, data: 1 });
    await soon();
    equal(native.reports.map((report) => report.error.message), ["mine"]);
    equal(await C.nativePromise("App", "getInfo"), {});
  },
  "registerPlugin without @capacitor/core rejects what is not there": async () => {
    const error = await rejected(C.registerPlugin("Radio").tune());
    equal(error.code, "UNIMPLEMENTED");
    equal(error.message, '"Radio.tune()" is not implemented on linux');
    equal(await C.registerPlugin("App").getInfo(), {});
  },
  "events of the page cannot be faked without the channel's name": async () => {
    let heard = 0;
    nacre.session.addEventListener("change", () => heard++);
    for (const name of ["nacre-in", "nacre--in", "nacre-hello", "nacre-here", "nacreReceive"]) {
      document.dispatchEvent(new CustomEvent(name, { detail: '{"callbackId":"1","success":true,"save":true}' }));
    }
    equal(heard, 0);
    // A late greeting must not move the line to a name the page knows.
    equal(await C.nativePromise("App", "getInfo"), {});
  },
  "triggerEvent reaches document and window": () => {
    let seen = [];
    document.addEventListener("pause", (event) => seen.push(["document", event.a]));
    window.addEventListener("keyboardDidShow", (event) => seen.push(["window", event.keyboardHeight]));
    C.triggerEvent("pause", "document", { a: 1 });
    C.triggerEvent("keyboardDidShow", "window", { keyboardHeight: 9 });
    equal(seen, [["document", 1], ["window", 9]]);
  },
  "SH-5, SH-9: insets and keyboard are variables of the root, live": () => {
    const root = document.documentElement;
    document.body ?? root.append(document.createElement("body"));
    const read = () => ["top", "right", "bottom", "left"].map((side) => getComputedStyle(root).getPropertyValue(`--safe-${side}`));
    equal(read(), ["47px", "0px", "34px", "0px"]);
    equal(getComputedStyle(root).getPropertyValue("--safe-area-inset-bottom"), "34px");
    const subscription = native.calls("Nacre").find((call) => call.message.options.eventName === "surface").message;
    const surface = (data) => native.event({ callbackId: subscription.callbackId, save: true, success: true, data });
    surface({ top: 0, right: 1, bottom: 0, left: 2.5, keyboard: 300, resize: "none", covered: 300 });
    equal(read(), ["0px", "1px", "0px", "2.5px"]);
    equal(getComputedStyle(root).getPropertyValue("--keyboard"), "300px");
    equal(document.body.style.height, "");
    surface({ top: 0, right: 0, bottom: 0, left: 0, keyboard: 0, resize: "body", covered: 300 });
    equal(document.body.style.height, "calc(100% - 300px)");
    surface({ top: 0, right: 0, bottom: 0, left: 0, keyboard: 0, resize: "body", covered: 0 });
    equal(document.body.style.height, "");
  },
  "the app fires events of document and window, as Capacitor's keyboard does": () => {
    const seen = [];
    window.addEventListener("keyboardWillShow", (event) => seen.push(event.keyboardHeight));
    document.addEventListener("resume", () => seen.push("resume"));
    const subscription = native.calls("Nacre").find((call) => call.message.options.eventName === "trigger").message;
    const trigger = (data) => native.event({ callbackId: subscription.callbackId, save: true, success: true, data });
    trigger({ name: "keyboardWillShow", target: "window", data: { keyboardHeight: 300 } });
    trigger({ name: "resume", target: "document", data: {} });
    equal(seen, [300, "resume"]);
  },
  "deviceready fires at once": async () => {
    await new Promise((resolve) => document.addEventListener("deviceready", resolve));
  },
  "nacre: version, api, can": () => {
    equal(nacre.platform, "linux");
    equal(nacre.api.origin, "https://localhost:8901");
    equal([nacre.can("signIn"), nacre.can("fly")], [true, false]);
    equal(nacre.version.report, "app 1.2.0 (42) · web 0.1.0 (a1b2c3d) · linux");
    "use strict";
    window.nacre = null;
    equal(nacre.platform, "linux");
  },
  "nacre.report: the text of a problem report": async () => {
    native.answer = () => ({ success: true, data: { text: "Problem report of …" } });
    equal(await nacre.report(), "Problem report of …");
    equal(native.calls("Nacre").at(-1).message.methodName, "report");
  },
  "nacre.session: the snapshot of the load, then changes, each once": () => {
    const seen = [];
    nacre.session.addEventListener("change", (event) => seen.push([event.detail.state, nacre.session.current.state]));
    equal([nacre.session.current.state, nacre.session.current.profile.name], ["signedIn", "Ada"]);
    const subscription = native.calls("Nacre")[0].message;
    equal([subscription.methodName, subscription.options.eventName], ["addListener", "session"]);
    const change = (data) => native.event({ callbackId: subscription.callbackId, save: true, success: true, data });
    change({ state: "signedOut", reason: "session_expired" });
    change({ state: "signedOut", reason: "session_expired" });
    equal(seen, [["signedOut", "signedOut"]]);
    equal(Object.isFrozen(nacre.session.current), true);
  },
  "nacre.session.signIn ends in an outcome, also when the app fails": async () => {
    native.answer = () => ({ success: true, data: { outcome: "cancelled" } });
    equal(await nacre.session.signIn(), { outcome: "cancelled" });
    native.answer = () => ({ success: false, error: { code: "browser.absent", message: "Install a browser." } });
    equal(await nacre.session.signIn(), { outcome: "failed", error: { code: "browser.absent", message: "Install a browser." } });
  },
};

window.runTest = async () => {
  const names = Object.keys(tests);
  const index = Number(new URLSearchParams(location.search).get("test") ?? 0);
  const name = names[index];
  let failure = null;
  try {
    await tests[name]();
  } catch (error) {
    failure = String(error?.stack ?? error);
  }
  await fetch("/result", { method: "POST", body: JSON.stringify({ name, failure, last: index === names.length - 1 }) });
  if (index < names.length - 1) location.search = `?test=${index + 1}`;
};
