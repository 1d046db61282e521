"""What a journey saw: prints each step, keeps pictures, counts, and ends with `N passed, N failed`."""
import os
import pathlib
import sys
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Failed(Exception):
    """A step that did not see what it should have seen."""


class Report:
    def __init__(self, name, folder=None):
        self.name = name
        self.pictures = folder or ROOT / "build" / "journeys" / name
        self.pictures.mkdir(parents=True, exist_ok=True)
        self.passed = self.failed = 0
        self.skipped = []
        self.start = time.time()

    def say(self, text):
        print(f"     {time.time() - self.start:6.1f} s  {text}", flush=True)

    def skip(self, what, because):
        """Something that this machine cannot show; said here and once more at the end."""
        self.skipped.append(what)
        print(f"SKIP {time.time() - self.start:6.1f} s  {what}: {because}", flush=True)

    def see(self, what, condition, saw=""):
        """One thing a person would notice; a false condition ends the journey."""
        detail = f" (saw: {saw})" if saw != "" else ""
        if condition:
            self.passed += 1
            print(f"ok   {time.time() - self.start:6.1f} s  {what}{detail}", flush=True)
        else:
            self.failed += 1
            print(f"FAIL {time.time() - self.start:6.1f} s  {what}{detail}", flush=True)
            raise Failed()
        return condition

    def finish(self):
        for what in self.skipped:
            print(f"NOT SEEN: {what}", flush=True)
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        return 1 if self.failed or not self.passed else 0


def until(condition, seconds=15.0, every=0.1):
    """Polls until the condition is truthy; returns its last value.

    Many journeys in a row meet a machine that is busy: `scripts/journey all` triples the waits that only run out when something
    is wrong. The short ones may be meant to run out."""
    end = time.time() + seconds * (int(os.environ.get("NACRE_PATIENCE", "1")) if seconds >= 8 else 1)
    while True:
        try:
            value = condition()
        except Exception as error:  # the page may be between two documents
            value, last = None, error
        if value or time.time() > end:
            return value
        time.sleep(every)


def run(name, body):
    """Runs one journey body(report) and exits with its verdict."""
    report = Report(name)
    print(f"== journey {name}", flush=True)
    try:
        body(report)
    except Failed as error:
        if error.args:
            report.failed += 1
            print(f"FAIL {error}", flush=True)
    except Exception:
        traceback.print_exc()
        report.failed += 1
    return report.finish()
