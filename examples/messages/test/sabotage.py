# Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
"""Each guard of the page, switched off in what the test server sends; the named check must then fail."""

# (guard, file under web/, text, text with the guard off, part of the check's name)
GUARDS = [
    ("sandbox", "js/mail-body.js", '"allow-popups allow-popups-to-escape-sandbox"', '"allow-popups allow-scripts allow-same-origin"', "SH-8, NB-10"),
    ("frame policy", "js/mail-html.js", "`default-src 'none'; style-src 'unsafe-inline'; img-src data: ${blobs}${remoteImages ? ` ${remoteImages}` : \"\"};",
     "`default-src * 'unsafe-inline';", "SH-8: even a body"),
    ("own hosts are no image hosts", "js/mail-html.js", "if (!url || own.has(url.origin)) return null;", "if (!url) return null;", "SH-8, NB-10"),
    ("elements left out of a body", "js/mail-html.js", "for (const element of mail.querySelectorAll(removed)) element.remove();", "", "SH-8, NB-10"),
    ("attributes left out of a body", "js/mail-html.js", "if (droppedAttributes.test(name)) element.removeAttribute(name);", "{}", "SH-8, NB-10"),
    ("schemes of links", "js/mail-html.js", "/^(?:https?:|mailto:|tel:)/i.test(address)", "address", "SH-8, NB-10"),
    ("trackers", "js/mail-html.js", "  if (tiny) {", "  if (false) {", "Message bodies"),
    ("a refused change is taken back", "js/store.js", "      takeBack();\n      throw error;", "      throw error;", "LK-8: a refused"),
    ("another person sees nothing of the first", "js/app.js", "if (this.#mail && (changed || over)) this.#dropMail();", "", "SE-3, SE-4"),
    ("the page behind is inert", "js/app.js", "this.#mail.element.inert = true;", "", "SE-3, SE-4"),
    ("signing out asks first", "js/account.js", "return answer === true;", "return true;", "LK-8: signing out"),
    ("focus stays in the dialog", "shared/elements.js", 'if (event.key !== "Tab") return;', "return;", "LK-5: dialogs"),
    ("typing is no shortcut", "js/mail-app.js", "|| typing(event.target)", "", "LK-5: keyboard"),
    ("remote images only through our server", "js/mail-html.js", "return showRemote ? through(url.href) : null;", "return showRemote ? url.href : null;", "SH-8, NB-10"),
    ("nothing of a draft stays after signing out", "js/app.js", "if (over || changed) forgetKeptDrafts();", "", "LK-10: without the server"),
    ("a draft is kept on the device", "js/draft.js", "localStorage.setItem(prefix + this.id, JSON.stringify(this.#plain()));", "", "LK-10: without the server"),
    ("too large files are not sent", "js/attachments-field.js", "if (item.size > bytes) this.#fail(item, ", "if (false) this.#fail(item, ", "LK-10: files: several"),
    ("sending waits for files", "js/composer.js", "this.sendButton.disabled = this.#sending || pending > 0;", "", "LK-10: files: several"),
    ("checksums of a zip", "js/zip.js", "if (checksum(bytes) !== entry.sum) throw", "if (false) throw", "LK-10: a zip of"),
    ("a line “From” in a text", "js/mbox.js", "if (bytes[before] === feed) yield", "yield", "LK-10: an mbox comes"),
    ("letters are words while writing", "js/mail-app.js", "    if (this.#composer) {\n      // While", "    if (false) {\n      // While", "LK-10: nothing of the list"),
    ("the page confirms its start", "js/updates.js", "this.#updates?.confirm().catch(() => {});", "", "UP-6, LK-8"),
    ("a version that failed is said once", "js/updates.js", "if (localStorage.getItem(seenKey) === version) return;", "", "UP-7: a version"),
    ("patience before skeletons", "shared/dom.js", "delay = 300", "delay = 0", "LK-3: a skeleton"),
]


def run_sabotage(browser, servers, run_checks, only=""):
    wrong = []
    for guard, file, text, without, check in GUARDS:
        if only not in guard:
            continue
        source = (servers.web / file).read_text()
        if source.count(text) != 1:
            wrong.append(f"{guard}: its line is there {source.count(text)} times")
            continue
        servers.changed = {file: source.replace(text, without)}
        failed = run_checks(browser, servers, check)
        servers.changed = {}
        print(f"{'ok     ' if failed else 'FAILED '} without “{guard}” the check {'fails' if failed else 'still passes'}", flush=True)
        if not failed:
            wrong.append(f"{guard}: nothing noticed that it is off")
    return wrong
