"""Backup and restore over PostgreSQL while a server runs: `pg_dump` by way of `nacre admin`, keys included, the password on
no command line."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.parse

from desktop import free_port
from report import ROOT, Failed, run, until
from servers import BINARIES, answers


def postgres(action):
    result = subprocess.run([ROOT / "scripts/postgres", action, "backup"], capture_output=True, text=True)
    if result.returncode != 0:
        raise Failed(f"scripts/postgres {action}: {result.stderr.strip()}")
    return result.stdout.strip()


def story(report):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="nacre-backup-"))
    try:
        postgres("start")
        tell(report, folder, postgres("url").splitlines()[-1])
    finally:
        subprocess.run([ROOT / "scripts/postgres", "remove", "backup"], capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)


def tell(report, folder, url):
    port = free_port()
    config = folder / "nacre.server.json"
    config.write_text(json.dumps({
        "origin": f"http://localhost:{port}", "listen": {"port": port}, "data": str(folder / "data"),
        "provider": {"listen": {"port": free_port()}, "issuer": "http://localhost:8902"}}))
    # The tools themselves, with their arguments written down.
    tools = folder / "tools"
    tools.mkdir()
    for name in ["pg_dump", "pg_restore"]:
        (tools / name).write_text(f'#!/bin/sh\necho "{name} $*" >> {folder}/arguments\nexec {shutil.which(name)} "$@"\n')
        (tools / name).chmod(0o755)
    environment = os.environ | {"NACRE_ENV": "development", "NACRE_DATABASE": url, "PATH": f"{tools}:{os.environ['PATH']}"}

    def admin(*words, input=None, environment=environment):
        return subprocess.run([BINARIES / "nacre", "admin", *words, "--json", "--config", config], input=input,
                              capture_output=True, text=True, env=environment)

    def names():
        return {a["username"] for a in json.loads(admin("users").stdout)["accounts"]}

    log = open(folder / "log", "wb")
    server = subprocess.Popen([BINARIES / "nacre", "serve", "--config", config], env=environment, stdout=log, stderr=log)
    try:
        if not until(lambda: answers(f"http://localhost:{port}/readyz"), 20):
            raise Failed("the server did not start: " + (folder / "log").read_text()[-1000:])
        admin("users", "add", "pia", "--email", "pia@example.org", input="long enough\n")
        archive = folder / "backup.tar"
        made = admin("backup", archive)
        report.see("a backup is made while the server runs", made.returncode == 0, made.stderr.strip() or "done")
        with tarfile.open(archive) as tar:
            inside = tar.getnames()
        report.see("it holds the dump and the keys, for one user alone", {"postgres.dump", "secret.key"} <= set(inside)
                   and archive.stat().st_mode & 0o777 == 0o600, ", ".join(inside))
        password = urllib.parse.urlsplit(url).password
        used = (folder / "arguments").read_text()
        report.see("the password is on no command line", "pg_dump" in used and password and password not in used)
        report.see("the tools connect with the server's own parameters, and never ask for a password",
                   "--no-password" in used and "keepalives_idle=" in used)
        admin("users", "remove", "pia")
        report.see("a person is removed", "pia" not in names())
        refused = admin("restore", archive)
        report.see("a restore refuses while a server runs here", refused.returncode == 1 and "running" in refused.stderr,
                   refused.stderr.strip())
    finally:
        server.terminate()
        server.wait(20)
    files = os.environ | {"NACRE_ENV": "development", "NACRE_DATA": str(folder / "files")}
    admin("migrate", environment=files)
    tables = folder / "files" / "gateway.sqlite"
    size = tables.stat().st_size
    other = admin("restore", archive, "--force", environment=files)
    report.see("a dump does not go beside SQLite files, which stay as they are", other.returncode == 1
               and "PostgreSQL" in other.stderr and "NACRE_DATABASE" in other.stderr and tables.stat().st_size == size,
               other.stderr.strip())
    admin("backup", folder / "files.tar", environment=files)
    other = admin("restore", folder / "files.tar", "--force")
    report.see("nor SQLite files beside a PostgreSQL database", other.returncode == 1 and "SQLite" in other.stderr
               and json.loads(admin("users").stdout)["accounts"], other.stderr.strip())
    restored = admin("restore", archive)
    report.see("the restore brings the person back", restored.returncode == 0 and "pia" in names(), restored.stderr.strip())
    kept = pathlib.Path(json.loads(restored.stdout)["kept"])
    report.see("what was there is kept", (kept / "postgres.dump").stat().st_size > 1000, kept.name)
    wrong = environment | {"NACRE_DATABASE": url.replace(f":{password}@", ":a-wrong-word@")}
    said = admin("backup", folder / "other.tar", environment=wrong)
    report.see("a wrong password is said and not repeated", said.returncode == 1 and "a-wrong-word" not in said.stderr
               and not (folder / "other.tar").exists(), said.stderr.strip()[:160])


sys.exit(run("backup", story))
