"""Third-party identity providers as separate processes, for `make test-peers`: Canaille, django-oauth-toolkit, glewlwyd and
LemonLDAP::NG.

Each class offers what a journey needs: issuer, client_id, client_secret, email, start(gateway origin),
sign_in(browser page), and step(browser page), which presses the one button that some providers show in between."""
import gzip
import http.cookiejar
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Journeys"))
from desktop import free_port  # noqa: E402
from report import ROOT, Failed, until  # noqa: E402
from venvs import venv  # noqa: E402

USER, PASSWORD = "alice", "alice-password-1"


def ready(issuer):
    try:
        with urllib.request.urlopen(issuer + "/.well-known/openid-configuration", timeout=2) as answer:
            return answer.status == 200
    except OSError:
        return False


class Peer:
    client_id, client_secret = "nacre-gateway", "peer-secret-for-tests-only"
    email = "alice@example.test"
    form = "input[name=password], input[name=login]"
    settings = {}  # of the gateway, under "oidc"
    tells = False  # whether it sends logout tokens

    def step(self, page, leaving):
        """Nothing is in between."""

    def __init__(self, desktop):
        self.desktop, self.port, self.bin = desktop, free_port(), venv("peers", "peers-requirements.txt", " (some 300 MB)") / "bin"
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


def installed(package):
    """The files of a Debian package."""
    done = subprocess.run(["dpkg", "-L", package], capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"{package} is not installed; run scripts/setup --peers")
    return done.stdout.splitlines()


class Glewlwyd(Peer):
    """Debian's glewlwyd: in C, ES256, and a button in between also for a person it knows."""
    form = "#password"
    settings = {"untypedLogoutTokens": True}
    tells = True

    @property
    def issuer(self):
        return f"http://localhost:{self.port}/api/oidc"

    def start(self, origin):
        files = installed("glewlwyd") + installed("glewlwyd-common")
        script = next(f for f in files if f.endswith("init.sqlite3.sql.gz"))
        database = self.folder / "glewlwyd.db"
        subprocess.run(["sqlite3", database], input=gzip.open(script).read(), check=True)
        # The package's own config.json leads to a folder; a copy of the pages with the file in its place works.
        pages = pathlib.Path(next(f for f in files if f.endswith("webapp/login.html"))).parent
        shutil.copytree(pages, self.folder / "webapp", ignore=lambda *_: ["config.json"])
        shutil.copy((pages / "config.json").resolve() / "config.json", self.folder / "webapp" / "config.json")
        etc = (pages / "config.json").resolve().parent
        text = (etc / "glewlwyd.conf").read_text()
        for pattern, value in [
            (r"^port=.*", f"port={self.port}"), (r"^#?bind_address=.*", 'bind_address="127.0.0.1"'),
            (r"^external_url=.*", f'external_url="http://localhost:{self.port}"'),
            (r"^# ?static_files_path=.*", f'static_files_path="{self.folder}/webapp/"'),
            (r"^log_mode=.*", 'log_mode="console"'), (r"^cookie_same_site=.*", 'cookie_same_site="lax"'),
            (r"^@include.*", f'database={{type="sqlite3";path="{database}";}};'),
        ]:
            text = re.sub(pattern, value, text, flags=re.M)
        configuration = self.folder / "glewlwyd.conf"
        configuration.write_text(text)
        process = self.desktop.spawn("glewlwyd", ["glewlwyd", f"--config-file={configuration}"])
        self._seed(origin)
        self.wait(process)

    def _seed(self, origin):
        base = f"http://localhost:{self.port}/api/"
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))

        def call(method, path, body=None):
            request = urllib.request.Request(base + path, method=method, data=json.dumps(body).encode() if body else None,
                                             headers={"Content-Type": "application/json"})
            with opener.open(request, timeout=10) as answer:
                return json.loads(answer.read() or b"null")

        def listens():
            with urllib.request.urlopen(f"http://localhost:{self.port}/", timeout=2):
                return True

        if not until(listens, 10):
            raise Failed("glewlwyd does not answer")
        call("POST", "auth/", {"username": "admin", "password": "password"})
        keys = json.loads(subprocess.run(
            [self.bin / "python", "-c",
             "import json\nfrom joserfc.jwk import ECKey\n"
             "print(json.dumps([ECKey.generate_key('P-256', {'kid': 'peer', 'alg': 'ES256'}).as_dict(private=True)]))"],
            capture_output=True, text=True, check=True).stdout)
        on = ("jwks-show", "refresh-token-rolling", "allow-non-oidc", "auth-type-code-enabled",
              "auth-type-code-revoke-replayed", "auth-type-refresh-enabled", "pkce-allowed", "session-management-allowed",
              "back-channel-logout-allowed", "front-channel-logout-allowed", "oauth-as-iss-id")
        call("POST", "mod/plugin/", {
            "module": "oidc", "name": "oidc", "display_name": "OIDC", "enabled": True,
            "parameters": {
                "iss": base + "oidc", "jwks-private": json.dumps({"keys": keys}), "default-kid": "peer",
                "access-token-duration": 300, "refresh-token-duration": 1209600, "code-duration": 60,
                "refresh-token-one-use": "always", "subject-type": "public", "introspection-revocation-auth-scope": [],
                "register-client-auth-scope": [], "register-client-credentials-scope": ["g_admin"],
                "name-claim": "on-demand", "name-claim-scope": ["openid"], "email-claim": "on-demand",
                "email-claim-scope": ["openid"], "allowed-scope": ["openid", "profile", "email"],
                "session-cookie-name": "G_OIDC", "session-cookie-expiration": 2419200, **{name: True for name in on}}})
        module = call("GET", "mod/client/database")
        module["parameters"]["data-format"]["post_logout_redirect_uris"] = {"multiple": True, "read": True, "write": True}
        call("PUT", "mod/client/database", module)
        call("PUT", "mod/client/database/reset")
        for name in ("profile", "email"):
            call("POST", "scope/", {"name": name, "display_name": name, "description": name, "password_required": True,
                                    "password_max_age": 0, "scheme": {}})
        call("POST", "user/", {"username": USER, "name": "Alice Martin", "password": PASSWORD, "email": self.email,
                               "scope": ["openid", "profile", "email", "g_profile"], "enabled": True})
        call("POST", "client/", {
            "client_id": self.client_id, "name": "Messages", "enabled": True, "confidential": True,
            "password": self.client_secret, "scope": ["openid"], "authorization_type": ["code", "refresh_token"],
            "redirect_uri": [origin + "/api/v1.0/callback/"],
            "post_logout_redirect_uris": [origin + "/api/v1.0/logout-callback/"],
            "backchannel_logout_uri": origin + "/api/v1.0/backchannel-logout/",
            "token_endpoint_auth_method": ["client_secret_basic", "client_secret_post"]})

    def sign_in(self, page):
        until(lambda: page.evaluate("!!document.querySelector('#password')"), 15)
        page.type("#username", USER)
        page.type("#password", PASSWORD)
        page.click("#loginbut")

    def step(self, page, leaving):
        """Its pages are built by script: the first consent, "Continue" for a person it knows, "Logout"."""
        words = "Log ?out" if leaving else "Grant|Continue"
        if leaving and page.evaluate("performance.now()") < 2000:
            return  # pressed before it has fetched the list of sessions, its page breaks
        page.evaluate(
            "(() => { for (const box of document.querySelectorAll('input[id^=grant-]:not(:checked)')) box.click();"
            " const b = [...document.querySelectorAll('button, a.btn')].find(b => !b.disabled &&"
            f" /^({words})/i.test(b.innerText.trim())); if (b) b.click(); }})()")


class LemonLDAP(Peer):
    """Debian's LemonLDAP::NG, with levels of assurance: asked for eidas2 it answers with the eidas1 it has."""
    email = "dwho@badwolf.org"

    @property
    def issuer(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self, origin):
        files = installed("liblemonldap-ng-common-perl") + installed("liblemonldap-ng-portal-perl")
        for name in ("conf", "sessions/lock", "psessions/lock", "cache", "notifications"):
            (self.folder / name).mkdir(parents=True)
        settings = json.loads(pathlib.Path(next(f for f in files if f.endswith("lmConf-1.json"))).read_text())
        key = subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
                             capture_output=True, text=True, check=True).stdout
        public = subprocess.run(["openssl", "pkey", "-pubout"], input=key, capture_output=True, text=True, check=True).stdout
        option = "oidcRPMetaDataOptions"
        settings |= {
            "portal": self.issuer + "/", "domain": "127.0.0.1", "securedCookie": 0, "authentication": "Demo",
            "userDB": "Same", "passwordDB": "Null", "registerDB": "Null", "notification": 0, "requireToken": 0,
            "captcha_login_enabled": 0, "cookieExpiration": 86400, "issuerDBOpenIDConnectActivation": 1,
            "oidcServiceMetaDataIssuer": self.issuer, "oidcServicePrivateKeySig": key, "oidcServicePublicKeySig": public,
            "oidcServiceKeyIdSig": "peer", "oidcServiceMetaDataAuthnContext": {"eidas1": 1, "eidas2": 4},
            "oidcRPMetaDataExportedVars": {"gateway": {"email": "mail", "name": "cn"}},
            "oidcRPMetaDataOptions": {"gateway": {option + name: value for name, value in {
                "ClientID": self.client_id, "ClientSecret": self.client_secret, "Public": 0, "BypassConsent": 1,
                "RefreshToken": 1, "RequirePKCE": 1, "IDTokenSignAlg": "RS256", "LogoutBypassConfirm": 1,
                "RedirectUris": origin + "/api/v1.0/callback/",
                "PostLogoutRedirectUris": origin + "/api/v1.0/logout-callback/"}.items()}},
        }
        for name, folder in (("globalStorageOptions", "sessions"), ("persistentStorageOptions", "psessions")):
            settings[name] |= {"Directory": str(self.folder / folder), "LockDirectory": str(self.folder / folder / "lock")}
        settings["localSessionStorageOptions"]["cache_root"] = str(self.folder / "cache")
        settings["notificationStorageOptions"] = {"dirName": str(self.folder / "notifications")}
        (self.folder / "conf" / "lmConf-1.json").write_text(json.dumps(settings))
        text = pathlib.Path(next(f for f in files if f.endswith("lemonldap-ng.ini"))).read_text()
        text = text.replace("/var/lib/lemonldap-ng/conf", str(self.folder / "conf"))
        text = text.replace("/var/lib/lemonldap-ng/cache", str(self.folder / "cache"))
        (self.folder / "lemonldap-ng.ini").write_text(text)
        static = next(f for f in files if f.endswith("portal/htdocs/static"))
        (self.folder / "app.psgi").write_text(
            "use Plack::Builder;\nuse Lemonldap::NG::Portal::Main;\n"
            f"builder {{ enable 'Static', path => sub {{ s!^/static/!! }}, root => '{static}';"
            " Lemonldap::NG::Portal::Main->run({}) };\n")
        self.wait(self.desktop.spawn(
            "lemonldap", ["starman", "--workers", "2", "--listen", f"127.0.0.1:{self.port}", self.folder / "app.psgi"],
            env={"LLNG_DEFAULTCONFFILE": str(self.folder / "lemonldap-ng.ini")}))

    def sign_in(self, page):
        until(lambda: page.evaluate("!!document.querySelector('input[name=password]')"), 15)
        page.type("input[name=user]", "dwho")
        page.type("input[name=password]", "dwho")
        page.evaluate("document.querySelector('input[name=password]').form.requestSubmit()")
