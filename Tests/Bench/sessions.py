# Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
"""Session check: `GET /api/v1.0/users/me/` with a real session, on `nacre serve` and on Django with database sessions."""
import contextlib
import html
import http.cookiejar
import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request

from desktop import free_port
from figures import Line, interleaved, paired_ratio
from report import ROOT, Failed, until
from servers import BINARIES, Servers, answers

ROUNDS, SECONDS, CONNECTIONS, WORKERS = 7, 4, 32, 2
PATH = "/api/v1.0/users/me/"


def visitor():
    """An HTTP client with cookies; a cookie marked Secure goes to loopback too, as in a browser."""
    jar = http.cookiejar.CookieJar(http.cookiejar.DefaultCookiePolicy(secure_protocols=("http", "https")))
    return urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar)), jar


def cookie_of(jar, url):
    request = urllib.request.Request(url)
    jar.add_cookie_header(request)
    return request.get_header("Cookie")


def submit(opener, page, address):
    """Fills in the form with a password field, as a person does, and sends it."""
    for form in re.findall(r"<form.*?</form>", page, re.S):
        if 'name="password"' not in form:
            continue
        fields = {}
        for tag in re.findall(r"<input[^>]*>", form):
            values = {key: html.unescape(value) for key, value in re.findall(r'([\w-]+)="([^"]*)"', tag)}
            if "name" in values:
                fields[values["name"]] = values.get("value", "on")
        fields |= {"username": "alice", "password": "alice-password-1"}
        action = re.search(r'<form[^>]*action="([^"]*)"', form)
        target = urllib.parse.urljoin(address, html.unescape(action.group(1)) if action else address)
        origin = "{0.scheme}://{0.netloc}".format(urllib.parse.urlsplit(target))
        return opener.open(urllib.request.Request(
            target, urllib.parse.urlencode(fields).encode(), {"Origin": origin, "Referer": address}))
    raise Failed(f"there is no form with a password on {address}")


def ours(desktop):
    servers = Servers(desktop)
    process = desktop.spawn("gateway", [BINARIES / "nacre", "serve", "--config", servers.configuration()],
                            env=servers.environment)
    if not until(lambda: answers(servers.origin + "/readyz"), 20):
        raise Failed("the server half did not become ready: " + process.log.read_text()[-2000:])
    opener, jar = visitor()
    answer = opener.open(servers.origin + "/api/v1.0/authenticate/")
    with contextlib.suppress(urllib.error.HTTPError):  # the way ends at the start page, and this gateway serves none
        submit(opener, answer.read().decode(), answer.url)
    return servers.origin + PATH, cookie_of(jar, servers.origin + PATH), process


def django(desktop):
    port = free_port()
    data = desktop.root / "django"
    data.mkdir()
    folder = ROOT / "Tests" / "Bench"
    environment = {"BENCH_DJANGO_DATA": str(data), "PYTHONPATH": str(folder)}
    subprocess.run([sys.executable, folder / "django_site.py"], env=os.environ | environment, check=True)
    process = desktop.spawn("django", [
        sys.executable, "-m", "gunicorn", "--workers", WORKERS, "--worker-class", "sync", "--bind", f"127.0.0.1:{port}",
        "--log-level", "warning", "django_site:application"], env=environment, cwd=data)
    origin = f"http://localhost:{port}"
    opener, jar = visitor()
    fields = urllib.parse.urlencode({"username": "alice", "password": "alice-password-1"}).encode()

    def sign_in():
        return opener.open(origin + "/sign-in/", fields, timeout=5).status == 200
    if not until(sign_in, 20):
        raise Failed("Django did not become ready: " + process.log.read_text()[-2000:])
    return origin + PATH, cookie_of(jar, origin + PATH), process


def answer_of(url, cookie):
    with urllib.request.urlopen(urllib.request.Request(url, headers={"Cookie": cookie})) as answer:
        return json.load(answer)


def rate(url, cookie):
    """Requests per second by wrk; an answer other than 200 ends the run."""
    seen = subprocess.run(
        ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", "-H", f"Cookie: {cookie}", url.replace("localhost", "127.0.0.1")],
        capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in seen:
        raise Failed(f"{url} refused requests: {seen}")
    return float(re.search(r"Requests/sec:\s*([\d.]+)", seen).group(1))


def measure(desktop, web):
    mine, theirs = ours(desktop), django(desktop)
    bodies = [answer_of(url, cookie) for url, cookie, _ in (mine, theirs)]
    if bodies[0].keys() != bodies[1].keys() or not all(body["email"] for body in bodies):
        raise Failed(f"the two answers differ in shape: {bodies}")
    first, second = interleaved(lambda: rate(*mine[:2]), lambda: rate(*theirs[:2]), ROUNDS)
    for _, _, process in (mine, theirs):
        desktop.stop(process)
    return [Line("session check, `GET /api/v1.0/users/me/`", f"Django, database sessions, {WORKERS} gunicorn sync workers", "/s",
                 first, second, paired_ratio(first, second), (">=", 10))]
