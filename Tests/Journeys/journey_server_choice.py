"""An app whose server a person chooses (`api.choose`): asked at first start, wrong addresses in plain words, the choice kept, changed,
and each server's session its own; with several accounts each has its own server (HO-8, HO-9, SE-5)."""
import http.server
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request

from app import App
from desktop import free_port
from report import run, until
from servers import Servers
from world import world

ADDRESS = "#address"


class Foreign:
    """Some other server: neither ours nor unwell, unless asked to be."""

    def __init__(self):
        self.status, self.location = 200, None
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(outer.status)
                if outer.location:
                    self.send_header("Location", outer.location)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"hi")

            def log_message(self, *words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://localhost:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


class Relay:
    """Stands before a server and keeps what is sent to it."""

    def __init__(self, port, target):
        self.received, self.target = bytearray(), target
        self.listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            threading.Thread(target=self._serve, args=[self.listener.accept()[0]], daemon=True).start()

    def _serve(self, caller):
        with caller:
            try:
                server = socket.create_connection(("127.0.0.1", self.target), timeout=10)
            except OSError:
                return  # the server is out of reach
            server.settimeout(None)
            with server:
                back = threading.Thread(target=self._pass, args=[server, caller], daemon=True)
                back.start()
                self._pass(caller, server, self.received)
                back.join(30)

    @staticmethod
    def _pass(source, sink, kept=None):
        try:
            while data := source.recv(65536):
                if kept is not None:
                    kept.extend(data)
                sink.sendall(data)
        except OSError:
            pass
        try:
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def other_gateway(desktop):
    """A second server half with data of its own, behind a relay."""
    other = Servers(desktop)
    other.data = desktop.root / "other"
    other.data.mkdir()
    path, configuration = desktop.root / "other.json", other.configuration
    first = (desktop.root / "nacre.server.json").read_text()
    settings = json.loads(configuration().read_text())
    (desktop.root / "nacre.server.json").write_text(first)
    settings["listen"]["port"] = free_port()
    path.write_text(json.dumps(settings))
    other.configuration = lambda: path
    other.relay = Relay(other.gateway_port, settings["listen"]["port"])
    other.start_gateway()
    return other


def lets_choose(app):
    path = app.folder / "nacre.json"
    settings = json.loads(path.read_text())
    settings["api"] = {"choose": True, "media": settings["api"].get("media", [])}
    settings["app"].pop("origin", None)
    path.write_text(json.dumps(settings))


def asked(app):
    """Waits for the question, also across a start anew."""
    app._forget_page()
    app.wait_for(f"document.readyState == 'complete' && nacre.server.asking && !!document.querySelector('{ADDRESS}')", 40,
                 "the question for the server")


def typed(app, text):
    """As a person does, who looks at what stands there before they press Return: a window that has just come may lose a key."""
    stands = f"document.querySelector('{ADDRESS}').value == {json.dumps(text)}"
    for _ in range(3):
        app.click(ADDRESS)
        app.wait_for(f"document.activeElement === document.querySelector('{ADDRESS}')", 10, "the field to take the click")
        app.desktop.xdotool("key", "ctrl+a")
        app.desktop.xdotool("type", "--delay", "15", text)
        if until(lambda: app.evaluate(stands), 5):
            break
    app.wait_for(stands, 5, f"{text} to be typed")
    app.desktop.xdotool("key", "Return")


def chosen_by_menu(app):
    """The right button's menu: WebKit's own entry, this one, the problem report."""
    window = app._window()
    app.desktop.xdotool("windowraise", window, "mousemove", "--window", window, 500, 600, "click", "3")
    until(lambda: False, 1)
    app.desktop.picture("6-menu")
    app.desktop.xdotool("mousemove_relative", 60, 64, "sleep", "0.3", "click", "1")


def refused(app, text):
    typed(app, text)
    return app.wait_for("!document.querySelector('#fault').hidden && !document.querySelector('#connect').disabled"
                        " && document.querySelector('#fault').innerText", 20, f"the answer to {text}")


def bound(app, origin):
    """Waits for the app itself, started anew with this server."""
    app._forget_page()
    visible = origin.replace("http:", "https:")
    app.wait_for(f"document.readyState == 'complete' && !nacre.server.asking && nacre.api.origin == '{visible}'", 60,
                 f"the app at {origin}")


def journey(report):
    with world(report) as w:
        other, foreign = other_gateway(w.desktop), Foreign()
        app = w.app
        w.browser.lets_launch(other.origin)
        lets_choose(app)
        app.start(wait=False)
        asked(app)
        report.see("the first start asks for the server", "Messages" in app.text() and "Server address" in app.text())
        app.picture("1-question")
        said = refused(app, "nothing here")
        report.see("what is no address is said", "no server's address" in said, said)
        said = refused(app, f"http://localhost:{free_port()}")
        report.see("a server that does not answer is said", "does not answer" in said, said)
        said = refused(app, foreign.origin)
        report.see("somebody else's server is said", "no server of this app" in said, said)
        app.picture("2-refused")
        foreign.status = 503
        report.see("a server that cannot work is said", "cannot work at present" in refused(app, foreign.origin))
        foreign.status, foreign.location = 302, w.servers.origin + "/"
        said = refused(app, foreign.origin)
        report.see("one that sends on is not followed, but named", w.servers.origin in said, said)

        typed(app, w.servers.origin + "/some/page?x=1")
        bound(app, w.servers.origin)
        report.see("the right one is taken, whatever stands behind its host", True, app.evaluate("nacre.server.origin"))
        w.sign_in(report)
        app.wait_for("document.querySelectorAll('.row-link').length > 5", 20, "the thread list")
        app.picture("3-signed-in")
        code = app.evaluate(f"nacre.server.choose('{other.origin}').then(() => 'taken', e => e.code)")
        report.see("no script of the app binds it to another server", code == "server.not_asked", code)
        app.close()

        app.start()
        bound(app, w.servers.origin)
        app.wait_state("signedIn")
        report.see("the next start asks nothing: server and session are kept", True)
        app.evaluate("void nacre.server.change()")
        asked(app)
        value = app.evaluate(f"document.querySelector('{ADDRESS}').value")
        report.see("a change asks again, with the present server at hand", value == w.servers.origin, value)
        app.picture("4-change")
        app.click("#back")
        bound(app, w.servers.origin)
        app.wait_state("signedIn")
        report.see("whoever stays is still signed in", True)

        app.close()
        app.start("--choose-server", wait=False)
        asked(app)
        report.see("--choose-server asks, too", True)
        typed(app, other.origin)
        bound(app, other.origin)
        app.wait_state("signedOut")
        stored = app.evaluate("Object.keys(localStorage).length + document.querySelectorAll('.row-link').length")
        report.see("another server begins with nothing of the first: no session, no storage", stored == 0, stored)
        app.picture("5-other-server")
        chosen_by_menu(app)
        asked(app)
        report.see("the menu of the right button asks, too", True)
        typed(app, w.servers.origin)
        bound(app, w.servers.origin)
        app.wait_state("signedIn")
        report.see("back at the first its session is there", True)
        report.see("the app closes", app.close() == 0)
        released(w, report)
        two_accounts(w, report, other)


def as_account(app, account, origin, state="signedIn"):
    """Waits for the app, started anew with this account at this server."""
    bound(app, origin)
    app.wait_for(f"nacre.accounts.current.id == '{account}'", 20, f"the account {account}")
    app.wait_state(state, 30)


def sessions(w, account, origin):
    """The values of the session cookies that the keyring holds for this account at this server."""
    name = "org.example.messages" + ("" if account == "first" else f"/{account}") + f" {origin}"
    kept = subprocess.run(["secret-tool", "search", "--all", "--unlock", "application", name],
                          env=w.desktop.env, capture_output=True)
    return re.findall(rb'"name":"sessionid"[^{}]*?"value":"([^"]+)"', kept.stdout + kept.stderr)


def status(origin, session):
    request = urllib.request.Request(origin + "/api/v1.0/users/me/", headers={"Cookie": f"sessionid={session}"})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def running(app):
    """The processes of the app, whoever has started them."""
    found = subprocess.run(["pgrep", "-f", f"nacre run.*{app.folder}"], capture_output=True, text=True).stdout
    return [int(pid) for pid in found.split()]


def email(app):
    return app.evaluate("nacre.session.current.profile?.email")


def two_accounts(w, report, other):
    """Two accounts of one app at two servers."""
    app, one, two = w.app, w.servers.origin, other.origin
    path = app.folder / "nacre.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"accounts": True}))
    # The next browser is a child of the app as it runs then: a link starts an app that the inspector is found in.
    w.browser.end()
    app.start(wait=False)
    as_account(app, "first", one)
    [of_alice] = sessions(w, "first", one)
    report.see("with accounts, too, what was there is the first account's", email(app) == "alice@example.test")
    app.evaluate("void nacre.accounts.add()")
    asked(app)
    second = app.evaluate("nacre.accounts.current.id")
    value = app.evaluate(f"document.querySelector('{ADDRESS}').value")
    report.see("a new account is asked for its server, and that of the one before is proposed",
               second != "first" and value == one, value)
    app.picture("7-server-of-new-account")
    app.click("form button:last-child")
    as_account(app, "first", one)
    report.see("from there a person can go back to the account before", email(app) == "alice@example.test")
    app.evaluate("void nacre.accounts.add()")
    asked(app)
    report.see("and come again, to the same new account", app.evaluate("nacre.accounts.current.id") == second)
    typed(app, two)
    as_account(app, second, two, "signedOut")
    app.begin_sign_in()
    app.wait_state("signingIn")
    page = w.browser.page(other.issuer)
    app.evaluate("void nacre.accounts.switch('first')")
    as_account(app, "first", one)
    app.kill()
    until(lambda: page.evaluate("!!document.querySelector('input[name=password]')"), 10)
    w.browser.sign_in(user="bruno", password="bruno-password-1", page=page)
    as_account(app, second, two)
    report.see("HO-9: a link that starts the app ends the sign-in of the account that began it, at its server",
               email(app) == "bruno@example.test", email(app))
    app.picture("8-second-account")
    known = app.wait_for("nacre.accounts.list.every(a => a.signedIn) && nacre.accounts.list.map(a => [a.name, a.server])", 10,
                         "both in the list")
    report.see("the list knows who is where", known == [["Alice Martin", one], ["Bruno Lefèvre", two]], known)
    w.browser.close_tabs()
    [of_bruno] = sessions(w, second, two)

    app.evaluate("void nacre.accounts.switch('first')")
    as_account(app, "first", one)
    # What the app that was there before had under way is over with it.
    before = len(other.relay.received)
    answer = app.evaluate("fetch(nacre.api.origin + '/api/v1.0/users/me/').then(r => r.json()).then(r => r.email)")
    report.see("back at the first its person is there, at its server", [email(app), answer] == ["alice@example.test"] * 2, answer)
    app.wait_for("document.querySelectorAll('.row-link').length > 5", 20, "the thread list")
    report.see("and the other's server hears nothing of it", len(other.relay.received) == before and before > 0, before)
    app.evaluate(f"void nacre.accounts.switch('{second}')")
    as_account(app, second, two)
    report.see("and over again, without a form", email(app) == "bruno@example.test" and not w.browser.targets(), email(app))
    os.kill(running(app)[0], signal.SIGTERM)
    until(lambda: not running(app), 15)
    app.start(wait=False)
    as_account(app, second, two)
    report.see("the next start shows the same account at the same server", email(app) == "bruno@example.test", email(app))
    app.click(".account-button")
    app.wait_for("document.querySelectorAll('dialog [data-account]').length == 3", 10, "the accounts in the account menu")
    app.picture("9-account-menu")
    app.click("[data-account='first']")
    as_account(app, "first", one)
    report.see("the account menu goes over to another account", True)
    app.close()
    app.start(wait=False)
    as_account(app, "first", one)
    report.see("and so for the other", email(app) == "alice@example.test", email(app))
    report.see("no session of the first was ever sent to the other's server", of_alice not in other.relay.received and
               of_bruno in other.relay.received)

    session = of_bruno.decode()
    other.stop_gateway()
    app.evaluate(f"void nacre.accounts.remove('{second}').then(r => window.gone = r.outcome, e => window.gone = e.code)")
    gone = app.wait_for("window.gone", 30, "the account to be removed")
    report.see("an account whose server is out of reach can be removed", gone == "removed" and not sessions(w, second, two), gone)
    app.close()
    other.start_gateway()
    alive = status(two, session)
    app.start(wait=False)
    as_account(app, "first", one)
    over = until(lambda: status(two, session) == 401, 30)
    report.see("SE-5: its server hears of it at the next start", alive == 200 and over, alive)
    owed = w.desktop.root / "data" / app.id / "accounts" / "owed"
    report.see("and then nothing of it is left", until(lambda: not owed.exists(), 10))
    app.close()


def released(w, report):
    """An app that people have used with its one server before they could choose."""
    app = App(w.desktop, w.servers, "org.example.released", "stmessages", "Released")
    app.start()
    app.wait_state("signedOut")
    w.browser.close_tabs()
    app.begin_sign_in()
    page = w.browser.page(w.servers.origin + "/api/v1.0/callback/", 20)
    if page and not until(lambda: app.state()["state"] == "signedIn", 5):
        # The browser wants a gesture before it opens an app once more.
        page.click("a[href^='stmessages://auth?']")
    app.wait_state("signedIn", 30)
    app.evaluate("localStorage.setItem('mark', '1')")
    app.close()
    lets_choose(app)
    app.start(wait=False)
    bound(app, w.servers.origin)
    app.wait_state("signedIn")
    report.see("a released app that lets people choose now asks nobody who has used it: session and data are there",
               app.evaluate("localStorage.getItem('mark')") == "1")
    app.evaluate("void nacre.server.change()")
    asked(app)
    report.see("the question begins with nothing of the app", app.evaluate("localStorage.length") == 0)
    app.click("#back")
    bound(app, w.servers.origin)
    app.wait_state("signedIn")
    report.see("and whoever stays finds it all again", app.evaluate("localStorage.getItem('mark')") == "1")
    app.close()


sys.exit(run("server-choice", journey))
