"""The upstream of the bridge's traces; KitServer.swift is the same in process."""
import http.server
import json
import threading
import time


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if (self.headers.get("Transfer-Encoding") or "").lower() == "chunked":
            while size := int(self.rfile.readline().strip() or b"0", 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        path = self.path.split("?")[0]
        if path == "/echo":
            self.say(json.dumps({
                "method": self.command, "target": self.path, "type": self.headers.get("Content-Type") or "",
                "origin": self.headers.get("Origin") or "", "x": self.headers.get("X-Test") or "",
                "body": body.decode("utf-8", "replace")}), "application/json")
        elif path == "/form":
            boundary = self.headers["Content-Type"].split("boundary=")[1]
            parts = body.decode().split("--" + boundary)

            def field(part):
                return next(line for line in part.split("\r\n") if line.startswith("Content-Disposition: "))[21:]
            self.say(json.dumps({"disposition": field(parts[1]), "file": field(parts[2]),
                                 "content": parts[2].split("\r\n\r\n")[1][:-2]}), "application/json")
        elif path == "/bytes":
            self.say(bytes([0, 255, 254, 128]), "application/octet-stream")
        elif path == "/text":
            self.say('{"a":1}', "text/plain")
        elif path == "/no-json":
            self.say("not json", "application/json")
        elif path in ("/redirect", "/redirect-307"):
            self.say("", None, 307 if path.endswith("307") else 302, [("Location", "/echo?to")])
        elif path == "/redirect-file":
            self.say("", None, 302, [("Location", "file:///etc/passwd")])
        elif path == "/circle":
            self.say("", None, 302, [("Location", "/circle")])
        elif path == "/cookies":
            self.say("ok", "text/plain", 200, [
                ("Set-Cookie", "seen=1; Path=/; Expires=Thu, 31 Dec 2099 23:59:59 GMT"),
                ("Set-Cookie", "hidden=2; Path=/; HttpOnly")])
        elif path == "/cookie":
            self.say(self.headers.get("Cookie") or "", "text/plain")
        elif path == "/api/v1.0/config/":
            self.say('{"ENVIRONMENT": "development"}', "application/json")
        elif path == "/slow":
            time.sleep(5)
            self.say("late", "text/plain")
        else:
            self.say("missing", "text/plain", 404)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = answer

    def say(self, body, kind, status=200, fields=()):
        body = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        if kind:
            self.send_header("Content-Type", kind)
        for name, value in fields:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:  # who asked has given up
            pass

    def log_message(self, *_):
        pass


class KitServer:
    def __init__(self, port):
        self.origin = f"http://localhost:{port}"
        self.visible = f"https://localhost:{port}"
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
