"""`make demo` without a display: sign-in, restart, sign-out, each step with what it saw; pictures in build/demo/."""
import sys

from report import ROOT, Failed, Report, until
from world import world


def demo(report):
    with world(report) as w:
        report.say(f"the server half is up at {w.servers.origin}, the provider at {w.servers.issuer}")
        w.app.start()
        w.app.wait_state("signedOut")
        w.app.picture("1-signed-out")
        report.see("the Messages bundle opened in a native window", True, w.app.evaluate("document.title + ' at ' + origin"))
        w.app.press("Sign in")
        page = w.browser.page(w.servers.issuer)
        report.see("the system browser opened the provider's form", page, page and page.url.split("?")[0])
        w.desktop.picture("2-system-browser")
        w.browser.sign_in(page=page)
        state = w.app.wait_state("signedIn")
        report.see("the one-time token came back by the app's link", True, state["profile"]["email"])
        w.app.wait_for("document.querySelectorAll('.row-link').length > 5", 20, "the thread list")
        w.app.wait_for("!document.querySelector('.row-link').getAnimations().length", 3)
        w.app.picture("3-signed-in")
        report.see("mails are listed", True, w.app.evaluate("document.querySelectorAll('.row-link').length"))
        w.app.open_mail("Librairie du Passage")
        shown = w.app.wait_for("!!document.querySelector('iframe[srcdoc]')", 10, "the mail body")
        report.see("a mail opened in its sandboxed frame", shown)
        w.app.picture("4-a-mail")
        report.see("the window closed", w.app.close() == 0)
        w.app.start()
        state = w.app.wait_for("nacre.session.current.server == 'reachable' && JSON.parse(JSON.stringify(nacre.session.current))", 20)
        report.see("after a restart the session was kept and validated", state["state"] == "signedIn", state["keptIn"])
        w.app.wait_for("document.querySelectorAll('.row-link').length > 5", 20, "the thread list")
        w.app.picture("5-after-restart")
        w.browser.close_tabs()
        w.app.press("Account of …")
        w.app.press("Sign out")
        w.app.press("Sign out", "[role=alertdialog]")
        state = w.app.wait_state("signedOut", 30)
        report.see("signed out", state["reason"] == "signed_out")
        w.app.picture("6-signed-out")
        w.browser.close_tabs()
        w.app.press("Sign in")
        page = w.browser.page(w.servers.issuer)
        shown = page and until(lambda: page.evaluate("!!document.querySelector('input[name=password]')"), 10)
        report.see("the next sign-in asks for the password again", shown)
        w.desktop.picture("7-asked-again")


report = Report("demo", ROOT / "build" / "demo")
try:
    demo(report)
except Failed as error:
    if error.args:
        report.failed += 1
        print(f"FAIL {error}")
print(f"demo: pictures in {report.pictures.relative_to(ROOT)}/")
sys.exit(report.finish())
