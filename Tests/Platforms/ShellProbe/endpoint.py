# Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
"""A page channel in Python, for testing the shell without the app half: CONNECT with a secret, TLS ended here."""
import base64, os, secrets, socket, ssl, subprocess, tempfile, threading


class Endpoint:
    """`pages` maps (host, path) or path to (content type, bytes); every request is kept in `requests`."""

    def __init__(self, hosts, pages):
        self.hosts, self.pages = hosts, pages
        self.secret = secrets.token_urlsafe(24)
        self.requests, self.connects, self.refusals = [], [], 0
        self.folder = tempfile.mkdtemp(prefix="probe-endpoint-")
        names = ",".join("DNS:" + host for host in hosts)
        key, certificate = self.folder + "/key.pem", self.folder + "/certificate.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
             "-keyout", key, "-out", certificate, "-subj", "/CN=probe", "-addext", "subjectAltName=" + names,
             "-addext", "basicConstraints=critical,CA:FALSE", "-addext", "extendedKeyUsage=serverAuth"],
            check=True, capture_output=True)
        self.certificate = open(certificate).read()
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(certificate, key)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def environment(self):
        return {"PROBE_PORT": str(self.port), "PROBE_SECRET": self.secret, "PROBE_CERTIFICATE": self.certificate,
                "PROBE_HOSTS": " ".join(self.hosts)}

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._tunnel, args=(client,), daemon=True).start()

    @staticmethod
    def _head(stream):
        head = b""
        while b"\r\n\r\n" not in head:
            byte = stream.recv(1)
            if not byte:
                return None
            head += byte
        lines = head.decode("latin-1").split("\r\n")
        return lines[0].split(" "), {k.lower(): v for k, v in (line.split(": ", 1) for line in lines[1:] if line)}

    def _tunnel(self, client):
        try:
            wanted = "Basic " + base64.b64encode(("app:" + self.secret).encode()).decode()
            while True:
                parsed = self._head(client)
                if parsed is None:
                    return
                (method, target, _), headers = parsed
                if method != "CONNECT":
                    self.connects.append(method + " " + target)
                    client.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
                    continue
                if headers.get("proxy-authorization") == wanted:
                    break
                self.refusals += 1
                client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic "
                               b'realm="nacre"\r\nContent-Length: 0\r\n\r\n')
            self.connects.append(target)
            if target.rsplit(":", 1)[0] not in self.hosts:
                client.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
                return
            client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            stream = self.tls.wrap_socket(client, server_side=True)
            while self._serve(stream, target):
                pass
        except OSError:
            pass
        finally:
            client.close()

    def _serve(self, stream, authority):
        parsed = self._head(stream)
        if parsed is None:
            return False
        (method, path, _), headers = parsed
        length = int(headers.get("content-length", 0))
        body = b""
        while len(body) < length:
            body += stream.recv(length - len(body))
        self.requests.append({"authority": authority, "method": method, "path": path, "headers": headers, "body": body})
        host = authority.rsplit(":", 1)[0]
        page = self.pages.get((host, path.split("?")[0]), self.pages.get(path.split("?")[0]))
        if callable(page):
            page = page(method, path, headers)
        if page is None:
            stream.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            return True
        kind, content, *extra = page
        more = "".join(f"{line}\r\n" for line in extra)
        status = "302 Found" if any(line.startswith("Location:") for line in extra) else "200 OK"
        stream.sendall(f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(content)}\r\n{more}\r\n"
                       .encode() + content)
        return True
