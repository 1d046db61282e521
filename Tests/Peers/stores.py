"""S3 stores of other people as separate processes, and a proxy that cuts connections."""
import json
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Journeys"))
from desktop import free_port  # noqa: E402
from report import Failed, until  # noqa: E402
from venvs import venv  # noqa: E402


class Store:
    access, secret = "TESTKEY", "TEST-SECRET-OF-STORES"
    keeps_conditions = True

    def __init__(self, folder):
        self.folder = pathlib.Path(folder) / type(self).__name__.lower()
        self.folder.mkdir()
        self.bin = venv("stores", "stores-requirements.txt", " (some 300 MB)") / "bin"
        self.log = open(self.folder / "log", "wb")
        self.process = None

    def spawn(self, words, env=None):
        self.process = subprocess.Popen(list(map(str, words)), cwd=self.folder, stdout=self.log, stderr=self.log, env=env)
        if not until(self.answers, 40, 0.2):
            raise Failed(f"{type(self).__name__} did not start: {(self.folder / 'log').read_text()[-1500:]}")

    def answers(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{self.health}", timeout=2) as answer:
            return answer.status == 200

    def stop(self):
        if self.process:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(3)
            except subprocess.TimeoutExpired:  # it drains for half a minute
                self.process.kill()
                self.process.wait()
        self.log.close()


def low_port():
    """A free port whose number plus 10000 is free too: each of SeaweedFS's ports has a second one there."""
    while True:
        port = free_port() % 20000 + 20000
        try:
            with socket.socket() as one, socket.socket() as two:
                one.bind(("127.0.0.1", port))
                two.bind(("127.0.0.1", port + 10000))
                return port
        except OSError:
            continue


class SeaweedFS(Store):
    health = "/status"

    def start(self):
        self.port = low_port()
        (self.folder / "s3.json").write_text(json.dumps({"identities": [{
            "name": "tests", "credentials": [{"accessKey": self.access, "secretKey": self.secret}],
            "actions": ["Admin", "Read", "Write", "List", "Tagging"]}]}))
        (self.folder / "data").mkdir()
        self.spawn([
            self.bin / "weed", "-logtostderr=true", "server", "-dir=data", "-ip=127.0.0.1", "-ip.bind=127.0.0.1",
            f"-master.port={low_port()}", f"-volume.port={low_port()}", "-filer", f"-filer.port={low_port()}", "-s3",
            f"-s3.port={self.port}", "-s3.config=s3.json", "-s3.port.iceberg=0", "-master.volumeSizeLimitMB=64",
            "-volume.max=20", "-master.telemetry=false"])


class JuiceFS(Store):
    """MinIO's server code over a folder; it takes conditional puts as if they had no condition."""
    health = "/minio/health/live"
    keeps_conditions = False

    def start(self):
        self.port = free_port()
        meta = f"sqlite3://{self.folder}/meta.db"
        subprocess.run([self.bin / "juicefs", "format", "--storage", "file", "--bucket", f"{self.folder}/blocks/", meta, "tests"],
                       cwd=self.folder, stdout=self.log, stderr=self.log, check=True)
        self.spawn([self.bin / "juicefs", "gateway", "--no-usage-report", "--multi-buckets", "--keep-etag", "--object-meta",
                    "--cache-dir", self.folder / "cache", meta, f"127.0.0.1:{self.port}"],
                   env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "MINIO_ROOT_USER": self.access,
                        "MINIO_ROOT_PASSWORD": self.secret})


class CuttingProxy:
    """Passes connections on to a port. `cuts` says, for the number of a connection, after how many bytes of answers it is
    cut; None is never."""

    def __init__(self, port, cuts):
        self.port_behind, self.cuts, self.count, self.cut = port, cuts, 0, 0
        self.lock = threading.Lock()
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                near, _ = self.server.accept()
            except OSError:
                return
            with self.lock:
                number, self.count = self.count, self.count + 1
            far = socket.create_connection(("127.0.0.1", self.port_behind))
            allowance = self.cuts(number)
            threading.Thread(target=self.pump, args=(near, far, None, near, far), daemon=True).start()
            threading.Thread(target=self.pump, args=(far, near, allowance, near, far), daemon=True).start()

    def pump(self, source, target, allowance, *both):
        try:
            while data := source.recv(65536):
                if allowance is not None and len(data) > allowance:
                    target.sendall(data[:allowance])
                    with self.lock:
                        self.cut += 1
                    break
                if allowance is not None:
                    allowance -= len(data)
                target.sendall(data)
        except OSError:
            pass
        for one in both:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.server.close()
