// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// LK-6: messages with ICU-style plurals and selects, dates and numbers by Intl, and a switch without reload: whatever was
// written through `dom.js` with a `Live` value is written again when the language changes.

/** A value that is computed again when the language changes. */
export class Live {
  constructor(compute) {
    this.compute = compute;
  }
  toString() {
    return String(this.compute());
  }
}

/** Parses `{name}`, `{n, plural, =0 {…} one {…} other {…}}`, `{x, select, a {…} other {…}}` and `#`. */
export function parseMessage(source) {
  let at = 0;
  const fail = (why) => {
    throw new SyntaxError(`${why} at ${at} in message: ${source}`);
  };
  const skip = () => {
    while (/\s/.test(source[at] ?? "")) at += 1;
  };
  const word = () => {
    skip();
    const start = at;
    while (/[\w=-]/.test(source[at] ?? "")) at += 1;
    if (start === at) fail("Expected a name");
    const text = source.slice(start, at);
    skip();
    return text;
  };
  const parts = (nested) => {
    const out = [];
    let text = "";
    const flush = () => {
      if (text) out.push(text);
      text = "";
    };
    while (at < source.length) {
      const character = source[at];
      if (character === "}" && nested) break;
      if (character === "#" && nested) {
        flush();
        out.push({ kind: "number" });
        at += 1;
      } else if (character === "{") {
        flush();
        at += 1;
        out.push(argument());
      } else {
        text += character;
        at += 1;
      }
    }
    flush();
    return out;
  };
  const argument = () => {
    const name = word();
    if (source[at] === "}") {
      at += 1;
      return { kind: "argument", name };
    }
    if (source[at] !== ",") fail("Expected , or }");
    at += 1;
    const kind = word();
    if (kind !== "plural" && kind !== "select") fail(`Unknown kind ${kind}`);
    if (source[at] === ",") at += 1;
    const cases = {};
    skip();
    while (at < source.length && source[at] !== "}") {
      const label = word();
      if (source[at] !== "{") fail("Expected {");
      at += 1;
      cases[label] = parts(true);
      if (source[at] !== "}") fail("Unclosed case");
      at += 1;
      skip();
    }
    if (!cases.other) fail("Missing case other");
    at += 1;
    return { kind, name, cases };
  };
  return parts(false);
}

export class I18n {
  #messages;
  #parsed = new Map();
  #language;
  #listeners = new Set();
  #formats = new Map(); // making an Intl object costs more than a row of a list

  /** `messages`: key → language → ICU-style text. */
  constructor(messages, languages) {
    this.#messages = messages;
    this.languages = languages;
    this.#language = languages[0];
  }

  get language() {
    return this.#language;
  }

  /** The person's own regional form of the language where the browser names one, for dates and numbers. */
  get locale() {
    return navigator.languages?.find((tag) => tag.split("-")[0] === this.#language) ?? this.#language;
  }

  /** The first of `wanted` that we speak, by language part. */
  pick(...wanted) {
    for (const tag of wanted.flat()) {
      const language = tag?.toLowerCase().split(/[-_]/)[0];
      if (this.languages.includes(language)) return language;
    }
    return this.languages[0];
  }

  use(language) {
    if (!this.languages.includes(language)) return;
    this.#language = language;
    document.documentElement.lang = language;
    refreshLive(document);
    for (const listener of this.#listeners) listener(language);
  }

  onChange(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  has(key) {
    return key in this.#messages;
  }

  t(key, values = {}) {
    const id = `${this.#language} ${key}`;
    let parsed = this.#parsed.get(id);
    if (!parsed) {
      const source = this.#messages[key]?.[this.#language];
      if (source === undefined) throw new ReferenceError(`No message ${key} in ${this.#language}`);
      parsed = parseMessage(source);
      this.#parsed.set(id, parsed);
    }
    return this.#format(parsed, values, null);
  }

  /** A live message, for `h()`. */
  m(key, values) {
    return new Live(() => this.t(key, typeof values === "function" ? values() : values));
  }

  #format(parts, values, count) {
    return parts
      .map((part) => {
        if (typeof part === "string") return part;
        if (part.kind === "number") return this.number(count);
        const value = values[part.name];
        if (part.kind === "argument") return typeof value === "number" ? this.number(value) : String(value ?? "");
        if (part.kind === "select") return this.#format(part.cases[value] ?? part.cases.other, values, count);
        const rule = this.#intl(Intl.PluralRules).select(value);
        return this.#format(part.cases[`=${value}`] ?? part.cases[rule] ?? part.cases.other, values, value);
      })
      .join("");
  }

  number(value, options) {
    return this.#intl(Intl.NumberFormat, options).format(value);
  }

  /** A file's size, in the units files are shown in. */
  size(bytes) {
    const units = ["byte", "kilobyte", "megabyte", "gigabyte"];
    const step = Math.min(units.length - 1, bytes > 0 ? Math.floor(Math.log(bytes) / Math.log(1000)) : 0);
    const value = bytes / 1000 ** step;
    return this.number(value, {
      style: "unit",
      unit: units[step],
      unitDisplay: step === 0 ? "long" : "short",
      maximumFractionDigits: value < 10 && step > 0 ? 1 : 0,
    });
  }

  /** Short form for lists: today the time, this week the day, this year the date, else with the year. */
  when(date, now = new Date()) {
    const day = (value) => new Date(value.getFullYear(), value.getMonth(), value.getDate()).getTime();
    const age = Math.round((day(now) - day(date)) / 86_400_000);
    if (age === 0) return this.date(date, { timeStyle: "short" });
    if (age === 1) {
      return this.#capital(this.#intl(Intl.RelativeTimeFormat, { numeric: "auto" }).format(-1, "day"));
    }
    if (age > 1 && age < 7) return this.#capital(this.date(date, { weekday: "long" }));
    if (date.getFullYear() === now.getFullYear()) return this.date(date, { day: "numeric", month: "short" });
    return this.date(date, { dateStyle: "short" });
  }

  #intl(Kind, options = {}) {
    const key = `${Kind.name} ${this.locale} ${JSON.stringify(options)}`;
    let format = this.#formats.get(key);
    if (!format) this.#formats.set(key, (format = new Kind(this.locale, options)));
    return format;
  }

  #capital(text) {
    return text[0].toLocaleUpperCase(this.locale) + text.slice(1);
  }

  date(date, options) {
    return this.#intl(Intl.DateTimeFormat, options).format(date);
  }
}

const bindings = new WeakMap();

/** Writes a live value now and again whenever the language changes, for as long as `element` is in the document. */
export function bindLive(element, write) {
  let writers = bindings.get(element);
  if (!writers) {
    writers = [];
    bindings.set(element, writers);
    element.setAttribute("data-live", "");
  }
  writers.push(write);
  write();
}

function refreshLive(root) {
  for (const element of root.querySelectorAll("[data-live]")) {
    for (const write of bindings.get(element) ?? []) write();
  }
}
