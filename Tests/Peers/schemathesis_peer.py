"""The gateway against its own OpenAPI document: schemathesis makes requests up, within the document and beyond it."""
import http.cookiejar
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request

from desktop import free_port
from report import ROOT, Failed, run, until

BINARIES = pathlib.Path(os.environ.get("NACRE_BINARIES", ROOT / ".build" / "debug"))
TOOL, SECONDS = sys.argv[1], sys.argv[2]


def session(origin):
    """Signs Alice in as a browser does; answers the session's cookie."""
    jar = http.cookiejar.CookieJar()
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    with opener.open(f"{origin}/api/v1.0/authenticate/?returnTo=/healthz", timeout=20) as answer:
        page, url = answer.read().decode(), answer.url
    attempt = re.search(r'name="attempt" value="([^"]*)"', page)[1]
    action = re.search(r'<form method="post" action="([^"]*)"', page)[1]
    form = {"attempt": attempt, "username": "alice", "password": "alice-password-1"}
    opener.open(urllib.parse.urljoin(url, action), urllib.parse.urlencode(form).encode(), timeout=20).read()
    return next(cookie.value for cookie in jar if cookie.name == "sessionid")


def check(report, what, origin, *options, handle=None, folder=None):
    config = ROOT / "Tests/Peers/schemathesis.toml"
    if handle:
        config = folder / "schemathesis.toml"
        config.write_text((ROOT / "Tests/Peers/schemathesis.toml").read_text()
                          + f'\n[auth.openapi.session]\napi_key = "{handle}"\n')
    words = [TOOL, "--config-file", config, "run", f"{origin}/api/v1.0/openapi.json",
             "--checks", "all", "--continue-on-failure", "--max-redirects", "0", "--max-time", SECONDS,
             "--warnings", "off", "--no-color", *options]
    result = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    logs = ROOT / "build/logs"
    logs.mkdir(parents=True, exist_ok=True)
    (logs / f"schemathesis-{len(options)}.log").write_text(result.stdout)
    cases = re.search(r"(\d+) generated.*", result.stdout)
    if result.returncode != 0:
        print(result.stdout[-6000:])
    report.see(what, result.returncode == 0 and cases, cases and cases[0])


def story(report):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="nacre-schemathesis-"))
    gateway, provider = free_port(), free_port()
    origin = f"http://localhost:{gateway}"
    config = folder / "nacre.server.json"
    config.write_text(json.dumps({
        "origin": origin, "listen": {"port": gateway}, "data": str(folder / "data"),
        "provider": {"listen": {"port": provider}, "issuer": f"http://localhost:{provider}"},
        "tokens": {"presentations": ["pair", "bearer"], "fromCookie": True},
        "limits": {"departuresPerMinute": 100000, "tokensPerMinute": 100000},
        "mobile": {"exchangesPerMinute": 100000}}))
    log = open(folder / "log", "wb")
    server = subprocess.Popen([BINARIES / "nacre", "serve", "--config", config], stdout=log, stderr=log,
                              env=os.environ | {"NACRE_ENV": "development"})
    try:
        def ready():
            with urllib.request.urlopen(origin + "/readyz", timeout=2) as answer:
                return answer.status == 200
        if not until(ready, 20):
            raise Failed("the server did not start: " + (folder / "log").read_text()[-1000:])
        handle = session(origin)
        check(report, "with a session, what asks for one answers as the document says", origin,
              "--include-path-regex", "csrf|users/me|sessions/$|sessions/tokens|end-others",
              "-H", f"Origin: {origin}", handle=handle, folder=folder)
        check(report, "without a session, every address answers as the document says", origin)
        faults = [line for line in (folder / "log").read_text().splitlines() if '"request.failed"' in line]
        report.see("no request found a fault in the server", not faults, faults[:1] or "")
    finally:
        server.terminate()
        server.wait(20)
        shutil.rmtree(folder, ignore_errors=True)


sys.exit(run("schemathesis", story))
