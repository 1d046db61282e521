"""Publishing into S3 stores of other people: SeaweedFS, which keeps conditional puts, and the JuiceFS gateway, which does not;
wrong keys, a wrong clock, cut connections, two publishers at once and a kill."""
import json
import pathlib
import shutil
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Peers"))
from desktop import free_port  # noqa: E402
from ota import Project  # noqa: E402
from report import run  # noqa: E402
from stores import CuttingProxy, JuiceFS, SeaweedFS  # noqa: E402


def story(report):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="nacre-stores-"))
    try:
        for kind in [SeaweedFS, JuiceFS]:
            store = kind(folder)
            try:
                store.start()
                report.say(f"{kind.__name__} listens")
                tell(report, store, folder)
            finally:
                store.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def get(url):
    """Status and headers, without any key."""
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            answer.read()
            return answer.status, answer.headers
    except urllib.error.HTTPError as error:
        return error.code, error.headers


def tell(report, store, folder):
    name = type(store).__name__
    endpoint = f"http://127.0.0.1:{store.port}"
    public = f"{endpoint}/updates/mobile"
    project = Project(folder / f"project-{name}", {
        "MOBILE_OTA_S3_ENDPOINT": endpoint, "MOBILE_OTA_S3_BUCKET": "updates", "MOBILE_OTA_S3_KEY_PREFIX": "mobile",
        "MOBILE_OTA_S3_ACCESS_KEY": store.access, "MOBILE_OTA_S3_SECRET_KEY": store.secret,
        "MOBILE_OTA_PUBLIC_BASE_URL": public})
    project.secrets.append(store.secret)

    def see(what, condition, saw=""):
        report.see(f"{name}: {what}", condition, saw)

    def version():
        return json.loads(urllib.request.urlopen(f"{public}/channels/prod/manifest.json", timeout=10).read())["version"]

    def refused(what, word, **changes):
        start = time.time()
        done = project.ota("inspect", **changes)
        see(what, done.returncode == 1 and word in done.stderr and time.time() - start < 60, done.stderr.strip())

    refused("a bucket that is not there", "nacre ota bucket")
    see("the bucket is made, and a second time nothing breaks", project.ota("bucket").returncode == 0
        and "readable by everybody: now" in project.said and project.ota("bucket").returncode == 0
        and "readable by everybody: already" in project.said, project.said)
    refused("a wrong secret", "MOBILE_OTA_S3_SECRET_KEY", MOBILE_OTA_S3_SECRET_KEY="wrong-secret-for-tests")
    refused("a wrong key", "MOBILE_OTA_S3_ACCESS_KEY", MOBILE_OTA_S3_ACCESS_KEY="WRONGKEY")
    refused("a store that does not listen", "cannot be reached", MOBILE_OTA_S3_ENDPOINT=f"http://127.0.0.1:{free_port()}")
    clock = shutil.which("faketime")
    if clock:
        library = next(pathlib.Path("/usr/lib").rglob("libfaketimeMT.so.1"))
        refused("a clock that is an hour off", "clock", LD_PRELOAD=str(library), FAKETIME="+3600s")

    see("a key set is put", project.keys().returncode == 0, project.said)
    one = project.build("one", "one")
    see("version 1.0 is announced", project.json("publish", one, "--version", "1.0")["result"] == "announced")
    second = project.json("publish", project.build("two", "two"), "--version", "1.1", "--builtin", one)
    see("version 1.1 brings a small patch", second["patches"][0]["bytes"] * 20 < second["archiveBytes"], second["patches"])
    see("devices follow by every way", project.faults("--builtin", one) == [], project.said[-300:])
    status, fields = get(f"{public}/channels/prod/manifest.json")
    see("UP-12: the manifest is never cached", status == 200 and fields["Cache-Control"] == "no-cache", fields["Cache-Control"])
    status, fields = get(f"{public}/channels/prod/bundles/1.1.zip")
    see("UP-12: a bundle is kept for ever", status == 200 and "immutable" in fields["Cache-Control"], fields["Cache-Control"])
    see("UP-12: nobody lists the bucket", get(f"{endpoint}/updates?list-type=2")[0] == 403)
    see("rolled back", project.json("rollback", "1.0")["sequence"] == 3 and version() == "1.0" and project.faults() == [])
    project.json("publish", project.build("three", "three"), "--version", "1.2", "--stage-only", "--fast")
    see("staged and promoted without keys", version() == "1.0" and project.json("promote", **{
        n: "" for n in project.env if "PRIVATE" in n})["version"] == "1.2" and project.faults() == [])

    # Every other connection is cut after two or three answers.
    proxy = CuttingProxy(store.port, lambda number: 100_000 if number % 2 else 1200)
    done = project.ota("publish", project.build("cut", "cut"), "--version", "1.3", "--fast",
                       MOBILE_OTA_S3_ENDPOINT=f"http://127.0.0.1:{proxy.port}",
                       MOBILE_OTA_PUBLIC_BASE_URL=f"http://127.0.0.1:{proxy.port}/updates/mobile")
    see("connections that are cut now and then are tried anew", done.returncode == 0 and proxy.cut > 0 and version() == "1.3",
        f"{proxy.cut} of {proxy.count} cut; {done.stderr.strip().splitlines()[-1]}")
    proxy.close()
    # The announced address was the proxy's.
    project.json("publish", project.build("four", "four"), "--version", "1.4", "--fast")
    proxy = CuttingProxy(store.port, lambda number: 10)
    start = time.time()
    done = project.ota("publish", project.build("dead", "dead"), "--version", "1.5", "--fast",
                       MOBILE_OTA_S3_ENDPOINT=f"http://127.0.0.1:{proxy.port}")
    see("a line that is cut each time ends with a reason, soon", done.returncode == 1 and time.time() - start < 60
        and version() == "1.4", f"{time.time() - start:.0f} s; {done.stderr.strip().splitlines()[-1]}")
    proxy.close()

    builds = [project.build(f"rival{n}", f"rival {n}") for n in range(2)]
    both = [project.start("publish", build, "--version", f"2.{n}", "--fast") for n, build in enumerate(builds)]
    done = [project.finish(process) for process in both]
    winners = [r for r in done if r.returncode == 0]
    losers = [r for r in done if r.returncode]
    see("two publishers at once: never both, and who loses says so",
        len(winners) <= 1 + (version() == "2.1") and all("nother publisher" in r.stderr or "past version" in r.stderr
                                                         for r in losers),
        "; ".join(r.stderr.strip().splitlines()[-1] for r in losers) or "one after the other")
    see("what stands is whole", project.faults() == [] and version() in ("1.4", "2.0", "2.1"), version())

    before = version()
    process = project.start("publish", project.build("killed", "killed", files=400), "--version", "3.0", "--fast")
    time.sleep(1.2)
    process.kill()
    project.finish(process)
    see("kill -9 on the way: the channel keeps its release", version() == before and project.faults() == [], before)
    again = project.ota("publish", project.folder / "killed", "--version", "3.0", "--fast")
    if store.keeps_conditions:
        see("the same command goes on where it was", again.returncode == 0 and version() == "3.0" and project.faults() == [],
            again.stderr.strip().splitlines()[-1])
    else:
        see("the next publisher goes on, or says who is in its way and for how long",
            again.returncode == 0 or "ten minutes" in again.stderr, again.stderr.strip().splitlines()[-1])


sys.exit(run("peer-ota-stores", story))
