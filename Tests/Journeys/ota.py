"""A project that publishes updates, and a web server over its bucket that can be told to wait or to spoil."""
import http.server
import json
import os
import pathlib
import subprocess
import threading
import urllib.parse

from report import Failed
from servers import BINARIES


class Site:
    """Serves a folder as files; `hold` stops answers to keys that contain a text until `release`."""

    def __init__(self, folder):
        self.folder, self.config, self.text = pathlib.Path(folder), None, None
        self.waiting, self.goes_on = threading.Semaphore(0), threading.Event()
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                key = urllib.parse.unquote(self.path.split("?")[0]).lstrip("/")
                if site.text and site.text in key:
                    site.waiting.release()
                    site.goes_on.wait(60)
                if key == "api/v1.0/config/" and site.config:
                    return self.answer(200, json.dumps(site.config).encode())
                file = site.folder / key
                if not file.resolve().is_relative_to(site.folder.resolve()) or not file.is_file():
                    return self.answer(404, b"")
                self.answer(200, file.read_bytes())

            def answer(self, status, body):
                try:
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:  # a killed publisher
                    self.close_connection = True

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        # A publisher that is killed leaves its connections in the middle; what it should have seen is looked at elsewhere.
        self.server.handle_error = lambda *_: None
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def hold(self, text):
        self.text = text
        self.waiting, self.goes_on = threading.Semaphore(0), threading.Event()

    def held(self, seconds=60):
        """Whether one more request waits now."""
        return self.waiting.acquire(timeout=seconds)

    def release(self):
        self.text = None
        self.goes_on.set()

    def close(self):
        self.release()
        self.server.shutdown()
        self.server.server_close()


class Project:
    """A folder with a nacre.json and keys, and `nacre ota` in it."""

    def __init__(self, folder, environment, channel="prod"):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("MOBILE_", "NACRE_", "AWS_"))}
        self.env = clean | {"TMPDIR": str(self.folder), "MOBILE_OTA_CHANNEL": channel} | environment
        self.secrets = []
        lines = self.ota("keygen").stdout + self.ota("keygen", "--roots").stdout
        for line in lines.splitlines():
            name, value = line.split("=", 1)
            self.env[name] = value
            if "PRIVATE" in name:
                self.secrets.append(value)
        (self.folder / "nacre.json").write_text(json.dumps({
            "app": {"id": "org.example.app", "name": "App", "version": "1.0"},
            "updates": {"publicKey": self.env["MOBILE_OTA_SIGNING_PUBLIC_KEY_B64"],
                        "rootKeys": [self.env["NACRE_OTA_ROOT_PUBLIC_KEY"]]}}))
        self.said = ""

    def start(self, *words, **changes):
        return subprocess.Popen([BINARIES / "nacre", "ota", *map(str, words)], cwd=self.folder, text=True,
                                env=self.env | {k: str(v) for k, v in changes.items()},
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def finish(self, process, seconds=120):
        out, err = process.communicate(timeout=seconds)
        result = subprocess.CompletedProcess([], process.returncode, out, err)
        if any(word in out + err for word in getattr(self, "secrets", [])):
            raise Failed("a private key was printed")
        self.said = (out + err).strip()
        return result

    def ota(self, *words, **changes):
        return self.finish(self.start(*words, **changes))

    def json(self, *words, **changes):
        done = self.ota(*words, "--json", **changes)
        if done.returncode:
            raise Failed(f"nacre ota {' '.join(map(str, words))}: {done.stderr[-800:]}")
        return json.loads(done.stdout)

    def keys(self):
        made = self.ota("keys", "make")
        (self.folder / "keys-1.json").write_text(made.stdout)
        return self.ota("keys", "put", "keys-1.json")

    def build(self, name, change, files=60):
        """A bundle of some size of which `change` differs, under names with hashes as bundlers give them."""
        web = self.folder / name
        (web / "assets").mkdir(parents=True)
        for number in range(files):
            text = "\n".join(f"export const v{number}_{i} = {(i * 7919 + number * 104729) % 100003};" for i in range(150))
            (web / "assets" / f"part{number}-{abs(hash((number, 1))) % 10**8:08d}.js").write_text(text)
        (web / "assets" / f"change-{abs(hash(change)) % 10**8:08d}.js").write_text(f"export default {json.dumps(change)}")
        (web / "index.html").write_text(f"<!doctype html><title>{change}</title>")
        return web

    def faults(self, *words):
        done = self.ota("verify", *words, "--json")
        try:
            return [w for w in json.loads(done.stdout) if w["fault"]]
        except json.JSONDecodeError:
            return [done.stderr]
