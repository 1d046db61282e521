"""`make demo` without a display: sign-in, restart, sign-out, each step with what it saw; pictures in build/demo/."""
import sys

from report import ROOT, Failed, Report, until
from world import world


def demo(report):
    with world(report) as w:
        report.say(f"the server half is up at {w.servers.origin}, the provider at {w.servers.issuer}")
        w.app.start()
        w.app.wait_state("signedOut")
        w.desktop.picture("1-signed-out")
        report.see("the Messages bundle opened in a native window", True, w.app.evaluate("document.title + ' at ' + origin"))
        w.app.click("[data-action=sign-in]")
        page = w.browser.page(w.servers.issuer)
        report.see("the system browser opened the provider's form", page, page and page.url.split("?")[0])
        w.desktop.picture("2-system-browser")
        w.browser.sign_in(page=page)
        state = w.app.wait_state("signedIn")
        report.see("the one-time token came back by the app's link", True, state["profile"]["email"])
        w.app.wait_for("document.querySelectorAll('[data-thread]').length > 5", 20, "the thread list")
        w.app.wait_for("!document.querySelector('[data-thread]').getAnimations().length", 3)
        w.desktop.picture("3-signed-in")
        report.see("mails are listed", True, w.app.evaluate("document.querySelectorAll('[data-thread]').length"))
        w.app.click("[data-thread]")
        shown = w.app.wait_for("!!document.querySelector('iframe[srcdoc]')", 10, "the mail body")
        report.see("a mail opened in its sandboxed frame", shown)
        w.desktop.picture("4-a-mail")
        report.see("the window closed", w.app.close() == 0)
        w.app.start()
        state = w.app.wait_for("nacre.session.current.server == 'reachable' && nacre.session.current", 20)
        report.see("after a restart the session was kept and validated", state["state"] == "signedIn", state["keptIn"])
        w.app.wait_for("document.querySelectorAll('[data-thread]').length > 5", 20, "the thread list")
        w.desktop.picture("5-after-restart")
        w.browser.close_tabs()
        w.app.click("[data-action=account]")
        w.app.click("[data-action=sign-out]")
        w.app.click("[data-action=confirm-sign-out]")
        state = w.app.wait_state("signedOut", 30)
        report.see("signed out", state["reason"] == "signed_out")
        w.desktop.picture("6-signed-out")
        w.browser.close_tabs()
        w.app.click("[data-action=sign-in]")
        page = w.browser.page(w.servers.issuer)
        shown = page and until(lambda: page.evaluate("!!document.querySelector('input[name=password]')"), 10)
        report.see("the next sign-in asks for the password again", shown)
        w.desktop.picture("7-asked-again")


report = Report("demo", ROOT / "build" / "demo")
try:
    demo(report)
except Failed:
    pass
print(f"demo: pictures in {report.pictures.relative_to(ROOT)}/")
sys.exit(report.finish())
