# Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
"""How much of each parser its corpus reaches, in regions as llvm-cov counts them. usage: coverage.py FUZZER TARGET..."""
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
WANTED = 90


def parsers():
    lines = (ROOT / "Tests/Fuzz/parsers.txt").read_text().splitlines()
    for line in lines:
        if line and not line.startswith("#"):
            target, files = line.split(": ", 1)
            yield target, [part.split("#") for part in files.split(", ")]


def replayed(fuzzer, target):
    """The counters of one replay of the corpus, as `llvm-cov export` writes them."""
    raw, data = (ROOT / "build/fuzz" / f"{target}.{suffix}" for suffix in ("profraw", "profdata"))
    raw.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([fuzzer, "-runs=0", ROOT / "Tests/Fuzz/corpus" / target], check=True, capture_output=True,
                   env=os.environ | {"NACRE_FUZZ_TARGET": target, "LLVM_PROFILE_FILE": str(raw), "SWIFT_BACKTRACE": "enable=no"})
    # The tools of the Swift toolchain: others may be of another LLVM.
    tools = pathlib.Path(subprocess.run(["which", "swift"], check=True, capture_output=True, text=True).stdout.strip()).resolve().parent
    subprocess.run([tools / "llvm-profdata", "merge", "-sparse", raw, "-o", data], check=True)
    seen = subprocess.run([tools / "llvm-cov", "export", fuzzer, f"-instr-profile={data}"], check=True, capture_output=True, text=True)
    return json.loads(seen.stdout)["data"][0]["functions"]


def regions(functions, file, names):
    """The code regions of a file (or of some of its functions) by place, and how often each was reached; generic code is counted once."""
    counts = {}
    for function in functions:
        if not function["filenames"][0].endswith("/" + file) or names and not any(name in function["name"] for name in names):
            continue
        for line, column, end, last, count, _, _, kind in function["regions"]:
            if kind == 0:
                place = (line, column, end, last)
                counts[place] = max(counts.get(place, 0), count)
    return counts


def main(fuzzer, wanted):
    missed = 0
    for target, files in parsers():
        if target not in wanted:
            continue
        functions = replayed(fuzzer, target)
        reached = whole = 0
        dark = []
        for file, *rest in files:
            counts = regions(functions, file, rest[0].split() if rest else [])
            reached += sum(1 for count in counts.values() if count)
            whole += len(counts)
            dark += [f"{pathlib.Path(file).name}:{place[0]}:{place[1]}" for place, count in sorted(counts.items()) if not count]
        share = 100 * reached / max(whole, 1)
        missed += share < WANTED
        print(f"{target:18} {share:5.1f} %  {reached} of {whole} regions" + (f"; not {' '.join(dark)}" if dark else ""), flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]))
