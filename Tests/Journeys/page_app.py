"""The real shell around a bundle of the journey's own: pages in a dictionary, an API of `api_server`."""
import json
import pathlib
import time

from app import App
from desktop import free_port
from report import Failed, until

PAGES = pathlib.Path(__file__).with_name("pages")


def write_bundle(folder, pages, api_origin):
    """Files by path; what is named only is taken from `pages/`. `API` stands for the API's origin."""
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = (PAGES / name).read_bytes() if text is None else text if isinstance(text, bytes) else text.encode()
        path.write_bytes(data.replace(b"%API%", api_origin.encode()))


class PageApp(App):
    def __init__(self, desktop, api, pages, app_id="org.example.pages", media=(), **app):
        self.desktop, self.id, self.scheme = desktop, app_id, "nacrepages"
        self.api = api
        self.api_origin = api.origin.replace("http:", "https:")
        self.folder = desktop.root / "apps" / app_id
        self.folder.mkdir(parents=True, exist_ok=True)
        write_bundle(self.folder / "dist", pages, self.api_origin)
        settings = {"app": {"id": app_id, "name": "Pages", "version": "1.0.0", "scheme": self.scheme} | app,
                    "bundle": {"path": "dist"}, "api": {"origin": api.origin, "media": list(media)}}
        (self.folder / "nacre.json").write_text(json.dumps(settings))
        self.port = free_port()
        self.process = None
        self._page = None

    def run(self, expression, seconds=30):
        """The value of a long-running promise: started, then polled, since the inspector waits for a few seconds only."""
        mark = f"r{time.monotonic_ns()}"
        self.evaluate(f"void Promise.resolve({expression}).then(v => window.{mark} = {{v}}, e => window.{mark} = {{e: String(e)}})")
        done = until(lambda: self.evaluate(f"window.{mark}"), seconds, 0.2)
        if not done:
            raise Failed(f"no result within {seconds} s: {expression[:200]}")
        if "e" in done:
            raise Failed(f"{expression[:200]}: {done['e']}")
        return done.get("v")

    def act(self, expression):
        """The same as a person's doing: windows, downloads and links need that."""
        # An inspector whose document is just being replaced never answers: one that does is found first, since what a
        # person does is not to be done twice.
        self.evaluate("0")
        return self.page.evaluate(expression, gesture=True)

    def log(self):
        return self.process.log.read_text(errors="replace")

    def memory(self):
        return self.desktop.memory()


class MemoryWatch:
    """The most that each process grows while something runs."""

    def __init__(self, app):
        self.app, self.first = app, app.memory()
        self.most = dict(self.first)

    def look(self):
        for name, size in self.app.memory().items():
            self.most[name] = max(self.most.get(name, 0), size)
        return self

    def growth(self):
        return {name: round(self.most[name] - self.first.get(name, 0)) for name in self.most}

    def flat(self):
        """Nothing of a gigabyte is kept. What WebKit's own process has on the way depends on how busy the machine is, and without
        us is more (`scripts/bench gigabyte`, which holds both to 64 MB): here it may be twice as much."""
        return all(grown <= (64 if name == "app" else 128) for name, grown in self.growth().items())
