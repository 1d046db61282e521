"""`make demo` without a display: sign-in, restart, updates, sign-out, each step with what it saw; pictures in build/demo/."""
import sys

from publishing import Channel
from report import ROOT, Failed, Report, until
from updating import apply, check, runs, state, taken_back
from world import world


def updates(report, w, channel):
    """Published, noticed, taken; a broken one taken back; a rollback followed."""
    app = w.app
    channel.publish(app, "0.2.0")
    report.see("a new version was published; the app found, verified and staged it", check(app)["outcome"] == "staged")
    app.wait_for("!!document.querySelector('.banner.news')", 10, "the notice")
    app.picture("6-new-version")
    report.see("a notice offers it, and nothing else changed", app.evaluate("nacre.version.web.version") == "0.1.0",
               app.evaluate("document.querySelector('.banner.news').innerText.trim()").replace("\n", " – "))
    app.press("Update", ".banner")
    runs(app, "0.2.0")
    report.see("one press, and the new version runs", True, app.evaluate("nacre.version.report"))
    channel.publish(app, "0.3.0", js_app__js="throw new Error('broken at its start');")
    check(app)
    apply(app)
    taken_back(report, app, "0.3.0", "0.2.0")
    app.wait_for("document.querySelectorAll('.row-link').length > 5", 20, "the thread list")
    app.picture("7-broken-version-taken-back")
    channel.rollback("0.1.1")
    report.see("the channel was rolled back; the app follows", check(app).get("version") == "0.1.1")
    apply(app)
    runs(app, "0.1.1")
    report.see("and the version before runs, signed in as ever", app.wait_state("signedIn")["profile"] is not None, state(app)["running"])


def demo(report):
    channel = None

    def environment(desktop):
        nonlocal channel
        channel = Channel(desktop)
        return {"MOBILE_OTA_MANIFEST_URL": channel.manifest}

    with world(report, environment=environment) as w:
        channel.into(w.app, appReadyTimeout=3000)
        report.say(f"the server half is up at {w.servers.origin}, the provider at {w.servers.issuer}")
        w.app.start()
        w.app.wait_state("signedOut")
        w.app.picture("1-signed-out")
        report.see("the Messages bundle opened in a native window", True, w.app.evaluate("document.title + ' at ' + origin"))
        w.app.begin_sign_in()
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
        channel.publish(w.app, "0.1.1")
        updates(report, w, channel)
        w.browser.close_tabs()
        w.app.press("Account of …")
        w.app.press("Sign out")
        w.app.press("Sign out", "[role=alertdialog]")
        state = w.app.wait_state("signedOut", 30)
        report.see("signed out", state["reason"] == "signed_out")
        w.app.picture("8-signed-out")
        w.browser.close_tabs()
        w.app.begin_sign_in()
        page = w.browser.page(w.servers.issuer)
        shown = page and until(lambda: page.evaluate("!!document.querySelector('input[name=password]')"), 10)
        report.see("the next sign-in asks for the password again", shown)
        w.desktop.picture("9-asked-again")


report = Report("demo", ROOT / "build" / "demo")
try:
    demo(report)
except Failed as error:
    if error.args:
        report.failed += 1
        print(f"FAIL {error}")
print(f"demo: pictures in {report.pictures.relative_to(ROOT)}/")
sys.exit(report.finish())
