"""An app whose server a person chooses (`api.choose`): asked at first start, wrong addresses in plain words, the choice kept, changed,
and each server's session its own."""
import http.server
import json
import sys
import threading

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


def other_gateway(desktop):
    """A second server half with data of its own."""
    other = Servers(desktop)
    other.data = desktop.root / "other"
    other.data.mkdir()
    path, configuration = desktop.root / "other.json", other.configuration
    first = (desktop.root / "nacre.server.json").read_text()
    configuration().rename(path)
    (desktop.root / "nacre.server.json").write_text(first)
    other.configuration = lambda: path
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
    app.click(ADDRESS)
    app.desktop.xdotool("key", "ctrl+a")
    app.desktop.xdotool("type", "--delay", "15", text)
    app.wait_for(f"document.querySelector('{ADDRESS}').value == {json.dumps(text)}", 10, f"{text} to be typed")
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


def released(w, report):
    """An app that people have used with its one server before they could choose."""
    app = App(w.desktop, w.servers, "org.example.released", "stmessages", "Released")
    app.start()
    app.wait_state("signedOut")
    w.browser.close_tabs()
    app.press("Sign in")
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
