"""Publishing updates into a folder that a web server serves: the whole day of a team, kills and a rival included."""
import json
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from ota import Project, Site
from report import Failed, run


def story(report):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="nacre-ota-"))
    bucket = folder / "bucket"
    site = Site(bucket)
    try:
        tell(report, Project(folder / "project", {
            "NACRE_OTA_BUCKET": str(bucket), "MOBILE_OTA_PUBLIC_BASE_URL": site.url}), site, bucket)
    finally:
        site.close()
        shutil.rmtree(folder, ignore_errors=True)


def tell(report, project, site, bucket):
    channel = bucket / "channels" / "prod"
    manifest = channel / "manifest.json"
    one = project.build("one", "one")
    report.see("without a key nothing is published, and the reason names it",
               project.ota("publish", one, "--version", "1.0", MOBILE_OTA_SIGNING_PRIVATE_KEY_B64="").returncode == 1
               and "MOBILE_OTA_SIGNING_PRIVATE_KEY_B64" in project.said, project.said)
    report.see("the bucket is made, twice", all(project.ota("bucket").returncode == 0 for _ in range(2)), project.said)
    report.see("a key set is made offline and put", project.keys().returncode == 0, project.said)
    site.config = {"MOBILE_OTA_MANIFEST_URL": f"{site.url}/channels/staging/manifest.json"}
    first = project.ota("publish", one, "--version", "1.0", "--json", "--gateway", site.url)
    report.see("version 1.0 is announced", first.returncode == 0 and json.loads(first.stdout)["result"] == "announced")
    report.see("UP-1: a gateway that serves another channel is warned of", "WARNING" in first.stderr
               and "staging" in first.stderr, first.stderr.splitlines()[-1])
    report.see("a device can follow it by every way", project.faults() == [], project.said.splitlines()[0][:60])
    opened_by_openssl(report, project, channel)

    second = project.json("publish", project.build("two", "two"), "--version", "1.1", "--builtin", one)
    patch = second["patches"][0]["bytes"]
    report.see("version 1.1 brings a patch of few bytes", second["sequence"] == 2 and patch * 20 < second["archiveBytes"],
               f"{patch} of {second['archiveBytes']} bytes")
    report.see("only what changed was put", second["newObjects"] == 2, second["newObjects"])
    report.see("devices follow from the built-in tree and from 1.0", project.faults("--builtin", one) == [])

    back = project.json("rollback", "1.0")
    report.see("UP-8: rolled back under a higher sequence", back["version"] == "1.0" and back["sequence"] == 3)
    report.see("devices follow back", project.faults() == [])
    again = project.json("promote", "1.1")
    report.see("and on again", again["version"] == "1.1" and again["sequence"] == 4 and project.faults() == [])
    before = manifest.read_bytes()
    report.see("promoting once more changes nothing", project.json("promote", "1.1")["result"] == "unchanged"
               and manifest.read_bytes() == before)
    report.see("a version below the channel's is refused", project.ota("publish", one, "--version", "1.0.5").returncode == 1
               and "past version 1.0.5" in project.said, project.said)
    report.see("a used version gets no other files", project.ota("publish", project.build("x", "x"), "--version", "1.1",
               "--force").returncode == 1 and "other files" in project.said, project.said)

    staged = project.json("publish", project.build("three", "three"), "--version", "1.2", "--stage-only")
    report.see("staged, nobody follows yet", staged["result"] == "staged" and manifest.read_bytes() == before)
    deploy = {name: "" for name in project.env if "PRIVATE" in name}
    report.see("the deploy announces it without any key", project.json("promote", **deploy)["version"] == "1.2"
               and project.faults() == [])

    rivals(report, project, site, manifest)
    stopped(report, project, site, manifest)
    killed(report, project, manifest)
    damaged(report, project, channel)
    left = [p.name for p in (project.folder).iterdir() if p.name.startswith("nacre-ota-")]
    report.see("only killed publishers left work folders behind", len(left) <= 1 + KILLS, f"{len(left)} left")


def opened_by_openssl(report, project, channel):
    """UP-5: the bundle by plain openssl commands, as the source system's format says."""
    manifest = json.loads((channel / "manifest.json").read_text())
    work = project.folder / "opened"
    work.mkdir()

    def shell(command):
        done = subprocess.run(["bash", "-euc", command], cwd=work, capture_output=True, text=True,
                              env=project.env | {"KEY": manifest["sessionKey"], "SUM": manifest["checksum"],
                                                 "BUNDLE": str(channel / "bundles" / "1.0.zip")})
        return done.stdout.strip() if done.returncode == 0 else done.stderr.strip()

    said = shell(
        'base64 -d <<< "$MOBILE_OTA_SIGNING_PUBLIC_KEY_B64" | openssl rsa -RSAPublicKey_in -pubout -out key.pem 2>/dev/null;'
        'recover() { openssl pkeyutl -verifyrecover -pubin -inkey key.pem -pkeyopt rsa_padding_mode:pkcs1 | xxd -p -c 99; };'
        'iv=$(cut -d: -f1 <<< "$KEY" | base64 -d | xxd -p); key=$(cut -d: -f2 <<< "$KEY" | base64 -d | recover);'
        'openssl enc -d -aes-128-cbc -K "$key" -iv "$iv" -in "$BUNDLE" -out plain.zip;'
        'test "$(sha256sum < plain.zip | cut -d" " -f1)" = "$(xxd -r -p <<< "$SUM" | recover)";'
        'python3 -m zipfile -e plain.zip web; cat web/index.html')
    report.see("UP-5: plain openssl commands open the bundle", said == "<!doctype html><title>one</title>", said)


def rivals(report, project, site, manifest):
    """Two publishers that are both done with everything but the manifest."""
    builds = [project.build(f"rival{n}", f"rival {n}") for n in range(2)]
    site.hold("/releases/")
    both = [project.start("publish", build, "--version", f"2.{n}", "--fast") for n, build in enumerate(builds)]
    if not (site.held() and site.held()):
        raise Failed("the publishers did not come to read back")
    site.release()
    done = [project.finish(process) for process in both]
    codes = sorted(result.returncode for result in done)
    loser = next((r for r in done if r.returncode), None)
    version = json.loads(manifest.read_text())["version"]
    report.see("two publishers at once: one wins, the other says so", codes == [0, 1] and "Another publisher" in loser.stderr
               and version in loser.stderr, loser.stderr.strip().splitlines()[-1])
    report.see("what the winner announced is whole", project.faults() == [])


def stopped(report, project, site, manifest):
    before = manifest.read_bytes()
    build = project.build("stopped", "stopped")
    site.hold("/bundles/3.0")
    process = project.start("publish", build, "--version", "3.0", "--fast")
    site.held()
    process.send_signal(signal.SIGINT)
    done = project.finish(process)
    site.release()
    report.see("Ctrl-C: stopped at once, nothing announced", done.returncode == 130 and manifest.read_bytes() == before,
               done.stderr.strip().splitlines()[-1])
    site.hold("/bundles/3.0")
    process = project.start("publish", build, "--version", "3.0", "--fast")
    site.held()
    process.kill()
    project.finish(process)
    site.release()
    report.see("kill -9 while it reads back: the channel keeps its release", manifest.read_bytes() == before
               and project.faults() == [])
    report.see("the same command goes on where it was", project.json("publish", build, "--version", "3.0", "--fast")["result"]
               == "announced" and project.faults() == [])


KILLS = 12


def killed(report, project, manifest):
    """kill -9 at moments that a seed chooses."""
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    announced = 0
    for number in range(KILLS):
        before = json.loads(manifest.read_text())["version"]
        version = f"4.{number}"
        build = project.build(f"killed{number}", f"killed {number}", files=20)
        process = project.start("publish", build, "--version", version, "--fast")
        time.sleep(chance.uniform(0.01, 0.9))
        process.kill()
        process.communicate()
        now = json.loads(manifest.read_text())["version"]
        announced += now == version
        if now not in (before, version) or project.faults():
            raise Failed(f"seed {seed}, kill {number}: the channel is at {now}: {project.said[-500:]}")
        if now == before and project.ota("publish", build, "--version", version, "--fast").returncode:
            raise Failed(f"seed {seed}, kill {number}: cannot go on: {project.said[-500:]}")
    report.see(f"{KILLS} kills at random moments: each time a whole release, and the next try goes through",
               project.faults() == [], f"seed {seed}, {announced} were announced before the kill")


def damaged(report, project, channel):
    """Verify finds one changed byte, wherever it is."""
    found = []
    manifest = json.loads((channel / "manifest.json").read_text())
    newest = {"objects": max((channel / "objects").rglob("*.zst"), key=lambda p: p.stat().st_mtime),
              "patches": max((channel / "patches").iterdir(), key=lambda p: p.stat().st_mtime),
              "bundles": channel / "bundles" / f"{manifest['version']}.zip", "manifest": channel / "manifest.json"}
    for kind, file in newest.items():
        bytes_ = bytearray(file.read_bytes())
        bytes_[len(bytes_) // 2] ^= 1
        file.write_bytes(bytes_)
        if project.faults():
            found.append(kind)
        bytes_[len(bytes_) // 2] ^= 1
        file.write_bytes(bytes_)
    report.see("verify finds a changed byte in an object, a patch, the bundle and the manifest", found == list(newest), found)
    report.see("and nothing once they are put right", project.faults() == [])


sys.exit(run("ota", story))
