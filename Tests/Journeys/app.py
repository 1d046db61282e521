"""The Messages app in the real shell, looked at through WebKit's inspector and used by mouse and keyboard."""
import json
import os
import shutil
import signal
import sys

from desktop import free_port
from report import ROOT, Failed, until
from servers import BINARIES

sys.path.insert(0, str(ROOT / "Tests" / "Platforms" / "ShellProbe"))
from inspector import Inspector  # noqa: E402


class App:
    """A copy of the example with its own id and scheme where asked; `start` may be repeated."""

    def __init__(self, desktop, servers, app_id="org.example.messages", scheme="stmessages", name="Messages"):
        self.desktop, self.id, self.scheme = desktop, app_id, scheme
        self.folder = desktop.root / "apps" / app_id
        shutil.copytree(ROOT / "examples" / "messages", self.folder, ignore=shutil.ignore_patterns("Backend", "test"))
        shared = desktop.root / "apps" / "shared"
        if not shared.exists():
            shutil.copytree(ROOT / "examples" / "shared", shared)
        settings = json.loads((self.folder / "nacre.json").read_text())
        settings["app"] |= {"id": app_id, "scheme": scheme, "name": name}
        settings["api"]["origin"] = servers.origin
        (self.folder / "nacre.json").write_text(json.dumps(settings, indent=2))
        self.port = free_port()
        self.process = None
        self._page = None

    def start(self, *options, wait=True):
        self._page = None
        self.process = self.desktop.spawn(
            f"app-{self.id}", [BINARIES / "nacre", "run", *options, self.folder],
            env={"NACRE_ENV": "development", "WEBKIT_INSPECTOR_HTTP_SERVER": f"127.0.0.1:{self.port}"})
        if wait:
            self.wait_for("document.readyState == 'complete' && !!window.nacre", 40, "the page to load")
        return self

    @property
    def page(self):
        if self._page is None:
            self._page = Inspector(self.port)
        return self._page

    def evaluate(self, expression):
        try:
            return self.page.evaluate(expression)
        except Exception:
            self._page = None
            return self.page.evaluate(expression)

    def wait_for(self, expression, seconds=20, what=None):
        value = until(lambda: self.evaluate(expression), seconds)
        if not value:
            raise Failed(f"waited {seconds} s for {what or expression}; state is {self.state()}")
        return value

    def state(self):
        try:
            return self.evaluate("JSON.parse(JSON.stringify(nacre.session.current))")
        except Exception as error:
            return f"no answer ({error})"

    def wait_state(self, state, seconds=20):
        return self.wait_for(f"nacre.session.current.state == {json.dumps(state)} && nacre.session.current", seconds,
                             f"the session to be {state}")

    def click(self, selector):
        """A trusted click by the mouse, at the element's place on the screen."""
        self.wait_for(f"!!document.querySelector({json.dumps(selector)})", 10, selector)
        place = self.evaluate(
            "(() => { const e = document.querySelector(" + json.dumps(selector) + "); e.scrollIntoView({block:'center'});"
            " const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2, innerHeight] })()")
        window = self.desktop.xdotool("search", "--onlyvisible", "--pid", self.process.pid).split()
        if not window:
            window = self.desktop.xdotool("search", "--onlyvisible", "--class", self.id).split()
        if not window:
            return self.page.click(selector)
        geometry = dict(line.split("=") for line in
                        self.desktop.xdotool("getwindowgeometry", "--shell", window[-1]).splitlines() if "=" in line)
        # The web view fills the window below its header bar.
        header = int(geometry["HEIGHT"]) - place[2]
        self.desktop.xdotool("mousemove", "--window", window[-1], int(place[0]), int(place[1] + max(0, header)),
                             "click", "1")

    def text(self):
        return self.evaluate("document.body.innerText")

    def close(self):
        """A graceful close, as by the window's button."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except Exception:
            raise Failed("the app did not close within 10 s")
        return self.process.returncode

    def kill(self):
        """Power loss: the whole process group at once."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
