"""Cancel: in the app, by refusal at the provider, and by a stranger's link; the next sign-in works (HO-5, HO-8, HO-11)."""
import subprocess
import sys
import time

from report import run, until
from world import world


def journey(report):
    with world(report) as w:
        w.app.start()
        w.app.wait_state("signedOut")
        w.app.begin_sign_in()
        w.app.wait_state("signingIn")
        page = w.browser.page(w.servers.issuer)
        w.app.picture("1-signing-in")
        subprocess.run(["gio", "open", "stmessages://auth?error=access_denied"], env=w.desktop.env)
        time.sleep(2)
        report.see("a stranger's link changes nothing", w.app.state()["state"] == "signingIn", w.app.state()["state"])
        w.app.press("Cancel")
        state = w.app.wait_state("signedOut")
        report.see("Cancel is its own outcome, not an error", state["reason"] == "cancelled" and not state["error"], state)
        w.app.picture("2-cancelled")
        time.sleep(1.5)
        w.browser.sign_in(page=page)
        time.sleep(3)
        report.see("a late success after Cancel signs nobody in", w.app.state()["state"] == "signedOut", w.app.state()["state"])

        w.browser.close_tabs()
        w.app.begin_sign_in()
        state = w.app.wait_state("signedIn", 30)
        report.see("the next sign-in works, and the provider's session answers without a form", state["state"] == "signedIn")

    with world(report) as w:
        w.app.start()
        w.app.wait_state("signedOut")
        w.app.begin_sign_in()
        w.app.wait_state("signingIn")
        page = w.browser.page(w.servers.issuer)
        until(lambda: page.evaluate("!!document.querySelector('button[name=action][value=cancel]')"), 10)
        page.click("button[name=action][value=cancel]")
        # HO-5: the refusal comes back as a link of its own, by the same hand-off page.
        handoff = w.browser.page(w.servers.origin + "/api/v1.0/callback/", 20)
        report.see("Cancel on the provider's form leads to the hand-off page", handoff is not None, w.browser.history())
        report.see("which carries the refusal and no token", handoff.evaluate(
            "[...document.querySelectorAll('a')].some(a => a.href.startsWith('stmessages://auth?') && a.href.includes('error=access_denied'))"
            " && !document.documentElement.innerHTML.includes('token=')"))
        if not until(lambda: w.app.state()["state"] == "signedOut", 5):
            handoff.click("a[href^='stmessages://auth?']")
            report.say("one click on the hand-off link")
        state = w.app.wait_state("signedOut")
        report.see("HO-5: a refusal at the provider is Cancel, not an error", state["reason"] == "cancelled" and not state["error"],
                   state)
        w.app.picture("3-refused-at-the-provider")
        w.browser.close_tabs()
        w.app.begin_sign_in()
        w.app.wait_state("signingIn")
        w.browser.sign_in(page=w.browser.page(w.servers.issuer))
        report.see("the next sign-in shows the form and works", w.app.wait_state("signedIn", 30)["state"] == "signedIn")


sys.exit(run("cancel", journey))
