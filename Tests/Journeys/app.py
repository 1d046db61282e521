"""The Messages app in the real shell, looked at through WebKit's inspector and used by mouse and keyboard."""
import json
import os
import shutil
import signal
import subprocess
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

    def use_page(self, name):
        """A page of the journeys' own (Tests/Journeys/NAME) in the example's place."""
        shutil.rmtree(self.folder / "web")
        shutil.copytree(ROOT / "Tests" / "Journeys" / name, self.folder / "web")

    def start(self, *options, wait=True):
        self._spawn(options)
        if wait:
            try:
                self._wait_for_page()
            except Failed:
                # Rarely, and only beside much other work, a window has been seen to come up without ever asking for its
                # page. Say where it stands, and try once more.
                print(f"SLOW START of {self.id}: its threads, and then a second try", flush=True)
                self._show_threads()
                self.kill()
                self._spawn(options)
                self._wait_for_page()
        return self

    def _spawn(self, options):
        self._forget_page()
        # A process that was killed may leave its inspector's port held for a while.
        self.port = free_port()
        self.process = self.desktop.spawn(
            f"app-{self.id}", [BINARIES / "nacre", "run", *options, self.folder],
            env={"NACRE_ENV": "development", "WEBKIT_INSPECTOR_HTTP_SERVER": f"127.0.0.1:{self.port}"})

    def _wait_for_page(self):
        self.wait_for("document.readyState == 'complete' && !!window.nacre", 40, "the page to load")

    def _show_threads(self):
        if shutil.which("gdb") is None:
            return
        found = subprocess.run(["gdb", "-p", str(self.process.pid), "-batch", "-ex", "thread apply all backtrace 14"],
                               capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)
        print("\n".join(line[:180] for line in found.stdout.splitlines() if line.startswith(("Thread", "#"))), flush=True)

    @property
    def page(self):
        if self._page is None:
            self._page = Inspector(self.port)
            # An inspector that came while the page was being replaced never answers; the next one does.
            self._page.socket.settimeout(5)
        return self._page

    def evaluate(self, expression):
        try:
            return self.page.evaluate(expression)
        except Exception:
            self._forget_page()
        return self.page.evaluate(expression)

    def _forget_page(self):
        """The inspector serves one visitor at a time: who leaves must close the door."""
        page, self._page = self._page, None
        if page is not None:
            try:
                page.close()
            except Exception:
                pass

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
        complete = " && nacre.session.current.profile" if state == "signedIn" else ""
        return self.wait_for(
            f"nacre.session.current.state == {json.dumps(state)}{complete} && JSON.parse(JSON.stringify(nacre.session.current))",
            seconds, f"the session to be {state}")

    # What a screen reader would read out: the name of a visible button, link or menu row.
    FIND = """(name, where) => [...document.querySelectorAll(where + ' button, ' + where + ' a, ' + where + ' [role]')]
        .filter(e => e.checkVisibility() && e.getBoundingClientRect().width > 0)
        .find(e => { const n = (e.getAttribute('aria-label') || e.innerText || '').trim();
                     return name.endsWith('…') ? n.startsWith(name.slice(0, -1)) : n == name })"""

    def press(self, name, where=""):
        """A click on the button of this name (`…` at the end: any name that begins so)."""
        words = f"({self.FIND})({json.dumps(name)}, {json.dumps(where)})"
        self.wait_for(f"!!{words}", 15, f"a button called {name}")
        self._click_at(words)

    def begin_sign_in(self):
        """Presses "Sign in". A window that has just come loses a click now and then beside other work; one presses again."""
        left = "nacre.session.current.state != 'signedOut'"
        self.press("Sign in")
        for _ in range(2):
            if until(lambda: self.evaluate(left), 5) or not self.evaluate(f"!!({self.FIND})('Sign in', '')"):
                return
            self.press("Sign in")

    def click(self, selector):
        self.wait_for(f"!!document.querySelector({json.dumps(selector)})", 10, selector)
        self._click_at(f"document.querySelector({json.dumps(selector)})")

    def open_mail(self, words):
        """A click on the row of the list that holds these words."""
        row = f"[...document.querySelectorAll('.row-link')].find(e => e.innerText.includes({json.dumps(words)}))"
        self.wait_for(f"!!{row}", 10, f"a mail that says {words}")
        self._click_at(row)

    def _window(self):
        found = self.desktop.xdotool("search", "--onlyvisible", "--pid", self.process.pid).split()
        found = found or self.desktop.xdotool("search", "--onlyvisible", "--classname", self.id).split()
        if not found:
            raise Failed("the app's window is not on the screen")

        def area(window):
            size = self._geometry(window)
            return int(size.get("WIDTH", 0)) * int(size.get("HEIGHT", 0))
        # A tooltip or a menu is a window too; the app's own is the largest.
        return max(reversed(found), key=area)

    def dialog(self, seconds=8):
        """The question that stands over the window, once it does; None when there is none."""
        def found():
            own = self._window()
            windows = self.desktop.xdotool("search", "--onlyvisible", "--pid", self.process.pid).split()
            # Larger than a tooltip.
            return [w for w in windows if w != own and int(self._geometry(w).get("HEIGHT", 0)) > 90]
        windows = until(found, seconds)
        return windows[-1] if windows else None

    def _place(self, expression):
        """The window, and where the middle of the element is in it."""
        place = self.evaluate(
            f"(() => {{ const e = {expression}; e.scrollIntoView({{block: 'nearest'}}); const r = e.getBoundingClientRect();"
            " return [r.x + r.width / 2, r.y + r.height / 2, innerWidth, innerHeight] })()")
        window = self._window()
        geometry = self._geometry(window)
        # The web view fills the window below its title bar; a shadow around it is the same on both sides.
        margin = max(0, (int(geometry["WIDTH"]) - place[2]) // 2)
        top = max(0, int(geometry["HEIGHT"]) - margin - place[3])
        return window, int(place[0]) + margin, int(place[1]) + top

    def _geometry(self, window):
        lines = self.desktop.xdotool("getwindowgeometry", "--shell", window).splitlines()
        return dict(line.split("=") for line in lines if "=" in line)

    def _click_at(self, expression):
        """A trusted click by the mouse, at the element's place on the screen."""
        window, x, y = self._place(expression)
        self.desktop.xdotool("windowraise", window, "mousemove", "--window", window, x, y, "click", "1")

    def place(self, selector):
        """Where the middle of this element is on the screen."""
        window, x, y = self._place(f"document.querySelector({json.dumps(selector)})")
        geometry = self._geometry(window)
        return x + int(geometry["X"]), y + int(geometry["Y"])

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
        """Sudden death: no signal handler, no farewell. (The browser that it opened shares its process group.)"""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._forget_page()

    def picture(self, name):
        """A picture of the window once the page has drawn what it now shows."""
        window = self._window()
        self.desktop.xdotool("windowraise", window)
        # A page that has just begun to work hard, on a busy machine, draws late.
        until(lambda: self.evaluate(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(true), 400))))"), 40)
        return self.desktop.picture(name, window)
