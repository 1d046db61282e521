"""Two `nacre serve` processes on one PostgreSQL behind one nginx, and a client that signs in without a browser."""
import glob
import html
import http.client
import json
import os
import pathlib
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import urllib.parse

from desktop import free_port
from report import ROOT, Failed, until

BINARIES = pathlib.Path(os.environ.get("NACRE_BINARIES", ROOT / ".build" / "debug"))


class Postgres:
    """An instance of its own: other tests must not feel it stop."""

    def __init__(self):
        self.name = f"nodes-{os.getpid()}"

    def call(self, action):
        done = subprocess.run([ROOT / "scripts" / "postgres", action, self.name], capture_output=True, text=True)
        if done.returncode:
            raise Failed(f"scripts/postgres {action}: {done.stderr}")
        return done.stdout.strip()

    def start(self):
        self.url = self.call("start")

    def stop(self):
        self.call("stop")

    def remove(self):
        self.call("remove")


class Nodes:
    """Use as a context manager."""

    def __init__(self, report, environment=None):
        self.report = report
        self.environment = environment or {}
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="nacre-nodes-"))
        self.root.chmod(0o755)
        self.front, self.provider_front, self.upstream, *own = (free_port() for _ in range(7))
        self.ports, self.provider_ports = own[:2], own[2:]
        self.origin, self.issuer = f"http://localhost:{self.front}", f"http://localhost:{self.provider_front}"
        self.postgres = Postgres()
        self.processes = {}
        self.clock = self.root / "clock"
        self.clock.write_text("+0s\n")

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.__exit__()
            raise

    def start(self):
        self.postgres.start()
        private = self.root / "private"
        private.mkdir(mode=0o700)
        (private / "database").write_text(self.postgres.url + "\n")
        (private / "secret").write_text(secrets.token_urlsafe(32) + "\n")
        self.spawn("backend", [BINARIES / "nacre-demo", "backend", "--port", self.upstream,
                               "--data", private, "--gateway", self.origin])
        self.start_nginx()
        # Both at once, on an empty database.
        for index in (0, 1):
            self.start_node(index, wait=False)
        for index in (0, 1):
            self.wait_for(index)
        return self

    def __exit__(self, *_):
        for name in list(self.processes):
            self.end(name, signal.SIGTERM)
        self.postgres.remove()
        logs = ROOT / "build" / "logs" / "journeys" / "nodes"
        shutil.rmtree(logs, ignore_errors=True)
        logs.mkdir(parents=True)
        for log in self.root.glob("*.log"):
            shutil.copy(log, logs)
        shutil.rmtree(self.root, ignore_errors=True)

    def spawn(self, name, command, environment=None):
        with open(self.root / f"{name}.log", "ab") as log:
            self.processes[name] = subprocess.Popen(
                [str(part) for part in command], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                env={k: v for k, v in os.environ.items() if not k.startswith("NACRE_")} | (environment or {}),
                start_new_session=True)
        return self.processes[name]

    def end(self, name, how=signal.SIGKILL):
        process = self.processes.pop(name)
        if process.poll() is None:
            process.send_signal(how)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def log(self, name):
        return (self.root / f"{name}.log").read_text(errors="replace")

    # The nodes

    def settings(self, index, secret="secret"):
        private = self.root / "private"
        return {
            "name": "Messages", "origin": self.origin, "data": str(self.root / f"node{index + 1}"),
            "listen": {"host": "127.0.0.1", "port": self.ports[index]},
            "provider": {"issuer": self.issuer, "listen": {"host": "127.0.0.1", "port": self.provider_ports[index]}},
            "databaseFile": str(private / "database"), "secretFile": str(private / secret),
            "upstream": f"http://127.0.0.1:{self.upstream}", "trustedProxies": ["127.0.0.1"],
        }

    def start_node(self, index, wait=True, settings=None, name=None):
        name = name or f"node{index + 1}"
        file = self.root / f"{name}.json"
        file.write_text(json.dumps(settings or self.settings(index)))
        fake = next(iter(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")), "")
        clock = {"LD_PRELOAD": fake, "FAKETIME_TIMESTAMP_FILE": str(self.clock), "FAKETIME_NO_CACHE": "1",
                 "FAKETIME_DONT_FAKE_MONOTONIC": "1"} if fake else {}
        process = self.spawn(name, [BINARIES / "nacre", "serve", "--config", file],
                             {"NACRE_ENV": "development"} | self.environment | clock)
        if wait:
            self.wait_for(index)
        return process

    def ready(self, index):
        return Client(self).get("/readyz", node=index + 1).status

    def wait_for(self, index):
        def probe():
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.ports[index], timeout=2)
                connection.request("GET", "/readyz", headers={"Host": f"localhost:{self.front}"})
                return connection.getresponse().status == 200
            except OSError:
                return False
        if not until(probe, 30):
            raise Failed(f"node {index + 1} did not become ready: {self.log(f'node{index + 1}')[-1500:]}")

    def hours_later(self, hours):
        self.clock.write_text(f"+{hours}h\n")

    # nginx

    def start_nginx(self):
        nodes, providers = self.ports, self.provider_ports
        place = self.root / "nginx"
        place.mkdir(mode=0o755)
        temporary = "\n".join(f"  {kind}_temp_path {place}/{kind};"
                              for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))

        def group(name, ports):
            both = "".join(f" server 127.0.0.1:{port} max_fails=1 fail_timeout=1s;" for port in ports)
            one = "".join(f"\n  upstream {name}{i + 1} {{ server 127.0.0.1:{port}; }}" for i, port in enumerate(ports))
            return f"  upstream {name}s {{{both} keepalive 16; }}{one}"

        def site(port, name):
            return f"""
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://$node_of_{name};
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host localhost:{port};
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_connect_timeout 2s;
      proxy_next_upstream error timeout;
      add_header X-Node $upstream_addr always;
    }}
  }}"""
        file = place / "nginx.conf"
        # The field X-Node chooses a node; without it they take turns.
        file.write_text(f"""daemon off;
worker_processes 1;
pid {place}/pid;
error_log {place}/error.log;
events {{ worker_connections 512; }}
http {{
  access_log off;
{temporary}
  map $http_x_node $node_of_node {{ default nodes; 1 node1; 2 node2; }}
  map $http_x_node $node_of_provider {{ default providers; 1 provider1; 2 provider2; }}
{group("node", nodes)}
{group("provider", providers)}
{site(self.front, "node")}
{site(self.provider_front, "provider")}
}}
""")
        self.spawn("nginx", [shutil.which("nginx") or "/usr/sbin/nginx", "-c", file, "-e", place / "start.log"])

        def listens():
            with socket.socket() as s:
                return s.connect_ex(("127.0.0.1", self.front)) == 0
        if not until(listens, 10):
            raise Failed("nginx did not start: " + self.log("nginx"))


class Answer:
    def __init__(self, response, body, node):
        self.status, self.fields, self.body, self.node = response.status, response.headers, body, node

    @property
    def json(self):
        return json.loads(self.body)


class Client:
    """A browser's jar, or an app's: cookies, no redirects unless `follow` is asked."""

    def __init__(self, nodes):
        self.nodes, self.jar = nodes, {}

    def request(self, method, url, node=None, body=None, fields=None, timeout=40):
        parts = urllib.parse.urlsplit(urllib.parse.urljoin(self.nodes.origin, url))
        connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=timeout)
        headers = {"Host": parts.netloc, "Accept": "text/html" if body is None else "*/*"} | (fields or {})
        if node:
            headers["X-Node"] = str(node)
        if self.jar:
            headers["Cookie"] = "; ".join(f"{k}={v}" for k, v in self.jar.items())
        connection.request(method, parts.path + ("?" + parts.query if parts.query else ""), body, headers)
        response = connection.getresponse()
        content = response.read().decode(errors="replace")
        for cookie in response.headers.get_all("Set-Cookie") or []:
            name, value = cookie.split(";")[0].split("=", 1)
            if "Max-Age=0" in cookie:
                self.jar.pop(name, None)
            else:
                self.jar[name] = value
        served = (response.headers.get("X-Node") or "").split(":")[-1]
        served = [str(p) for p in self.nodes.ports + self.nodes.provider_ports].index(served) % 2 + 1 if served.isdigit() else 0
        connection.close()
        return Answer(response, content, served)

    def get(self, url, node=None, **options):
        return self.request("GET", url, node, **options)

    def post_json(self, url, value, node=None, fields=None):
        return self.request("POST", url, node, json.dumps(value), {"Content-Type": "application/json"} | (fields or {}))

    def sign_in_at_provider(self, location, node=None, user="alice", password="alice-password-1"):
        """From the authorization request to the callback's address; the form where there is one."""
        page = self.get(location, node)
        if page.status == 200:
            form = next(f for f in re.findall(r"<form.*?</form>", page.body, re.S) if 'name="password"' in f)
            values = {}
            for tag in re.findall(r"<input[^>]*>", form):
                name, value = re.search(r'name="([^"]*)"', tag), re.search(r'value="([^"]*)"', tag)
                if name and 'type="checkbox"' not in tag:
                    values[name[1]] = html.unescape(value[1]) if value else ""
            values |= {"username": user, "password": password}
            action = re.search(r'action="([^"]*)"', form)
            target = urllib.parse.urljoin(location, html.unescape(action[1]))
            # The form may be answered by the other node.
            page = self.request("POST", target, 3 - node if node else None, urllib.parse.urlencode(values),
                                {"Content-Type": "application/x-www-form-urlencoded", "Origin": self.nodes.issuer})
        if "Location" not in page.fields:
            raise Failed(f"the provider answered {page.status}: {page.body[:300]}")
        return page.fields["Location"]
