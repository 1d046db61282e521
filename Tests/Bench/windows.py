# Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
"""The two windows: a bare WebKitGTK one that loads from nginx, and `nacre run` on the same page as a bundle."""
import json
import shlex
import subprocess
import sys
import time

from desktop import free_port
from report import ROOT, Failed, until
from servers import BINARIES
from web import BUILD, write_page

sys.path.insert(0, str(ROOT / "Tests" / "Platforms" / "ShellProbe"))
from inspector import Inspector  # noqa: E402


def bare_program():
    """Compiles the peer where it is missing or old."""
    source, program = ROOT / "Tests" / "Bench" / "bare_window.c", BUILD / "bare_window"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        BUILD.mkdir(parents=True, exist_ok=True)
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "webkitgtk-6.0"], capture_output=True, text=True, check=True)
        subprocess.run(["clang", "-O2", "-Wall", "-Wextra", "-Werror", source, "-o", program, *shlex.split(flags.stdout)], check=True)
    return program


class Window:
    """A window that can be started, asked through WebKit's inspector, and stopped."""

    def __init__(self, desktop, web, name):
        self.desktop, self.web, self.name = desktop, web, name
        self.process = self.page = None

    def start(self, inspect=True):
        environment = dict(self.environment)
        if inspect:
            port = free_port()
            environment["WEBKIT_INSPECTOR_HTTP_SERVER"] = f"127.0.0.1:{port}"
        began = time.time()
        self.process = self.desktop.spawn(self.name, self.command, env=environment)
        loaded = until(lambda: self.process.poll() is not None or self.web.loaded(self.name, began), 40, every=0.05)
        if not loaded or self.process.poll() is not None:
            raise Failed(f"the {self.name} window did not load its page: " + self.process.log.read_text()[-2000:])
        if inspect:
            self.page = Inspector(port, timeout=120)
            self.page.wait("!!globalThis.bench", 20)
        return loaded - began

    def stop(self):
        if self.page:
            self.page.close()
            self.page = None
        self.desktop.stop(self.process, 10)


class Bare(Window):
    def __init__(self, desktop, web, protocol="HTTP/1.1"):
        super().__init__(desktop, web, "bare")
        self.environment = {}
        self.command = [bare_program(), web.page(protocol), desktop.root / "bare", web.certificate, "localhost"]


class Ours(Window):
    """`nacre run` on the page as a bundle. Each app is one of its own to the desktop: its data stay apart from the others'."""
    apps = []

    def __init__(self, desktop, web, protocol="HTTP/1.1", name="nacre", **more):
        super().__init__(desktop, web, name)
        app = f"{protocol} {name}"
        if app not in self.apps:
            self.apps.append(app)
        number = self.apps.index(app)
        self.folder = folder = desktop.root / "apps" / str(number)
        self.id = f"org.example.figures{number}"
        if not folder.exists():
            folder.mkdir(parents=True)
            write_page(folder / "web", web.origin(protocol), name)
        self.configure(api=web.origin(protocol), **more)
        self.environment = {"NACRE_ENV": "development", "NACRE_API_CA_FILE": str(web.certificate)}
        self.command = [BINARIES / "nacre", "run", folder]

    def configure(self, api, **more):
        (self.folder / "nacre.json").write_text(json.dumps({
            "app": {"id": self.id, "name": "Figures", "version": "1.0.0", "scheme": f"st{self.id.split('.')[-1]}",
                    "origin": "https://localhost"},
            "bundle": {"path": "web"},
            "api": {"origin": api, "csrf": "django"},
            "signIn": {"kind": "handoff"},
        } | more, indent=2))
