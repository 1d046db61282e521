// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// Plain-text bodies: paragraphs with their own direction, links, and quoted text folded away.

import { add, h } from "../shared/dom.js";
import { m } from "./i18n.js";

const link = /\b(?:https?:\/\/|www\.)[^\s<>"“”«»]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+/giu;
const attribution = /^(?:On|Le|El|Am|Il)\b.{4,200}:\s*$|^-{2,}\s*(?:Original Message|Message d’origine|Forwarded message|Message transféré)\s*-{2,}$/iu;

/** Text with addresses made into links; trailing punctuation stays outside. */
export function linkify(text) {
  const out = [];
  let at = 0;
  for (const match of text.matchAll(link)) {
    let shown = match[0].replace(/[.,;:!?'’…]+$/u, "");
    const closes = (shown.match(/\)/g) ?? []).length - (shown.match(/\(/g) ?? []).length;
    if (closes > 0 && shown.endsWith(")")) shown = shown.slice(0, -closes);
    const address = shown.includes("://") ? shown : shown.includes("@") && !shown.startsWith("www.") ? `mailto:${shown}` : `https://${shown}`;
    if (!URL.canParse(address)) continue;
    out.push(text.slice(at, match.index), h("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, shown));
    at = match.index + shown.length;
  }
  out.push(text.slice(at));
  return out.filter((part) => part !== "");
}

/** Splits into runs of the person's own words and of quoted text (with the line that introduces it). */
export function splitQuotes(text) {
  const lines = text.replace(/\r\n?/g, "\n").replace(/\s+$/u, "").split("\n");
  const runs = [];
  const push = (kind, line) => {
    if (runs.at(-1)?.kind === kind) runs.at(-1).lines.push(line);
    else runs.push({ kind, lines: [line] });
  };
  let signature = false;
  for (const [index, line] of lines.entries()) {
    const next = lines.slice(index + 1).find((other) => other.trim() !== "") ?? "";
    if (/^\s*>/.test(line)) {
      signature = false;
      push("quote", line);
    } else if (attribution.test(line) && /^\s*>/.test(next)) {
      push("quote", line);
    } else if (line.trim() === "" && runs.at(-1)?.kind === "quote" && /^\s*>/.test(next)) {
      push("quote", line);
    } else {
      if (/^-- ?$/.test(line)) signature = true;
      push(signature ? "signature" : "own", line);
    }
  }
  return runs;
}

function paragraphs(lines) {
  return lines
    .join("\n")
    .replace(/^\n+|\n+$/g, "")
    .split(/\n{2,}/)
    .filter((text) => text.trim() !== "")
    .map((text) => h("p", { dir: "auto" }, linkify(text)));
}

export function plainBody(text) {
  const body = h("div", { class: "plain" });
  const runs = splitQuotes(text);
  for (const run of runs) {
    if (run.kind === "quote" && runs.length > 1) {
      const unquoted = run.lines.map((line) => line.replace(/^\s*>\s?/, ""));
      body.append(
        h("details", { class: "quote" },
          h("summary", null,
            h("span", { class: "when-closed" }, m("thread.quote")),
            h("span", { class: "when-open" }, m("thread.unquote"))),
          h("blockquote", null, paragraphs(unquoted))),
      );
    } else if (run.kind === "signature") {
      body.append(h("div", { class: "signature" }, paragraphs(run.lines.slice(1))));
    } else {
      add(body, paragraphs(run.kind === "quote" ? run.lines.map((line) => line.replace(/^\s*>\s?/, "")) : run.lines));
    }
  }
  return body;
}
