# Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
"""A gigabyte down and seeked in: the memory it costs, and the processor time beside libcurl alone.

Up is the journey `uploads`: only a chosen file is read from the disk, a body that the page makes is held by WebKit."""
import os
import pathlib
import resource
import subprocess
import time
import urllib.parse

from figures import Line, interleaved, paired_ratio
from report import until
from web import HUGE
from windows import Bare, Ours

ROUNDS = 3
LIMIT = 64  # MB above what the process held before
# Places in the sound of a gigabyte, in seconds.
PLACES = (100_000, 20_000, 110_000, 5)


def measure(desktop, web):
    base = web.origin()
    return processor(desktop, web, base) + memory(desktop, web, base)


def processor(desktop, web, base):
    """Seconds of processor time for a gigabyte: our process between WebKit and the server, and curl to nowhere."""
    ours = Ours(desktop, web)
    try:
        ours.start()
        pid = desktop.app_processes()["app"]

        def mine():
            before = processor_time(pid)
            work(ours, f"bench.download('{base}/huge', {HUGE})")
            return processor_time(pid) - before

        def curl():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(["curl", "-fsS", "--http1.1", "--cacert", web.certificate, "-o", "/dev/null", f"{base}/huge"], check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

        seconds = interleaved(mine, curl, ROUNDS)
        return [Line("processor time of our process for 1 GB down", "curl alone, to nowhere", "s", *seconds, paired_ratio(*seconds))]
    finally:
        stop(ours)


def memory(desktop, web, base):
    """The most that our process and WebKit's network process grow; each work in a window of its own."""
    lines = []
    sound = f"{base}/huge.wav"
    works = {
        "1 GB down": f"bench.download('{base}/huge', {HUGE})",
        "seeks in a sound of 1 GB": "bench.seek('%s', " + str(list(PLACES)) + ")",
    }
    for name, script in works.items():
        proxied = "/_capacitor_http_interceptor_?u=" + urllib.parse.quote(sound, safe="")
        mine = growth(desktop, Ours(desktop, web), script.replace("%s", proxied))
        theirs = growth(desktop, Bare(desktop, web), script.replace("%s", sound))
        for process, label in (("app", "our process"), ("network", "WebKit's network process")):
            peer = [theirs["network"]] if process == "network" else [0.0]
            lines.append(Line(f"memory for {name}: {label}; the ratio column is MB",
                              "direct TLS load" if process == "network" else "(it has none)", "MB", [mine[process]], peer, mine[process],
                              ("<=", LIMIT)))
    return lines


def growth(desktop, window, script):
    try:
        window.start()
        first = desktop.memory()
        most = dict(first)
        begin(window, script)
        while not done(window):
            for process, size in desktop.memory().items():
                most[process] = max(most.get(process, 0), size)
            time.sleep(0.1)
        return {process: most[process] - first.get(process, 0) for process in most}
    finally:
        stop(window)


def work(window, script):
    begin(window, script)
    until(lambda: done(window), 120, 0.1)


def begin(window, script):
    """Starts it in the page: the inspector waits for a few seconds only."""
    window.page.evaluate(f"void (globalThis.done = null, {script}.then(v => done = {{ v }}, e => done = {{ e: String(e) }}))")


def done(window):
    result = window.page.evaluate("done")
    if result and "e" in result:
        raise RuntimeError(result["e"])
    return result


def stop(window):
    if window.process:
        window.stop()


def processor_time(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
