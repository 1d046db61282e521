"""Sign-in: shell, the person's own browser, provider, gateway, one-time token, session, API calls (HO-1 … HO-11)."""
import sys

from report import run
from world import world


def journey(report):
    with world(report) as w:
        w.app.start()
        report.see("the app opens signed out", w.app.wait_state("signedOut")["state"] == "signedOut")
        w.app.picture("1-signed-out")
        w.app.begin_sign_in()
        w.app.wait_state("signingIn")
        page = w.browser.page(w.servers.issuer)
        report.see("the person's own browser shows the provider's form", page, page and page.url.split("?")[0])
        w.desktop.picture("2-browser-form")
        report.see("the form says that it is a development provider", "development provider" in page.text.lower())
        w.browser.sign_in(page=page)
        state = w.app.wait_state("signedIn")
        report.see("the link came back through the desktop and the app is signed in", state["profile"]["email"],
                   state["profile"])
        handoff = w.browser.page(w.servers.origin + "/api/v1.0/callback/")
        report.see("the browser rests on the hand-off page, answered 200", handoff is not None)
        report.see("the hand-off page has a button", handoff.evaluate("!!document.querySelector('a[href^=\"stmessages://auth?\"]')"))
        w.app.wait_for("document.querySelectorAll('.row-link').length > 5", 20, "the thread list")
        report.see("mails of the backend are listed", True, w.app.evaluate("document.querySelectorAll('.row-link').length"))
        w.app.picture("3-signed-in")
        report.see("the secret is kept in the keyring", state["keptIn"] == "secret-service", state["keptIn"])
        report.see("the page cannot read the session cookie", "sessionid" not in w.app.evaluate("document.cookie"))
        status = w.app.evaluate(f"fetch(nacre.api.origin + '/api/v1.0/users/me/').then(r => r.status)")
        report.see("an API call of the page carries the session", status == 200, status)
        first = w.app.evaluate("document.querySelector('[role=listitem]').dataset.id")
        flagged = w.app.evaluate(
            f"fetch(nacre.api.origin + '/api/v1.0/threads/{first}/flags/', {{method: 'POST',"
            " headers: {'Content-Type': 'application/json'}, body: JSON.stringify({starred: true})}).then(r => r.status)")
        report.see("an unsafe call passes the CSRF check", flagged == 200, flagged)
        # The values themselves, whatever stands around them: the app's own cookie, which only the request itself shows
        # (the backend's side gets none), and the one in the browser's jar.
        secrets = w.secrets_of_sessions()
        report.see("the app's and the browser's session cookies are known to the journey", len(secrets) >= 2, len(secrets))
        files = [f for f in w.desktop.root.rglob("*") if f.is_file() and not f.is_symlink() and "chromium" not in f.parts]
        kinds = {f.suffix for f in files}
        report.see("databases with their write-ahead logs and log files are among those searched",
                   {".sqlite", ".sqlite-wal", ".log"} <= kinds, sorted(kinds))
        leaks = [str(f) for f in files if any(secret in f.read_bytes() for secret in secrets)]
        report.see("no file of the app or the servers holds a session in clear", not leaks, leaks)


sys.exit(run("sign-in", journey))
