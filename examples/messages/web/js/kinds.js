// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// What kind of file an attachment is: which drawing it has, and whether and how it can be looked at here.

const pictures = /^image\/(?:png|jpeg|gif|webp|avif|bmp)$/;
const video = /^video\/(?:mp4|webm|ogg|quicktime|x-matroska)$/;
const audio = /^audio\//;
const text = /^(?:text\/(?:plain|csv|markdown|x-log|x-[a-z]+)|application\/(?:json|xml|x-yaml))$/;

const endings = {
  png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg", gif: "image/gif", webp: "image/webp", avif: "image/avif", mp4: "video/mp4", m4v: "video/mp4",
  webm: "video/webm", mp3: "audio/mpeg", wav: "audio/wav", ogg: "audio/ogg", oga: "audio/ogg", opus: "audio/ogg", m4a: "audio/mp4", flac: "audio/flac",
  pdf: "application/pdf", txt: "text/plain", md: "text/markdown", csv: "text/csv", log: "text/plain", ics: "text/calendar", eml: "message/rfc822",
};

/** A name fit to be read: without the invisible marks that turn the reading order round and make an .exe look like a .png. */
export function shownName(name) {
  return (name ?? "").replace(/[\u0000-\u001f\u007f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "").trim();
}

/** `view`: image, video, audio, pdf, text, calendar, message, or null where there is nothing to show here. */
export function kindOf({ name = "", type = "" }) {
  let kind = type.toLowerCase().split(";")[0].trim();
  // Programs that do not know a file call it "any bytes"; its ending says more. A type that is one is believed.
  if (!kind || kind === "application/octet-stream") kind = endings[name.toLowerCase().split(".").pop()] ?? kind;
  if (pictures.test(kind)) return { view: "image", drawing: "image" };
  if (video.test(kind)) return { view: "video", drawing: "film" };
  if (audio.test(kind)) return { view: "audio", drawing: "sound" };
  if (kind === "application/pdf") return { view: "pdf", drawing: "file" };
  if (kind === "text/calendar" || kind === "application/ics") return { view: "calendar", drawing: "calendar" };
  if (kind === "message/rfc822") return { view: "message", drawing: "envelope" };
  if (text.test(kind)) return { view: "text", drawing: "file" };
  return { view: null, drawing: kind.startsWith("image/") ? "image" : "file" };
}
