"""What every third-party provider must do: sign in, keep the session over a restart, sign out, ask again."""
from report import until
from world import world


def story(report, peer):
    with world(report, provider=peer) as w:
        w.app.start()
        w.app.wait_state("signedOut")
        w.app.begin_sign_in()
        page = w.browser.page(w.servers.issuer.split("/o")[0])
        report.see("the browser shows the provider's own form", page is not None, page and page.url.split("?")[0])
        w.desktop.picture("1-form")
        w.servers.provider.sign_in(page)
        state = w.app.wait_state("signedIn", 30)
        report.see("the app is signed in", state["profile"]["email"] == "alice@example.test", state["profile"])
        w.app.close()
        w.app.start()
        state = w.app.wait_for("nacre.session.current.server == 'reachable' && JSON.parse(JSON.stringify(nacre.session.current))", 20)
        report.see("still signed in after a restart", state["state"] == "signedIn")
        w.browser.close_tabs()
        w.app.press("Account of …")
        w.app.press("Sign out")
        w.app.press("Sign out", "[role=alertdialog]")
        w.app.wait_state("signedOut", 30)
        report.see("signed out", True)
        w.browser.close_tabs()
        w.app.begin_sign_in()
        page = w.browser.page(w.servers.issuer.split("/o")[0])
        shown = page and until(lambda: page.evaluate(
            "!!document.querySelector('input[name=password], input[name=login]')"), 10)
        report.see("the next sign-in reaches the provider's form", shown)
