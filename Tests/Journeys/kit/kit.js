// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
//
// Plays the golden traces of the bridge in a page, by calls of the shape that @capacitor/core makes: plugins by their
// headers, `nativePromise` and `nativeCallback`, a missing method by an exception of its own.

const capacitor = window.Capacitor;
// What @capacitor/core reads once, when the bundle's first module runs.
const headersAtStart = capacitor?.PluginHeaders;

/** One method of a plugin as @capacitor/core binds it. */
const method = (plugin, name) => {
  const header = headersAtStart.find((header) => header.name === plugin)?.methods.find((method) => method.name === name);
  if (!header) {
    const error = new capacitor.Exception(`"${plugin}.${name}()" is not implemented on ${capacitor.getPlatform()}`);
    return () => Promise.reject(Object.assign(error, { code: "UNIMPLEMENTED" }));
  }
  return header.rtype === "promise"
    ? (options) => capacitor.nativePromise(plugin, name, options)
    : (options, callback) => capacitor.nativeCallback(plugin, name, options, callback);
};

/** What is wrong with `value` by `pattern`; the same words as in BridgeTrace.swift. */
const fault = (value, pattern, place = "data") => {
  const types = { $string: "string", $number: "number", $boolean: "boolean" };
  const seen = `${place}: saw ${JSON.stringify(value)}, wanted ${JSON.stringify(pattern)}`;
  if (typeof pattern === "string" && pattern.startsWith("$")) {
    if (pattern === "$any") return null;
    if (pattern === "$absent") return value === undefined ? null : seen;
    if (pattern === "$array") return Array.isArray(value) ? null : seen;
    if (pattern === "$object") return value && typeof value === "object" && !Array.isArray(value) ? null : seen;
    return typeof value === types[pattern] ? null : seen;
  }
  if (Array.isArray(pattern)) {
    if (!Array.isArray(value) || value.length !== pattern.length) return seen;
    for (const [index, inner] of pattern.entries()) {
      const found = fault(value[index], inner, `${place}[${index}]`);
      if (found) return found;
    }
    return null;
  }
  if (pattern && typeof pattern === "object") {
    if (!value || typeof value !== "object") return seen;
    for (const [name, inner] of Object.entries(pattern)) {
      const found = name === "..." ? null : fault(value[name], inner, `${place}.${name}`);
      if (found) return found;
    }
    if ("..." in pattern) return null;
    const extra = Object.keys(value).find((name) => !(name in pattern));
    return extra === undefined ? null : `${place}.${extra} was not expected`;
  }
  return value === pattern ? null : seen;
};

const within = (seconds, promise) =>
  Promise.race([promise, new Promise((_, no) => setTimeout(() => no(new Error(`nothing within ${seconds} s`)), seconds * 1000))]);

const play = async ({ plugin, rows }, names) => {
  const fill = (value) =>
    JSON.parse(
      JSON.stringify(value ?? {}).replace(/\{\{([^{}]+)\}\}/g, (all, name) =>
        name in names ? JSON.stringify(names[name]).slice(1, -1) : all),
    );
  const events = [];
  const row = async (row) => {
    const name = row.plugin ?? plugin;
    if (row.host) return await host(row.host, fill({ value: row.value }).value);
    if (row.listen) {
      method(name, "addListener")({ eventName: row.listen }, (data) => events.push([row.listen, data]));
      return null;
    }
    if (row.event) {
      const pattern = fill({ value: row.data }).value;
      const end = Date.now() + 10_000;
      while (Date.now() < end) {
        const index = events.findIndex(([event, data]) => event === row.event && !fault(data, pattern));
        if (index >= 0) return void events.splice(index, 1);
        await new Promise((done) => setTimeout(done, 20));
      }
      return `${row.event} did not come; there are ${JSON.stringify(events)}`;
    }
    if (row.fetch) {
      const answer = await fetch(capacitor.convertFileSrc(fill({ value: row.fetch }).value));
      if (row.status) return answer.status === row.status ? null : `status ${answer.status}`;
      const text = await answer.text();
      return text === row.text ? null : `saw ${text}`;
    }
    if (row.chunks) {
      const seen = [];
      await new Promise((done) => {
        method(name, row.call)(fill(row.options), (data, error) => {
          seen.push(error ? { error: error.code } : data);
          if (error || data.data === "") done();
        });
      });
      return fault(seen, row.chunks, "chunks");
    }
    let data;
    try {
      data = await method(name, row.call)(fill(row.options));
    } catch (error) {
      if (row.reject === undefined) return `rejected: ${error.code} ${error.message}`;
      if (!(error instanceof Error) || !error.message) return "rejected with what is no error";
      return fault(error.code, row.reject, "code");
    }
    if (row.reject !== undefined && row.data === undefined) return `resolved with ${JSON.stringify(data)}`;
    if (row.data === undefined) return data === undefined ? null : `resolved with ${JSON.stringify(data)}, wanted nothing`;
    for (const [key, member] of Object.entries(row.save ?? {})) names[key] = data[member];
    return fault(data, fill({ value: row.data }).value);
  };
  const results = [];
  for (const [index, each] of rows.entries()) {
    if (each.only === "process" || each.covered) continue;
    let why;
    try {
      why = await within(20, row(each));
    } catch (error) {
      why = String(error?.stack ?? error);
    }
    results.push({ plugin, index, row: each, why: why ?? null });
  }
  return results;
};

/** Asks whoever drives the journey to do something outside the page. */
const host = async (action, value) => {
  window.kitWants = { action, value };
  while (window.kitWants) await new Promise((done) => setTimeout(done, 20));
  return null;
};

window.runKit = async (traces, names) => {
  window.kitResults = null;
  const results = [];
  for (const trace of traces) results.push(...(await play(trace, names)));
  document.getElementById("out").textContent =
    `${results.filter((r) => !r.why).length} passed, ${results.filter((r) => r.why).length} failed`;
  window.kitResults = results;
};
