# Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
"""Updates between real releases: bytes to download, the time to make a patch, the time to verify and apply it."""
import functools
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import time
import zipfile

import brotli
from figures import Line, interleaved, paired_ratio
from report import Failed
from servers import BINARIES
from web import BUILD

MUSIC, HOME = "music-assistant-frontend", "home-assistant-frontend"
# What the share of the archive may be, as the requirement says it.
STEPS = [(MUSIC, "2.17.349", "2.17.350", "the next release", 1), (MUSIC, "2.17.340", "2.17.350", "ten releases on", 5),
         (MUSIC, "2.17.300", "2.17.350", "fifty releases on", 11), (HOME, "20250109.1", "20250109.2", "the next release", 1),
         (HOME, "20241127.8", "20250109.2", "six weeks on", 11)]
TIMED = [(MUSIC, "2.17.340", "2.17.350"), (HOME, "20241127.8", "20250109.2")]
FOLDER = BUILD / "releases"
SECONDS_A_MB, ROUNDS = 0.5, 5
THOROUGH, FAST = 16, 9


def probe(*words):
    ran = subprocess.run([BINARIES / "release-probe", *words], capture_output=True, text=True)
    if ran.returncode:
        raise Failed(f"release-probe {words[0]}: {ran.stdout}{ran.stderr}")
    return json.loads(ran.stdout)


@functools.cache
def tree(package, version):
    """A release as a folder: what its wheel holds of a page, without packed twins (.gz, .br) and source maps of files beside them."""
    folder = FOLDER / f"{package}-{version}"
    if folder.is_dir():
        return folder
    FOLDER.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "-d", FOLDER, f"{package}=={version}"]
    if subprocess.run(command).returncode:
        raise Failed(f"{package} {version} could not be had from PyPI")
    wheel, = FOLDER.glob(f"{package.replace('-', '_')}-{version}-*.whl")
    work = folder.with_suffix(".work")
    shutil.rmtree(work, ignore_errors=True)
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        for name in names:
            stem, _, kind = name.rpartition(".")
            if name.endswith((".py", "/")) or ".dist-info/" in name or kind in ("gz", "br", "map") and stem in names:
                continue
            path = work / name.split("/", 1)[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(name))
    work.rename(folder)
    return folder


def files(folder):
    return {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}


def changed(old, new):
    """The files whose content is in no file of the old release, packed one by one."""
    known = {hashlib.sha256(path.read_bytes()).digest() for path in files(old).values()}
    contents = {hashlib.sha256(data).digest(): data for data in (path.read_bytes() for path in files(new).values())}
    return sum(len(brotli.compress(data, quality=9)) for digest, data in contents.items() if digest not in known)


def sizes(made):
    lines = []
    for package, old, new, what, limit in STEPS:
        before, after = tree(package, old), tree(package, new)
        archive = probe("zip", after, FOLDER / "archive.zip")["bytes"]
        (FOLDER / "archive.zip").unlink()
        shares = [100 * made(package, old, new, level)["bytes"] / archive for level in (THOROUGH, FAST)]
        brotlis = 100 * changed(before, after) / archive
        for share, how, wanted in ((shares[0], "", ("<=", limit)), (shares[1], " with `--fast`", None)):
            lines.append(Line(f"update to {what}{how}, {package} {old} → {new}: bytes to download, of the archive's {archive / 1e6:.1f} MB",
                              "the changed files, brotli 9 each", "%", [share], [brotlis], share, wanted))
    return lines


def making(made):
    lines = []
    for package, old, new in TIMED:
        size = sum(path.stat().st_size for path in files(tree(package, new)).values()) / 1e6
        thorough, fast = (made(package, old, new, level)["seconds"] / size for level in (THOROUGH, FAST))
        lines.append(Line(f"making that patch, {package} {old} → {new}: seconds for each of the tree's {size:.0f} MB", "the same with `--fast`", "s",
                          [thorough], [fast], thorough, ("<=", SECONDS_A_MB)))
    return lines


def applying(made, desktop):
    lines = []
    for package, old, new in TIMED:
        before, after = tree(package, old), tree(package, new)
        work = pathlib.Path(desktop.root) / "apply"
        patch = made(package, old, new, THOROUGH)["file"]
        streams = {name: work / f"{name}.stream" for name in ("old", "new")}
        work.mkdir()
        probe("stream", before, streams["old"])
        probe("stream", after, streams["new"])
        listed = sum(len(f"{'0' * 64} {path.stat().st_size} {name}\n".encode()) for name, path in files(after).items())
        (work / "list").write_bytes(streams["new"].read_bytes()[:listed])
        script = (f"zstd -q -d -f --long=31 --patch-from='{streams['old']}' '{work}/theirs.patch' -o '{work}/theirs.stream' && "
                  f"find '{after}' -type f -print0 | xargs -0 sha256sum > '{work}/sums' && cp -r '{after}' '{work}/theirs' && sync -f '{work}/theirs'")
        subprocess.run(["zstd", "-q", "-f", "-9", "--long=31", f"--patch-from={streams['old']}", streams["new"], "-o", work / "theirs.patch"],
                       check=True, capture_output=True)

        def ours():
            shutil.rmtree(work / "ours", ignore_errors=True)
            subprocess.run(["sync", "-f", work], check=True)
            return probe("apply", before, patch, work / "list", work / "ours")["seconds"]

        def theirs():
            shutil.rmtree(work / "theirs", ignore_errors=True)
            subprocess.run(["sync", "-f", work], check=True)
            return timed(["bash", "-c", script])

        ones, twos = interleaved(ours, theirs, ROUNDS)
        differing = subprocess.run(["diff", "-r", after, work / "ours"], capture_output=True, text=True)
        if differing.returncode:
            raise Failed("the patch did not give the release: " + differing.stdout[:500])
        shutil.rmtree(work)
        lines.append(Line(f"verifying and applying it, {package} {old} → {new}", "`zstd -d --patch-from`, `sha256sum`, `cp -r` and `sync -f` on the same tree", "s",
                          ones, twos, paired_ratio(ones, twos), ("<=", 1.5)))
    return lines


def timed(command):
    start = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    return time.monotonic() - start


def measure(desktop, web):
    @functools.cache
    def made(package, old, new, level):
        file = FOLDER / f"{package}-{old}-{new}-{level}.patch"
        said = probe("make", tree(package, old), tree(package, new), str(level), file)
        print(f"  {package} {old} → {new} at {level}: {said['bytes']:,} bytes in {said['seconds']:.1f} s", flush=True)
        return said | {"file": file}
    return sizes(made) + making(made) + applying(made, desktop)
