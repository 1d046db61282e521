# Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
"""Proxied GET: `nacre serve` and nginx in front of the same nginx. Throughput with and without kept connections, the time a
request takes at a gentle pace, and what an idle event stream costs."""
import asyncio
import contextlib
import json
import os
import pathlib
import re
import resource
import socket
import subprocess
import sys
import threading
import time
import urllib.error

from desktop import free_port
from figures import Line, interleaved, median, paired_ratio
from report import Failed, until
from servers import BINARIES, Servers, answers
from sessions import cookie_of, submit, visitor
from web import nginx

ROUNDS, SECONDS, CONNECTIONS, PACE, STREAMS = 7, 3, 32, 100, 2000
BODY = json.dumps({"id": 7, "text": "x" * 170})


class Front:
    """A server in front of the backend."""

    def __init__(self, name, port, process, cookie=None):
        self.name, self.port, self.process, self.cookie = name, port, process, cookie


def start_nginx(desktop, name, servers):
    folder = desktop.root / name
    folder.mkdir()
    (folder / "nginx.conf").write_text(f"""daemon off;
pid {folder}/nginx.pid;
{"user root;" if os.geteuid() == 0 else ""}
worker_processes 1;
worker_rlimit_nofile 16384;
events {{ worker_connections 8192; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  keepalive_requests 100000000;
  {servers}
}}
""")
    return desktop.spawn(name, [nginx(), "-p", folder, "-c", folder / "nginx.conf", "-e", "stderr"])


def backend(desktop):
    port = free_port()
    start_nginx(desktop, "backend", f"""
  server {{
    listen 127.0.0.1:{port};
    location / {{ default_type application/json; return 200 '{BODY}'; }}
  }}""")
    return port


def peer(desktop, upstream, kept):
    """nginx as one would set it up for this: one worker, HTTP/1.1 upstream, 64 kept connections or none."""
    port = free_port()
    process = start_nginx(desktop, f"peer-{'kept' if kept else 'new'}-{port}", f"""
  upstream backend {{ server 127.0.0.1:{upstream}; {"keepalive 64; keepalive_requests 100000000;" if kept else ""} }}
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://backend;
      proxy_http_version 1.1;
      proxy_set_header Connection "{'' if kept else 'close'}";
    }}
    location /api/open/events {{
      proxy_pass http://backend;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_read_timeout 600s;
    }}
  }}""")
    if not until(lambda: answers(f"http://127.0.0.1:{port}/api/open/x"), 10):
        raise Failed("nginx did not start: " + process.log.read_text()[-2000:])
    return Front("nginx", port, process)


def ours(desktop, upstream, kept):
    servers = Servers(desktop)
    servers.data = desktop.root / f"server-{'kept' if kept else 'new'}-{upstream}"
    settings = json.loads(servers.configuration().read_text())
    settings["data"] = str(servers.data)
    settings["upstream"] = {"origin": f"http://127.0.0.1:{upstream}", "anonymous": ["/api/open/"], "maximumLive": 8192,
                            "keepAlive": 64 if kept else 0}
    settings["limits"] = {"connectionsPerClient": 0}  # 2,000 streams come from one address
    path = desktop.root / f"nacre-{servers.gateway_port}.json"
    path.write_text(json.dumps(settings))
    process = desktop.spawn(f"gateway-{servers.gateway_port}", [BINARIES / "nacre", "serve", "--config", path],
                            env=servers.environment | {"NACRE_LOG_LEVEL": "error"})
    if not until(lambda: answers(servers.origin + "/readyz"), 20):
        raise Failed("the server half did not become ready: " + process.log.read_text()[-2000:])
    opener, jar = visitor()
    answer = opener.open(servers.origin + "/api/v1.0/authenticate/")
    with contextlib.suppress(urllib.error.HTTPError):
        submit(opener, answer.read().decode(), answer.url)
    return Front("nacre", servers.gateway_port, process, cookie_of(jar, servers.origin + "/api/own/x"))


def rate(front, path="/api/open/x", cookie=None, close=False):
    """Requests per second by wrk; an answer other than 200 ends the run."""
    fields = (["-H", f"Cookie: {cookie}"] if cookie else []) + (["-H", "Connection: close"] if close else [])
    seen = subprocess.run(["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", *fields, f"http://127.0.0.1:{front.port}{path}"],
                          capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in seen:
        raise Failed(f"{front.name} refused requests: {seen}")
    return float(re.search(r"Requests/sec:\s*([\d.]+)", seen).group(1))


def pace(front, seconds=3):
    """The median time of a request in ms when 100 are sent each second over one connection."""
    with socket.create_connection(("127.0.0.1", front.port)) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        request = f"GET /api/open/x HTTP/1.1\r\nHost: localhost:{front.port}\r\n\r\n".encode()
        times, due = [], time.perf_counter()
        for _ in range(PACE * seconds):
            due += 1 / PACE
            time.sleep(max(0, due - time.perf_counter()))
            start = time.perf_counter()
            s.sendall(request)
            answer = b""
            while BODY.encode()[-20:] not in answer:
                part = s.recv(65536)
                if not part:
                    raise Failed(f"{front.name} closed the connection")
                answer += part
            times.append((time.perf_counter() - start) * 1000)
    return median(times)


class Events:
    """An upstream that begins event streams and then says nothing."""

    def __init__(self):
        self.port, self.open = free_port(), 0
        self.loop = asyncio.new_event_loop()
        ready = threading.Event()

        async def serve():
            async def one(reader, writer):
                head = await reader.readuntil(b"\r\n\r\n")
                if b"/events" in head.split(b"\r\n")[0]:
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: hello\n\n")
                    self.open += 1
                    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                        await reader.read(1)
                    self.open -= 1
                else:
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                writer.close()
            server = await asyncio.start_server(one, "127.0.0.1", self.port, backlog=4096)
            ready.set()
            async with server:
                await server.serve_forever()
        threading.Thread(target=lambda: self.loop.run_until_complete(serve()), daemon=True).start()
        ready.wait(10)


def resident(process):
    """Of the process and its children (nginx's worker is one)."""
    pids = [process.pid, *map(int, subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split())]
    return sum(int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1)) for pid in pids)


def stream_cost(front, events):
    """KB of memory for each of many idle event streams."""
    before, clients = resident(front.process), []
    try:
        for number in range(STREAMS):
            s = socket.create_connection(("127.0.0.1", front.port), timeout=20)
            s.sendall(f"GET /api/open/events HTTP/1.1\r\nHost: localhost:{front.port}\r\n\r\n".encode())
            clients.append(s)
        for s in clients:
            seen = b""
            while b"data: hello" not in seen:
                part = s.recv(4096)
                if not part:
                    raise Failed(f"{front.name} ended a stream: {seen[:200]}")
                seen += part
        if events.open < STREAMS:
            raise Failed(f"only {events.open} streams are open")
        time.sleep(1)
        return (resident(front.process) - before) / STREAMS
    finally:
        for s in clients:
            s.close()
        until(lambda: events.open == 0, 20)


def measure(desktop, web):
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit[1], limit[1]))
    upstream = backend(desktop)
    mine, theirs = ours(desktop, upstream, True), peer(desktop, upstream, True)
    rates = interleaved(lambda: rate(mine), lambda: rate(theirs), ROUNDS)
    session = interleaved(lambda: rate(mine, "/api/own/x", mine.cookie), lambda: rate(theirs, "/api/own/x", mine.cookie), 3)
    paces = interleaved(lambda: pace(mine), lambda: pace(theirs), ROUNDS)
    added = median([a - b for a, b in zip(*paces)])
    for front in (mine, theirs):
        desktop.stop(front.process)
    mine, theirs = ours(desktop, upstream, False), peer(desktop, upstream, False)
    fresh = interleaved(lambda: rate(mine, close=True), lambda: rate(theirs, close=True), ROUNDS)
    for front in (mine, theirs):
        desktop.stop(front.process)
    costs = [[], []]
    for _ in range(3):
        events = Events()
        for side, make in ((0, ours), (1, peer)):
            front = make(desktop, events.port, True)
            costs[side].append(stream_cost(front, events))
            desktop.stop(front.process)
    name = "nginx, 1 worker, 64 kept upstream connections"
    return [
        Line("proxied GET, open path", name, "/s", *rates, paired_ratio(*rates), (">=", 0.35)),
        Line("proxied GET, with session check and identity", name + " (neither)", "/s", *session, paired_ratio(*session)),
        Line("proxied GET, p50 at 100/s; the ratio column is the difference in ms", name, "ms", *paces, added, ("<=", 1)),
        Line("proxied GET, no connection kept on either side", "nginx, 1 worker, the same", "/s", *fresh, paired_ratio(*fresh)),
        Line(f"memory of each of {STREAMS:,} idle event streams", "nginx, 1 worker", "KB", *costs, paired_ratio(*costs)),
    ]
