// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// Addresses as people type and paste them.

const plausible = /^[^\s@<>,;:\\"()[\]]+@[^\s@<>,;:\\"()[\].]+(?:\.[^\s@<>,;:\\"()[\].]+)+$/;

export const isAddress = (email) => plausible.test(email);

/** Splits `Ann <ann@x.org>, "Bo, C." <bo@x.org>; c@x.org` into people; what is no address stays as it was typed. */
export function readAddresses(text) {
  const entries = [""];
  let quoted = false;
  let angle = false;
  for (const character of text.replace(/[\r\n\t]+/g, ";")) {
    if ((character === "," || character === ";") && !quoted && !angle) {
      entries.push("");
      continue;
    }
    if (character === '"') quoted = !quoted;
    if (!quoted && character === "<") angle = true;
    if (!quoted && character === ">") angle = false;
    entries[entries.length - 1] += character;
  }
  // A quotation mark that never closes is a letter.
  if (quoted) return text.includes('"') ? readAddresses(text.replaceAll('"', "")) : [];
  return entries.map((entry) => entry.trim()).filter(Boolean).flatMap(readOne);
}

function readOne(entry) {
  const match = entry.match(/^(.*)<([^<>]*)>$/s);
  if (match) return [{ name: match[1].trim().replace(/^"(.*)"$/s, "$1"), email: match[2].trim() }];
  const words = entry.split(/\s+/);
  // Several addresses with nothing but spaces between them, as some programs copy them.
  if (words.length > 1 && words.every(isAddress)) return words.map((email) => ({ name: "", email }));
  return [{ name: "", email: entry.replace(/^mailto:/i, "") }];
}

export const samePerson = (a, b) => a.email.toLowerCase() === b.email.toLowerCase();

/** Each address once, in order. */
export function unique(people) {
  return people.filter((one, at) => people.findIndex((other) => samePerson(one, other)) === at);
}

export const personLabel = (person) => person.name || person.email;
