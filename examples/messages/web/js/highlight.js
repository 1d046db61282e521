// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// Marks what a search found, without case and accents, as the server compares.

import { h } from "../shared/dom.js";

/** One folded letter for each of the text, so that places stay the same. */
function fold(text) {
  return Array.from(text, (character) => {
    const plain = character.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
    return plain.length === 1 && character.length === 1 ? plain : character.length === 1 ? (plain[0] ?? character) : character;
  }).join("");
}

/** The text in pieces, each word of `query` in it as a `<mark>`. */
export function highlighted(text, query) {
  const words = fold(query).split(/\s+/).filter(Boolean);
  if (words.length === 0 || !text) return text;
  const folded = fold(text);
  const hits = [];
  for (const word of words) {
    for (let at = folded.indexOf(word); at >= 0; at = folded.indexOf(word, at + word.length)) hits.push([at, at + word.length]);
  }
  hits.sort((a, b) => a[0] - b[0]);
  const out = [];
  let done = 0;
  for (const [from, to] of hits) {
    if (to <= done) continue;
    out.push(text.slice(done, Math.max(done, from)), h("mark", null, text.slice(Math.max(done, from), to)));
    done = to;
  }
  out.push(text.slice(done));
  return out.filter((part) => part !== "");
}
