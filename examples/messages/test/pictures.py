# Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
"""LK-3: every state of the app, as a list of (name, how to get there)."""

import re

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


def account(browser):
    browser.click(".account-round" if browser.size == "phone" else ".account-button")


def show_images(browser):
    browser.click(".remote-notice .button")
    browser.wait("document.querySelector('.remote-notice').hidden")
    import time

    time.sleep(0.6)


def look_for(text):
    def go(browser):
        browser.click(".search-field")
        browser.key(*text)
        browser.wait("/q=/.test(location.hash)")
        browser.wait("document.querySelector('.list-scroll').getAttribute('aria-busy') === 'false'")

    return go


GONE = dict(state="signedOut", profile=None)
EXPIRED = dict(state="signedOut", reason="session_expired")

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
    "account": then(folder(), account),
    "account-memory": then(folder(), become(keptIn="memory", server="unreachable"), account),
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
    import time

    time.sleep(0.25)


# The console may speak of these: the scenario is about them.
EXPECTED = re.compile(
    r"Failed to load resource|net::ERR_|the server responded with a status|Blocked script execution in 'about:srcdoc'|"
    r"about:srcdoc.*Content Security Policy|violates the following Content Security Policy directive")


def unexpected(name, messages):
    strict = not re.search(r"error|offline|gone|hostile|slow|skeleton|refused|browser|locked", name)
    return [text for text in messages if strict or not EXPECTED.search(text)]
