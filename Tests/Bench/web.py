# Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
"""nginx with TLS on loopback, from a configuration of its own in a temporary folder: what both windows load from."""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import urllib.parse

import sink
from desktop import free_port
from report import ROOT, Failed, until

BUILD = ROOT / "build" / "bench"
BIG = 100 * 1000 * 1000
HUGE = 1000 * 1000 * 1000
SMALL = 200
PARTS = 16


def nginx():
    """The program: the one that is installed, else the one from Debian's package, unpacked and not installed.

    Installing the package would start a web server on port 80 of the machine."""
    found = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    own = BUILD / "nginx" / "usr" / "sbin" / "nginx"
    if found or own.exists():
        return found or own
    own.parents[2].mkdir(parents=True, exist_ok=True)
    subprocess.run(["apt-get", "download", "-qq", "nginx"], cwd=own.parents[2], check=True, stderr=subprocess.DEVNULL)
    package = next(own.parents[2].glob("nginx_*.deb"))
    subprocess.run(["dpkg-deb", "-x", package, own.parents[2]], check=True)
    return own


def write_page(folder, api, window):
    """The page of the figures with its parts: about what a small app loads before it shows something."""
    shutil.copytree(ROOT / "Tests" / "Bench" / "page", folder)
    (folder / "config.js").write_text(f"export const api = {json.dumps(api)}\nexport const window = {json.dumps(window)}\n")
    parts = folder / "parts"
    parts.mkdir()
    for number in range(PARTS):
        lines = [f"  '{number}.{line} a line of text that stands for the code and the words of an app'," for line in range(60)]
        (parts / f"part{number}.js").write_text("export const lines = [\n" + "\n".join(lines) + "\n]\n")
    imports = [f"import {{ lines as l{number} }} from './part{number}.js'" for number in range(PARTS)]
    rows = "export const rows = [" + ", ".join(f"...l{number}.slice(0, 3)" for number in range(PARTS)) + "]"
    (parts / "index.js").write_text("\n".join(imports + [rows]) + "\n")


class Web:
    """One server for the page and two for its calls, HTTP/1.1 only and HTTP/2 where the client asks for it.

    An app's page and its API never share an origin, so the direct load pays for CORS as ours does."""

    def __init__(self, desktop):
        self.desktop = desktop
        self.folder = desktop.root / "web"
        self.pages = self.folder / "pages"
        self.certificate = self.folder / "certificate.pem"
        self.key = self.folder / "key.pem"
        self.log = self.folder / "loaded.log"
        # What the server says of itself to an app, such as where its updates are.
        self.settings = self.folder / "config.json"
        self.ports = {"HTTP/1.1": free_port(), "HTTP/2": free_port()}
        self.page_port = free_port()
        self.sink_port = free_port()

    def origin(self, protocol="HTTP/1.1"):
        return f"https://localhost:{self.ports[protocol]}"

    def start(self):
        self.pages.mkdir(parents=True)
        self.settings.write_text("{}")
        subprocess.run([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
            "-keyout", self.key, "-out", self.certificate, "-subj", "/CN=localhost",
            "-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE",
            "-addext", "extendedKeyUsage=serverAuth"], check=True, stderr=subprocess.DEVNULL)
        noise = os.urandom(1000 * 1000)
        with open(self.pages / "big", "wb") as big:
            for _ in range(BIG // len(noise)):
                big.write(noise)
        # A gigabyte that takes no place on the disk; the other one begins as a sound of 8,000 silent bytes a second.
        with open(self.pages / "huge", "wb") as huge:
            huge.truncate(HUGE)
        with open(self.pages / "huge.wav", "wb") as huge:
            huge.write(struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", HUGE - 8, b"WAVE", b"fmt ", 16, 1, 1, 8000, 8000, 1, 8, b"data", HUGE - 44))
            huge.truncate(HUGE)
        sink.start(self.sink_port)
        small = self.pages / "small"
        small.mkdir()
        for number in range(SMALL):
            (small / f"{number}.json").write_text(json.dumps({"number": number, "text": "x" * 900}))
        for protocol in self.ports:
            write_page(self.pages / "page" / protocol.replace("/", "-"), self.origin(protocol), "bare")
        (self.folder / "nginx.conf").write_text(self.configuration())
        self.process = self.desktop.spawn("nginx", [nginx(), "-p", self.folder, "-c", self.folder / "nginx.conf", "-e", "stderr"])
        ready = lambda: subprocess.run(  # noqa: E731
            ["curl", "-fs", "--cacert", self.certificate, self.origin() + "/small/0.json"], capture_output=True).returncode == 0
        if not until(ready, 10):
            raise Failed("nginx did not start: " + self.process.log.read_text()[-2000:])
        return self

    def configuration(self):
        servers = "".join(f"""
  server {{
    listen 127.0.0.1:{port} ssl{" http2" if protocol == "HTTP/2" else ""};
    root {self.pages};
    add_header Access-Control-Allow-Origin https://localhost:{self.page_port} always;
    add_header Access-Control-Allow-Credentials true always;
    add_header Vary Origin always;
    location = /loaded {{ access_log {self.log} loaded; default_type text/plain; return 200 ok; }}
    location = /sink {{
      client_max_body_size 0;
      proxy_http_version 1.1;
      proxy_request_buffering off;
      proxy_pass http://127.0.0.1:{self.sink_port};
    }}
    location = /api/v1.0/config/ {{ default_type application/json; root {self.folder}; try_files /{self.settings.name} =404; }}
    location = /api/v1.0/users/me/ {{ default_type application/json; return 401 '{{}}'; }}
  }}""" for protocol, port in self.ports.items())
        return f"""daemon off;
pid {self.folder}/nginx.pid;
{"user root;" if os.geteuid() == 0 else ""}
worker_processes auto;
events {{ worker_connections 2048; }}
http {{
  types {{ text/html html; text/css css; text/javascript js; image/svg+xml svg; application/json json; audio/wav wav; }}
  default_type application/octet-stream;
  access_log off;
  log_format loaded '$args';
  client_body_temp_path {self.folder}/body; proxy_temp_path {self.folder}/proxy; fastcgi_temp_path {self.folder}/fastcgi;
  uwsgi_temp_path {self.folder}/uwsgi; scgi_temp_path {self.folder}/scgi;
  ssl_certificate {self.certificate};
  ssl_certificate_key {self.key};
  ssl_protocols TLSv1.2 TLSv1.3;
  keepalive_requests 1000000;
  tcp_nodelay on;
  server {{
    listen 127.0.0.1:{self.page_port} ssl;
    root {self.pages}/page;
    keepalive_timeout 10s;
  }}{servers}
}}
"""

    def page(self, protocol="HTTP/1.1"):
        return f"https://localhost:{self.page_port}/{protocol.replace('/', '-')}/index.html"

    def loaded(self, window, after):
        """When the window's page said it had loaded (seconds of the wall clock), if it did so after that moment."""
        if not self.log.exists():
            return None
        for line in reversed(self.log.read_text().splitlines()):
            values = dict(urllib.parse.parse_qsl(line))
            if values.get("window") == window and int(values["at"]) / 1000 > after:
                return int(values["at"]) / 1000
        return None
