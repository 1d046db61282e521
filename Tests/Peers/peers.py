"""Third-party identity providers as separate processes, for `make test-peers`: Canaille and django-oauth-toolkit.

Each class offers what a journey needs: issuer, client_id, client_secret, start(gateway origin), sign_in(browser page)."""
import pathlib
import shutil
import subprocess
import sys
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Journeys"))
from desktop import free_port  # noqa: E402
from report import ROOT, Failed, until  # noqa: E402

VENV = ROOT / ".venv-peers"
USER, PASSWORD = "alice", "alice-password-1"


def venv():
    """The peers' own Python venv; made once, says so."""
    wanted = ROOT / "Tests" / "Peers" / "peers-requirements.txt"
    stamp = VENV / "requirements.stamp"
    if not stamp.exists() or stamp.read_bytes() != wanted.read_bytes():
        print("peers: making the Python venv .venv-peers (some 300 MB)", flush=True)
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        subprocess.run([VENV / "bin" / "pip", "install", "-q", "--disable-pip-version-check", "-r", wanted], check=True)
        shutil.copy(wanted, stamp)
    return VENV / "bin"


def ready(issuer):
    try:
        with urllib.request.urlopen(issuer + "/.well-known/openid-configuration", timeout=2) as answer:
            return answer.status == 200
    except OSError:
        return False


class Peer:
    client_id, client_secret = "nacre-gateway", "peer-secret-for-tests-only"

    def __init__(self, desktop):
        self.desktop, self.port, self.bin = desktop, free_port(), venv()
        self.folder = desktop.root / type(self).__name__.lower()
        self.folder.mkdir()

    def wait(self, process):
        if not until(lambda: ready(self.issuer), 60, 0.3):
            raise Failed(f"{type(self).__name__} did not start: {process.log.read_text()[-1500:]}")


class Canaille(Peer):
    @property
    def issuer(self):
        return f"http://localhost:{self.port}"

    def start(self, origin):
        keys = subprocess.run(
            [self.bin / "python", "-c",
             "from joserfc.jwk import RSAKey\n"
             "k = RSAKey.generate_key(2048, {'alg': 'RS256', 'kid': 'peer'}).as_dict(private=True)\n"
             "print('{' + ', '.join(f'{n} = \"{v}\"' for n, v in k.items()) + '}')"],
            capture_output=True, text=True, check=True).stdout.strip()
        configuration = self.folder / "canaille.toml"
        configuration.write_text("\n".join([
            'SECRET_KEY = "for-tests-only"', f'SERVER_NAME = "localhost:{self.port}"',
            'PREFERRED_URL_SCHEME = "http"', "[CANAILLE]", "CAPTCHA_ENABLED = false",
            'AUTHENTICATION_FACTORS = ["password"]', "[CANAILLE.ACL.DEFAULT]", 'PERMISSIONS = ["use_oidc", "edit_self"]',
            "[CANAILLE_SQL]", f'DATABASE_URI = "sqlite:///{self.folder}/peer.db"', "[CANAILLE_OIDC]",
            "REQUIRE_NONCE = false", f"ACTIVE_JWKS = [{keys}]", ""]))
        self.desktop.env["CANAILLE_CONFIG"] = str(configuration)

        def tool(*words):
            done = subprocess.run([self.bin / "canaille", *words], env=self.desktop.env, capture_output=True, text=True)
            if done.returncode:
                raise Failed(f"canaille {' '.join(words[:2])}: {done.stderr[-600:]}")

        tool("install")
        tool("create", "user", "--user-name", USER, "--password", PASSWORD, "--emails", "alice@example.test",
             "--given-name", "Alice", "--family-name", "Martin", "--formatted-name", "Alice Martin")
        tool("create", "client", "--client-id", self.client_id, "--client-secret", self.client_secret,
             "--client-name", "Messages", "--client-uri", "http://127.0.0.1/", "--grant-types", "authorization_code",
             "--grant-types", "refresh_token", "--response-types", "code", "--scope", "openid", "--scope", "profile",
             "--scope", "email", "--token-endpoint-auth-method", "client_secret_basic",
             "--redirect-uris", origin + "/api/v1.0/callback/",
             "--post-logout-redirect-uris", origin + "/api/v1.0/logout-callback/")
        tool("set", "client", self.client_id, "--audience", self.client_id)
        self.wait(self.desktop.spawn("canaille", [self.bin / "canaille", "run", "--bind", f"127.0.0.1:{self.port}"]))

    def sign_in(self, page):
        until(lambda: page.evaluate("!!document.querySelector('input[name=login]')"), 15)
        page.type("input[name=login]", USER)
        if page.evaluate("!!document.querySelector('input[name=remember]')"):
            page.click("input[name=remember]")
        page.evaluate("document.querySelector('input[name=login]').form.requestSubmit()")
        until(lambda: page.evaluate("!!document.querySelector('input[name=password]')"), 15)
        time.sleep(1)  # its page replaces the form once more
        page.type("input[name=password]", PASSWORD)
        page.evaluate("document.querySelector('input[name=password]').form.requestSubmit()")


class OAuthToolkit(Peer):
    @property
    def issuer(self):
        return f"http://127.0.0.1:{self.port}/o"

    def start(self, origin):
        self.desktop.env |= {"PEER_FOLDER": str(self.folder), "PEER_PORT": str(self.port), "PEER_ORIGIN": origin,
                             "PEER_CLIENT": self.client_id, "PEER_SECRET": self.client_secret,
                             "PEER_USER": USER, "PEER_PASSWORD": PASSWORD}
        self.wait(self.desktop.spawn(
            "oauth-toolkit", [self.bin / "python", ROOT / "Tests" / "Peers" / "oauth_toolkit_site.py"]))

    def sign_in(self, page):
        until(lambda: page.evaluate("!!document.querySelector('input[name=password]')"), 15)
        page.type("input[name=username]", USER)
        page.type("input[name=password]", PASSWORD)
        page.click("input[type=submit]")
