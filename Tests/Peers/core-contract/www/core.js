// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
//
// The guest's half of Capacitor 8's contract, written from the contract: what a bundle brings with it and puts over the
// host's `window.Capacitor`. It makes the same calls on the host, in the same order, with the same arguments: it reads
// each plugin's header once, at registration; calls `nativePromise` for methods of type promise and `nativeCallback` for all
// others; falls back to an implementation for the web on a custom platform; and removes listeners by the id of their call.

const host = (window.Capacitor ??= {});
const custom = window.CapacitorCustomPlatform ?? null;
const platform = custom?.name ?? "web";
const registered = new Map();

export class CapacitorException extends Error {
  constructor(message, code, data) {
    super(message);
    Object.assign(this, { message, code, data });
  }
}

const headerOf = (name) => host.PluginHeaders?.find((header) => header.name === name);

export const registerPlugin = (name, implementations = {}) => {
  if (registered.has(name)) return registered.get(name).proxy;
  const header = headerOf(name);
  let implementation;
  const load = async () => {
    const key = platform in implementations ? platform : custom && "web" in implementations ? "web" : null;
    if (key && !implementation) {
      const offered = implementations[key];
      implementation = typeof offered === "function" ? await offered() : offered;
    }
    return implementation;
  };
  const missing = (method) =>
    new CapacitorException(
      method ? `"${name}.${method}()" is not implemented on ${platform}` : `"${name}" plugin is not implemented on ${platform}`,
      "UNIMPLEMENTED");
  const find = (own, method) => {
    const known = header?.methods.find((one) => one.name === method);
    if (known?.rtype === "promise") return (options) => host.nativePromise(name, method, options);
    if (known) return (options, callback) => host.nativeCallback(name, method, options, callback);
    if (!header && !own) throw missing();
    return own?.[method]?.bind(own);
  };
  const wrap = (method) => async (...words) => {
    const found = find(await load(), method);
    if (!found) throw missing(method);
    return found(...words);
  };
  const [add, remove] = [wrap("addListener"), wrap("removeListener")];
  const addNative = (eventName, callback) => {
    const call = add({ eventName }, callback);
    const handle = { remove: async () => void remove({ eventName, callbackId: await call }, callback) };
    return Object.assign(call.then(() => handle), handle);
  };
  const proxy = new Proxy({}, {
    get: (_, key) => {
      if (key === "$$typeof" || key === "then") return undefined;
      if (key === "toJSON") return () => ({});
      if (key === "addListener") return header ? addNative : add;
      if (key === "removeListener") return remove;
      return wrap(key);
    },
  });
  (host.Plugins ??= {})[name] = proxy;
  registered.set(name, { proxy, platforms: new Set([...Object.keys(implementations), ...(header ? [platform] : [])]) });
  return proxy;
};

export const Capacitor = Object.assign(host, {
  getPlatform: () => platform,
  isNativePlatform: () => platform !== "web",
  isPluginAvailable: (name) => (registered.get(name)?.platforms.has(platform) ?? false) || headerOf(name) !== undefined,
  registerPlugin,
  handleError: (error) => console.error(error),
  Exception: CapacitorException,
  DEBUG: !!host.DEBUG,
  isLoggingEnabled: !!host.isLoggingEnabled,
});
Capacitor.convertFileSrc ??= (path) => path;
