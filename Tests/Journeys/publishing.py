"""A channel of releases: `nacre ota` publishes into a folder, and a plain web server shows the folder to devices, as a bucket would."""
import hashlib
import http.server
import json
import pathlib
import re
import shutil
import subprocess
import threading

from report import Failed
from servers import BINARIES

CHANNEL = "journey"


class Bucket:
    """Static files with validators and ranges; remembers what was asked, and how many bytes went out.

    `wire` has what each request and its answer were on the wire, heads too."""

    def __init__(self, folder):
        self.folder = folder
        self.seen, self.wire = [], []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                path = pathlib.Path(outer.folder, self.path.split("?")[0].lstrip("/"))
                content = path.read_bytes() if path.is_file() and ".." not in self.path else None
                status, body, fields = 404, b"<Error><Code>NoSuchKey</Code></Error>", []
                if content is not None:
                    tag = f'"{hashlib.sha1(content).hexdigest()}"'
                    status, body, fields = 200, content, [("ETag", tag), ("Accept-Ranges", "bytes")]
                    wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
                    if self.headers.get("If-None-Match") == tag:
                        status, body = 304, b""
                    elif wanted:
                        start, end = int(wanted[1]), int(wanted[2] or len(content) - 1)
                        status, body = 206, content[start:end + 1]
                        fields.append(("Content-Range", f"bytes {start}-{start + len(body) - 1}/{len(content)}"))
                self.send_response(status)
                for name, value in fields + [("Content-Length", str(len(body)))]:
                    self.send_header(name, value)
                asked = len(self.raw_requestline) + len(self.headers.as_bytes())
                outer.wire.append((self.path, asked + sum(map(len, self._headers_buffer)) + 2 + len(body)))
                self.end_headers()
                outer.seen.append((self.path, status, len(body)))
                try:
                    self.wfile.write(body)
                except OSError:  # who asked has given up
                    pass

            def log_message(self, *words):
                pass

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, request, address):
                """An app that is closed while it reads is no event."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self):
        """What was asked since the last look."""
        seen, self.seen = self.seen, []
        return seen


class Channel:
    """Keys, bucket and the releases of one app."""

    def __init__(self, desktop, app_id="org.example.messages", folder="publishing"):
        self.desktop, self.app_id = desktop, app_id
        self.root = desktop.root / folder
        self.root.mkdir()
        self.bucket = Bucket(self.root / "bucket")
        self.manifest = f"{self.bucket.url}/channels/{CHANNEL}/manifest.json"
        self.keys = {}
        self._ota("keygen", bare=True, keep=True)
        self._ota("keygen", "--roots", bare=True, keep=True)
        keys = self.root / "keys.json"
        keys.write_text(self._ota("keys", "make", "--app", app_id, bare=True))
        self._ota("keys", "put", keys)

    def _ota(self, *words, bare=False, keep=False):
        options = [] if bare else ["--app", self.app_id, "--channel", CHANNEL, "--bucket", self.bucket.folder, "--public-url", self.bucket.url]
        done = subprocess.run([BINARIES / "nacre", "ota", *map(str, words), *map(str, options)], capture_output=True, text=True,
                              env=self.desktop.env | self.keys, cwd=self.root, timeout=90)
        if done.returncode:
            raise Failed(f"nacre ota {words[0]}: {done.stderr.strip()[-600:]}")
        if keep:
            self.keys |= dict(line.split("=", 1) for line in done.stdout.split())
        return done.stdout

    def settings(self, **more):
        """What the app's nacre.json says of updates."""
        return {"publicKey": self.keys["MOBILE_OTA_SIGNING_PUBLIC_KEY_B64"], "rootKeys": [self.keys["NACRE_OTA_ROOT_PUBLIC_KEY"]],
                "channel": CHANNEL} | more

    def into(self, app, **more):
        """Builds the keys into an app."""
        path = app.folder / "nacre.json"
        settings = json.loads(path.read_text())
        settings["updates"] = self.settings(**more)
        path.write_text(json.dumps(settings, indent=2))

    def publish(self, app, version, *options, **files):
        """The app's own bundle under another version, with `name__ext=text` in a file's place; a function gets the old text."""
        folder = self.root / f"web-{version}"
        shutil.copytree(app.folder / "web", folder)
        index = folder / "index.html"
        index.write_text(re.sub(r'(name="version" content=")[^"]*', rf"\g<1>{version}", index.read_text()))
        for name, text in files.items():
            path = folder / name.replace("__", ".").replace("_", "/")
            old = path.read_text() if path.exists() else ""
            path.write_text(text(old) if callable(text) else text)
        said = self._ota("publish", folder, "--version", version, "--fast", *options)
        self.bucket.take()
        return said

    def rollback(self, version):
        said = self._ota("rollback", version)
        self.bucket.take()
        return said
