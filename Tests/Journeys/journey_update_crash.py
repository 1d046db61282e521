"""The updater stopped at every step that it makes on the disk, and started again: whatever stops where, a whole bundle that
was published is shown, it finds the storage that it can read, and the newest release is reached (UP-7).

NACRE_CRASH_EVERY=N stops it at every Nth step only; NACRE_CRASH_SEEDS=A-B plays other stories. A point that failed is played
again by `update-crash --only SEED:STEP:END`."""
import os
import re
import subprocess
import sys
import tempfile

from report import run
from servers import BINARIES


def start(folder, *arguments):
    environment = os.environ | {"TMPDIR": folder}
    return subprocess.Popen([BINARIES / "update-crash", *arguments], env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def story(report):
    every = os.environ.get("NACRE_CRASH_EVERY", "1")
    first, last = (int(part) for part in os.environ.get("NACRE_CRASH_SEEDS", "1-4").split("-"))
    # What is written is gone a moment later, and nothing of it must reach a disk to be lost again.
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="nacre-crash-", dir=place) as folder:
        middle = (first + last) // 2
        halves = [(a, b) for a, b in [(first, middle), (middle + 1, last)] if a <= b]
        runs = [start(folder, "--seeds", f"{a}-{b}", "--every", every) for a, b in halves]
        points = 0
        for (a, b), process in zip(halves, runs):
            output, _ = process.communicate()
            count = re.search(r"^(\d+) points$", output, re.M)
            points += int(count[1]) if count else 0
            report.see(f"the stories {a} to {b} end well wherever they stop", process.returncode == 0 and count,
                       output.strip().splitlines()[-1])
        report.see("so many points", points > 100, points)
        output, _ = (process := start(folder, "--seeds", f"{first}-{last}", "--processes", "16")).communicate()
        report.see("and where a process is really killed", process.returncode == 0, output.strip().splitlines()[-1])


sys.exit(run("update-crash", story))
