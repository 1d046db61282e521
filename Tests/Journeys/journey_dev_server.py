"""A development server under the app's own origin: hot reload, a server that is away, the phone's size (SH-2), and a
passphrase that no child gets to see."""
import pathlib
import re
import shutil
import sys
import types

from app import App
from desktop import Desktop, free_port
from dev_server import DevServer
from report import run, until

PASSPHRASE = "a passphrase of this journey"


def environments(desktop):
    """The environment of every process of this desktop, as the kernel tells it."""
    for pid in desktop._ours():
        folder = pathlib.Path("/proc") / str(pid)
        try:
            yield (folder / "comm").read_text().strip(), (folder / "environ").read_bytes()
        except OSError:
            pass


def journey(report):
    with Desktop(report, keyring=False) as desktop:
        server = DevServer(free_port())
        try:
            story(report, desktop, server)
        finally:
            server.stop()


def story(report, desktop, server):
    app = App(desktop, types.SimpleNamespace(origin=f"http://localhost:{free_port()}"))
    shutil.rmtree(app.folder / "web")
    server.start()
    desktop.env["NACRE_PASSPHRASE"] = PASSPHRASE
    app.start("--dev-server", server.origin)
    report.see("the development server's page is shown, and no bundle need be built",
               "First version" in app.text(), app.text())
    report.see("at the app's own origin", app.evaluate("location.origin") == "https://localhost")
    report.see("with the bridge", app.evaluate("nacre.platform") == "linux")
    path, headers = server.requests[0]
    report.see("the server is asked by its own name", headers["host"] == f"localhost:{server.port}", headers["host"])
    names = sorted({name for name, _ in environments(desktop)})
    telling = [name for name, environ in environments(desktop) if PASSPHRASE.encode() in environ]
    report.see("no process of the app shows the passphrase", "nacre" in names and not telling, telling or names)
    report.see("the passphrase opened the store all the same",
               app.evaluate("nacre.session.current.keptIn") not in ("memory", None) or
               bool(list((desktop.root / "data" / app.id).rglob("secrets"))), app.evaluate("nacre.session.current.keptIn"))

    app.wait_for("socket.readyState == 1", 10, "the hot-reload socket")
    report.see("the hot-reload socket is open under the same origin",
               app.evaluate("socket.url").startswith("wss://localhost/hmr"), app.evaluate("socket.url + ' ' + socket.protocol"))
    report.see("the server sees its own origin, as its check demands",
               server.handshakes[0]["origin"] == server.origin, server.handshakes[0]["origin"])
    app.evaluate("socket.send('hello')")
    report.see("it carries messages both ways", app.wait_for("heard[0]", 5) == "echo hello")
    server.text = "Second version"
    server.reload()
    app.wait_for("document.body.innerText.includes('Second version')", 10, "the page to reload itself")
    report.see("a saved file reloads the page", True)
    app.picture("1-page")

    server.stop()
    app.evaluate("void setTimeout(() => location.reload(), 50)")
    unreachable(report, app, server)
    app.picture("2-unreachable")
    server.text = "Third version"
    server.start()
    app.wait_for("document.body.innerText.includes('Third version')", 10, "the page to come back by itself")
    report.see("it comes back by itself", app.evaluate("location.href") == "https://localhost/")
    app.close()

    server.stop()
    app.start("--dev-server", server.origin)
    unreachable(report, app, server)
    report.see("a start without the server stays open", app.process.poll() is None)
    server.start()
    app.wait_for("document.body.innerText.includes('Third version')", 10, "the page to come back by itself")
    report.see("and shows the page once it is there", True)
    app.close()

    app.start("--phone", "--dev-server", server.origin)
    size = until(lambda: (lambda s: s if s[0] == 390 else None)(app.evaluate("[innerWidth, innerHeight]")), 5)
    report.see("--phone gives a page of 390 pixels", bool(size), size or app.evaluate("[innerWidth, innerHeight]"))
    app.wait_for("document.documentElement.hasAttribute('data-phone')", 5, "data-phone")
    report.see("that knows it is a phone's", True)
    app.picture("3-phone")
    app.close()


def unreachable(report, app, server):
    app.wait_for("document.body.innerText.includes('does not answer')", 15, "the page that says so")
    text = re.sub(r"\s+", " ", app.text())
    report.see("an unreachable server has a page with its address", server.origin in text, text)
    reason = text.split("does not answer.")[1].split("Start it")[0].strip()
    report.see("with the reason", len(reason) > 10, reason)
    report.see("and a retry", app.evaluate("!!document.querySelector('a[href]')"))


sys.exit(run("dev-server", journey))
