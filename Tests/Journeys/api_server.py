"""An API that behaves and misbehaves on request, and a static server for the same bundle in an ordinary browser."""
import functools
import gzip
import hashlib
import http.server
import json
import re
import socket
import threading
import time
import urllib.parse

import socket_echo


def content(size, seed=0):
    """Bytes that any place can compute: 64 KB of a generator, repeated and numbered."""
    block = bytes((i * 31 + seed * 7 + (i >> 8)) & 255 for i in range(65536))
    whole, rest = divmod(size, 65536)
    return b"".join(block[:-8] + n.to_bytes(8, "big") for n in range(whole)) + block[:rest]


def stream_content(size, start=0, seed=0):
    """The same, piece by piece from `start`, so that a gigabyte needs no memory."""
    block = bytes((i * 31 + seed * 7 + (i >> 8)) & 255 for i in range(65536))
    whole = size // 65536
    at = start
    while at < size:
        n = at // 65536
        piece = block[:-8] + n.to_bytes(8, "big") if n < whole else block[:size % 65536]
        yield piece[at % 65536:]
        at = (n + 1) * 65536


class Quiet(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def handle_error(self, *_):
        pass


class Api:
    """`requests` holds (method, path, headers) of everything that came; `aborted` the paths whose client left."""

    def __init__(self, folder=None):
        self.requests, self.aborted, self.uploads, self.beacons = [], [], {}, []
        self.tag = 1
        self.attempts = {}
        self.resumed = {}
        self.release = threading.Event()
        outer = self

        class Handler(Quiet):
            def route(self):
                url = urllib.parse.urlsplit(self.path)
                self.query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
                outer.requests.append((self.command, self.path, {k.lower(): v for k, v in self.headers.items()}))
                try:
                    name = re.sub(r"[^a-z0-9]", "_", url.path.strip("/").split("/")[0] or "root")
                    getattr(outer, "do_" + name, outer.do_missing)(self)
                except (BrokenPipeError, ConnectionResetError):
                    outer.aborted.append(self.path)
                    self.close_connection = True

            do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = route

            def do_OPTIONS(self):
                # Only an ordinary browser asks; the page channel answers the page's preflights by itself.
                outer.requests.append(("OPTIONS", self.path, {k.lower(): v for k, v in self.headers.items()}))
                outer.send(self, 204, {"Access-Control-Allow-Methods": "PUT, PATCH, DELETE, HEAD, OPTIONS",
                                       "Access-Control-Allow-Headers": "x-test, content-type, range",
                                       "Access-Control-Max-Age": "600"})

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.origin = f"http://localhost:{self.port}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        self.pages = None
        if folder:
            static = functools.partial(Static, directory=str(folder))
            self.pages = Server(("127.0.0.1", 0), static)
            self.page_origin = f"http://localhost:{self.pages.server_address[1]}"
            threading.Thread(target=self.pages.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        for server in (self.server, self.pages):
            if server:
                server.shutdown()
                server.server_close()

    def pause(self):
        """Nobody listens any more, and nobody hears what is on its way."""
        self.server.shutdown()
        self.server.server_close()

    def resume(self):
        self.server = Server(("127.0.0.1", self.port), self.server.RequestHandlerClass)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def seen(self, path, method=None):
        return [r for r in self.requests if r[1].split("?")[0] == path and method in (None, r[0])]

    # -- Answers

    def send(self, h, status, headers=(), body=b"", length=None):
        h.send_response(status)
        names = {}
        origin = h.headers.get("Origin")
        if origin:
            names |= {"Access-Control-Allow-Origin": origin, "Access-Control-Allow-Credentials": "true",
                      "Access-Control-Expose-Headers": "*, x-answer, content-length, etag, content-range", "Vary": "Origin"}
        for name, value in (names | dict(headers)).items():
            h.send_header(name, value)
        if status not in (204, 304):
            h.send_header("Content-Length", str(len(body) if length is None else length))
        if h.command == "HEAD" or not body:
            return h.end_headers()
        # In one piece: a browser that wants no body (205) takes the connection for another request at once, and must see
        # that there is more on it.
        h._headers_buffer.append(b"\r\n" + body)
        h.flush_headers()

    def body(self, h, sink=None):
        """The request's body: its digest and size; `sink` takes the pieces."""
        digest, size = hashlib.sha256(), 0

        def take(piece):
            nonlocal size
            digest.update(piece)
            size += len(piece)
            if sink:
                sink(piece)
        if "chunked" in h.headers.get("Transfer-Encoding", ""):
            while True:
                count = int(h.rfile.readline().split(b";")[0] or b"0", 16)
                if count == 0:
                    h.rfile.readline()
                    break
                left = count
                while left:
                    piece = h.rfile.read(min(left, 65536))
                    if not piece:
                        raise ConnectionResetError
                    take(piece)
                    left -= len(piece)
                h.rfile.readline()
        else:
            left = int(h.headers.get("Content-Length", 0))
            while left:
                piece = h.rfile.read(min(left, 1 << 16))
                if not piece:
                    raise ConnectionResetError
                take(piece)
                left -= len(piece)
        return digest.hexdigest(), size

    def do_missing(self, h):
        self.body(h)
        self.send(h, 404, {"Content-Type": "text/plain"}, b"nothing here")

    def do_echo(self, h):
        parts = []
        kind = h.headers.get("Content-Type", "")
        digest, size = self.body(h, parts.append if kind.startswith("multipart/") else None)
        answer = {"method": h.command, "sha256": digest, "size": size, "type": kind.split(";")[0],
                  "test": h.headers.get("X-Test"), "cookie": h.headers.get("Cookie")}
        if parts:
            # The boundary differs; what stands between does not.
            boundary = kind.split("boundary=")[1].encode()
            sections = b"".join(parts).split(b"--" + boundary)[1:-1]
            answer |= {"sha256": hashlib.sha256(b"|".join(sections)).hexdigest(), "size": len(sections)}
        self.send(h, 200, {"Content-Type": "application/json", "X-Answer": "yes"}, json.dumps(answer).encode())

    def do_bytes(self, h):
        self.body(h)
        self.send(h, 200, {"Content-Type": "application/octet-stream"}, content(int(h.query.get("n", 0))))

    def do_status(self, h):
        self.body(h)
        code = int(h.query["code"])
        self.send(h, code, {"Content-Type": "text/plain"}, b"" if code in (204, 304) else str(code).encode())

    def do_redirect(self, h):
        self.body(h)
        left = int(h.query.get("left", 1))
        to = h.query.get("to", "/echo")
        if left > 1:
            to = f"/redirect?code={h.query['code']}&left={left - 1}&to={urllib.parse.quote(to, safe='')}"
        self.send(h, int(h.query["code"]), {"Location": to})

    def do_loop(self, h):
        self.body(h)
        self.send(h, 302, {"Location": f"/loop?{time.time()}"})

    def do_gzip(self, h):
        self.send(h, 200, {"Content-Type": "text/plain", "Content-Encoding": "gzip"},
                  gzip.compress(b"0" * int(h.query.get("n", 1000)), 1))

    def do_headers(self, h):
        names = {f"X-Many-{i}": "v" * int(h.query.get("size", 4)) for i in range(int(h.query.get("n", 1000)))}
        self.send(h, 200, {"Content-Type": "text/plain"} | names, b"many")

    def do_text(self, h):
        self.send(h, 200, {"Content-Type": "text/plain; charset=utf-8"}, b"ok \xff\xfe \xc3\x28 end")

    def do_slow(self, h):
        """A piece at once, then one every 100 ms for as long as somebody listens."""
        h.send_response(200)
        h.send_header("Access-Control-Allow-Origin", h.headers.get("Origin", "*"))
        h.send_header("Access-Control-Allow-Credentials", "true")
        h.send_header("Content-Type", h.query.get("type", "application/octet-stream"))
        h.send_header("Transfer-Encoding", "chunked")
        h.end_headers()
        for n in range(int(h.query.get("n", 300))):
            piece = f"data: {n}\n\n".encode() if "event" in h.query.get("type", "") else b"%08d" % n
            h.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            h.wfile.flush()
            time.sleep(0.1)
        h.wfile.write(b"0\r\n\r\n")

    def do_events(self, h):
        """Two events and an end; whoever comes back is told with which id it came."""
        last = h.headers.get("Last-Event-ID")
        text = ": hello\nretry: 50\n\n" + (f"data: again after {last}\n\n" if last else
                                           "id: 7\nevent: note\ndata: one\r\ndata: two\r\r\ndata:three\nid: ü8\n\n")
        self.send(h, 200, {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-store"}, text.encode())

    def do_socket(self, h):
        socket_echo.serve(h)

    def do_pixel(self, h):
        self.send(h, 200, {"Content-Type": "image/gif"},
                  bytes.fromhex("47494638396101000100800000ff000000000021f90400000000002c00000000010001000002024401003b"))

    def do_cut(self, h):
        """Announces more than it sends, or breaks off in the middle of a chunk."""
        if h.query.get("how") == "chunk":
            h.send_response(200)
            h.send_header("Access-Control-Allow-Origin", h.headers.get("Origin", "*"))
            h.send_header("Access-Control-Allow-Credentials", "true")
            h.send_header("Transfer-Encoding", "chunked")
            h.end_headers()
            h.wfile.write(b"400\r\nonly this")
        else:
            self.send(h, 200, {"Content-Type": "text/plain"}, b"only this", length=1000)
        h.wfile.flush()
        h.close_connection = True
        h.connection.shutdown(socket.SHUT_RDWR)

    def do_cookie(self, h):
        self.send(h, 200, {"Set-Cookie": "session=from-the-api; Path=/; HttpOnly; SameSite=Strict"}, b"set")

    def do_beacon(self, h):
        parts = []
        self.body(h, parts.append)
        self.beacons.append(b"".join(parts))
        self.send(h, 204)

    def do_upload(self, h):
        """Parts of a file by number, or one file whole."""
        digest, size = self.body(h)
        name = h.query.get("name", "file")
        self.uploads.setdefault(name, {})[int(h.query.get("part", 0))] = (digest, size)
        self.send(h, 200, {"Content-Type": "application/json"}, json.dumps({"sha256": digest, "size": size}).encode())

    def do_form(self, h):
        """The files of a form: their names as they came, and what they hold."""
        pieces = []
        boundary = h.headers["Content-Type"].split("boundary=")[1].encode()
        self.body(h, pieces.append)
        names, digests = [], []
        for section in b"".join(pieces).split(b"--" + boundary)[1:-1]:
            head, _, data = section[2:].partition(b"\r\n\r\n")
            name = re.search(rb'filename="([^"]*)"', head)
            if name:
                names.append(name.group(1).decode())
                digests.append(hashlib.sha256(data[:-2]).hexdigest())
        self.send(h, 200, {"Content-Type": "application/json"}, json.dumps({"names": names, "sha256": digests}).encode())

    def do_resume(self, h):
        """An upload that may be taken up again: GET tells how much is there, PATCH adds from `at`; with `break` the
        connection breaks once so much is there."""
        have = self.resumed.setdefault(h.query["name"], bytearray())
        if h.command == "PATCH" and int(h.query["at"]) == len(have):
            limit = int(h.query.get("break", 0))
            left = int(h.headers["Content-Length"])
            while left:
                piece = h.rfile.read(min(left, 65536, limit - len(have) if limit else left))
                if not piece and left and not (limit and len(have) >= limit):
                    raise ConnectionResetError
                have += piece
                left -= len(piece)
                if limit and len(have) >= limit:
                    h.close_connection = True
                    h.connection.shutdown(socket.SHUT_RDWR)
                    return
        self.send(h, 200, {"Content-Type": "application/json"}, json.dumps({"size": len(have)}).encode())

    def do_early(self, h):
        """Says no before it has read anything, and goes."""
        self.send(h, 413, {"Content-Type": "text/plain", "Connection": "close"}, b"too much")
        h.wfile.flush()
        h.close_connection = True
        h.connection.shutdown(socket.SHUT_WR)
        time.sleep(1)

    def do_stall(self, h):
        """Reads a little of the body, and the rest once `release` is set."""
        h.rfile.read(100_000)
        self.release.wait(60)
        left = int(h.headers["Content-Length"]) - 100_000
        while left:
            piece = h.rfile.read(min(left, 65536))
            if not piece:
                raise ConnectionResetError
            left -= len(piece)
        self.send(h, 200)

    # -- Files

    def do_file(self, h):
        """A file with Range, If-Range and every way to get it wrong: `n`, `disposition`, `type`, `cut` (bytes before the
        connection breaks, the first times), `times`, `norange`, `short` (206 shorter than it says), `change`, `slow`."""
        q = h.query
        size = int(q.get("n", 100_000))
        key = h.path
        attempt = self.attempts[key] = self.attempts.get(key, 0) + 1
        tag = f'"v{self.tag + (attempt if q.get("change") == "always" else 1 if q.get("change") and attempt > 1 else 0)}"'
        seed = attempt if q.get("change") == "always" else 1 if q.get("change") and attempt > 1 else 0
        headers = {"Content-Type": q.get("type", "application/octet-stream"), "ETag": tag}
        if "disposition" in q:
            headers["Content-Disposition"] = q["disposition"].encode().decode("latin-1")
        start, end, status = 0, size, 200
        asked = re.fullmatch(r"bytes=(\d*)-(\d*)", h.headers.get("Range", ""))
        if not q.get("norange"):
            headers["Accept-Ranges"] = "bytes"
            if asked and h.headers.get("If-Range", tag) == tag:
                first, last = asked.groups()
                start = int(first) if first else max(0, size - int(last))
                end = min(size, int(last) + 1) if first and last else size
                if start >= size:
                    return self.send(h, 416, {"Content-Range": f"bytes */{size}"})
                status = 206
                headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
        if self.session_needed(q, h):
            return self.send(h, 401, {"Content-Type": "text/plain"}, b"who are you")
        self.send(h, status, headers, length=end - start)
        if h.command == "HEAD":
            return
        limit = int(q["cut"]) if "cut" in q and attempt <= int(q.get("times", 1)) else None
        sent = 0
        for piece in stream_content(size, start, seed):
            piece = piece[:end - start - sent]
            if limit is not None:
                piece = piece[:max(0, limit - sent)]
            if not piece:
                break
            h.wfile.write(piece)
            sent += len(piece)
            if "slow" in q:
                time.sleep(float(q["slow"]))
        if limit is not None and sent < end - start:
            h.wfile.flush()
            h.close_connection = True
            h.connection.shutdown(socket.SHUT_RDWR)

    @staticmethod
    def session_needed(q, h):
        return bool(q.get("session")) and "session=from-the-api" not in h.headers.get("Cookie", "")


class Static(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass
