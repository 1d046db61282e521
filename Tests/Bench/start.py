# Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
"""Cold start: from the start of the process to the page's `load` event, which the page itself times; and what the updater adds to it."""
import json
import time

from figures import Line, interleaved, paired_ratio
from publishing import Channel
from report import Failed
from windows import Bare, Ours

PAIRS = 15
# What a check that finds nothing may cost.
CHECK_BYTES = 2000


class Updating(Ours):
    """The app with updates; `installed`: it runs one of them, not the bundle inside the app. Every check finds nothing new."""

    def __init__(self, desktop, web, name, installed):
        super().__init__(desktop, web, name=name)
        self.channel = Channel(desktop, self.id, folder=name)
        web.settings.write_text(json.dumps({"MOBILE_OTA_MANIFEST_URL": self.channel.manifest}))
        self.configure(api=web.origin(), updates=self.channel.settings())
        # Without a change it is the same tree as the bundle inside the app, and nothing is to be done about it.
        changes = {"style__css": lambda old: old + "h1 { letter-spacing: 0; }\n"} if installed else {}
        self.channel.publish(self, "0.0.2", **changes)
        self.ask(then="nacre.updates.apply()" if installed else "0")
        self.ask(wanted="0.0.2" if installed else self.running)

    def ask(self, then="0", wanted=None):
        """Starts the app, lets it look for updates, and ends it."""
        self.start()
        try:
            self.page.wait("!!nacre.updates", 20)
            self.page.evaluate("void nacre.updates.check().then((seen) => (globalThis.checked = seen))")
            self.page.wait("!!globalThis.checked", 30)
            self.running = self.page.evaluate("nacre.updates.state.running")
            if wanted not in (None, self.running):
                raise Failed(f"the app runs {self.running}, not {wanted}: {self.page.evaluate('JSON.stringify(globalThis.checked)')}")
            self.page.evaluate(f"void {then}")
            time.sleep(3)
        finally:
            self.stop()


def started(window):
    try:
        return window.start(inspect=False) * 1000
    finally:
        window.stop()
        time.sleep(0.5)


def beside(name, peer, ours, theirs, most):
    mine, its = interleaved(lambda: started(ours), lambda: started(theirs), PAIRS)
    return Line(name, peer, "ms", mine, its, paired_ratio(mine, its), ("<=", most))


def measure(desktop, web):
    ours = Ours(desktop, web)
    lines = [beside("cold start to page loaded", "bare WebKitGTK window, same page", ours, Bare(desktop, web), 1.25)]
    for name, what, installed in (("inside", "updates on, the bundle inside the app runs", False), ("update", "an update runs", True)):
        updating = Updating(desktop, web, name, installed)
        updating.channel.bucket.wire.clear()
        lines.append(beside(f"cold start to page loaded, {what}", "the same app without updates", updating, ours, 1.02))
    # Of the starts that were just measured each that may look, after half an hour, would ask this: here by hand.
    updating.ask()
    asked = [size for _, size in updating.channel.bucket.wire]
    lines.append(Line(f"a check that finds nothing: bytes both ways, in {len(asked)} request{'s'[len(asked) == 1:]} to the bucket", "the requirement's 2 kB", "B",
                      [sum(asked)], [CHECK_BYTES], sum(asked) / CHECK_BYTES, ("<=", 1)))
    return lines
