"""Somebody else's built bundle in the real shell: `nacre init` writes its nacre.json, `nacre run` shows it, and afterwards not a byte
of it has changed."""
import hashlib
import json
import pathlib
import subprocess

from app import App
from desktop import free_port
from report import ROOT, Failed
from servers import BINARIES

PICTURES = ROOT / "build" / "peers"


def packages(folder):
    """Where a venv's packages lie."""
    return next((folder / "lib").glob("python3*/site-packages"))


def digest(folder):
    """One number for every name and byte under a folder."""
    whole = hashlib.sha256()
    for path in sorted(pathlib.Path(folder).rglob("*")):
        if path.is_file():
            whole.update(f"{path.relative_to(folder)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()


def nacre_init(desktop, folder, *options):
    """`nacre init`, as a person types it; returns what it said."""
    said = subprocess.run([BINARIES / "nacre", "init", *map(str, options), folder], env=desktop.env, capture_output=True,
                          text=True, timeout=60)
    if said.returncode:
        raise Failed(f"nacre init: {said.stderr}")
    return said.stdout


class BundleApp(App):
    """The app in a folder that has its nacre.json."""

    def __init__(self, desktop, folder):
        self.desktop, self.folder = desktop, folder
        self.id = json.loads((folder / "nacre.json").read_text())["app"]["id"]
        self.port = free_port()
        self.process = None
        self._page = None

    def change(self, **sections):
        """What the person corrects by hand after `nacre init`."""
        path = self.folder / "nacre.json"
        settings = json.loads(path.read_text())
        for name, members in sections.items():
            settings.setdefault(name, {}).update(members)
        path.write_text(json.dumps(settings, indent=2))
        self.id = settings["app"]["id"]

    def type(self, text):
        """Keys into whatever has the focus."""
        self.desktop.xdotool("type", "--delay", "15", text)
