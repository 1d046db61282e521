// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// How high is a message? Its frame has an opaque origin and no scripts, so nobody can ask it. A copy made only of known
// elements, with style but without addresses, is laid out behind the page in a shadow root and observed instead. A wrong
// guess costs a scroll bar inside the frame, nothing else.

import { mailStyle } from "./mail-html.js";

const tags = new Set(
  ("a abbr address article aside b bdi bdo big blockquote br caption center cite code col colgroup dd del details dfn div dl dt em " +
    "figcaption figure font footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd label legend li main mark nav ol p pre q s samp section " +
    "small span strike strong sub summary sup table tbody td tfoot th thead time tr tt u ul var wbr fieldset").split(" "),
);
const attributes = new Set(
  "align valign width height border cellpadding cellspacing colspan rowspan dir class id face size start type nowrap hspace vspace data-blocked alt open".split(" "),
);

function copyNode(node, into) {
  if (node.nodeType === Node.TEXT_NODE) {
    into.append(node.data);
  } else if (node.localName === "svg") {
    const box = document.createElement("span");
    const side = (name, otherwise) => (/^[\d.]+(?:px)?$/.test(node.getAttribute(name) ?? "") ? Number.parseFloat(node.getAttribute(name)) : otherwise);
    box.style.cssText = `display: inline-block; width: ${side("width", 300)}px; height: ${side("height", 150)}px`;
    into.append(box);
  } else if (node.nodeType === Node.ELEMENT_NODE && node.localName !== "style") {
    const copy = document.createElement(tags.has(node.localName) ? node.localName : "span");
    for (const { name, value } of node.attributes) if (attributes.has(name)) copy.setAttribute(name, value);
    copyStyle(node.style, copy.style);
    // Only what the frame shows as well: our own parts, embedded images, remote ones the person asked for.
    if (node.localName === "img" && node.hasAttribute("src")) {
      copy.setAttribute("referrerpolicy", "no-referrer");
      copy.setAttribute("src", node.getAttribute("src"));
      copy.setAttribute("alt", "");
    }
    for (const child of node.childNodes) copyNode(child, copy);
    into.append(copy);
  }
}

function copyStyle(from, to) {
  for (const name of from ?? []) {
    const value = from.getPropertyValue(name);
    if (/(?:url|image|image-set|src|element)\s*\(/i.test(value) || name.startsWith("--")) continue;
    to.setProperty(name, value === "fixed" ? "absolute" : value, from.getPropertyPriority(name));
  }
}

/** A style sheet of the message, with `body` meaning the copy, without addresses, media asked of the frame's width. */
function copySheet(text, width) {
  const parsed = new CSSStyleSheet();
  parsed.replaceSync(text);
  const out = [];
  const walk = (rules) => {
    for (const rule of rules) {
      if (rule instanceof CSSMediaRule) {
        const limits = [...rule.conditionText.matchAll(/\((max|min)-(?:device-)?width:\s*([\d.]+)px\)/g)];
        if (limits.every(([, side, px]) => (side === "max" ? width <= Number(px) : width >= Number(px))) && !/print|prefers/.test(rule.conditionText)) {
          walk(rule.cssRules);
        }
      } else if (rule instanceof CSSStyleRule) {
        const holder = document.createElement("i");
        copyStyle(rule.style, holder.style);
        const selector = rule.selectorText.replace(/(^|[\s,>+~])(?:html|body|:root)(?=[\s,.:#>+~[]|$)/g, "$1.mail");
        out.push(`${selector} { ${holder.style.cssText} }`);
      }
    }
  };
  walk(parsed.cssRules);
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(out.join("\n"));
  return sheet;
}

/**
 * Lays the copy out in `host`, an element as wide as the frame, and calls `onSize({width, height})` now and on every
 * change (width of the window, an image that arrived). `width` is more than the host's where the message does not fold.
 * Returns a function that ends it.
 */
export function measureMail(host, prepared, { font, onSize }) {
  const shadow = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const mail = document.createElement("div");
  mail.className = "mail";
  const body = prepared.document.body;
  for (const { name, value } of body.attributes) if (attributes.has(name)) mail.setAttribute(name, value);
  copyStyle(body.style, mail.style);
  mail.dir = body.dir || prepared.document.documentElement.dir || "auto";
  for (const node of body.childNodes) copyNode(node, mail);
  const base = new CSSStyleSheet();
  base.replaceSync(`:host { all: initial; display: block; } ${mailStyle(".mail", font)} .mail { display: flow-root; }`);
  const texts = [...prepared.document.querySelectorAll("style")].map((style) => style.textContent);
  let width = -1;
  const report = () => {
    if (host.clientWidth !== width) {
      width = host.clientWidth;
      shadow.adoptedStyleSheets = [base, ...texts.map((text) => copySheet(text, width))];
    }
    onSize({ width: Math.max(width, mail.scrollWidth), height: Math.ceil(mail.scrollHeight) });
  };
  shadow.replaceChildren(mail);
  const observer = new ResizeObserver(report);
  observer.observe(mail);
  observer.observe(host);
  report();
  return () => {
    observer.disconnect();
    shadow.replaceChildren();
  };
}
