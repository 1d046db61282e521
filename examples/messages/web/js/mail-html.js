// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// Turns a message's HTML into the document of a sandboxed frame (SH-8). What keeps it harmless is the sandbox (no scripts,
// an opaque origin, no forms) and the frame's own policy; the cleaning here serves reading: links that open outside,
// inline images that resolve, remote images that wait for the person, quoted text that folds.

const removed = "script, iframe, frame, frameset, object, embed, applet, base, meta, link, audio, video, source, track, portal, template, title";
const droppedAttributes = /^(?:on.*|target|ping|srcset|formaction|autofocus|accesskey|tabindex|contenteditable|is|slot|part|usemap|nonce|http-equiv)$/i;
const remote = /^\s*(?:https?:)?\/\//i;
const cssUrl = /url\(\s*(?:"([^"]*)"|'([^']*)'|([^)]*))\s*\)/gi;

/**
 * Parses without running or loading anything and prepares the document.
 * `blob(id)`: address of a part. `remote(url)`: where a remote image comes from, through our server. `showRemote`, `showQuote`:
 * what the person asked for.
 * Returns {document, hasRemote, hasQuote, coloured: it sets colours, grounded: and its own background}.
 */
export function prepareMail(html, { attachments = [], blob, remote: through, showRemote = false, showQuote = false }) {
  const mail = new DOMParser().parseFromString(html, "text/html");
  const parts = new Map(attachments.filter((part) => part.cid).map((part) => [part.cid.replace(/^<|>$/g, "").toLowerCase(), part]));
  const own = new Set([new URL(blob("x")).origin, location.origin]);
  let hasRemote = false;

  /** The address to load, or null for "not now" and "never". */
  const resolve = (address) => {
    if (/^\s*cid:/i.test(address)) {
      let name = address.trim().slice(4);
      try {
        name = decodeURIComponent(name);
      } catch {
        // a stray % is part of the name
      }
      const part = parts.get(name.toLowerCase());
      return part ? blob(part.id) : null;
    }
    if (/^\s*data:image\//i.test(address)) return address.trim();
    if (!remote.test(address)) return null;
    const url = URL.canParse(address.trim(), "https://x/") ? new URL(address.trim(), "https://x/") : null;
    // A message never gets to call our own servers, with or without the person's wish to see images.
    if (!url || own.has(url.origin)) return null;
    hasRemote = true;
    url.protocol = "https:";
    return showRemote ? through(url.href) : null;
  };
  const cleanCss = (css) =>
    css
      .replace(/@import[^;]*;?/gi, "")
      .replace(/(position\s*:\s*)(?:fixed|sticky)/gi, "$1static")
      .replace(cssUrl, (_, a, b, c) => {
        const address = resolve(a ?? b ?? c ?? "");
        return address ? `url("${address.replace(/["\\\n]/g, encodeURIComponent)}")` : "none";
      });

  for (const element of mail.querySelectorAll(removed)) element.remove();
  for (const form of mail.querySelectorAll("form")) form.replaceWith(...form.childNodes);
  for (const field of mail.querySelectorAll("input, button, select, textarea")) field.setAttribute("disabled", "");
  for (const style of mail.querySelectorAll("style")) style.textContent = cleanCss(style.textContent);

  for (const element of mail.querySelectorAll("*")) {
    for (const { name } of [...element.attributes]) if (droppedAttributes.test(name)) element.removeAttribute(name);
    if (element.hasAttribute("style")) element.setAttribute("style", cleanCss(element.getAttribute("style")));
    if (element.hasAttribute("background")) {
      const address = resolve(element.getAttribute("background"));
      if (address) element.setAttribute("background", address);
      else element.removeAttribute("background");
    }
    if (element.localName === "a" || element.localName === "area") prepareLink(element);
    if (element.localName === "img") prepareImage(element, resolve);
    else if (element.localName === "image" || element.localName === "use") element.remove();
  }

  const quote = findQuote(mail);
  if (quote && !showQuote) for (const node of quote) node.remove();
  const look = `${[...mail.querySelectorAll("style")].map((style) => style.textContent).join(" ")} ${[...mail.querySelectorAll("[style]")].map((element) => element.getAttribute("style")).join(" ")}`;
  const coloured = mail.querySelector("[bgcolor], [background], font[color]") !== null || /(?:^|[\s;{"])(?:color|background(?:-color|-image)?)\s*:/i.test(look);
  const grounded = mail.body.matches("[bgcolor], [background], [style*=background]") || /(?:^|[\s},])body[^{}]*\{[^}]*background/i.test(look);
  return { document: mail, hasRemote, hasQuote: quote !== null, coloured, grounded };
}

function prepareLink(link) {
  for (const name of ["xlink:href", "download"]) link.removeAttribute(name);
  const address = (link.getAttribute("href") ?? "").trim();
  if (address.startsWith("#")) {
    link.setAttribute("target", "_self");
  } else if (/^(?:https?:|mailto:|tel:)/i.test(address) && URL.canParse(address)) {
    link.setAttribute("rel", "noopener noreferrer");
    // What a link says and where it goes are two things: the pointer shows the second.
    link.setAttribute("title", address.length > 120 ? `${address.slice(0, 117)}…` : address);
  } else {
    link.removeAttribute("href");
  }
}

function prepareImage(image, resolve) {
  // A picture nobody can see is there to tell that the message was read: never shown, whatever the person asked for.
  const tiny = ["width", "height"].some((side) => /^[0-3](?:px)?$/.test(image.getAttribute(side) ?? ""));
  const address = resolve(image.getAttribute("src") ?? "");
  if (tiny) {
    image.remove();
    return;
  }
  if (address) {
    image.setAttribute("src", address);
    image.setAttribute("referrerpolicy", "no-referrer");
    return;
  }
  image.removeAttribute("src");
  image.setAttribute("data-blocked", "");
  // Without an address the browser shows the words alone; the picture's place is kept.
  const [width, height] = ["width", "height"].map((side) => Number.parseInt(image.getAttribute(side) ?? "", 10));
  if (width > 3 && height > 3) {
    image.style.setProperty("display", "inline-block");
    image.style.setProperty("width", `${width}px`);
    image.style.setProperty("aspect-ratio", `${width} / ${height}`);
  }
}

/** The quoted end of an answer: the nodes to fold, or null. */
function findQuote(mail) {
  const marked = mail.querySelector(".gmail_quote, blockquote[type=cite], #appendonsend ~ *, .moz-cite-prefix + blockquote");
  const quote = marked ?? [...mail.querySelectorAll("blockquote")].at(-1);
  if (!quote || quote.parentElement?.closest("blockquote")) return null;
  const rest = mail.createRange();
  rest.setStartAfter(quote);
  rest.setEndAfter(mail.body.lastChild ?? mail.body);
  const before = mail.createRange();
  before.setStart(mail.body, 0);
  before.setEndBefore(quote);
  if (rest.toString().trim() !== "" || before.toString().trim() === "") return null;
  const intro = quote.previousElementSibling;
  const introduces = intro && (intro.matches(".moz-cite-prefix") || /^.{4,200}:\s*$/su.test(intro.textContent.trim()));
  return introduces && quote.previousSibling === intro ? [intro, quote] : introduces && quote.previousSibling?.textContent.trim() === "" ? [intro, quote] : [quote];
}

/** The frame's policy: the message's own styles, our parts, and remote images through our server once asked for. */
export function mailPolicy(blobs, remoteImages) {
  return `default-src 'none'; style-src 'unsafe-inline'; img-src data: ${blobs}${remoteImages ? ` ${remoteImages}` : ""}; form-action 'none'; base-uri 'none'`;
}

/** Base style of both the frame and its measuring copy. */
export function mailStyle(root, font) {
  return `
    ${root} { margin: 0; padding: 0; font: 15px/1.55 ${font}; overflow-wrap: break-word; }
    ${root} > :first-child { margin-top: 0; }
    ${root} > :last-child { margin-bottom: 0; }
    img { max-width: 100%; height: auto; border: 0; }
    img[data-blocked] { min-width: 24px; min-height: 24px; border-radius: 6px; background: rgb(128 136 148 / 0.16); outline: 1px dashed rgb(128 136 148 / 0.5); outline-offset: -1px; font-size: 12px; }
    pre { white-space: pre-wrap; }
    table { border-spacing: 0; }
    blockquote { margin: 8px 0; padding: 0 0 0 12px; border-inline-start: 3px solid rgb(128 136 148 / 0.4); }
    hr { border: 0; border-top: 1px solid rgb(128 136 148 / 0.4); }`;
}

/** The `srcdoc`. A coloured message gets the paper it was written for; any other follows light and dark. */
export function mailDocument(prepared, { blobs, remoteImages, font, language }) {
  const { document: mail, coloured } = prepared;
  const page = document.implementation.createHTMLDocument("");
  const meta = (attributes) => {
    const element = page.createElement("meta");
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };
  const base = page.createElement("base");
  base.setAttribute("target", "_blank");
  const style = page.createElement("style");
  style.textContent = `
    :root { color-scheme: ${coloured ? "light" : "light dark"}; }
    html { background: ${coloured ? "#fff" : "transparent"}; }
    body { color: ${coloured ? "#1a2029" : "light-dark(#1a2029, #e7eaee)"}; }
    a:where([href]) { color: ${coloured ? "#1f5fd0" : "light-dark(#1f5fd0, #8db5ff)"}; }
    ${mailStyle("body", font)}`;
  page.head.replaceChildren(
    meta({ charset: "utf-8" }),
    meta({ "http-equiv": "Content-Security-Policy", content: mailPolicy(blobs, remoteImages) }),
    meta({ name: "referrer", content: "no-referrer" }),
    base,
    style,
    ...[...mail.head.querySelectorAll("style")].map((own) => page.importNode(own, true)),
  );
  for (const { name, value } of mail.body.attributes) page.body.setAttribute(name, value);
  page.body.append(...[...mail.body.childNodes].map((node) => page.importNode(node, true)));
  page.documentElement.lang = mail.documentElement.lang || language;
  page.body.dir = mail.body.dir || mail.documentElement.dir || "auto";
  return `<!doctype html>${page.documentElement.outerHTML}`;
}
