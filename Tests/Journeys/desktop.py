"""A private desktop: its own home, display, session bus and unlocked keyring. Nothing of it outlives the journey."""
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from report import ROOT, Failed, until


def free_port():
    """Below the ports that the system gives to outgoing connections: a program that is started anew finds its own still free."""
    while True:
        port = random.randrange(10_000, 32_000)
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def user_namespaces_work():
    return subprocess.run(["unshare", "--user", "--map-root-user", "true"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode == 0


class Desktop:
    """Use as a context manager. `keyring` False leaves the Secret Service out."""

    def __init__(self, report, size="1280x900", keyring=True):
        self.report, self.size, self.keyring = report, size, keyring
        self.processes = []
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="nacre-desktop-"))
        self.log = self.root / "logs"

    def __enter__(self):
        for name in ("home", "data/applications", "config", "cache", "bin", "logs"):
            (self.root / name).mkdir(parents=True)
        run = self.root / "run"
        run.mkdir(mode=0o700)
        # NACRE_PAGE_CHANNEL=patched tries any journey by the page channel of systems whose web view takes no proxy.
        kept = ("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "NACRE_PAGE_CHANNEL")
        keep = {k: v for k, v in os.environ.items() if k in kept}
        self.env = keep | {
            "HOME": str(self.root / "home"), "XDG_DATA_HOME": str(self.root / "data"),
            "XDG_CONFIG_HOME": str(self.root / "config"), "XDG_CACHE_HOME": str(self.root / "cache"),
            "XDG_RUNTIME_DIR": str(run), "XDG_CURRENT_DESKTOP": "GNOME", "GDK_BACKEND": "x11",
            "LANG": os.environ.get("LANG", "C.UTF-8"), "LIBGL_ALWAYS_SOFTWARE": "1",
            "PATH": f"{self.root / 'bin'}:{os.environ['PATH']}",
            "GTK_A11Y": "none", "NO_AT_BRIDGE": "1", "SWIFT_BACKTRACE": "enable=no",
        }
        if not user_namespaces_work():
            print("!!   no user namespaces here: WebKit's own sandbox is switched off FOR THIS TEST ONLY", flush=True)
            self.env["WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS"] = "1"
        self._display()
        self._bus()
        if self.keyring:
            self._keyring()
        return self

    def spawn(self, name, command, env=None, **options):
        log = open(self.log / f"{name}.log", "ab")
        process = subprocess.Popen([str(c) for c in command], env=self.env | (env or {}), stdout=log, stderr=log,
                                   stdin=subprocess.DEVNULL, start_new_session=True, **options)
        process.log = self.log / f"{name}.log"
        self.processes.append(process)
        return process

    def _display(self):
        read, write = os.pipe()
        # `-displayfd` lets the server choose a free number and tell it.
        self.xvfb = subprocess.Popen(
            ["Xvfb", "-displayfd", str(write), "-screen", "0", f"{self.size}x24", "-nolisten", "tcp"],
            pass_fds=[write], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(write)
        with os.fdopen(read) as pipe:
            self.env["DISPLAY"] = f":{pipe.readline().strip()}"

    def _bus(self):
        bus = subprocess.run(["dbus-daemon", "--session", "--fork", "--print-address=1", "--print-pid=1"], env=self.env,
                             capture_output=True, text=True, check=True).stdout.split()
        self.env["DBUS_SESSION_BUS_ADDRESS"], self.bus_pid = bus[0], int(bus[1])

    def _keyring(self):
        # Unlocked before anything touches the Secret Service; a bus-activated daemon would start locked.
        daemon = subprocess.Popen(["gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets"],
                                  env=self.env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, start_new_session=True)
        daemon.stdin.write(b"journey")
        daemon.stdin.close()
        self.processes.append(daemon)
        # Asked of the bus first: to ask a service that is not there yet would start a second, locked one in its place.
        ready = until(lambda: "boolean true" in self._asked("org.freedesktop.DBus", "/", "org.freedesktop.DBus.NameHasOwner",
                                                            "string:org.freedesktop.secrets"), 60) and \
            until(lambda: "/collection/" in self._asked("org.freedesktop.secrets", "/org/freedesktop/secrets",
                                                        "org.freedesktop.Secret.Service.ReadAlias", "string:default"), 60)
        if not ready:
            # Without it the app would rightly keep its session in memory, and a journey would fail far from here.
            raise Failed("the keyring of this journey did not start within 60 s")

    def _asked(self, destination, path, method, *arguments):
        return subprocess.run(["dbus-send", "--session", "--print-reply", f"--dest={destination}", path, method, *arguments],
                              env=self.env, capture_output=True, text=True).stdout

    def picture(self, name, window="root"):
        """A picture of the whole screen, or of one window."""
        path = self.report.pictures / f"{name}.png"
        subprocess.run(["import", "-window", str(window), str(path)], env=self.env, stderr=subprocess.DEVNULL)
        return path

    def xdotool(self, *words):
        return subprocess.run(["xdotool", *map(str, words)], env=self.env, capture_output=True, text=True).stdout.strip()

    def stop(self, process, seconds=5):
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def drag_source(self, *paths):
        """Another program's window, in the screen's lower right corner, from which these files can be dragged."""
        source = self.spawn("drag-source", ["/usr/bin/python3", ROOT / "Tests" / "Journeys" / "drag_source.py", *paths])
        window = until(lambda: self.xdotool("search", "--onlyvisible", "--name", "^Drag source$").split(), 15)
        if not window:
            raise Failed("the window to drag from did not come: python3-gi and gir1.2-gtk-4.0 are needed")
        source.window = window[-1]
        width, height = map(int, self.size.split("x"))
        self.xdotool("windowmove", source.window, width - 180, height - 120)
        if not until(lambda: self._geometry(source.window)["X"] == width - 180, 10):
            raise Failed("the window to drag from did not move")
        time.sleep(0.5)
        return source

    def drag(self, source, app, selector):
        """From the middle of that window to the middle of an element of the page, by the mouse."""
        place = self._geometry(source.window)
        self.drag_by_hand((place["X"] + 80, place["Y"] + 45), app.place(selector), raise_window=source.window)

    def drag_by_hand(self, start, end, raise_window=None):
        """Between two places of the screen; a hand moves, and whoever is below watches it on its way."""
        (x, y), (right, down) = start, end
        if raise_window:
            self.xdotool("windowraise", raise_window)
        self.xdotool("mousemove", x, y, "mousedown", 1)
        time.sleep(0.3)
        steps = 12
        for step in range(1, steps + 1):
            self.xdotool("mousemove", x + (right - x) * step // steps, y + (down - y) * step // steps)
            time.sleep(0.06)
        time.sleep(0.4)
        self.xdotool("mouseup", 1)

    def _geometry(self, window):
        lines = self.xdotool("getwindowgeometry", "--shell", window).splitlines()
        return {name: int(value) for name, value in (line.split("=") for line in lines if "=" in line)}

    def _ours(self):
        """Processes that inherited our private HOME, such as a browser that a link started."""
        mark = f"HOME={self.root / 'home'}".encode()
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                try:
                    if mark in (entry / "environ").read_bytes().split(b"\0"):
                        yield int(entry.name)
                except OSError:
                    pass

    def app_processes(self):
        """The process of the app and WebKit's network process, `app` and `network`, as far as they run."""
        found = {}
        for pid in self._ours():
            try:
                name = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
            except OSError:
                continue
            if name == "nacre" or name.startswith("WebKitNetwork"):
                found["app" if name == "nacre" else "network"] = pid
        return found

    def memory(self):
        """Megabytes that each of them holds in memory, what it has mapped from files not counted."""
        sizes = {}
        for name, pid in self.app_processes().items():
            try:
                status = pathlib.Path(f"/proc/{pid}/status").read_text()
            except OSError:
                continue
            sizes[name] = sum(int(line.split()[1]) for line in status.splitlines() if line.startswith(("RssAnon", "RssShmem"))) / 1024
        return sizes

    def __exit__(self, kind, error, trace):
        for process in reversed(self.processes):
            self.stop(process)
        for sign in (signal.SIGTERM, signal.SIGKILL):
            for pid in list(self._ours()):
                try:
                    os.kill(pid, sign)
                except OSError:
                    pass
            time.sleep(0.3)
        self.xvfb.terminate()
        self.xvfb.wait()
        keep = ROOT / "build" / "logs" / "journeys" / self.report.name
        shutil.rmtree(keep, ignore_errors=True)
        keep.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(self.log, keep, dirs_exist_ok=True)
        if error:
            for log in sorted(self.log.glob("*.log")):
                tail = log.read_text(errors="replace").splitlines()[-15:]
                print(f"---- {log.name}", *tail, sep="\n", flush=True)
        shutil.rmtree(self.root, ignore_errors=True)
