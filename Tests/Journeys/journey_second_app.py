"""Second app: another id and scheme signs in without a form, because the browser's cookie jar is shared (HO-11).
The proof is the provider's own answer; a fresh browser profile is the negative control."""
import sys

from app import App
from browser import Browser
from report import run, until
from world import world


def journey(report):
    with world(report, schemes=("stmessages", "stsecond")) as w:
        w.app.start()
        w.sign_in(report)
        w.browser.close_tabs()
        second = App(w.desktop, w.servers, "org.example.second", "stsecond", "Second").start()
        second.wait_state("signedOut")
        second.press("Sign in")
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


sys.exit(run("second-app", journey))
