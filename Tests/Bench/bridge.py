# Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
"""Bridge round trips against a raw script-message handler with a reply in the page's own world."""
from figures import Line, interleaved, paired_ratio
from windows import Bare, Ours

ROUNDS, SECONDS, AT_ONCE = 9, 1, 1000


def measure(desktop, web):
    ours, bare = Ours(desktop, web), Bare(desktop, web)
    try:
        ours.start()
        bare.start()
        answer = ours.page.evaluate("Capacitor.nativePromise('Device', 'getId', {})")
        assert answer.get("identifier"), answer
        assert bare.page.evaluate("webkit.messageHandlers.echo.postMessage('hello')") == "hello"
        native = "() => Capacitor.nativePromise('Device', 'getId', {})"
        raw = "() => webkit.messageHandlers.echo.postMessage('{\"plugin\":\"Device\",\"method\":\"getId\"}')"
        lines = []
        for name, function, amount in [("one after the other", "oneByOne", SECONDS), (f"{AT_ONCE} at once", "atOnce", AT_ONCE)]:
            mine, theirs = interleaved(
                lambda: ours.page.evaluate(f"bench.{function}({native}, {amount})"),
                lambda: bare.page.evaluate(f"bench.{function}({raw}, {amount})"), ROUNDS)
            lines.append(Line(f"bridge round trips: {name}", "raw handler in the page's world", "/s", mine, theirs,
                              paired_ratio(mine, theirs)))
        return lines
    finally:
        for window in (ours, bare):
            if window.process:
                window.stop()
