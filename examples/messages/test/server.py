# Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
"""Serves the bundle, a fixture API and a "remote" host over TLS on loopback ports.

The page's server adds one script to index.html: stub.js, a stand-in for the shell. It is never part of the bundle.
The API's behaviour is chosen by the first two path parts of its origin: /s/<scenario>.
"""

import http.server
import json
import mimetypes
import pathlib
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.parse

import fixtures
import mail_api

HERE = pathlib.Path(__file__).parent
WEB = HERE.parent / "web"
SLOW = 30


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_GET(self):
        self.server.role(self)

    do_POST = do_PUT = do_DELETE = do_OPTIONS = do_GET

    def answer(self, status, body=b"", kind="application/json", headers=()):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


class Servers:
    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="messages-pictures-")
        key, certificate = (f"{self.folder.name}/{name}" for name in ("key.pem", "cert.pem"))
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout", key, "-out", certificate],
            check=True, capture_output=True)
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(certificate, key)
        self.mail: dict[str, fixtures.Mail] = {}
        self.seen: list[str] = []  # what the API was asked, "METHOD path"
        self.remote_hits: list[str] = []
        self.proxied: list[str] = []  # remote images the server was asked for
        self.imported: list[bytes] = []
        self.lock = threading.Lock()
        self.web = WEB
        self.changed: dict[str, str] = {}  # files sent otherwise than they are (sabotage.py)
        self.browser_scenario = "browser"  # what a plain, same-origin page is answered
        self.stopping = threading.Event()
        self.page = self.start(self.serve_page)
        self.api = self.start(self.serve_api)
        self.remote = self.start(self.serve_remote)

    def start(self, role):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        server.role = role
        server.handle_error = lambda *_: None
        server.socket = self.tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    def stop(self):
        self.stopping.set()
        for server in (self.page, self.api, self.remote):
            server.shutdown()
        self.folder.cleanup()

    @property
    def page_origin(self):
        return f"https://localhost:{self.page.server_address[1]}"

    def api_origin(self, scenario):
        return f"https://localhost:{self.api.server_address[1]}/s/{scenario}"

    def reset(self):
        with self.lock:
            self.mail.clear()
            self.browser_scenario = "browser"
            self.seen.clear()
            self.remote_hits.clear()
            self.proxied.clear()
            self.imported.clear()

    # The page

    def serve_page(self, request: Handler):
        path = urllib.parse.urlsplit(request.path).path
        if path.startswith("/api/v1.0/"):
            return self.serve(request, self.browser_scenario, path, self.page_origin)
        if path == "/__stub.js":
            return request.answer(200, (HERE / "stub.js").read_bytes(), "text/javascript")
        file = WEB / (path.lstrip("/") or "index.html")
        if not file.is_file() or ".." in path:
            return request.answer(404)
        changed = self.changed.get(path.lstrip("/"))
        body = changed.encode() if changed is not None else file.read_bytes()
        if file.name == "index.html":
            body = body.replace(b"<title>", b'<script src="/__stub.js"></script>\n    <title>', 1)
        kind = "text/javascript" if file.suffix == ".js" else mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        request.answer(200, body, kind)

    # The API

    def serve_api(self, request: Handler):
        parts = urllib.parse.urlsplit(request.path).path.split("/", 3)
        if len(parts) < 4 or parts[1] != "s":
            return request.answer(404)
        return self.serve(request, parts[2], "/" + parts[3], self.api_origin(parts[2]))

    def serve(self, request: Handler, scenario: str, path: str, origin: str):
        cors = [("Access-Control-Allow-Origin", self.page_origin), ("Access-Control-Allow-Headers", "content-type, range, x-csrftoken, x-file-name, x-file-position"),
                ("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE")]

        def answer(status, body, kind="application/json", headers=()):
            request.answer(status, body, kind, [*cors, *headers])

        length = int(request.headers.get("Content-Length") or 0)
        if scenario == "upload-slow" and "/attachments/" in path and request.command == "POST":
            # A part of it, then nothing more: what is on its way stays so.
            request.rfile.read(length // 2)
            self.stopping.wait(SLOW)
            request.close_connection = True
            return None
        raw = request.rfile.read(length)
        sent = json.loads(raw or b"null") if "json" in (request.headers.get("Content-Type") or "") else None
        if request.command == "OPTIONS":
            return answer(204, b"")
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(request.path).query))
        with self.lock:
            self.seen.append(f"{request.command} {path}")
            count = {"many": 10_000}.get(scenario)
            mail = self.mail.setdefault(scenario, fixtures.Mail(count))
            if scenario == "empty":
                mail.threads, mail.drafts = [], {}
        route = path.removeprefix("/api/v1.0/")
        if route.startswith("blob/"):
            return mail_api.blob(request, route, mail, answer, scenario)
        if scenario == "offline" or (scenario == "thread-offline" and route.startswith("threads/") and route != "threads/"):
            request.close_connection = True
            request.connection.close()
            return None
        if scenario == "slow" or (scenario == "thread-slow" and route.startswith("threads/") and route != "threads/"):
            self.stopping.wait(SLOW)
            return answer(503, {"code": "slow", "message": "Too slow."})
        if scenario == "error" or (scenario == "thread-error" and route.startswith("threads/") and route != "threads/"):
            return answer(500, {"code": "internal", "message": "Database is locked."})
        if scenario == "expired" or (scenario == "signed-out"):
            return answer(401, {"code": "not_authenticated", "message": "Sign in."})
        if route == "users/me/":
            return answer(200, fixtures.PROFILE)
        if route == "csrf/":
            return answer(200, {"csrf_token": "fixture-token"})
        if route == "mailboxes/":
            return answer(200, mail.mailboxes())
        if scenario == "browser" and request.command != "GET" and request.headers.get("X-CSRFToken") != "fixture-token":
            return answer(403, {"code": "csrf_failed", "message": "Token missing."})
        if mail_api.serve(self, request, route, query, sent, raw, mail, answer, scenario):
            return None
        if route == "threads/":
            return answer(200, mail.page(query.get("mailbox", "inbox"), query.get("q", ""), query.get("cursor"), int(query.get("limit", 50))))
        key = urllib.parse.unquote(route.split("/")[1]) if route.startswith("threads/") else ""
        thread = next((one for one in mail.threads if one["id"] == key), None)
        if thread is None:
            return answer(404, {"code": "not_found", "message": "No such conversation."})
        if route.endswith("/flags/"):
            if scenario == "refuse":
                return answer(409, {"code": "conflict", "message": "Not now."})
            thread.update(sent)
            return answer(200, mail.summary(thread))
        return answer(200, mail.thread(key, origin))

    # What messages would like to load

    def serve_remote(self, request: Handler):
        with self.lock:
            self.remote_hits.append(request.path)
        if request.path.endswith((".png", ".jpg", ".gif")):
            return request.answer(200, fixtures.BLOBS["park"][1], "image/png")
        return request.answer(200, b"", "text/plain")
