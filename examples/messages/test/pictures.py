# Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
"""LK-3: every state of the app, as a list of (name, how to get there)."""

import json
import re
import time

import samples

ROW = ".row:not(.bones) .row-link"


def opened(thread, wait=".message.open", **more):
    def go(browser, **common):
        browser.open(route=f"#/inbox/{thread}", **more, **common)
        browser.wait(f"document.querySelector('{wait}') !== null", what=wait)

    return go


def session(**snapshot):
    def go(browser, **common):
        browser.open(snapshot=snapshot, **common)

    return go


def folder(name="inbox", wait=f"{ROW}, .state-card", settle=0.35, **more):
    def go(browser, **common):
        browser.open(route=f"#/{name}", settle=settle, **more, **common)
        browser.wait(f"document.querySelector('{wait}') !== null", what=wait)

    return go


def then(first, *steps):
    def go(browser, **common):
        first(browser, **common)
        for step in steps:
            step(browser)

    return go


def click(selector):
    return lambda browser: browser.click(selector)


def become(**change):
    return lambda browser: browser.become(**change)


def update(**change):
    def go(browser):
        browser.js("(localStorage.removeItem('messages.update.failed'), testing.update(arguments[0]))", change)
        time.sleep(0.15)

    return go


def account(browser):
    browser.click(".account-round" if browser.size == "phone" else ".account-button")


def show_images(browser):
    browser.click(".remote-notice .button")
    browser.wait("document.querySelector('.remote-notice').hidden")
    time.sleep(0.6)


def look_for(text):
    def go(browser):
        browser.click(".search-field")
        browser.key(*text)
        browser.wait("/q=/.test(location.hash)")
        browser.wait("document.querySelector('.list-scroll').getAttribute('aria-busy') === 'false'")

    return go


def compose(browser):
    browser.click(".float" if browser.size == "phone" else ".write")
    browser.wait("document.querySelector('.compose-text') !== null")


def answer(kind):
    def go(browser):
        browser.js("{document.querySelector('.answer-bar').scrollIntoView({block: 'end'})}")
        browser.click(f"[data-answer={kind}]")
        browser.wait("document.querySelector('.compose-text') !== null")

    return go


def type_in(selector, text):
    def go(browser):
        browser.click(selector)
        browser.type(text)

    return go


def wait_for(selector):
    return lambda browser: browser.wait(f"document.querySelector('{selector}') !== null", what=selector)


def settle(seconds):
    return lambda browser: time.sleep(seconds)


def preview(number):
    def go(browser):
        browser.js("{document.querySelector('.attachments').scrollIntoView({block: 'end'})}")
        browser.click(f".attachments li:nth-child({number}) .attachment-open")
        browser.wait("document.querySelector('dialog.preview[open]') !== null")

    return go


def attach(*names, large=False, too_large=False):
    def go(browser):
        files = [samples.path(name) for name in names]
        if large:
            files[0] = samples.made("plans of the whole park.zip", 18_000_000)
        if too_large:
            files.append(samples.made("film of the whole day.mov", 26_000_000))
        browser.files(".compose-files input[type=file]", files)

    return go


def open_import(browser):
    account(browser)
    browser.click(".account-menu button.menu-row:nth-last-child(4)")
    browser.wait("document.querySelector('dialog.import[open]') !== null")


def mbox(count, broken=False):
    return lambda: samples.mbox(count, broken)


def choose(file):
    return lambda browser: browser.files(".import input[type=file]", [file() if callable(file) else samples.path(file)])


GONE = dict(state="signedOut", profile=None)
EXPIRED = dict(state="signedOut", reason="session_expired")

def person(id, name, email, server="https://mail.ville.example", signed_in=True):
    return {"id": id, "name": name, "email": email, "server": server, "signedIn": signed_in, "used": name is not None}


SEVERAL = [
    person("first", "Camille Moreau", "camille.moreau@ville.example"),
    person("b", "Léa Bonnet-Étienne de la Rivière-aux-Saumons", "lea.bonnet-etienne@association-des-amis-du-jardin.example",
           "https://courrier.association-des-amis-du-jardin.example"),
    person("c", "نور حداد", "noor@ville.example", signed_in=False),
]
NEWCOMER = [person("d", None, None, None, False), *SEVERAL]

STATES = {
    "opening": lambda browser, **common: browser.open(snapshot=dict(state="unknown", profile=None), settle=0.6, **common),
    "signed-out": session(**GONE),
    "signed-out-after": session(**GONE, reason="signed_out"),
    "signed-out-shared": lambda browser, **common: (
        then(folder(livesOn="1"), account, click(".account-menu button.menu-row:nth-last-child(2)"), click(".button.danger"))(browser, **common)),
    "signing-in": session(state="signingIn", profile=None),
    "cancelled": session(**GONE, reason="cancelled"),
    "failed-network": session(**GONE, reason="failed", error={"code": "transport.unreachable", "message": "x"}),
    "failed-refused": session(**GONE, reason="failed", error={"code": "sign_in.refused", "message": "x"}),
    "failed-other": session(**GONE, reason="failed", error={"code": "exchange.bad_answer", "message": "x"}),
    "expired-cold": session(**EXPIRED),
    "expired-kept": then(opened("park"), become(**EXPIRED)),
    "expired-signing-in": then(opened("park"), become(**EXPIRED), become(state="signingIn", reason=None)),
    "expired-cancelled": then(opened("park"), become(**EXPIRED), become(reason="cancelled")),
    "revoked-kept": then(folder(), become(state="signedOut", reason="session_revoked")),
    "locked": session(state="locked"),
    "inbox": folder(),
    "inbox-hover": then(folder(), lambda browser: hover(browser)),
    "starred": folder("starred"),
    "thread-html": opened("park"),
    "thread-quote": then(opened("park"), click(".fold")),
    "thread-attachments": then(opened("park"), lambda browser: browser.js("{document.querySelector('.attachments').scrollIntoView({block: 'end'})}")),
    "thread-long": opened("day"),
    "thread-rtl": opened("arabic"),
    "thread-rtl-html": opened("hebrew"),
    "thread-newsletter": opened("jardin"),
    "thread-newsletter-images": then(opened("jardin"), show_images),
    "thread-hostile": opened("parcel"),
    "thread-empty": opened("empty"),
    "thread-emoji": opened("party"),
    "list-skeleton": folder(api="slow", wait=".skeleton", settle=0.6),
    "list-error": folder(api="error", wait=".state-card"),
    "list-offline": folder(api="offline", wait=".state-card"),
    "offline": then(opened("park"), become(server="unreachable")),
    "offline-list": then(folder(), become(server="unreachable")),
    "notice": then(folder(), become(notice="This device has no keyring: you will have to sign in again after closing the app.", keptIn="memory")),
    "thread-skeleton": opened("park", wait=".thread-skeleton", api="thread-slow"),
    "thread-error": opened("park", wait=".reader .state-card", api="thread-error"),
    "thread-offline": opened("park", wait=".reader .state-card", api="thread-offline"),
    "thread-gone": opened("nowhere", wait=".reader .state-card"),
    "empty-inbox": folder(api="empty", wait=".state-card"),
    "empty-starred": folder("starred", api="empty", wait=".state-card"),
    "empty-archive": folder("archive", api="empty", wait=".state-card"),
    "empty-trash": folder("trash", api="empty", wait=".state-card"),
    "search": then(folder(), look_for("park")),
    "search-empty": then(folder(), look_for("zeppelin")),
    "toast": then(folder(), lambda browser: (browser.js("{document.querySelector('.row-link').focus()}"), browser.key("e"), browser.wait("document.querySelector('.toast') !== null"))),
    "refused": then(folder(api="refuse"), lambda browser: (browser.js("{document.querySelector('.row-link').focus()}"), browser.key("e"), browser.wait("document.querySelector('.toast') !== null"))),
    "drafts": folder("drafts"),
    "sent": folder("sent"),
    "empty-drafts": folder("drafts", api="empty", wait=".state-card"),
    "empty-sent": folder("sent", api="empty", wait=".state-card"),
    "compose-new": then(folder(), compose),
    "compose-reply": then(opened("park"), answer("replyAll")),
    "compose-draft": folder("inbox?draft=draft-0000-0000-0001", wait=".compose-text"),
    "compose-suggest": then(folder(), compose, type_in(".people-field input", "lé"), wait_for(".suggestions li")),
    "compose-wrong": then(folder(), compose, type_in(".people-field input", "hugo@ville.example, not an address,"), wait_for(".chip.wrong")),
    "compose-nobody": then(folder(), compose, click(".compose-send"), wait_for(".people-field.wrong")),
    "compose-uploading": then(folder(api="upload-slow"), compose, attach("walk.pdf", large=True), wait_for(".upload.sending")),
    "compose-upload-failed": then(folder(api="upload-error"), compose, attach("walk.pdf", "bell.wav"), wait_for(".upload.failed:nth-child(2)")),
    "compose-too-large": then(folder(), compose, attach("bell.wav", too_large=True), wait_for(".upload.failed"), wait_for(".upload.done")),
    "compose-kept": then(folder(api="draft-offline"), compose, type_in(".compose-text", "Dear all,"), wait_for(".compose-status.warn")),
    "compose-send-failed": then(folder("inbox?draft=draft-0000-0000-0001", wait=".compose-text", api="send-offline"), click(".compose-send"), wait_for(".compose-problem:not([hidden])")),
    "compose-elsewhere": then(folder("inbox?draft=draft-0000-0000-0001", wait=".compose-text", api="draft-elsewhere"), type_in(".compose-text", "More."), wait_for(".compose-problem:not([hidden])")),
    "compose-ask": then(folder(), compose, type_in(".people-field input", "hugo.bernard@ville.example,"), click(".compose-send"), wait_for("dialog[open]")),
    "compose-discard": then(folder("inbox?draft=draft-0000-0000-0001", wait=".compose-text"), click(".compose-head [aria-label]:nth-of-type(2)"), wait_for("dialog[open]")),
    "compose-skeleton": folder("inbox?draft=draft-0000-0000-0001", wait=".compose-skeleton", api="slow", settle=0.6),
    "compose-gone": folder("inbox?draft=draft-0000-0000-0009", wait=".composer .state-card"),
    "compose-error": folder("inbox?draft=draft-0000-0000-0002", wait=".composer .state-card", api="open-error"),
    "compose-offline": folder("inbox?draft=draft-0000-0000-0002", wait=".composer .state-card", api="open-offline"),
    "sent-toast": then(folder("inbox?draft=draft-0000-0000-0001", wait=".compose-text"), click(".compose-send"), wait_for(".toast")),
    "thread-files": opened("media"),
    "message-menu": then(opened("park"), click(".message.open [aria-haspopup]"), wait_for("dialog.menu[open]")),
    "preview-image": then(opened("media"), preview(1), wait_for(".preview-image img")),
    "preview-video": then(opened("media"), preview(2), wait_for(".preview-stage video")),
    "preview-audio": then(opened("media"), preview(3), wait_for(".preview-stage audio")),
    "preview-pdf": then(opened("media"), preview(4), wait_for(".preview-pdf, .preview-stage .state-card"), settle(2.5)),
    "preview-text": then(opened("media"), preview(5), wait_for(".preview-text")),
    "preview-broken": then(opened("media"), preview(6), wait_for(".preview-stage .state-card")),
    "preview-none": then(opened("media"), preview(7), wait_for(".preview-stage .state-card")),
    "preview-event": then(opened("park"), preview(3), wait_for(".preview-events")),
    "preview-message": then(opened("park"), preview(4), wait_for(".preview-mail")),
    "preview-offline": then(opened("media", api="blob-offline"), preview(5), wait_for(".preview-stage .state-card")),
    "preview-error": then(opened("media", api="blob-error"), preview(5), wait_for(".preview-stage .state-card")),
    "import": then(folder(), open_import),
    "import-unknown": then(folder(), open_import, choose("harbour.png"), wait_for(".import-problem")),
    "import-running": then(folder(api="import-slow"), open_import, choose(mbox(40)), wait_for(".import-body .bar"), settle(1.0)),
    "import-offline": then(folder(api="import-offline"), open_import, choose(mbox(4)), wait_for(".import-problem:not([hidden])")),
    "import-done": then(folder(), open_import, choose(mbox(3)), wait_for(".import-result")),
    "import-errors": then(folder(), open_import, choose(mbox(5, broken=True)), wait_for(".import-failed")),
    "folders-more": then(folder(), lambda browser: browser.size == "phone" and browser.click(".more-folders")),
    "account": then(folder(), account),
    "account-memory": then(folder(), become(keptIn="memory", server="unreachable"), account),
    "update-ready": then(folder(), update(phase="staged", staged="0.2.0"), wait_for(".banner.news")),
    "update-taking": then(folder(), update(phase="staged", staged="0.2.0"), click(".banner.news .button"), wait_for(".banner.news .button:disabled")),
    "update-ready-offline": then(folder(), become(server="unreachable"), update(phase="staged", staged="0.2.0"), wait_for(".banner.news")),
    "update-failed": then(folder(), update(failed="0.2.0"), wait_for(".toast")),
    "account-several": then(folder(accounts=json.dumps(SEVERAL)), account),
    "account-add": then(folder(accounts=json.dumps(SEVERAL[:1])), account),
    "signed-out-accounts": lambda browser, **common: browser.open(snapshot=GONE, accounts=json.dumps(NEWCOMER), **common),
    "account-update-failed": then(folder(), update(failed="0.2.0"), account),
    "sign-out": then(folder(), account, click(".account-menu button.menu-row:nth-last-child(2)")),
    "help": then(folder(), lambda browser: browser.key("?")),
    "browser-signed-out": lambda browser, **common: (setattr(browser.servers, "browser_scenario", "signed-out"), browser.open(plain="1", **common)),
    "browser-account": lambda browser, **common: (browser.open(plain="1", **common), browser.wait(f"document.querySelector('{ROW}') !== null"), account(browser)),
}


def hover(browser):
    from selenium.webdriver.common.action_chains import ActionChains

    rows = browser.driver.find_elements("css selector", ".row")
    if browser.size == "desktop":
        ActionChains(browser.driver).move_to_element(rows[3]).perform()
    time.sleep(0.25)


# The console may speak of these: the scenario is about them.
EXPECTED = re.compile(
    r"Failed to load resource|net::ERR_|the server responded with a status|Blocked script execution in 'about:srcdoc'|"
    r"about:srcdoc.*Content Security Policy|violates the following Content Security Policy directive")


def unexpected(name, messages):
    strict = not re.search(r"error|offline|gone|hostile|slow|skeleton|refused|browser|locked|compose|preview|import", name)
    return [text for text in messages if strict or not EXPECTED.search(text)]
