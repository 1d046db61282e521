# Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
"""Cold start: from the start of the process to the page's `load` event, which the page itself times."""
import time

from figures import Line, interleaved, paired_ratio
from windows import Bare, Ours

PAIRS = 15


def measure(desktop, web):
    ours, bare = Ours(desktop, web), Bare(desktop, web)

    def once(window):
        try:
            return window.start(inspect=False) * 1000
        finally:
            window.stop()
            time.sleep(0.5)

    mine, theirs = interleaved(lambda: once(ours), lambda: once(bare), PAIRS)
    return [Line("cold start to page loaded", "bare WebKitGTK window, same page", "ms", mine, theirs,
                 paired_ratio(mine, theirs), ("<=", 1.25))]
