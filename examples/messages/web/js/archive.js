// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// An archive of mail chosen by the person: an mbox file, a zip of .eml files, or one .eml. What it is, is read from it.

import { mboxMessages } from "./mbox.js";
import { ZipError, zipEntries } from "./zip.js";

/** The largest single message, as the server takes it. */
export const largestMessage = 40 * 1024 * 1024;

/**
 * Opens a file: {kind, count: number of messages or null, messages(signal): async sequence of {name, done, read()}}.
 * `name`: how to call the message (null: by its number). `done`: 0…1, how far in the file it begins. Throws `ZipError`.
 */
export async function openArchive(file) {
  if (file.size === 0) throw new ZipError("import.empty");
  const head = new Uint8Array(await file.slice(0, 512).arrayBuffer());
  const text = new TextDecoder("latin1").decode(head);
  if (head[0] === 0x50 && head[1] === 0x4b) return openZip(file);
  if (text.startsWith("From ")) {
    return {
      kind: "mbox", count: null,
      messages: async function* (signal) {
        for await (const one of mboxMessages(file, signal)) {
          yield { name: null, number: one.number, done: one.end / file.size, read: async () => {
            if (one.size > largestMessage) throw new ZipError("import.toolarge");
            return one.read();
          } };
        }
      },
    };
  }
  // A header of a message, whatever the file is called.
  if (!/^[!-9;-~]+:[ \t]?/.test(text)) throw new ZipError("import.unknown");
  return {
    kind: "eml", count: 1,
    messages: async function* () {
      yield { name: file.name, number: 1, done: 1, read: async () => {
        if (file.size > largestMessage) throw new ZipError("import.toolarge");
        return new Uint8Array(await file.arrayBuffer());
      } };
    },
  };
}

async function openZip(file) {
  const entries = (await zipEntries(file)).filter((entry) => /\.eml$/i.test(entry.name) && !/(?:^|\/)(?:__MACOSX|\.)/.test(entry.name));
  if (entries.length === 0) throw new ZipError("import.zip.nomail");
  return {
    kind: "zip", count: entries.length,
    messages: async function* (signal) {
      for (const [at, entry] of entries.entries()) {
        signal?.throwIfAborted();
        yield { name: entry.name.split("/").pop(), number: at + 1, done: (at + 1) / entries.length, read: () => entry.read(largestMessage) };
      }
    },
  };
}

/** The subject in the first lines of a message, to call it by in a report. */
export function subjectOf(bytes) {
  const head = new TextDecoder().decode(bytes.subarray(0, 8192)).split(/\r?\n\r?\n/)[0].replace(/\r?\n[ \t]+/g, " ");
  const subject = head.match(/^subject:[ \t]*(.*)$/im)?.[1] ?? "";
  return /=\?/.test(subject) ? "" : subject.trim().slice(0, 80);
}
