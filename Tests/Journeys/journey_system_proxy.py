"""The system's proxy: foreign hosts of the page and an API elsewhere go through it, this machine never does."""
import http.server
import socket
import sys
import threading
import types

from app import App
from desktop import Desktop, free_port
from dev_server import DevServer
from report import run, until


class ConnectProxy:
    """Notes the first line of each request and refuses it: that it was asked is all that matters here."""

    def __init__(self):
        self.seen = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection:
            connection.settimeout(5)
            try:
                # A SOCKS client's greeting has no line, so whatever comes first is taken.
                self.seen.append(connection.recv(4096).decode("latin-1").split("\r\n")[0])
                connection.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            except OSError:
                pass

    def saw(self, line):
        return bool(until(lambda: any(s.startswith(line) for s in self.seen), 10))

    def close(self):
        self.listener.close()


class Configurations:
    """Serves automatic configurations; each path is one."""

    def __init__(self, proxy):
        self.texts = {
            "/proxy.pac": f"""function FindProxyForURL(url, host) {{
                if (isPlainHostName(host) || !dnsDomainIs(host, ".nacre-proxy.example")) return "DIRECT";
                return "PROXY 127.0.0.1:{proxy.port}; DIRECT"; }}""",
            "/broken.pac": "function FindProxyForURL(url, host) {\n  return nobody.knows; }",
            "/endless.pac": "function FindProxyForURL(url, host) { for (;;) {} }",
        }
        outer = self
        self.asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.asked.append(self.path)
                text = outer.texts.get(self.path)
                self.send_response(200 if text else 404)
                self.send_header("Content-Type", "application/x-ns-proxy-autoconfig")
                self.end_headers()
                self.wfile.write((text or "").encode())

            def log_message(self, *words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def journey(report):
    plain = (("environment", by_environment), ("GNOME", by_gnome), ("SOCKS", by_socks),
             ("PAC", by_configuration("/proxy.pac")))
    unusable = [(f"PAC {path}", by_configuration(path), words) for path, words in (
        ("/missing.pac", "answers 404"), ("/broken.pac", "line 2"), ("/endless.pac", "did not answer"))]
    for name, settings, *words in (*plain, *unusable):
        with Desktop(report, keyring=False) as desktop:
            proxy, server = ConnectProxy(), DevServer(free_port()).start()
            try:
                settings(desktop, proxy)
                (refusal if words else story)(report, desktop, server, proxy, name, *words)
            finally:
                server.stop()
                proxy.close()


def by_environment(desktop, proxy):
    # Outside of GNOME and sandboxes GIO asks libproxy, which reads these.
    desktop.env["XDG_CURRENT_DESKTOP"] = "XFCE"
    for name in ("http_proxy", "https_proxy"):
        desktop.env[name] = f"http://127.0.0.1:{proxy.port}"
    # For WebKit's inspector, by which this journey looks; the development server is at `localhost`.
    desktop.env["no_proxy"] = "127.0.0.1"


def by_gnome(desktop, proxy):
    gsettings(desktop, f"[system/proxy]\nmode='manual'\n\n[system/proxy/http]\nhost='127.0.0.1'\nport={proxy.port}\n\n"
              f"[system/proxy/https]\nhost='127.0.0.1'\nport={proxy.port}\n")


def by_socks(desktop, proxy):
    gsettings(desktop, f"[system/proxy]\nmode='manual'\n\n[system/proxy/socks]\nhost='127.0.0.1'\nport={proxy.port}\n")


def by_configuration(path):
    def settings(desktop, proxy):
        gsettings(desktop, f"[system/proxy]\nmode='auto'\nautoconfig-url='{Configurations(proxy).origin}{path}'\n")
    return settings


def gsettings(desktop, text):
    desktop.env |= {"GSETTINGS_BACKEND": "keyfile", "DESKTOP_SESSION": "gnome"}
    folder = desktop.root / "config" / "glib-2.0" / "settings"
    folder.mkdir(parents=True)
    (folder / "keyfile").write_text(text)


def story(report, desktop, server, proxy, name):
    app = App(desktop, types.SimpleNamespace(origin="https://api.nacre-proxy.example"))
    app.start("--dev-server", server.origin)
    report.see(f"{name}: this machine's server is reached without the proxy",
               "First version" in app.text() and not any("localhost" in line or "127.0.0.1" in line for line in proxy.seen),
               proxy.seen)
    app.evaluate("fetch('https://foreign.nacre-proxy.example/', {mode: 'no-cors'}).then(() => 1, () => 0)")
    app.evaluate("fetch('https://api.nacre-proxy.example/api/v1.0/config/').then(r => r.status, () => 0)")
    log = app.process.log.read_text()
    if name == "SOCKS":
        report.see(f"{name}: a kind that tunnels do not speak is said", "proxy.unsupported" in log,
                   [line for line in log.splitlines() if "proxy" in line][:1])
        refused = [line for line in log.splitlines() if "page.tunnel_refused" in line and "foreign." in line]
        report.see(f"{name}: and the page's connection is refused, not made directly", bool(refused), refused)
        report.see(f"{name}: the API's calls speak it", bool(until(lambda: any(s[:1] == "\5" for s in proxy.seen), 5)),
                   proxy.seen)
    else:
        report.see(f"{name}: a foreign host of the page goes through the proxy",
                   proxy.saw("CONNECT foreign.nacre-proxy.example:443"), proxy.seen)
        report.see(f"{name}: the API goes through the proxy", proxy.saw("CONNECT api.nacre-proxy.example:443"), proxy.seen)
    app.close()


def refusal(report, desktop, server, proxy, name, words):
    app = App(desktop, types.SimpleNamespace(origin="https://api.nacre-proxy.example"))
    app.start("--dev-server", server.origin)
    app.evaluate("void fetch('https://api.nacre-proxy.example/api/v1.0/config/')"
                 ".then(r => r.status + ' ' + r.headers.get('X-Nacre-Reason'), e => 'error ' + e).then(said => window.said = said)")
    said = app.wait_for("window.said", 30, "an answer")
    report.see(f"{name}: the API's call is refused, with its reason", said == "502 proxy.configuration", said)
    app.evaluate("fetch('https://foreign.nacre-proxy.example/', {mode: 'no-cors'}).then(() => 1, () => 0)")
    line = next((line for line in app.process.log.read_text().splitlines() if "proxy.failed" in line), "")
    report.see(f"{name}: the log says which, why and what to do",
               all(part in line for part in (name[4:], words, "network settings")), line[line.find("reason"):][:300])
    report.see(f"{name}: nothing went anywhere", proxy.seen == [], proxy.seen)
    app.close()


sys.exit(run("system-proxy", journey))
