// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
//
// A bundle that calls its host as bundles built for Capacitor do, and shows what came back. `window.results` is the verdict.

import { Capacitor, registerPlugin } from "./core.js";

const App = registerPlugin("App", { web: async () => new Web() });
const Browser = registerPlugin("Browser", { web: async () => new Web() });
const Device = registerPlugin("Device", { web: async () => new Web() });
const Preferences = registerPlugin("Preferences", { web: async () => new Web() });
const Torch = registerPlugin("Torch", { web: async () => new Web() });
const Radio = registerPlugin("Radio");

/** What a plugin brings for the web. */
class Web {
  async shine() { return { from: "the web" }; }
  async toggleBackButtonHandler() { return { from: "the web" }; }
}

const rejected = (promise) => promise.then((value) => ({ resolved: value }), (error) => error);
const seconds = (count) => new Promise((done) => setTimeout(done, count * 1000));
const key = `contract-${Math.random()}`;

const checks = {
  "the host was there before the first script": () => document.documentElement.classList.contains("native"),
  "Capacitor.getPlatform()": () => [Capacitor.getPlatform(), Capacitor.getPlatform() === "linux"],
  "Capacitor.isNativePlatform()": () => Capacitor.isNativePlatform() === true,
  "Capacitor.isPluginAvailable": () =>
    Capacitor.isPluginAvailable("App") && Capacitor.isPluginAvailable("Preferences") && !Capacitor.isPluginAvailable("Radio"),
  "every header lists the listener methods": () =>
    Capacitor.PluginHeaders.every((header) => {
      const types = Object.fromEntries(header.methods.map((method) => [method.name, method.rtype]));
      return "addListener" in types && types.addListener === undefined && types.removeAllListeners === "promise";
    }),
  "Capacitor.convertFileSrc": () => {
    const made = Capacitor.convertFileSrc("file:///a/b.png");
    return [made, made === `${location.origin}/_capacitor_file_/a/b.png`];
  },
  "App.getInfo()": async () => {
    const info = await App.getInfo();
    return [info, ["name", "id", "build", "version"].every((name) => typeof info[name] === "string") && info.id === "org.example.contract"];
  },
  "App.getState()": async () => {
    const state = await App.getState();
    return [state, typeof state.isActive === "boolean"];
  },
  "App.getLaunchUrl()": async () => {
    const url = await App.getLaunchUrl();
    return [url, url === null || url === undefined || typeof url.url === "string" || Object.keys(url).length === 0];
  },
  "Device.getInfo()": async () => {
    const info = await Device.getInfo();
    return [info, typeof info.operatingSystem === "string" && typeof info.model === "string" && typeof info.isVirtual === "boolean"];
  },
  "Device.getId() stays": async () => {
    const [one, two] = [await Device.getId(), await Device.getId()];
    return [one, one.identifier.length > 10 && one.identifier === two.identifier];
  },
  "Preferences.set, get, keys, remove": async () => {
    await Preferences.set({ key, value: "wért 😀" });
    const { value } = await Preferences.get({ key });
    const { keys } = await Preferences.keys();
    await Preferences.remove({ key });
    const gone = await Preferences.get({ key });
    return [value, value === "wért 😀" && keys.includes(key) && gone.value === null];
  },
  "Preferences.get without a key rejects": async () => {
    const error = await rejected(Preferences.get({}));
    return [error.message, error instanceof Error];
  },
  "a method that the host lacks goes to the web's": async () => {
    const has = Capacitor.PluginHeaders.find((header) => header.name === "Torch");
    const answer = await Torch.shine();
    return [answer, !has && answer.from === "the web"];
  },
  "an unknown plugin rejects with UNIMPLEMENTED": async () => {
    const error = await rejected(Radio.play());
    return [`${error.code}: ${error.message}`, error.code === "UNIMPLEMENTED" && error.message.includes("Radio")];
  },
  "an unknown method rejects with UNIMPLEMENTED": async () => {
    const error = await rejected(App.fly());
    return [`${error.code}: ${error.message}`, error.code === "UNIMPLEMENTED" && error.message.includes("App.fly()")];
  },
  "a call past the headers rejects, too": async () => {
    const error = await rejected(Capacitor.nativePromise("Radio", "play", {}));
    return [`${error.code}: ${error.message}`, error.code === "UNIMPLEMENTED"];
  },
  "Browser.open with a bad address rejects": async () => {
    const error = await rejected(Browser.open({ url: "no address" }));
    return [error.message, error instanceof Error];
  },
  "addListener resolves to a handle; remove() stops it": async () => {
    const handle = await App.addListener("appStateChange", () => {});
    await handle.remove();
    return typeof handle.remove === "function";
  },
  "addListener without await can be removed": async () => {
    const call = App.addListener("appStateChange", () => {});
    await call.remove();
    return typeof (await call).remove === "function";
  },
  "removeAllListeners()": async () => {
    await App.addListener("resume", () => {});
    const answer = await rejected(App.removeAllListeners());
    return [answer?.message ?? "resolved", !(answer instanceof Error)];
  },
  "two hundred calls at once come back to their own callers": async () => {
    const names = Array.from({ length: 200 }, (_, index) => `${key}-${index}`);
    await Promise.all(names.map((name) => Preferences.set({ key: name, value: name })));
    const values = await Promise.all(names.map((name) => Preferences.get({ key: name })));
    await Promise.all(names.map((name) => Preferences.remove({ key: name })));
    return values.every(({ value }, index) => value === names[index]);
  },
  "old bundles' Capacitor.Plugins": async () => {
    const info = await Capacitor.Plugins.App.getInfo();
    return [info.name, info.id === "org.example.contract"];
  },
};

const results = [];
const show = (name, seen, passed) => {
  results.push({ name, seen, passed });
  const row = document.createElement("tr");
  for (const text of [name, typeof seen === "string" ? seen : JSON.stringify(seen) ?? "", passed ? "passed" : "failed"]) {
    row.append(Object.assign(document.createElement("td"), { textContent: text }));
  }
  row.lastChild.className = passed ? "passed" : "failed";
  document.querySelector("#rows").append(row);
};

for (const [name, check] of Object.entries(checks)) {
  const answer = await Promise.race([
    Promise.resolve().then(check).catch((error) => [String(error), false]), seconds(10).then(() => ["no answer in 10 s", false])]);
  const [seen, passed] = Array.isArray(answer) && answer.length === 2 && typeof answer[1] === "boolean" ? answer : ["", answer === true];
  show(name, seen, passed);
}
// An event that comes from outside: the journey opens a link of the app when it sees this flag.
const links = [];
await App.addListener("appUrlOpen", (event) => links.push(event.url));
window.waitsForLink = true;
for (let waited = 0; waited < 200 && links.length === 0; waited++) await seconds(0.1);
show("appUrlOpen brings the link, once", links.join(" "), links.length === 1);
const failed = results.filter((result) => !result.passed).length;
document.querySelector("#verdict").textContent = `${results.length - failed} passed, ${failed} failed`;
window.results = results;
