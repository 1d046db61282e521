# Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
"""Session check with 10,000 sessions in the database against 100: `GET /api/v1.0/users/me/` with 100 cookies in turn."""
import contextlib
import json
import re
import sqlite3
import subprocess
import urllib.error

from figures import Line, interleaved, paired_ratio
from report import Failed, until
from servers import BINARIES, Servers, answers
from sessions import CONNECTIONS, PATH, SECONDS, cookie_of, submit, visitor

ROUNDS, ASKED = 9, 100


def serve(desktop, name):
    servers = Servers(desktop)
    servers.data = desktop.root / name
    servers.data.mkdir()
    path = servers.configuration()
    settings = json.loads(path.read_text()) | {"limits": {"departuresPerMinute": 100_000, "silentPerMinute": 100_000}}
    path.write_text(json.dumps(settings))
    process = desktop.spawn(name, [BINARIES / "nacre", "serve", "--config", path], env=servers.environment)
    if not until(lambda: answers(servers.origin + "/readyz"), 20):
        raise Failed("the server half did not become ready: " + process.log.read_text()[-2000:])
    return servers, process


def sign_in(servers, count):
    """The cookies of so many sessions: the first by form, the others by the provider's session."""
    opener, jar = visitor()
    cookies = []
    for _ in range(count):
        with contextlib.suppress(urllib.error.HTTPError):  # the way ends at the start page, and this gateway serves none
            answer = opener.open(servers.origin + "/api/v1.0/authenticate/")
            submit(opener, answer.read().decode(), answer.url)
        sent = cookie_of(jar, servers.origin + PATH)
        cookies.append(re.search(r"sessionid=([\w-]+)", sent).group(0))
        # Without it the next sign-in does not end this session.
        for cookie in [cookie for cookie in jar if cookie.name == "sessionid"]:
            jar.clear(cookie.domain, cookie.path, cookie.name)
    return cookies


def fill(servers, count):
    """Rows of the same size under other names, which nobody asks for."""
    database = sqlite3.connect(servers.data / "gateway.sqlite", timeout=30)
    columns = [row[1] for row in database.execute("PRAGMA table_info(sessions)")]
    made = {"row_id": "NULL", "id": "lower(hex(randomblob(16)))", "handle": "randomblob(32)", "browser": "NULL",
            "subject": "lower(hex(randomblob(16)))"}
    present = database.execute("SELECT COUNT(*) FROM sessions").fetchone()[0]
    with database:
        for _ in range(count - present):
            database.execute(f"INSERT INTO sessions ({', '.join(columns)}) SELECT "
                             f"{', '.join(made.get(name, name) for name in columns)} FROM sessions WHERE row_id = 1")
    seen = database.execute("SELECT COUNT(*) FROM sessions").fetchone()[0]
    database.close()
    if seen != count:
        raise Failed(f"there are {seen} sessions instead of {count}")


def microseconds(desktop, name, servers, cookies):
    """The time of one check: what 32 connections at once get through in some seconds."""
    script = desktop.root / f"{name}.lua"
    listed = ", ".join(f'"{cookie}"' for cookie in cookies)
    script.write_text(f'local cookies, turn = {{{listed}}}, 0\n'
                      'request = function()\n  turn = turn % #cookies + 1\n'
                      f'  return wrk.format("GET", "{PATH}", {{Cookie = cookies[turn]}})\nend\n')
    seen = subprocess.run(["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", "-s", script,
                           servers.origin.replace("localhost", "127.0.0.1")],
                          capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in seen:
        raise Failed(f"{name} refused requests: {seen}")
    return 1e6 / float(re.search(r"Requests/sec:\s*([\d.]+)", seen).group(1))


def measure(desktop, web):
    sides = []
    for name, count in (("many", 10_000), ("few", 100)):
        servers, process = serve(desktop, name)
        cookies = sign_in(servers, ASKED)
        fill(servers, count)
        sides.append((name, servers, cookies, process))
    many, few = interleaved(*[lambda side=side: microseconds(desktop, *side[:3]) for side in sides], ROUNDS)
    for *_, process in sides:
        desktop.stop(process)
    return [Line("session check with 10,000 sessions", "the same with 100 sessions", "µs", many, few,
                 paired_ratio(many, few), ("<=", 1.1))]
