"""Several accounts in one app (`accounts`): each with its own session and data, gone over to without a form; a link finds the
account whose sign-in it ends; a sign-out reaches one account only; what is removed leaves nothing behind (HO-7, HO-8, SE-1)."""
import json
import re
import subprocess
import sys
import urllib.error
import urllib.request

from report import run, until
from world import world

MARKS = {
    "local storage": ("localStorage.setItem('mark', '1')", "localStorage.getItem('mark') === '1'"),
    "preferences": ("Capacitor.Plugins.Preferences.set({key: 'mark', value: '1'})",
                    "Capacitor.Plugins.Preferences.get({key: 'mark'}).then(r => r.value === '1')"),
    "IndexedDB": ("new Promise((d, f) => {const r = indexedDB.open('mark'); r.onsuccess = () => {r.result.close(); d()}; r.onerror = f})",
                  "indexedDB.databases().then(all => all.some(({name}) => name === 'mark'))"),
    "files": ("Capacitor.Plugins.Filesystem.writeFile({path: 'mark', directory: 'DATA', data: 'MQ=='})",
              "Capacitor.Plugins.Filesystem.stat({path: 'mark', directory: 'DATA'}).then(() => true, () => false)"),
}


def with_accounts(app):
    path = app.folder / "nacre.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"accounts": True}))


def current(app):
    return app.evaluate("nacre.accounts.current.id")


def arrived(app, account, state):
    """Waits for the app, started anew, with this account (`not X`: with another one)."""
    test = f"!== {json.dumps(account[4:])}" if account.startswith("not ") else f"=== {json.dumps(account)}"
    app._forget_page()
    complete = "&& !!nacre.session.current.profile" if state == "signedIn" else ""
    app.wait_for(f"document.readyState == 'complete' && nacre.accounts.current.id {test} &&"
                 f" nacre.session.current.state == '{state}' {complete}", 40, f"account {account}, {state}")
    return current(app)


def marks(app):
    return [name for name, (_, is_there) in MARKS.items() if app.evaluate(is_there)]


def entry_of_menu(app, number, picture):
    """The right button's menu: WebKit's own entry, then ours."""
    app.wait_for("document.querySelectorAll('.row-link').length > 0", 20, "the page behind the menu")
    app.picture(picture + "-before")  # once the page has drawn
    window = app._window()
    app.desktop.xdotool("windowraise", window, "mousemove", "--window", window, 860, 620, "click", "3")
    menu = app.dialog(15)
    until(lambda: False, 0.5)
    app.desktop.picture(picture)
    app.desktop.xdotool("key", *["Down"] * number, "sleep", "0.3", "key", "Return")
    until(lambda: menu not in app.desktop.xdotool("search", "--onlyvisible", "--pid", app.process.pid).split(), 10)


def email(app):
    return app.evaluate("nacre.session.current.profile?.email")


def sessions(w, account):
    """The values of the session cookies that the keyring holds for this account."""
    name = "org.example.messages" + ("" if account == "first" else f"/{account}")
    kept = subprocess.run(["secret-tool", "search", "--all", "--unlock", "application", name],
                          env=w.desktop.env, capture_output=True)
    return re.findall(rb'"name":"sessionid"[^{}]*?"value":"([^"]+)"', kept.stdout + kept.stderr)


def status(w, session):
    request = urllib.request.Request(w.servers.origin + "/api/v1.0/users/me/", headers={"Cookie": f"sessionid={session}"})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def left_of(w, *words):
    """Files of the app below data and cache that hold one of these words, in name or content."""
    found = []
    for folder in ("data/org.example.messages", "cache/org.example.messages"):
        for path in (w.desktop.root / folder).rglob("*"):
            content = path.read_bytes() if path.is_file() else b""
            if any(word in path.name or word.encode() in content for word in words):
                found.append(str(path.relative_to(w.desktop.root)))
    return found


def signed_in_by_form(w, report, user):
    page = w.browser.page(w.servers.issuer)
    shown = page and until(lambda: page.evaluate("!!document.querySelector('input[name=password]')"), 10)
    report.see("the browser asks who it is, whoever is signed in there", shown, page and page.url.split("?")[0])
    w.browser.sign_in(user=user, password=f"{user}-password-1", page=page)


def journey(report):
    with world(report) as w:
        app = w.app
        with_accounts(app)
        app.start()
        w.sign_in(report)
        first = current(app)
        report.see("the first account has the data of before", first == "first" and app.evaluate("nacre.can('accounts')"))
        for make, _ in MARKS.values():
            app.evaluate(f"Promise.resolve({make}).then(() => true)")
        report.see("the first account keeps something of each kind", len(marks(app)) == len(MARKS), marks(app))
        app.wait_for("document.querySelectorAll('.row-link').length > 5", 20, "alice's mail")
        mail_of_alice = app.evaluate("document.querySelector('.row-link').innerText")
        w.browser.close_tabs()

        app.evaluate("void nacre.accounts.add()")
        second = arrived(app, "not first", "signedOut")
        report.see("a new account has no session and nothing of the first", marks(app) == [], marks(app))
        app.picture("1-new-account")
        app.begin_sign_in()
        signed_in_by_form(w, report, "bruno")
        arrived(app, second, "signedIn")
        report.see("the second account is another person", email(app) == "bruno@example.test", email(app))
        app.wait_for("document.querySelectorAll('.row-link').length > 0", 20, "bruno's mail")
        app.picture("2-second-account")
        names = app.wait_for("nacre.accounts.list.length == 2 && nacre.accounts.list.every(a => a.signedIn)"
                             " && nacre.accounts.list.map(a => a.name)", 10, "both in the list")
        report.see("the list knows both by name", names == ["Alice Martin", "Bruno Lefèvre"], names)
        w.browser.close_tabs()

        entry_of_menu(app, 1, "3-menu")
        arrived(app, first, "signedIn")
        report.see("the menu goes back to the first, without a form", email(app) == "alice@example.test" and
                   not any(w.servers.issuer in url for url in w.browser.history()), email(app))
        report.see("what it kept is there", len(marks(app)) == len(MARKS), marks(app))
        app.wait_for("document.querySelectorAll('.row-link').length > 5", 20, "alice's mail")
        report.see("and so is its mail", app.evaluate("document.querySelector('.row-link').innerText") == mail_of_alice)

        app.evaluate("void nacre.accounts.add()")
        third = arrived(app, "not first", "signedOut")
        app.begin_sign_in()
        app.wait_state("signingIn")
        page = w.browser.page(w.servers.issuer)
        app.evaluate(f"void nacre.accounts.switch('{first}')")
        arrived(app, first, "signedIn")
        signed_in_by_form(w, report, "chloe")
        arrived(app, third, "signedIn")
        report.see("a link goes to the account that waits for it, whichever is shown", email(app) == "chloe@example.test",
                   email(app))
        w.browser.close_tabs()

        app.evaluate(f"void nacre.accounts.switch('{first}')")
        arrived(app, first, "signedIn")
        of_bruno = sessions(w, second)
        [of_alice] = sessions(w, first)
        app.evaluate("void nacre.session.signOut()")
        app.wait_state("signedOut", 30)
        report.see("the first signs out", status(w, of_alice.decode()) == 401)
        log = w.servers.gateway.log.read_text()
        report.see("the provider ends the session of whoever leaves, and not that of the person who is there",
                   "logout.other" in log)
        w.browser.close_tabs()
        app.evaluate(f"void nacre.accounts.switch('{second}')")
        arrived(app, second, "signedIn")
        answer = app.evaluate("fetch(nacre.api.origin + '/api/v1.0/users/me/').then(r => r.json()).then(r => r.email)")
        report.see("the second is still signed in, at the server, too", answer == "bruno@example.test", answer)
        report.see("the app closes", app.close() == 0)
        app.start()
        arrived(app, second, "signedIn")
        report.see("the next start shows the account that was there last", True)

        session = of_bruno[0].decode()
        report.see("its session is alive at the server", status(w, session) == 200)
        entry_of_menu(app, 4, "4-menu-of-three")
        dialog = app.dialog()
        report.see("before an account goes, its person is asked", dialog)
        w.desktop.picture("5-question")
        w.desktop.xdotool("windowfocus", "--sync", dialog, "key", "Tab", "Return")
        arrived(app, first, "signedOut")
        gone = until(lambda: not left_of(w, second, "bruno"), 15)
        report.see("what is removed leaves nothing on disk", gone, left_of(w, second, "bruno"))
        report.see("nor in the keyring", sessions(w, second) == [])
        report.see("and its session is over at the server", status(w, session) == 401)
        removed = app.evaluate(f"nacre.accounts.remove('{third}').then(r => r.outcome, e => e.code)")
        report.see("another account than the one that is shown goes at once", removed == "removed" and
                   not left_of(w, third, "chloe"), removed)
        unknown = app.evaluate(f"nacre.accounts.switch('{third}').then(() => 'taken', e => e.code)")
        report.see("whoever is gone cannot be gone over to", unknown == "accounts.unknown", unknown)
        report.see("the one that is left is the first", app.evaluate("nacre.accounts.list.map(a => a.id)") == ["first"])
        app.picture("6-what-is-left")


sys.exit(run("accounts", journey))
