# Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
"""Reads request bodies whole and answers how long they were; stands behind nginx, which answers before it has read a body."""
import http.server
import json
import threading

PIECE = 1 << 20


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        left = int(self.headers["Content-Length"])
        piece, seen = bytearray(PIECE), 0
        while left > seen:
            count = self.rfile.readinto(memoryview(piece)[:min(PIECE, left - seen)])
            if not count:
                break
            seen += count
        answer = json.dumps({"bytes": seen}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def start(port):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
