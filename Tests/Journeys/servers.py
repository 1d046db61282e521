"""The server half as separate processes on free ports: `nacre serve` and the example's backend."""
import glob
import json
import os
import pathlib
import time
import urllib.error
import urllib.request

from desktop import free_port
from report import ROOT, Failed, until

BINARIES = pathlib.Path(os.environ.get("NACRE_BINARIES", ROOT / ".build" / "debug"))


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return answer.status == 200
    except urllib.error.HTTPError:
        return False
    except OSError:
        return False


class Servers:
    """Gateway, embedded provider and the Messages backend. `hours_later` moves the gateway's and provider's clock."""

    def __init__(self, desktop, schemes=("stmessages",), provider=None, environment=None):
        self.desktop = desktop
        self.gateway_port, self.provider_port, self.backend_port = free_port(), free_port(), free_port()
        self.origin = f"http://localhost:{self.gateway_port}"
        self.issuer = provider.issuer if provider else f"http://localhost:{self.provider_port}"
        self.data = desktop.root / "server"
        self.data.mkdir(exist_ok=True)
        self.clock = desktop.root / "clock"
        self.clock.write_text("+0s\n")
        self.environment = {
            "NACRE_ENV": "development",
            "MOBILE_AUTH_CALLBACK_SCHEMES": json.dumps(list(schemes)),
        } | (environment or {})
        self.provider = provider
        self.openid = {}  # further settings under "oidc"
        self.settings = {}  # further settings
        self.gateway = self.backend = None

    def configuration(self):
        settings = {
            "name": "Messages",
            "origin": self.origin,
            "listen": {"host": "127.0.0.1", "port": self.gateway_port},
            "data": str(self.data),
            "upstream": f"http://127.0.0.1:{self.backend_port}",
        } | self.settings
        if self.provider:
            settings["provider"] = {"enabled": False}
            settings["oidc"] = {"issuer": self.issuer, "clientID": self.provider.client_id,
                                "clientSecret": self.provider.client_secret} | self.openid
        else:
            settings["provider"] = {"listen": {"host": "127.0.0.1", "port": self.provider_port}}
        path = self.desktop.root / "nacre.server.json"
        path.write_text(json.dumps(settings, indent=2))
        return path

    def start(self):
        self.backend = self.desktop.spawn("backend", [
            BINARIES / "nacre-demo", "backend", "--port", self.backend_port, "--data", self.data / "mail",
            "--gateway", self.origin])
        self.start_gateway()
        return self

    def start_gateway(self):
        fake = next(iter(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")), "")
        clock = {"LD_PRELOAD": fake, "FAKETIME_TIMESTAMP_FILE": str(self.clock), "FAKETIME_NO_CACHE": "1",
                 "FAKETIME_DONT_FAKE_MONOTONIC": "1"} if fake else {}
        self.gateway = self.desktop.spawn(
            "gateway", [BINARIES / "nacre", "serve", "--config", self.configuration()], env=self.environment | clock)
        if not until(lambda: answers(self.origin + "/readyz"), 60):
            raise Failed("the server half did not become ready: " + self.gateway.log.read_text()[-2000:])

    def stop_gateway(self):
        self.desktop.stop(self.gateway)

    def config(self):
        """What apps are told (`/api/v1.0/config/`)."""
        with urllib.request.urlopen(self.origin + "/api/v1.0/config/", timeout=5) as answer:
            return json.load(answer)

    def hours_later(self, hours):
        """Both server clocks jump; the processes go on."""
        self.clock.write_text(f"+{hours}h\n")
        time.sleep(0.2)
