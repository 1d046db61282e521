# Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
"""Exchange: `POST /api/v1.0/mobile/auth/exchange/` with tokens of real hand-offs, each once. What bounds it is the disk: a
spent token and a new session must lie there before the answer, so the peer is the disk itself (an fsync of a small file)."""
import base64
import concurrent.futures
import hashlib
import http.client
import json
import os
import re
import time
import urllib.parse

import sessions
from figures import Line, median
from report import Failed, until
from servers import BINARIES, Servers, answers

ROUNDS, TOKENS, CLIENTS = 5, 120, 8
PATH = "/api/v1.0/mobile/auth/exchange/"


def challenge(verifier):
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def start(desktop):
    servers = Servers(desktop)
    path = servers.configuration()
    settings = json.loads(path.read_text())
    # The limit is for strangers; here one address stands for many people.
    settings |= {"mobile": {"exchangesPerMinute": 100_000}, "limits": {"departuresPerMinute": 100_000, "silentPerMinute": 100_000},
                 "sessions": {"perPerson": 10_000}}
    path.write_text(json.dumps(settings))
    process = desktop.spawn("gateway", [BINARIES / "nacre", "serve", "--config", path], env=servers.environment)
    if not until(lambda: answers(servers.origin + "/readyz"), 20):
        raise Failed("the server half did not become ready: " + process.log.read_text()[-2000:])
    return servers, process


def signed_in(origin):
    """A browser whose person has signed in at the provider: further hand-offs need no form."""
    opener, _ = sessions.visitor()
    answer = opener.open(f"{origin}/api/v1.0/authenticate/?mobile_scheme=stmessages&code_challenge={challenge('v' * 43)}")
    sessions.submit(opener, answer.read().decode(), answer.url)
    return opener


def tokens(origin, opener, verifier):
    place = f"{origin}/api/v1.0/authenticate/?mobile_scheme=stmessages&code_challenge={challenge(verifier)}"
    found = []
    for _ in range(TOKENS):
        link = re.search(r'href="stmessages://auth\?token=([^"&]+)', opener.open(place).read().decode())
        if not link:
            raise Failed("a hand-off page has no token")
        found.append(urllib.parse.unquote(link[1]))
    return found


def redeem(port, batch, verifier):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    for token in batch:
        connection.request("POST", PATH, json.dumps({"token": token, "code_verifier": verifier}),
                           {"Content-Type": "application/json", "Host": f"localhost:{port}"})
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise Failed(f"an exchange was answered {answer.status}")
    connection.close()


def exchanges(servers, opener):
    """Exchanges per second by as many connections at once as there are clients."""
    verifier = base64.urlsafe_b64encode(os.urandom(48)).decode()
    found = tokens(servers.origin, opener, verifier)
    begin = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        for done in [pool.submit(redeem, servers.gateway_port, found[i::CLIENTS], verifier) for i in range(CLIENTS)]:
            done.result()
    return TOKENS / (time.perf_counter() - begin)


def syncs(folder):
    """Appends of 4 KB to one file in the same folder, each followed by an fsync, per second."""
    with open(folder / "sync.probe", "wb") as file:
        begin = time.perf_counter()
        for _ in range(TOKENS):
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())
        return TOKENS / (time.perf_counter() - begin)


def measure(desktop, web):
    servers, process = start(desktop)
    opener = signed_in(servers.origin)
    exchanges(servers, opener), syncs(servers.data)
    ours, disk = [], []
    for _ in range(ROUNDS):
        ours.append(exchanges(servers, opener))
        disk.append(syncs(servers.data))
    desktop.stop(process)
    return [Line(f"exchange of one-time tokens, {CLIENTS} clients", "4 KB and an fsync on the same disk, one after the other", "/s",
                 ours, disk, median([one / two for one, two in zip(ours, disk)]))]
