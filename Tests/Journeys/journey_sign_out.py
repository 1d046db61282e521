"""Sign-out: the session ends in the app, at the gateway and at the provider; the next sign-in shows the form, in the
other app too (HO-7, HO-12, HO-15, SE-5)."""
import sys

from app import App
from report import run, until
from world import world


def journey(report):
    with world(report, schemes=("stmessages", "stsecond")) as w:
        w.app.start()
        w.sign_in(report)
        w.browser.close_tabs()
        w.app.press("Account of …")
        w.app.picture("1-account-menu")
        w.app.press("Sign out")
        w.app.press("Sign out", "[role=alertdialog]")
        state = w.app.wait_state("signedOut", 30)
        report.see("the app is signed out", state["reason"] == "signed_out", state["reason"])
        w.app.picture("2-signed-out")
        status = w.app.evaluate("fetch(nacre.api.origin + '/api/v1.0/users/me/').then(r => r.status)")
        report.see("API calls carry no session any more", status == 401, status)
        w.browser.close_tabs()
        w.app.begin_sign_in()
        page = w.browser.page(w.servers.issuer)
        shown = page and until(lambda: page.evaluate("!!document.querySelector('input[name=password]')"), 10)
        report.see("the next sign-in reaches the provider's form", shown)
        w.app.press("Cancel")
        w.app.wait_state("signedOut")
        w.browser.close_tabs()
        second = App(w.desktop, w.servers, "org.example.second", "stsecond", "Second").start()
        second.wait_state("signedOut")
        second.begin_sign_in()
        page = w.browser.page(w.servers.issuer)
        shown = page and until(lambda: page.evaluate("!!document.querySelector('input[name=password]')"), 10)
        report.see("the other app sees the form too", shown)


sys.exit(run("sign-out", journey))
