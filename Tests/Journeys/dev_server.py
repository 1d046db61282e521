"""A small development server: one page, and a WebSocket that echoes and tells the page to reload, as Vite's does."""
import base64
import hashlib
import http.server
import socket
import struct
import threading

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Development</title><style>:root{{color-scheme:light dark}}body{{font:1.2rem/1.5 system-ui;margin:2rem}}</style>
<h1>{text}</h1><script type="module">
window.heard = [];
window.socket = new WebSocket('wss://' + location.host + '/hmr?token=of-this-start', 'vite-hmr');
socket.onmessage = event => {{ heard.push(event.data); if (event.data == 'reload') location.reload() }};
</script></html>"""


class DevServer:
    """`text` is what the page says; `start` and `stop` may be repeated and keep the port."""

    def __init__(self, port, text="First version"):
        self.port, self.text = port, text
        self.origin = f"http://localhost:{port}"
        self.requests, self.handshakes = [], []
        self.connections, self.sockets = [], []
        self.server = None

    def start(self):
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                super().setup()
                outer.connections.append(self.connection)

            def do_GET(self):
                headers = {name.lower(): value for name, value in self.headers.items()}
                if headers.get("upgrade", "").lower() == "websocket":
                    outer.handshakes.append(headers)
                    self.close_connection = True
                    return outer._hot_reload(self, headers)
                outer.requests.append((self.path, headers))
                body = PAGE.format(text=outer.text).encode() if self.path == "/" else b""
                self.send_response(200 if body else 404)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True

        self.server = Server(("127.0.0.1", self.port), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def stop(self):
        """The socket is closed, and so is every connection to it."""
        server, self.server = self.server, None
        if server:
            server.shutdown()
            server.server_close()
        for connection in self.connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.connections.clear()

    def reload(self):
        """What a saved file causes."""
        for connection in list(self.sockets):
            try:
                connection.sendall(self._frame(b"reload"))
            except OSError:
                self.sockets.remove(connection)

    # RFC 6455, as much of it as short text messages need.

    @staticmethod
    def _frame(payload, opcode=1):
        return bytes([0x80 | opcode, len(payload)]) + payload

    def _hot_reload(self, handler, headers):
        proof = hashlib.sha1((headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
        connection = handler.connection
        connection.sendall(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Protocol: vite-hmr\r\n"
            b"Sec-WebSocket-Accept: " + base64.b64encode(proof) + b"\r\n\r\n")
        self.sockets.append(connection)
        try:
            while True:
                head = handler.rfile.read(2)
                if len(head) < 2:
                    return
                length = head[1] & 0x7F
                if length == 126:
                    length, = struct.unpack(">H", handler.rfile.read(2))
                mask = handler.rfile.read(4)
                payload = bytes(b ^ mask[i % 4] for i, b in enumerate(handler.rfile.read(length)))
                opcode = head[0] & 0x0F
                if opcode == 8:
                    return connection.sendall(self._frame(payload[:2], 8))
                if opcode == 1:
                    connection.sendall(self._frame(b"echo " + payload))
        except OSError:
            pass
        finally:
            if connection in self.sockets:
                self.sockets.remove(connection)
