// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// A field for people: each becomes a chip, known ones are suggested while typing (ARIA combobox with a list).

import { fill, h, icon } from "../shared/dom.js";
import { isAddress, personLabel, readAddresses, unique } from "./address.js";
import { i18n, m, t } from "./i18n.js";

let count = 0;

export class RecipientsField {
  #people = [];
  #found = [];
  #active = -1;
  #timer = 0;
  #abort = null;
  #error = null;

  /** `label`: message key. `suggest(text, signal)` resolves to people. `onChange(people)`. `say(text)`: a word for screen readers. */
  constructor({ label, suggest, onChange, say }) {
    const id = `people-${(count += 1)}`;
    this.label = label;
    this.suggest = suggest;
    this.onChange = onChange;
    this.say = say;
    this.chips = h("ul", { class: "chips", role: "list" });
    this.input = h("input", {
      id, type: "text", inputmode: "email", autocomplete: "off", autocapitalize: "none", spellcheck: "false", enterkeyhint: "next",
      role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": `${id}-list`, "aria-describedby": `${id}-error`,
      on: {
        input: () => this.#typed(), keydown: (event) => this.#key(event), paste: (event) => this.#paste(event),
        blur: () => (this.#close(), this.commit()),
      },
    });
    this.list = h("ul", { class: "suggestions", id: `${id}-list`, role: "listbox", "aria-label": m("compose.suggestions"), hidden: true });
    this.errorLine = h("p", { class: "field-error", id: `${id}-error`, role: "alert" });
    this.element = h("div", { class: "compose-field people-field" },
      h("label", { for: id }, m(label)),
      h("div", { class: "chips-box", on: { click: (event) => event.target === event.currentTarget && this.input.focus() } }, this.chips, this.input),
      this.list, this.errorLine);
    this.#stopListening = i18n.onChange(() => this.#draw());
  }

  #stopListening;

  end() {
    this.#stopListening();
    this.#close();
  }

  get people() {
    return this.#people;
  }

  set people(people) {
    this.#people = [...people];
    this.#draw();
  }

  focus() {
    this.input.focus();
  }

  /** Takes what stands in the input as a person (or several); false when something in the field is no address. */
  commit() {
    const typed = this.input.value.trim();
    if (typed) {
      this.input.value = "";
      this.#add(readAddresses(typed));
    }
    return this.#people.every((person) => isAddress(person.email));
  }

  /** Says beside the field what is wrong. */
  fail(key, values) {
    this.#error = key && { key, values };
    this.errorLine.textContent = key ? t(key, values) : "";
    this.input.setAttribute("aria-invalid", String(Boolean(key)));
    this.element.classList.toggle("wrong", Boolean(key));
  }

  #add(people) {
    if (people.length === 0) return;
    this.#people = unique([...this.#people, ...people]);
    this.say(t("compose.added", { names: people.map((person) => personLabel(person)).join(", ") }));
    this.#changed();
  }

  #remove(at) {
    const [gone] = this.#people.splice(at, 1);
    this.say(t("compose.removed", { name: personLabel(gone) }));
    this.#changed();
    (this.chips.querySelectorAll("button")[Math.min(at, this.#people.length - 1)] ?? this.input).focus();
  }

  #changed() {
    this.fail(null);
    this.#draw();
    this.onChange(this.#people);
  }

  #draw() {
    const wrong = this.#people.filter((person) => !isAddress(person.email));
    fill(this.chips, this.#people.map((person, at) => {
      const bad = !isAddress(person.email);
      return h("li", { class: bad ? "chip wrong" : "chip", title: person.email },
        bad && icon("alert"), h("bdi", { class: "one-line" }, personLabel(person)),
        h("button", {
          type: "button", "aria-label": t(bad ? "compose.remove.wrong" : "compose.remove", { name: personLabel(person) }), on: { click: () => this.#remove(at) },
        }, icon("close")));
    }));
    this.chips.hidden = this.#people.length === 0;
    if (wrong.length > 0) this.fail("compose.wrong", { address: wrong[0].email });
    else if (this.#error?.key === "compose.wrong") this.fail(null);
    else if (this.#error) this.fail(this.#error.key, this.#error.values);
  }

  #paste(event) {
    const text = event.clipboardData?.getData("text/plain") ?? "";
    if (!/[,;\n@]/.test(text)) return;
    const people = readAddresses(this.input.value + text);
    if (people.length < 2 && !people.some((person) => isAddress(person.email))) return;
    event.preventDefault();
    this.input.value = "";
    this.#close();
    this.#add(people);
  }

  #typed() {
    if (/[,;]$/.test(this.input.value)) {
      this.commit();
      return this.#close();
    }
    clearTimeout(this.#timer);
    const text = this.input.value.trim();
    if (text.length < 2) return this.#close();
    this.#timer = setTimeout(async () => {
      this.#abort?.abort();
      this.#abort = new AbortController();
      const found = await this.suggest(text, this.#abort.signal).catch(() => []);
      if (this.input.value.trim() !== text || document.activeElement !== this.input) return;
      this.#found = found.filter((person) => !this.#people.some((one) => one.email.toLowerCase() === person.email.toLowerCase()));
      this.#active = this.#found.length > 0 ? 0 : -1;
      this.#drawList();
      if (this.#found.length > 0) this.say(t("compose.found", { n: this.#found.length }));
    }, 150);
  }

  #drawList() {
    const open = this.#found.length > 0;
    this.list.hidden = !open;
    this.input.setAttribute("aria-expanded", String(open));
    fill(this.list, this.#found.map((person, at) =>
      h("li", {
        id: `${this.list.id}-${at}`, role: "option", "aria-selected": String(at === this.#active),
        on: { mousedown: (event) => event.preventDefault(), click: () => this.#pick(at) },
      }, h("nc-avatar", { size: "small", name: person.name, email: person.email }),
        h("span", { class: "what" }, h("bdi", { class: "one-line" }, personLabel(person)), person.name && h("bdi", { class: "one-line muted" }, person.email)))));
    if (open) this.input.setAttribute("aria-activedescendant", `${this.list.id}-${this.#active}`);
    else this.input.removeAttribute("aria-activedescendant");
  }

  #pick(at) {
    this.input.value = "";
    const person = this.#found[at];
    this.#close();
    this.#add([person]);
    this.input.focus();
  }

  #close() {
    clearTimeout(this.#timer);
    this.#abort?.abort();
    this.#found = [];
    this.#drawList();
  }

  #key(event) {
    const open = this.#found.length > 0;
    const move = (step) => {
      event.preventDefault();
      this.#active = (this.#active + step + this.#found.length) % this.#found.length;
      this.#drawList();
    };
    if (event.isComposing) return;
    if (open && event.key === "ArrowDown") move(1);
    else if (open && event.key === "ArrowUp") move(-1);
    else if (open && (event.key === "Enter" || event.key === "Tab") && !event.shiftKey) {
      event.preventDefault();
      this.#pick(this.#active);
    } else if (open && event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      this.#close();
    } else if (event.key === "Enter" && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      this.commit();
    } else if (event.key === "Backspace" && this.input.value === "" && this.#people.length > 0) {
      event.preventDefault();
      this.#remove(this.#people.length - 1);
      this.input.focus();
    }
  }
}
