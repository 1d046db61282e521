// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// Finds the messages of an mbox file: each begins with a line "From …" after an empty line (or at the beginning). The file is
// read a piece at a time; only one message is ever whole in memory.

const piece = 1024 * 1024;
const [feed, back, greater] = [10, 13, 62];
const from = [70, 114, 111, 109, 32]; // "From "

const startsFrom = (bytes, at) => from.every((byte, offset) => bytes[at + offset] === byte);

/** Where messages begin, in bytes. */
async function* starts(file, signal) {
  let carry = new Uint8Array(0);
  let base = 0; // where `carry` begins in the file
  let first = true;
  for (let at = 0; at < file.size; at += piece) {
    signal?.throwIfAborted();
    const fresh = new Uint8Array(await file.slice(at, at + piece).arrayBuffer());
    const bytes = new Uint8Array(carry.length + fresh.length);
    bytes.set(carry);
    bytes.set(fresh, carry.length);
    if (first && startsFrom(bytes, 0)) yield 0;
    first = false;
    // A start needs what stands before it (an empty line, at most 3 bytes) and 5 bytes of itself.
    for (let index = bytes.indexOf(feed); index >= 0 && index + from.length < bytes.length; index = bytes.indexOf(feed, index + 1)) {
      if (!startsFrom(bytes, index + 1)) continue;
      const before = bytes[index - 1] === back ? index - 2 : index - 1;
      if (bytes[before] === feed) yield base + index + 1;
    }
    const keep = Math.min(bytes.length, from.length + 3);
    carry = bytes.slice(bytes.length - keep);
    base = at + fresh.length - keep;
  }
}

/** The messages: {number, start, end, size, read() → Uint8Array}. */
export async function* mboxMessages(file, signal) {
  let begin = null;
  let number = 0;
  const seen = new Set(); // a start at the seam of two pieces is found twice
  const make = (start, end) => ({ number: (number += 1), start, end, size: end - start, read: async () => unwrap(new Uint8Array(await file.slice(start, end).arrayBuffer())) });
  for await (const start of starts(file, signal)) {
    if (seen.has(start)) continue;
    seen.clear();
    seen.add(start);
    if (begin !== null) yield make(begin, start);
    begin = start;
  }
  if (begin !== null) yield make(begin, file.size);
}

/** Without the "From " line, and with the ">" taken away that protects such lines in a text (mboxrd). */
export function unwrap(bytes) {
  const out = new Uint8Array(bytes.length);
  let length = 0;
  let at = startsFrom(bytes, 0) ? bytes.indexOf(feed) + 1 || bytes.length : 0;
  while (at < bytes.length) {
    const next = bytes.indexOf(feed, at);
    const end = next < 0 ? bytes.length : next + 1;
    let line = at;
    if (bytes[line] === greater) {
      let mark = line;
      while (bytes[mark] === greater) mark += 1;
      if (startsFrom(bytes, mark)) line += 1;
    }
    out.set(bytes.subarray(line, end), length);
    length += end - line;
    at = end;
  }
  // The empty line before the next "From " is no part of the message.
  if (length >= 2 && out[length - 1] === feed && out[length - 2] === feed) length -= 1;
  else if (length >= 4 && out[length - 1] === feed && out[length - 2] === back && out[length - 3] === feed && out[length - 4] === back) length -= 2;
  return out.subarray(0, length);
}
