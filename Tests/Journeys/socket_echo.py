"""The server's end of a WebSocket for journeys: echoes, and closes as it is told."""
import base64
import hashlib
import struct


def serve(handler):
    """Takes the handshake and echoes messages; the text `close CODE REASON` closes, `split` comes back in two frames."""
    key = handler.headers["Sec-WebSocket-Key"]
    proof = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
    offered = [word.strip() for word in handler.headers.get("Sec-WebSocket-Protocol", "").split(",") if word.strip()]
    lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade", f"Sec-WebSocket-Accept: {proof}"]
    if "echo" in offered:
        lines.append("Sec-WebSocket-Protocol: echo")
    handler.wfile.write(("\r\n".join(lines) + "\r\n\r\n").encode())
    handler.wfile.flush()
    handler.close_connection = True
    parts, kind = b"", 0
    while True:
        first, second = _exactly(handler, 2)
        length = second & 127
        if length == 126:
            length = struct.unpack(">H", _exactly(handler, 2))[0]
        elif length == 127:
            length = struct.unpack(">Q", _exactly(handler, 8))[0]
        mask = _exactly(handler, 4)
        payload = bytes(byte ^ mask[i & 3] for i, byte in enumerate(_exactly(handler, length)))
        opcode = first & 15
        if opcode == 8:
            return _send(handler, 0x88, payload)
        if opcode in (9, 10):
            continue
        parts, kind = parts + payload, opcode or kind
        if not first & 0x80:
            continue
        if parts.startswith(b"close "):
            _, code, reason = parts.split(b" ", 2)
            return _send(handler, 0x88, struct.pack(">H", int(code)) + reason)
        if parts == b"split":
            _send(handler, 0x01, b"spl")
            _send(handler, 0x89, b"are you there")
            _send(handler, 0x80, b"it")
        elif parts == b"cut":
            return
        elif parts == b"who":
            _send(handler, 0x81, f"{handler.headers.get('Origin')} {handler.headers.get('Cookie')}".encode())
        else:
            _send(handler, 0x80 | kind, parts)
        parts = b""


def _exactly(handler, count):
    data = handler.rfile.read(count)
    if len(data) < count:
        raise ConnectionResetError
    return data


def _send(handler, first, payload):
    count = len(payload)
    head = bytes([first, count]) if count < 126 else (
        struct.pack(">BBH", first, 126, count) if count < 65536 else struct.pack(">BBQ", first, 127, count))
    handler.wfile.write(head + payload)
    handler.wfile.flush()
