# Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
"""Measures the figures, prints the table, and puts it into docs/performance.md between its two markers."""
import datetime
import os
import pathlib
import platform
import re
import subprocess
import sys

import bridge
import channel
import exchange
import gigabyte
import many
import proxy
import releases
import sessions
import start
from desktop import Desktop
from figures import table
from report import ROOT, Failed, Report
from servers import BINARIES
from web import BUILD, Web, nginx

MEASURES = {"channel": channel.measure, "gigabyte": gigabyte.measure, "start": start.measure, "bridge": bridge.measure, "sessions": sessions.measure,
            "exchange": exchange.measure,
            "many": many.measure, "proxy": proxy.measure, "releases": releases.measure}
DOCUMENT = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- figures: written by scripts/bench -->", "<!-- end of figures -->"


def said_by(*command):
    seen = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    return (seen.stdout + seen.stderr).strip()


def machine(load):
    processor = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    system = re.search(r'PRETTY_NAME="(.*)"', pathlib.Path("/etc/os-release").read_text()).group(1)
    swift = re.search(r"Swift version (\S+)", said_by("swift", "--version"))
    import django
    import gunicorn
    return [
        f"{os.cpu_count()} cores ({processor.group(1) if processor else platform.machine()}), "
        f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') // 2**30} GB, {system}, Linux {'.'.join(platform.release().split('.')[:2])}, "
        f"software rendering under Xvfb; load before the run {load:.2f}",
        f"Swift {swift.group(1) if swift else '?'} (`{BINARIES.name}` build), WebKitGTK "
        f"{said_by('pkg-config', '--modversion', 'webkitgtk-6.0')}, {said_by(nginx(), '-v').split(': ')[-1]}, "
        f"libcurl {said_by('pkg-config', '--modversion', 'libcurl')}, Python {platform.python_version()}, "
        f"Django {django.__version__}, gunicorn {gunicorn.__version__}",
    ]


def write(kept):
    """Replaces what stands between the markers, nothing else."""
    text = DOCUMENT.read_text()
    before, rest = text.split(BEGIN, 1)
    _, after = rest.split(END, 1)
    DOCUMENT.write_text(f"{before}{BEGIN}\n{kept}\n{END}{after}")


def main(names):
    unknown = [name for name in names if name not in MEASURES]
    if unknown:
        print(f"bench: there is no figure called {unknown[0]}; there is: {' '.join(MEASURES)}", file=sys.stderr)
        return 2
    load = os.getloadavg()[0]
    if load > 1:
        print(f"bench: the load of this machine is {load:.1f}; ratios of pairs stand that, absolute figures do not", flush=True)
    lines, failed = [], False
    for name in names or MEASURES:
        print(f"bench: {name}", flush=True)
        try:
            # A desktop for each: nothing that one left behind runs beside the next.
            with Desktop(Report(f"bench-{name}", folder=BUILD / "pictures")) as desktop:
                web = Web(desktop).start()
                measured = MEASURES[name](desktop, web)
        except Failed as error:
            print(f"bench: {name} could not be measured: {error}", file=sys.stderr, flush=True)
            failed = True
            continue
        for line in measured:
            print("  " + line.row(), flush=True)
        lines += measured
    facts = machine(load)
    day = datetime.date.today().isoformat()
    text = "\n".join([f"Measured {day}.", "", *(f"- {fact}" for fact in facts), "", table(lines)])
    print(text, flush=True)
    if names or failed:
        print("bench: docs/performance.md is only written by a whole run", flush=True)
    else:
        write(text)
    missed = [line for line in lines if line.passed is False]
    for line in missed:
        print(f"bench: MISSED: {line.name}: {line.ratio:.2f}, wanted {line.wanted}", flush=True)
    print(f"{len(lines) - len(missed)} lines as wanted, {len(missed)} missed", flush=True)
    return 1 if missed or failed or not lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
