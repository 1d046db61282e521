"""Label Studio's real server from PyPI, on SQLite, behind the gateway (docs/server.md, "Verifying identities")."""
import json
import math
import re
import shutil
import sqlite3
import struct
import urllib.error
import urllib.request
import uuid
import wave
import zlib

from bundles import ROOT, packages
from report import Failed, until
from venvs import venv

TOKEN = "0123456789abcdef0123456789abcdef01234567"
CONFIGURATION = """<View>
  <Header value="What do you see and hear?"/>
  <Image name="image" value="$image"/>
  <Audio name="audio" value="$audio"/>
  <Choices name="kind" toName="image" choice="single" showInline="true"><Choice value="Boat"/><Choice value="House"/></Choices>
</View>"""


def picture(width=320, height=200):
    """A PNG: a red sun over blue water, so that a look at it says whether it is drawn right."""
    rows = bytearray()
    for y in range(height):
        rows.append(0)
        for x in range(width):
            sun = (x - 230) ** 2 + (y - 60) ** 2 < 32 ** 2
            boat = 60 < x < 150 and 120 < y < 140
            rows += bytes((220, 60, 40) if sun else (120, 70, 30) if boat else (30, 110, 190) if y > 130 else (190, 220, 240))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(bytes(rows))) + chunk(b"IEND", b""))


def tone(path, seconds=6, rate=16000):
    """A WAV that swells four times."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(b"".join(
            struct.pack("<h", int(12000 * abs(math.sin(math.pi * 4 * i / (rate * seconds))) * math.sin(2 * math.pi * 440 * i / rate)))
            for i in range(rate * seconds)))


class LabelStudio:
    def __init__(self, desktop, port, gateway, visible, email):
        self.desktop, self.port, self.email = desktop, port, email
        self.gateway, self.visible = gateway, visible
        self.venv = venv("label-studio", "label-studio-requirements.txt")
        self.bundle = packages(self.venv) / "web" / "dist" / "apps" / "labelstudio"

    def start(self):
        folder = self.desktop.root / "label-studio"
        folder.mkdir()
        text = (ROOT / "docs" / "server.md").read_text()
        (folder / "nacre_identity.py").write_text(re.search(r"```python\n(.*?)```", text, re.S).group(1))
        shutil.copy(ROOT / "Tests" / "Peers" / "label_studio_site.py", folder)
        # Three minutes of migrations on two busy cores, once: what they made is kept beside the packages.
        kept, database = self.venv / "first.sqlite3", folder / "data" / "label_studio.sqlite3"
        database.parent.mkdir()
        if kept.exists():
            shutil.copy(kept, database)
        env = {
            "LABEL_STUDIO_BASE_DATA_DIR": str(folder / "data"), "DJANGO_DB": "sqlite", "SECRET_KEY": "for-tests-only",
            "COLLECT_ANALYTICS": "false", "SENTRY_DSN": "", "FRONTEND_SENTRY_DSN": "", "LATEST_VERSION_CHECK": "false",
            "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true", "INACTIVITY_SESSION_TIMEOUT_ENABLED": "0",
            "LABEL_STUDIO_HOST": self.visible,
            "NACRE_GATEWAY": self.gateway, "NACRE_AUDIENCE": f"http://127.0.0.1:{self.port}",
            "PYTHONPATH": str(folder),
        }
        self.process = self.desktop.spawn("label-studio", [
            self.venv / "bin" / "python", folder / "label_studio_site.py", "start", "--no-browser",
            "--internal-host", "127.0.0.1", "--port", self.port, "--username", self.email, "--password", "Admin-pass-1",
            "--user-token", TOKEN], env=env, cwd=folder)
        if not until(lambda: self.process.poll() is not None or self.ready(), 200, 0.5) or self.process.poll() is not None:
            raise Failed("Label Studio did not become ready: " + self.process.log.read_text()[-2000:])
        if not kept.exists():
            with sqlite3.connect(database) as source, sqlite3.connect(kept.with_suffix(".new")) as copy:
                source.backup(copy)
            kept.with_suffix(".new").rename(kept)
        return self

    def ready(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=2) as answer:
            return answer.status == 200

    def call(self, method, path, body=None, kind="application/json"):
        """An administrator's call, straight to the server."""
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, method=method, headers={
            "Authorization": f"Token {TOKEN}", "Content-Type": kind})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                text = answer.read()
                return json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            raise Failed(f"Label Studio: {method} {path}: {error.code} {error.read()[:600]}")

    def upload(self, project, name, content):
        """A file of the project; returns its path at the server."""
        edge = uuid.uuid4().hex
        body = (f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
                f"Content-Type: application/octet-stream\r\n\r\n").encode() + content + f"\r\n--{edge}--\r\n".encode()
        made = self.call("POST", f"/api/projects/{project}/import?commit_to_project=false", body,
                         f"multipart/form-data; boundary={edge}")
        return self.call("GET", f"/api/import/file-upload/{made['file_upload_ids'][0]}")["file"]

    def project(self):
        """A project with one task that has a picture and a sound."""
        project = self.call("POST", "/api/projects/", {"title": "Harbour"})["id"]
        sound = self.desktop.root / "tone.wav"
        tone(sound)
        files = {"image": self.upload(project, "harbour.png", picture()), "audio": self.upload(project, "bell.wav", sound.read_bytes())}
        task = {key: f"{self.visible}/data/{path}" for key, path in files.items()}
        # Files are taken up only while the project's labels name one kind of data at most.
        self.call("PATCH", f"/api/projects/{project}/", {"label_config": CONFIGURATION})
        self.call("POST", f"/api/projects/{project}/import", [{"data": task}])
        return project
