"""music-assistant-frontend, a Vue app of some 350 files, as its package ships it: it starts, asks for its server, and speaks to
it by WebSocket through the page channel. The server itself is in no registry that tests may reach: a few lines here stand in for its
greeting, so what is shown beyond the connect screen is the app's own next screen."""
import base64
import hashlib
import http.server
import json
import shutil
import struct
import sys
import threading

from bundles import PICTURES, BundleApp, digest, nacre_init, packages
from desktop import Desktop, free_port
from report import run, until
from venvs import venv

GREETING = {"server_id": "journey", "server_version": "2.17.350", "schema_version": 100, "min_supported_schema_version": 24,
            "base_url": "", "homeassistant_addon": False, "onboard_done": True, "status": "running"}
ANSWERS = {"auth/providers": [{"provider_id": "builtin", "provider_type": "builtin", "requires_redirect": False}]}
ADDRESS = "input[placeholder^='http']"


class Server:
    """Says what a Music Assistant server says first, and keeps what it hears."""

    def __init__(self):
        self.heard, self.fields = [], []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                if self.headers.get("Upgrade", "").lower() != "websocket":
                    body = json.dumps(GREETING).encode()
                    self.send_response(200 if self.path.startswith("/info") else 404)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                    return
                outer.fields.append(dict(self.headers) | {"path": self.path})
                key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
                self.send_response(101)
                self.send_header("Upgrade", "websocket")
                self.send_header("Connection", "Upgrade")
                self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
                self.end_headers()
                self.send_text(json.dumps(GREETING))
                while (text := self.read_text()) is not None:
                    message = json.loads(text)
                    outer.heard.append(message)
                    known = ANSWERS.get(message.get("command"))
                    self.send_text(json.dumps({"message_id": message.get("message_id")} | (
                        {"result": known} if known is not None else {"error_code": 20, "details": "not in this journey"})))
                self.close_connection = True

            def send_text(self, text):
                data = text.encode()
                head = struct.pack(">BB", 0x81, len(data)) if len(data) < 126 else struct.pack(">BBH", 0x81, 126, len(data))
                self.wfile.write(head + data)
                self.wfile.flush()

            def read_text(self):
                head = self.rfile.read(2)
                if len(head) < 2 or head[0] & 15 == 8:
                    return None
                size = head[1] & 127
                size = struct.unpack(">H", self.rfile.read(2))[0] if size == 126 else size
                mask, data = self.rfile.read(4), self.rfile.read(size)
                return bytes(byte ^ mask[i % 4] for i, byte in enumerate(data)).decode()

            def log_message(self, *words):
                pass

        self.port = free_port()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def journey(report):
    report.pictures = PICTURES
    PICTURES.mkdir(parents=True, exist_ok=True)
    place = packages(venv("bundles", "bundles-requirements.txt", options=["--no-deps"])) / "music_assistant_frontend"
    server = Server()
    with Desktop(report) as desktop:
        folder = desktop.root / "music"
        shutil.copytree(place, folder / "dist", ignore=shutil.ignore_patterns("__pycache__", "*.py"))
        before = digest(folder / "dist")
        said = nacre_init(desktop, folder, "--api", f"http://localhost:{server.port}")
        report.see("nacre init finds the built bundle and its name", "dist holds an index.html" in said and "Music Assistant" in said)
        report.see("nacre init says that it registers a service worker", "registers a service worker" in said)
        app = BundleApp(desktop, folder)
        app.change(bundle={"serviceWorker": True})
        app.start()
        app.wait_for(f"!!document.querySelector({json.dumps(ADDRESS)})", 40, "the field for the server's address")
        # Its words come after its fields.
        text = app.wait_for("document.body.innerText.toLowerCase().includes('server') && document.body.innerText", 30, "the app's words")
        report.see("the app starts and asks for its server", "server" in text.lower(), text[:90].replace("\n", " "))
        worker = app.wait_for("navigator.serviceWorker.getRegistration().then(r => !!(r && (r.active || r.waiting || r.installing)))", 30,
                              "the service worker")
        report.see("its service worker registers", worker)
        failed = app.evaluate("performance.getEntriesByType('resource').filter(r => r.responseStatus >= 400).map(r => r.name)")
        report.see("no file of it is missing", failed == [], failed)
        app.picture("music-assistant-1-connect")

        app.click(ADDRESS)
        app.type(app.evaluate("nacre.api.origin"))
        typed = app.wait_for(f"document.querySelector({json.dumps(ADDRESS)}).value == nacre.api.origin && nacre.api.origin", 10,
                             "the address to be typed")
        report.say(f"typed {typed}")
        app.press("Connect")
        met = until(lambda: server.fields, 20)
        report.see("its WebSocket reaches the server through the page channel", bool(met), met and met[0]["path"])
        report.see("with the server's own origin, as NB-13 wants it", met[0].get("Origin") == f"http://localhost:{server.port}",
                   met[0].get("Origin"))
        asked = until(lambda: [m["command"] for m in server.heard], 20)
        report.see("both sides speak", bool(asked), asked)
        app.wait_for("!!document.querySelector('input[type=password]')", 20, "the sign-in form of the app")
        report.see("the app goes on to its own sign-in", True)
        app.picture("music-assistant-2-sign-in")
        report.see("the app closes", app.close() == 0)
        report.see("the bundle is as it was", digest(folder / "dist") == before)


if __name__ == "__main__":
    sys.exit(run("peer-music-assistant", journey))
