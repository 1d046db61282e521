"""The Debian package in a fresh system: installs, starts, signs somebody in, upgrades, restores a backup, refuses a
downgrade, and leaves nothing behind. Needs root, debootstrap and the Debian mirror of this machine; no systemd runs
inside, so the unit's command is started by hand, as its user, with its socket and its notifications."""
import html.parser
import http.cookiejar
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tarfile
import time
import urllib.error
import urllib.parse
import urllib.request

from desktop import free_port
from report import ROOT, Failed, run, until

FOLDER = ROOT / "build" / "install"
INSIDE = FOLDER / "root"
BASE = FOLDER / "base.tar"
DEPENDENCIES = ["adduser", "init-system-helpers", "ca-certificates", "libcurl4", "libpsl5", "libsodium23",
                "libsqlite3-0", "libssl3", "libpq5"]

# As docs/updates.md begins, but for the web server.
PUBLISH = """cd /root && {
    nacre ota keygen && nacre ota keygen --roots; } >ota.env 2>/dev/null && set -a && . ./ota.env && set +a &&
    export NACRE_OTA_BUCKET=/root/bucket MOBILE_OTA_CHANNEL=dev MOBILE_OTA_PUBLIC_BASE_URL=http://127.0.0.1:9 &&
    printf '{"app": {"id": "org.example.app", "name": "App", "version": "1.0.0"}, "updates": {"publicKey": "%s", "rootKeys": ["%s"]}}' \
        "$MOBILE_OTA_SIGNING_PUBLIC_KEY_B64" "$NACRE_OTA_ROOT_PUBLIC_KEY" >nacre.json &&
    nacre ota bucket && nacre ota keys make >keys.json && nacre ota keys put keys.json &&
    nacre ota publish dist --version 1.0.0 --no-read-back && nacre ota inspect"""


def mirror():
    """The first Debian mirror of this machine's apt."""
    for file in [pathlib.Path("/etc/apt/sources.list"), *pathlib.Path("/etc/apt/sources.list.d").glob("*")]:
        if not file.exists():
            continue
        found = re.search(r"^(?:URIs:|deb(?: \[[^]]*\])?)\s+(https?://\S*debian/?)\s", file.read_text(), re.M)
        if found:
            return found[1].rstrip("/")
    return "http://deb.debian.org/debian"


def base():
    """A minimal system as a tarball, kept for the next time."""
    if BASE.exists():
        return
    fresh = FOLDER / "bootstrap"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    subprocess.run(["debootstrap", "--variant=minbase", "bookworm", fresh, mirror()], check=True,
                   stdout=subprocess.DEVNULL)
    (fresh / "etc/apt/sources.list").write_text(f"deb {mirror()} bookworm main\n")
    (fresh / "usr/sbin/policy-rc.d").write_text("#!/bin/sh\nexit 101\n")
    (fresh / "usr/sbin/policy-rc.d").chmod(0o755)
    # Held in the cache, so that a repeat needs no network.
    (fresh / "etc/apt/apt.conf.d/99journey").write_text('APT::Keep-Downloaded-Packages "true";\n'
                                                      'Binary::apt::APT::Keep-Downloaded-Packages "true";\n')
    chroot(fresh, "apt-get", "-qq", "update")
    chroot(fresh, "apt-get", "-qq", "install", "--download-only", "-y", "--no-install-recommends", *DEPENDENCIES)
    subprocess.run(["tar", "-C", fresh, "-cf", BASE.with_suffix(".new"), "."], check=True)
    BASE.with_suffix(".new").rename(BASE)
    shutil.rmtree(fresh)


def command(root, *words, user=None):
    """A command inside `root` with /proc there; the process keeps its number through every step."""
    spec = [f"--userspec={user}"] if user else []
    script = 'mount -t proc proc "$0/proc" && exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 ' \
             'DEBIAN_FRONTEND=noninteractive chroot "$@"'
    return ["unshare", "--mount", "sh", "-c", script, str(root), *spec, str(root), *map(str, words)]


def chroot(root, *words, user=None, check=True, input=None):
    result = subprocess.run(command(root, *words, user=user), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, input=input)
    if check and result.returncode != 0:
        raise Failed(f"{' '.join(map(str, words))} failed: {result.stdout[-1500:]}")
    return result


class Unit:
    """What the installed unit says, carried out: socket, user, command, notifications."""

    def __init__(self, port):
        self.text = (INSIDE / "usr/lib/systemd/system/nacre.service").read_text()
        self.user, self.start_words = self.setting("User"), self.setting("ExecStart").split()
        self.listening = socket.socket()
        self.listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listening.bind(("127.0.0.1", port))
        self.listening.listen(64)
        self.process = None
        self.log = open(FOLDER / "server.log", "ab")

    def setting(self, name):
        return re.search(rf"^{name}=(.*)$", self.text, re.M)[1].strip()

    def start(self):
        path = INSIDE / "run/notify"
        path.unlink(missing_ok=True)
        self.news = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.news.bind(str(path))
        path.chmod(0o777)
        self.news.settimeout(20)
        words = ["sh", "-c", 'export LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=gateway NOTIFY_SOCKET=/run/notify; exec "$@"',
                 "unit", *self.start_words]
        handed = self.listening.fileno()

        words = ["sh", "-c", f'exec 3<&{handed}; exec "$@"', "socket",
                 *command(INSIDE, *words, user=f"{self.user}:{self.user}")]
        self.process = subprocess.Popen(words, pass_fds=[handed], stdout=self.log, stderr=self.log)
        return self.hear()

    def hear(self):
        try:
            return self.news.recv(4096).decode()
        except TimeoutError:
            raise Failed("the server said nothing to the service manager: "
                         + (FOLDER / "server.log").read_text()[-1500:])

    def stop(self):
        if self.process is None:
            return ""
        self.process.send_signal(signal.SIGTERM)
        said = self.hear()
        self.process.wait(30)
        self.process = None
        self.news.close()
        return said


class Forms(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.action, self.fields = None, {}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "form" and self.action is None:
            self.action = attributes.get("action")
        if tag == "input" and attributes.get("name"):
            self.fields[attributes["name"]] = attributes.get("value") or ""


class Browser:
    def __init__(self, origin):
        self.origin = origin
        self.jar = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.jar))

    def get(self, url, data=None):
        if url.startswith("/"):
            url = self.origin + url
        try:
            with self.opener.open(url, data, timeout=20) as answer:
                return answer.status, answer.read().decode(), answer.url
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(), url

    def sign_in(self, name, password):
        status, page, url = self.get("/api/v1.0/authenticate/?returnTo=/healthz")
        form = Forms(page)
        if status != 200 or not form.action:
            raise Failed(f"there is no sign-in page: {status} {page[:300]}")
        fields = form.fields
        for key in fields:
            if "user" in key or "login" in key:
                fields[key] = name
            if "pass" in key:
                fields[key] = password
        return self.get(urllib.parse.urljoin(url, form.action), urllib.parse.urlencode(fields).encode())


def packages(report):
    """The package of this tree, and the same program under a higher version."""
    version = re.search(r'static let version = "(.*)"',
                        (ROOT / "Sources/Server/Server/ServerConfiguration+Parts.swift").read_text())[1]
    higher = version.rsplit(".", 1)[0] + f".{int(version.rsplit('.', 1)[1]) + 1}"
    built = []
    binary = os.environ.get("NACRE_RELEASE_BINARY")
    for number in [version, higher]:
        words = [ROOT / "scripts/package-deb", "--version", number]
        if binary or built:
            words += ["--binary", binary or ROOT / ".build/deb/release/nacre"]
        result = subprocess.run(words, capture_output=True, text=True, env=os.environ | {"NACRE_DEB_LEVEL": "1"})
        if result.returncode != 0:
            raise Failed("scripts/package-deb failed: " + (result.stdout + result.stderr)[-2000:])
        built.append(ROOT / result.stdout.split()[-1])
    report.see("the package was built twice, as " + version + " and as " + higher, all(p.exists() for p in built),
               f"{built[0].stat().st_size // 1024 // 1024} MB")
    lint = subprocess.run(["lintian", "--fail-on", "error", "--tag-display-limit", "0", built[0]],
                          capture_output=True, text=True) if shutil.which("lintian") else None
    if lint:
        report.see("lintian finds no error", lint.returncode == 0, lint.stdout.strip()[-600:] or "nothing")
    return version, higher, built


def apt(package, *options, check=True):
    shutil.copy(package, INSIDE / "tmp")
    return chroot(INSIDE, "apt-get", "-qq", "install", "-y", "--no-install-recommends", *options,
                  f"/tmp/{package.name}", check=check)


def admin(*words, input=None, check=True):
    return chroot(INSIDE, "nacre", "admin", *words, "--json", input=input, check=check)


def story(report):
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        raise Failed("this journey needs root and the package debootstrap")
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "server.log").write_text("")
    version, higher, built = packages(report)
    base()
    shutil.rmtree(INSIDE, ignore_errors=True)
    INSIDE.mkdir()
    with tarfile.open(BASE) as tar:
        tar.extractall(INSIDE, filter="fully_trusted") if sys.version_info >= (3, 12) else tar.extractall(INSIDE)
    report.say("a fresh Debian 12 lies in build/install/root")

    said = apt(built[0]).stdout
    config = INSIDE / "etc/nacre/nacre.server.json"
    report.see("apt installs it with all it needs, and says what its configuration lacks",
               "\"origin\" is missing" in said and "not started" in said, said.strip().splitlines()[-1])
    report.see("its user is there, and owns the data folder alone",
               "nacre" in (INSIDE / "etc/passwd").read_text()
               and (INSIDE / "var/lib/nacre").stat().st_mode & 0o777 == 0o700
               and config.stat().st_mode & 0o777 == 0o640)
    linked = chroot(INSIDE, "ldd", "/usr/bin/nacre").stdout
    report.see("it needs no Swift", "swift" not in linked.lower() and "not found" not in linked,
               f"{len(linked.splitlines())} libraries")
    said = chroot(INSIDE, "nacre", "admin", "sessions", check=False)
    report.see("an admin task without a configuration says what is missing, with status 78",
               said.returncode == 78 and "origin" in said.stdout, said.stdout.strip())

    (INSIDE / "root/dist").mkdir()
    (INSIDE / "root/dist/index.html").write_text("<!doctype html><title>App</title>")
    said = chroot(INSIDE, "sh", "-c", PUBLISH, check=False)
    report.see("nacre ota makes keys, publishes with them and reads back what it has published",
               said.returncode == 0 and "1.0.0" in said.stdout, said.stdout.strip()[-300:])

    gateway, provider, metrics = free_port(), free_port(), free_port()
    settings = json.loads(config.read_text()) | {
        "origin": f"http://localhost:{gateway}", "listen": {"port": gateway},
        "provider": {"enabled": True, "issuer": f"http://localhost:{provider}", "listen": {"port": provider}},
        "metrics": {"listen": {"port": metrics}}}
    config.write_text(json.dumps(settings, indent=2))
    admin("migrate")
    admin("users", "add", "vera", "--email", "vera@example.org", "--given-name", "Vera", input="correct horse battery\n")
    unit = Unit(gateway)
    try:
        report.see("the unit's command starts as its user, takes its socket over and says that it is ready",
                   unit.start().startswith("READY=1"), f"{unit.user}: {' '.join(unit.start_words)}")
        owner = (INSIDE / "var/lib/nacre").stat().st_uid
        files = list((INSIDE / "var/lib/nacre").iterdir())
        report.see("what root made in the data folder belongs to the server",
                   files and all(f.stat().st_uid == owner for f in files), f"{len(files)} files")
        browser = Browser(f"http://localhost:{gateway}")
        status, page, url = browser.get("/api/v1.0/authenticate/?returnTo=/healthz")
        report.see("it serves a sign-in page", status == 200 and "password" in page, url.split("?")[0])
        status, page, url = browser.sign_in("vera", "correct horse battery")
        status, me, _ = browser.get("/api/v1.0/users/me/")
        report.see("a person added by nacre admin signs in", status == 200 and "vera@example.org" in me, me)
        status, text, _ = browser.get(f"http://127.0.0.1:{metrics}/metrics")
        report.see("metrics count it, away from the public origin",
                   'nacre_sessions_begun_total{way="web"} 1' in text and browser.get("/metrics")[0] == 404)
        cookie = next(c.value for c in browser.jar if c.name == "sessionid")
        backup = json.loads(admin("backup", "/root/backup.tar").stdout)
        report.see("a backup is made while it runs, for root alone",
                   (INSIDE / "root/backup.tar").stat().st_mode & 0o777 == 0o600, ", ".join(backup["files"]))

        report.see("it says that it stops", unit.stop().startswith("STOPPING=1"))
        said = apt(built[1]).stdout
        installed = chroot(INSIDE, "dpkg-query", "-W", "-f", "${Version}", "nacre").stdout
        report.see("apt upgrades it, and keeps the configuration",
                   installed == higher and json.loads(config.read_text()) == settings, installed)
        unit.start()
        status, me, _ = browser.get("/api/v1.0/users/me/")
        report.see("the session outlives the upgrade", status == 200 and "vera@example.org" in me)

        ended = json.loads(admin("sessions", "end", "--all").stdout)["ended"]
        status, _, _ = browser.get("/api/v1.0/users/me/")
        report.see("nacre admin ends sessions while the server runs", ended == 1 and status == 401, status)
        said = admin("restore", "/root/backup.tar", check=False)
        report.see("a restore refuses while the server runs", said.returncode == 1 and "running" in said.stdout,
                   said.stdout.strip())
        unit.stop()
        restored = json.loads(admin("restore", "/root/backup.tar").stdout)
        unit.start()
        # The answer that refused the session took its cookie away; the device of the backup's time still has it.
        device = Browser(f"http://localhost:{gateway}")
        device.opener.addheaders = [("Cookie", f"sessionid={cookie}")]
        status, me, _ = device.get("/api/v1.0/users/me/")
        report.see("a restore brings the session back and keeps what was there", status == 200
                   and "vera@example.org" in me and (INSIDE / restored["kept"].lstrip("/")).is_dir(), restored["kept"])
        status, _, _ = Browser(f"http://localhost:{gateway}").sign_in("vera", "correct horse battery")
        report.see("the restored server signs people in", status == 200)
        unit.stop()

        database = INSIDE / "var/lib/nacre/gateway.sqlite"
        with sqlite3.connect(database) as sql:
            known = sql.execute("SELECT MAX(version) FROM nacre_migration WHERE component = 'sessions'").fetchone()[0]
            sql.execute("INSERT INTO nacre_migration (component, version, checksum, applied_at) VALUES ('sessions', ?, 'x', 0)",
                        [known + 1])
        sql.close()
        before = database.read_bytes()
        said = apt(built[0], "--allow-downgrades", check=False)
        sentence = next((l for l in said.stdout.splitlines() if "newer program" in l), "")
        report.see("an older version refuses data of a newer one with a sentence, and leaves them alone",
                   said.returncode != 0 and sentence and database.read_bytes() == before, sentence.strip())
        said = chroot(INSIDE, *unit.start_words, user="nacre:nacre", check=False)
        report.see("it does not start on them either", said.returncode == 1 and "newer program" in said.stdout)
        with sqlite3.connect(database) as sql:
            sql.execute("DELETE FROM nacre_migration WHERE checksum = 'x'")
        sql.close()
        chroot(INSIDE, "dpkg", "--configure", "-a")

        chroot(INSIDE, "apt-get", "-qq", "purge", "-y", "nacre")
        left = [p for p in ["etc/nacre", "var/lib/nacre", "usr/bin/nacre"] if (INSIDE / p).exists()]
        report.see("a purge leaves neither files nor a user", not left
                   and "nacre" not in (INSIDE / "etc/passwd").read_text(), left or "nothing left")
    finally:
        if unit.process:
            unit.process.kill()
            unit.process.wait()
        unit.listening.close()
    shutil.rmtree(INSIDE, ignore_errors=True)


sys.exit(run("install", story))
