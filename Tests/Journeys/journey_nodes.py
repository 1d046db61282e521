"""Two gateways on one PostgreSQL behind nginx: a person signs in on one and goes on with the other; one is killed; the
database goes away and comes back (HO-4, HO-6, HO-7, HO-13)."""
import base64
import hashlib
import html
import re
import secrets
import sys
import threading
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

from nodes import Client, Nodes
from report import run, until

ME = "/api/v1.0/users/me/"
EXCHANGE = "/api/v1.0/mobile/auth/exchange/"


def app_sign_in(nodes, begin, end, exchange):
    """Begins on one node, comes back on another, exchanges on a third choice. The app's client, its CSRF token, the token."""
    verifier = secrets.token_urlsafe(32)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    browser = Client(nodes)
    departure = browser.get(f"/api/v1.0/authenticate/?mobile_scheme=stmessages&code_challenge={challenge}", begin)
    callback = browser.sign_in_at_provider(departure.fields["Location"], begin)
    page = browser.get(callback, end)
    link = html.unescape(re.search(r'class="button" href="([^"]*)"', page.body)[1])
    token = urllib.parse.parse_qs(urllib.parse.urlsplit(link).query)["token"][0]
    app = Client(nodes)
    answer = app.post_json(EXCHANGE, {"token": token, "code_verifier": verifier}, exchange)
    return app, answer, (token, verifier), browser


def web_sign_in(nodes, begin, end, browser=None):
    browser = browser or Client(nodes)
    departure = browser.get("/api/v1.0/authenticate/?returnTo=/", begin)
    browser.get(browser.sign_in_at_provider(departure.fields["Location"], begin), end)
    return browser


def journey(report):
    with Nodes(report) as nodes:
        report.see("two nodes start at once on an empty database", True)
        keys = [Client(nodes).get("/.well-known/jwks.json", n).json for n in (1, 2)]
        report.see("both publish the same identity keys", keys[0] == keys[1] and keys[0]["keys"])
        keys = [{k["kid"] for k in Client(nodes).get(nodes.issuer + "/jwks", n).json["keys"]} for n in (1, 2)]
        report.see("and the same keys of the provider", keys[0] == keys[1] and keys[0], len(keys[0]))

        app, answer, (token, verifier), browser = app_sign_in(nodes, 1, 2, 1)
        report.see("begun on node 1, returned to node 2, exchanged on node 1", answer.status == 200, answer.status)
        csrf = answer.json["csrf_token"]
        statuses = [app.get(ME, n).status for n in (1, 2, 1, 2)]
        report.see("the session is valid on both", statuses == [200] * 4, statuses)
        again = [Client(nodes).post_json(EXCHANGE, {"token": token, "code_verifier": verifier}, n).status for n in (1, 2)]
        report.see("the token exchanges on neither again", again == [403, 403], again)
        lists = [app.get("/api/v1.0/threads/?mailbox=inbox&limit=1", n).status for n in (1, 2)]
        report.see("the backend believes both nodes' identities", lists == [200, 200], lists)
        fields = {"X-CSRFToken": csrf}
        threads = app.get("/api/v1.0/threads/?mailbox=inbox&limit=1", 1).json
        thread = (threads.get("results") or threads.get("threads"))[0]["id"]
        changed = app.post_json(f"/api/v1.0/threads/{thread}/flags/", {"starred": True}, 2, fields).status
        report.see("a change with node 1's CSRF token is taken by node 2", changed == 200, changed)

        with ThreadPoolExecutor(16) as pool:
            verifier = secrets.token_urlsafe(32)
            challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
            departure = browser.get(f"/api/v1.0/authenticate/?mobile_scheme=stmessages&code_challenge={challenge}", 2)
            page = browser.get(browser.sign_in_at_provider(departure.fields["Location"], 2), 1)
            token = re.search(r"token=([A-Za-z0-9_-]+)", page.body)[1]
            body = {"token": token, "code_verifier": verifier}
            won = list(pool.map(lambda i: Client(nodes).post_json(EXCHANGE, body, i % 2 + 1).status, range(16)))
        report.see("of 16 racing exchanges on both nodes one wins", won.count(200) == 1, sorted(won))

        web = web_sign_in(nodes, 2, 1)
        report.see("a web page signs in across the nodes", web.get(ME, 2).status == 200)
        kill(report, nodes, app)
        revoke(report, nodes, app, csrf)
        outage(report, nodes, web)
        refresh(report, nodes, web)
        stranger(report, nodes)


def kill(report, nodes, app):
    """Node 1 dies while requests run."""
    seen, stop = [], threading.Event()

    def ask():
        client = Client(nodes)
        client.jar = dict(app.jar)
        while not stop.is_set():
            try:
                answer = client.get(ME)
                seen.append((answer.status, answer.node))
            except OSError as error:
                seen.append((repr(error), 0))
    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    until(lambda: {node for _, node in seen} >= {1, 2}, 10)
    nodes.end("node1")
    mark = len(seen)
    time.sleep(1.5)
    stop.set()
    for thread in threads:
        thread.join()
    before, after = {n for _, n in seen[:mark]}, seen[mark + 8:]
    report.see("both served before", before >= {1, 2}, before)
    wrong = [s for s, _ in seen if s != 200]
    report.see(f"node 1 killed: {len(seen)} requests through nginx, every one answered 200", not wrong, wrong[:3])
    report.see("by node 2 alone", after and {n for _, n in after} == {2}, len(after))
    nodes.start_node(0)
    turn = until(lambda: {app.get(ME).node for _ in range(8)} == {1, 2}, 10)
    report.see("started again, node 1 takes its turns", turn)
    report.see("and knows the session", app.get(ME, 1).status == 200)


def revoke(report, nodes, app, csrf):
    ended = app.post_json("/api/v1.0/mobile/auth/logout/", {}, 1, {"X-CSRFToken": csrf})
    jar = dict(app.jar)
    report.see("signed out on node 1", ended.status == 204, ended.status)
    app, answer, _, _ = app_sign_in(nodes, 2, 1, 2)
    kept = dict(app.jar)
    app.post_json("/api/v1.0/mobile/auth/logout/", {}, 1, {"X-CSRFToken": answer.json["csrf_token"]})
    app.jar = kept
    status = app.get(ME, 2).status
    report.see("what node 1 ends is over on node 2 at once", status == 401, status)
    return jar


def outage(report, nodes, web):
    nodes.postgres.stop()
    began = time.time()
    statuses = [nodes.ready(index) for index in (0, 1)]
    report.see("PostgreSQL stopped: neither node says it is ready", statuses == [503, 503], statuses)
    answer = web.get(ME, 1, fields={"Accept": "application/json"})
    report.see("a request is told 503 and why", answer.status == 503 and answer.json["code"] == "storage_unavailable",
               f"{answer.status} {answer.body[:120]}")
    report.see("with a time to come back", answer.fields.get("Retry-After"))
    page = web.get("/api/v1.0/authenticate/", 2)
    report.see("a sign-in gets a page that says it", page.status == 503 and "cannot store" in page.body, page.status)
    took = [0.0]
    while time.time() - began < 8:
        start = time.time()
        web.get(ME)
        took.append(time.time() - start)
        time.sleep(0.3)
    report.see("answers stay quick", max(took) < 5, f"{max(took):.2f} s")
    nodes.postgres.start()
    back = until(lambda: nodes.ready(0) == nodes.ready(1) == 200, 15)
    report.see("PostgreSQL back: both are ready by themselves", back)
    statuses = [web.get(ME, n).status for n in (1, 2)]
    report.see("the session is still there", statuses == [200, 200], statuses)
    password = re.search(r"nacre:([0-9a-f]+)@", nodes.postgres.url)[1]
    report.see("no log holds the database's password", not any(password in nodes.log(f"node{n}") for n in (1, 2)))


def refresh(report, nodes, web):
    for round in (1, 2, 3):
        nodes.hours_later(13 * round)
        counts = sum(nodes.log(f"node{n}").count('"session.revalidated"') for n in (1, 2))
        with ThreadPoolExecutor(12) as pool:
            def ask(index):
                client = Client(nodes)
                client.jar = dict(web.jar)
                return client.get(ME, index % 2 + 1).status
            statuses = list(pool.map(ask, range(24)))
        asked = sum(nodes.log(f"node{n}").count('"session.revalidated"') for n in (1, 2)) - counts
        report.see(f"13 hours later ({round}): 24 requests at once on both nodes stay signed in",
                   statuses == [200] * 24, sorted(set(statuses)))
        report.see("and the provider was asked once", asked == 1, asked)


def stranger(report, nodes):
    (nodes.root / "private" / "other").write_text(secrets.token_urlsafe(32) + "\n")
    settings = nodes.settings(0, "other") | {"listen": {"port": 0}, "data": str(nodes.root / "other")}
    settings["provider"] = settings["provider"] | {"listen": {"host": "127.0.0.1", "port": 0}}
    process = nodes.start_node(0, wait=False, settings=settings, name="stranger")
    ended = until(lambda: process.poll() is not None, 15)
    report.see("a node with another secret is refused", ended and process.returncode != 0, process.returncode)
    report.see("and told what to do", "NACRE_SECRET_FILE" in nodes.log("stranger"))


sys.exit(run("nodes", journey))
