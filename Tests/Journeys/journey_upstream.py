"""Upstream: a real Django application behind the gateway. Its page, a form under its own CSRF check, WebSocket, event
stream, 1 GB both ways, identities that it verifies itself, smuggling through nginx, and the end of a session."""
import contextlib
import hashlib
import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "Tests" / "Bench"))
import websocket  # noqa: E402
from desktop import Desktop, free_port  # noqa: E402
from report import Failed, run, until  # noqa: E402
from servers import Servers, answers  # noqa: E402
from sessions import cookie_of, submit, visitor  # noqa: E402
from venvs import venv  # noqa: E402
from web import nginx  # noqa: E402

GIGABYTE = 1 << 30
PIECE = hashlib.sha256(b"piece").digest() * 8192


def snippet(language):
    """The verifier as docs/server.md shows it: what stands there is what runs here."""
    text = (ROOT / "docs" / "server.md").read_text()
    return re.search(rf"```{language}\n(.*?)```", text, re.S).group(1)


def start_django(desktop, port, origin):
    folder = desktop.root / "django"
    folder.mkdir()
    (folder / "nacre_identity.py").write_text(snippet("python"))
    environment = {"NACRE_GATEWAY": origin, "NACRE_AUDIENCE": f"http://127.0.0.1:{port}", "UPSTREAM_FOLDER": str(folder),
                   "UPSTREAM_PORT": str(port), "PYTHONPATH": f"{folder}:{ROOT / 'Tests' / 'Peers'}"}
    process = desktop.spawn("django", [
        venv("upstream", "upstream-requirements.txt") / "bin" / "uvicorn", "upstream_site:application", "--host", "127.0.0.1", "--port", port, "--log-level", "warning",
        "--no-access-log"], env=environment, cwd=folder)
    if not until(lambda: answers(f"http://127.0.0.1:{port}/api/public/ready"), 30):
        raise Failed("Django did not become ready: " + process.log.read_text()[-2000:])
    return process


def ruby(report, desktop, gateway, audience, token, email):
    """What the snippet for Rails takes and refuses; its last method needs Rails itself and only says what it does then."""
    program = shutil.which("ruby")
    if not program or subprocess.run([program, "-e", "require 'jwt'"], capture_output=True).returncode:
        return report.skip("the snippet for Rails", "there is no ruby with ruby-jwt; `scripts/setup --peers` installs them")
    verifier = desktop.root / "nacre_identity.rb"
    verifier.write_text(snippet("ruby"))
    script = f"""
      require {str(verifier)!r}
      puts NacreIdentity.verify({token!r})["email"]
      [{token[:-8] + "AAAAAAAA"!r}, "a.b.c", ""].each do |wrong|
        begin
          NacreIdentity.verify(wrong)
          puts "taken"
        rescue JWT::DecodeError
          puts "refused"
        end
      end"""
    said = subprocess.run([program, "-e", script], env=os.environ | {"NACRE_GATEWAY": gateway, "NACRE_AUDIENCE": audience},
                          capture_output=True, text=True)
    report.see("the snippet for Rails verifies and refuses too", said.stdout.split() == [email] + ["refused"] * 3,
               said.stdout + said.stderr)
    said = subprocess.run([program, "-e", script], env=os.environ | {"NACRE_GATEWAY": gateway, "NACRE_AUDIENCE": "http://another"},
                          capture_output=True, text=True)
    report.see("and takes no token that is for another backend", "InvalidAudError" in said.stderr, said.stderr[-300:])


def start_nginx(desktop, port, gateway):
    folder = desktop.root / "nginx"
    folder.mkdir()
    (folder / "nginx.conf").write_text(f"""daemon off;
pid {folder}/nginx.pid;
{"user root;" if os.geteuid() == 0 else ""}
events {{ }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  upstream gateway {{ server 127.0.0.1:{gateway}; keepalive 8; }}
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://gateway;
      proxy_http_version 1.1;
      proxy_request_buffering off;
      proxy_set_header Connection "";
      proxy_set_header Host localhost:{gateway};
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    }}
  }}
}}
""")
    desktop.spawn("nginx", [nginx(), "-p", folder, "-c", folder / "nginx.conf", "-e", "stderr"])
    if not until(lambda: answers(f"http://127.0.0.1:{port}/healthz"), 10):
        raise Failed("nginx did not start")


class Person:
    """A browser's requests by hand: cookies, and fields as asked for."""

    def __init__(self, origin):
        self.origin = origin
        self.opener, self.jar = visitor()

    def sign_in(self):
        answer = self.opener.open(self.origin + "/api/v1.0/authenticate/")
        with contextlib.suppress(urllib.error.HTTPError):  # the way ends at the start page, and this gateway serves none
            submit(self.opener, answer.read().decode(), answer.url)

    @property
    def cookie(self):
        return cookie_of(self.jar, self.origin + "/api/")

    def send(self, path, body=None, fields={}, method=None):
        request = urllib.request.Request(self.origin + path, body, fields, method=method)
        try:
            with self.opener.open(request, timeout=30) as answer:
                return answer.status, answer.read().decode(), answer
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(), error

    def value(self, name):
        return next((c.value for c in self.jar if c.name == name), None)


def memory(pid):
    """The most memory the process has held since `forget_peak`, in MB."""
    return int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1)) / 1024


def forget_peak(pid):
    pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5")


def download(person, port):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", f"/api/download?bytes={GIGABYTE}", headers={"Cookie": person.cookie, "Host": f"localhost:{port}"})
    answer = connection.getresponse()
    digest, size = hashlib.sha256(), 0
    while piece := answer.read(1 << 20):
        digest.update(piece)
        size += len(piece)
    return answer.status, size, digest.hexdigest()


def upload(person, port, origin):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.putrequest("PUT", "/api/upload", skip_host=True)
    for name, value in {"Host": f"localhost:{port}", "Cookie": person.cookie, "Origin": origin,
                        "Content-Type": "application/octet-stream", "Content-Length": str(GIGABYTE)}.items():
        connection.putheader(name, value)
    connection.endheaders()
    for _ in range(GIGABYTE // len(PIECE)):
        connection.send(PIECE)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def open_socket(person, origin, page):
    return websocket.create_connection(
        origin.replace("http", "ws", 1) + "/api/echo", cookie=person.cookie, origin=page, timeout=15)


def refused(person, origin, page):
    try:
        open_socket(person, origin, page).close()
        return None
    except websocket.WebSocketBadStatusException as error:
        return error.status_code


def raw(port, text):
    with socket.create_connection(("127.0.0.1", port), timeout=5) as s:
        s.sendall(text.encode())
        s.settimeout(3)
        seen = b""
        with contextlib.suppress(OSError):
            while part := s.recv(65536):
                seen += part
        return seen.decode(errors="replace")


HIDDEN = "GET /api/public/hidden HTTP/1.1\r\nHost: localhost\r\n\r\n"
PAIRS = [
    "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + HIDDEN,
    f"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n{len(HIDDEN):x}\r\n{HIDDEN}\r\n0\r\n\r\n",
    "Transfer-Encoding: xchunked\r\nContent-Length: 4\r\n\r\n" + HIDDEN,
    "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + HIDDEN,
    "Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n" + HIDDEN,
    f"Content-Length: 0\r\nContent-Length: {len(HIDDEN)}\r\n\r\n" + HIDDEN,
    "X: a\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + HIDDEN,
]


def events_of(person, port, count):
    """When each event came, in seconds after the request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", f"/api/events?count={count}", headers={"Cookie": person.cookie, "Host": f"localhost:{port}"})
    answer = connection.getresponse()
    start, times = time.time(), []
    while line := answer.readline():
        if line.startswith(b"data:"):
            times.append(time.time() - start)
    return times


def journey(report):
    with Desktop(report, keyring=False) as desktop:
        servers = Servers(desktop)
        settings = json.loads(servers.configuration().read_text())
        origin, port, django = servers.origin, servers.gateway_port, servers.backend_port
        settings["upstream"] = {"origin": f"http://127.0.0.1:{django}", "anonymous": ["/api/public/"], "csrf": "django",
                                "maximumLive": 8}
        settings["trustedProxies"] = ["127.0.0.1"]
        servers.configuration = lambda: (desktop.root / "nacre.server.json")
        servers.configuration().write_text(json.dumps(settings))
        servers.start_gateway()
        gateway = servers.gateway.pid
        site = start_django(desktop, django, origin)
        report.say(f"gateway at {origin}, Django behind it")
        person = Person(origin)
        report.see("without a session Django is not asked", person.send("/api/page")[0] == 401)
        person.sign_in()

        status, page, _ = person.send("/api/page")
        who = re.search(r"id=who>([^<]*)", page)
        report.see("Django's page names the person it verified by the snippet", status == 200 and who and "@" in who.group(1), who and who.group(1))
        email = who.group(1)
        forged = urllib.request.Request(f"http://127.0.0.1:{django}/api/page", headers={"X-Nacre-Identity": "a.b.c"})
        try:
            code = urllib.request.urlopen(forged).status
        except urllib.error.HTTPError as error:
            code = error.code
        report.see("the snippet refuses a forged identity", code == 401, code)
        node = shutil.which("node")
        if node:
            verifier = desktop.root / "identity.mjs"
            verifier.write_text(snippet("js"))
            token = json.loads(person.send("/api/fields")[1])["fields"]["HTTP_X_NACRE_IDENTITY"]
            said = subprocess.run(
                [node, "--input-type=module", "-e", f"import {{ verify }} from '{verifier}'\n"
                 f"console.log((await verify('{token}')).email)\nawait verify('{token[:-8]}AAAAAAAA').catch(e => console.log(e.message))"],
                env=os.environ | {"NACRE_GATEWAY": origin, "NACRE_AUDIENCE": f"http://127.0.0.1:{django}"}, capture_output=True, text=True)
            report.see("the snippet for Node verifies and refuses too", said.stdout.split() == [email, "identity.invalid"], said.stdout + said.stderr)
        else:
            report.skip("the snippet for Node", "there is no node; `scripts/setup --peers` installs it")
        ruby(report, desktop, origin, f"http://127.0.0.1:{django}", json.loads(person.send("/api/fields")[1])["fields"]["HTTP_X_NACRE_IDENTITY"], email)

        spoofed = {"X-Nacre-User": "mallory", "X_Nacre_User": "mallory", "X-Remote-User": "mallory", "X.Nacre.Email": "mallory",
                   "X-Forwarded-Host": "mallory", "Forwarded": "for=mallory", "X_Forwarded_For": "mallory", "Connection": "close, X-Nacre-Identity"}
        seen = json.loads(person.send("/api/fields", fields=spoofed)[1])
        report.see("spoofed identity and forwarding fields do not arrive", "mallory" not in json.dumps(seen) and seen["uid"] is not None)
        report.see("our session cookie does not arrive", "sessionid" not in seen["cookies"], sorted(seen["cookies"]))
        mine = person.value("sessionid")
        person.send("/api/cookies")
        report.see("Django's cookies stay apart from ours", person.value("sessionid") == mine and person.value("theme") == "dark")
        answer = person.send("/api/away")[2]
        report.see("a redirect to Django's own address leads to ours", answer.url.startswith(origin + "/api/page?from=away"), answer.url)

        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page).group(1)
        form = lambda token: urllib.parse.urlencode({"csrfmiddlewaretoken": token, "text": "hello"}).encode()  # noqa: E731
        status, text, _ = person.send("/api/notes", form(token), {"Origin": origin})
        report.see("the form passes the gateway and Django's own CSRF check", status == 200 and json.loads(text)["by"] == email, text)
        status, text, _ = person.send("/api/notes", form("x" * 64), {"Origin": origin})
        report.see("Django's own check still refuses a wrong form token", status == 403, status)
        status, text, _ = person.send("/api/notes", b"text=hello", {"X-CSRFToken": person.value("csrftoken") or ""})
        report.see("a script passes with the csrftoken cookie as X-CSRFToken", status == 200, text)
        status, text, _ = person.send("/api/notes", form(token), {"Origin": "https://evil.example"})
        report.see("a foreign page does not", status == 403 and "csrf.failed" in text, text)

        report.see("a WebSocket from a foreign page is refused", refused(person, origin, "https://evil.example") == 403)
        report.see("a WebSocket without a session is refused", refused(Person(origin), origin, origin) == 401)
        ws = open_socket(person, origin, origin)
        hello = json.loads(ws.recv())
        report.see("Django knows who opened the WebSocket", hello["email"] == email and "sessionid" not in hello["cookies"])
        ws.send("text")
        ws.send_binary(PIECE)
        report.see("text and 256 KiB of bytes come back", ws.recv() == "text" and ws.recv() == PIECE)
        flood = [open_socket(person, origin, origin) for _ in range(7)]
        report.see("more WebSockets than allowed are refused", refused(person, origin, origin) == 429)
        for one in flood:
            one.close()

        times = events_of(person, port, 5)
        report.see("events come one by one, not at the end", len(times) == 5 and times[-1] - times[0] > 0.5, [round(t, 2) for t in times])

        expected = hashlib.sha256()
        for _ in range(GIGABYTE // len(PIECE)):
            expected.update(PIECE)
        forget_peak(gateway)
        before, start = memory(gateway), time.time()
        status, size, digest = download(person, port)
        report.see("1 GB comes down whole", (status, size, digest) == (200, GIGABYTE, expected.hexdigest()), f"{time.time() - start:.1f} s")
        start = time.time()
        status, said = upload(person, port, origin)
        report.see("1 GB goes up whole", (status, said) == (200, {"sha256": expected.hexdigest(), "bytes": GIGABYTE}), f"{time.time() - start:.1f} s")
        grown = memory(gateway) - before
        report.see("the gateway's memory stays flat", grown < 40, f"{grown:.1f} MB above {before:.1f} MB at the peak")

        front = free_port()
        start_nginx(desktop, front, port)
        with urllib.request.urlopen(urllib.request.Request(
                f"http://127.0.0.1:{front}/api/public/address", headers={"X-Forwarded-For": "203.0.113.9, 198.51.100.7"})) as answer:
            address = json.load(answer)["address"]
        report.see("behind nginx Django hears the client's address, not an invented one", address == "198.51.100.7", address)
        for place in (front, port):
            for pair in PAIRS:
                raw(place, "POST /api/public/outer HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + pair)
        paths = json.loads(person.send("/api/public/seen")[1])["paths"]
        report.see("no smuggled request arrives, direct or through nginx", not any("hidden" in p for p in paths), len(paths))

        stream = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        stream.request("GET", "/api/events", headers={"Cookie": person.cookie, "Host": f"localhost:{port}"})
        answer = stream.getresponse()
        ended = []
        reader = threading.Thread(target=lambda: ended.append(answer.read()))
        reader.start()
        ws.send("still here")
        report.see("before the sign-out the WebSocket lives", ws.recv() == "still here")
        status = person.send("/api/v1.0/mobile/auth/logout/", b"", {"Origin": origin})[0]
        start = time.time()
        with contextlib.suppress(websocket.WebSocketException, OSError):
            while ws.recv():
                pass
        report.see("the end of the session closes the WebSocket", time.time() - start < 5, f"status {status}, {time.time() - start:.1f} s")
        reader.join(5)
        report.see("and the event stream, cleanly", not reader.is_alive() and ended and ended[0].endswith(b"\n\n"))
        report.see("Django is not asked any more", person.send("/api/page")[0] == 401)

        desktop.stop(site)
        status, text, _ = person.send("/api/public/x")
        report.see("with Django gone the gateway says so", status == 502 and "upstream.unreachable" in text, text)


sys.exit(run("upstream", journey))
