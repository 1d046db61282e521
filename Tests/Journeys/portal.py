"""The file chooser portal of a journey's desktop: what it answers, and what it was asked."""
import json
import pathlib

from report import Failed, until

SCRIPT = pathlib.Path(__file__).with_name("portal_double.py")


class Portal:
    def __init__(self, desktop):
        self.state = desktop.root / "portal"
        self.state.mkdir()
        # What GTK does by itself in a sandbox. (GTK_USE_PORTAL would turn the proxy resolver of GLib over as well.)
        desktop.env["GDK_DEBUG"] = "portals"
        self.saves_to(None)
        desktop.spawn("portal", ["/usr/bin/python3", SCRIPT, self.state])
        if not until(lambda: (self.state / "ready").exists(), 10):
            raise Failed("the portal did not start: python3-dbus and python3-gi are needed")

    def _answer(self, **answer):
        old = json.loads((self.state / "answer").read_text()) if (self.state / "answer").exists() else {}
        (self.state / "answer").write_text(json.dumps(old | answer))

    def saves_to(self, folder):
        """None stands for a person who cancels."""
        self._answer(save=str(folder) if folder else None)

    def opens(self, *paths):
        self._answer(open=[str(p) for p in paths] or None)

    @property
    def asked(self):
        file = self.state / "asked"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
