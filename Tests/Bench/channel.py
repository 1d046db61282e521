# Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
"""Page channel against a direct TLS load: the same page code in both windows, the same nginx behind both."""
from figures import Line, interleaved, median, paired_ratio
from web import BIG, SMALL
from windows import Bare, Ours

BIG_ROUNDS, SMALL_ROUNDS, FIRST_ROUNDS, FIRST = 9, 15, 9, 50


def measure(desktop, web):
    return [line for protocol in web.ports for line in both(desktop, web, protocol)]


def both(desktop, web, protocol):
    base = web.origin(protocol)
    ours, bare = Ours(desktop, web, protocol), Bare(desktop, web, protocol)
    try:
        ours.start()
        bare.start()
        download = f"bench.download('{base}/big', {BIG})"
        upload = f"bench.upload('{base}/sink', {BIG})"
        small = f"bench.small('{base}/small/', {SMALL})"
        lines = []
        for name, script, rounds in [("100 MB GET", download, BIG_ROUNDS), ("100 MB POST", upload, BIG_ROUNDS),
                                     (f"{SMALL} small GETs at once", small, SMALL_ROUNDS)]:
            mine, theirs = interleaved(lambda: ours.page.evaluate(script), lambda: bare.page.evaluate(script), rounds)
            lines.append(Line(f"page channel: {name}", f"direct TLS load, {protocol}", "ms", mine, theirs,
                              paired_ratio(theirs, mine), (">=", 0.8)))
        first = f"bench.firstByte('{base}/small/0.json', {FIRST})"
        mine, theirs = interleaved(lambda: ours.page.evaluate(first), lambda: bare.page.evaluate(first), FIRST_ROUNDS)
        lines.append(Line("page channel: time to the first byte; the ratio column is the difference in ms", f"direct TLS load, {protocol}",
                          "ms", mine, theirs, median([one - two for one, two in zip(mine, theirs)])))
        return lines
    finally:
        for window in (ours, bare):
            if window.process:
                window.stop()
