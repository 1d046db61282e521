"""Second app: another id and scheme signs in without a form, because the browser's cookie jar is shared (HO-11).
The proof is the provider's own answer; a fresh browser profile is the negative control."""
import sys
import time

from app import App
from browser import Browser
from report import run, until
from world import world


def journey(report):
    with world(report, schemes=("stmessages", "stsecond", "stthird")) as w:
        w.app.start()
        w.sign_in(report)
        w.browser.close_tabs()
        second = App(w.desktop, w.servers, "org.example.second", "stsecond", "Second").start()
        second.wait_state("signedOut")
        second.begin_sign_in()
        handoff = w.browser.page(w.servers.origin + "/api/v1.0/callback/", 20)
        report.see("the browser went through to the hand-off page without a form", handoff is not None, w.browser.history())
        if not until(lambda: second.state()["state"] == "signedIn", 4):
            # Chromium wants a gesture for a second launch without one; one click is allowed.
            handoff.click("a[href^='stsecond://auth?']")
            report.say("one click on the hand-off link")
        state = second.wait_state("signedIn", 20)
        report.see("the second app is signed in as the same person", state["profile"]["email"] ==
                   w.app.state()["profile"]["email"], state["profile"])
        log = w.servers.gateway.log.read_text()
        report.see("the provider answered the second authorize request without a form", "authorize.silent" in log)
        second.picture("1-second-app")
        second.close()

        # The negative control: the same app, the same servers, another profile of the browser. Nothing but the shared
        # cookie jar can have spared the form.
        w.browser.end()
        fresh = Browser(w.desktop, schemes=("stmessages", "stsecond", "stthird"), launch_from=[w.servers.origin],
                        profile="fresh-chromium")
        silent = w.servers.gateway.log.read_text().count("authorize.silent")
        third = App(w.desktop, w.servers, "org.example.third", "stthird", "Third").start()
        third.wait_state("signedOut")
        third.begin_sign_in()
        page = fresh.page(w.servers.issuer, 30)
        form = page and until(lambda: page.evaluate("!!document.querySelector('input[name=password]')"), 10)
        report.see("in a fresh profile of the browser the provider shows its form", form, page and page.url.split("?")[0])
        time.sleep(2)
        report.see("and answered nothing silently", w.servers.gateway.log.read_text().count("authorize.silent") == silent)
        report.see("the app waits", third.state()["state"] == "signingIn", third.state()["state"])
        w.desktop.picture("2-fresh-profile")


sys.exit(run("second-app", journey))
