"""Four real identity providers and the gateway, in a real browser: sign-in, a silent second sign-in, sign-out, and a level of
sign-in that was demanded but not reached (HO-3, HO-7, HO-12). For `make test-peers`.

usage: journey_providers.py [NAME...]      canaille oauth-toolkit glewlwyd lemonldap"""
import pathlib
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Peers"))
from browser import Browser  # noqa: E402
from desktop import Desktop  # noqa: E402
from peers import Canaille, Glewlwyd, LemonLDAP, OAuthToolkit  # noqa: E402
from report import run, until  # noqa: E402
from servers import Servers  # noqa: E402

PEERS = {"canaille": Canaille, "oauth-toolkit": OAuthToolkit, "glewlwyd": Glewlwyd, "lemonldap": LemonLDAP}
ME, HOME = "/api/v1.0/users/me/", "/api/v1.0/config/"


class Story:
    def __init__(self, report, name, desktop):
        self.report, self.name, self.desktop = report, name, desktop
        self.peer = PEERS[name](desktop)
        self.servers = Servers(desktop, provider=self.peer)
        self.browser = Browser(desktop)

    def see(self, what, condition, saw=""):
        return self.report.see(f"{self.name}: {what}", condition, saw)

    def open(self, path):
        """One tab, at this address of the gateway. The browser goes on running, as a person's does."""
        old = self.browser.targets()
        if not old:
            self.desktop.spawn("system-browser", [self.desktop.root / "bin" / "system-browser", "about:blank"])
            old = until(self.browser.targets, 20)
        page = self.browser.new_tab(self.servers.origin + path)
        for target in old:
            self.browser.close(target)
        return page

    def arrives(self, page, path, leaving=False, seconds=20):
        """Whether the tab comes to this address of the gateway by itself, with the peer's one button where it has one."""
        def there():
            if page.url == self.servers.origin + path:
                return True
            self.peer.step(page, leaving)
            return False
        return until(there, seconds, 0.5)

    def form(self, page):
        return until(lambda: page.evaluate(f"!!document.querySelector('{self.peer.form}')"), 20)

    def begin(self):
        return self.open(f"/api/v1.0/authenticate/?returnTo={ME}")

    def tell(self):
        self.peer.start(self.servers.origin)
        self.servers.openid = dict(self.peer.settings)
        self.servers.start_gateway()
        page = self.begin()
        self.see("its own form is shown", self.form(page), page.url.split("?")[0])
        self.peer.sign_in(page)
        arrived = self.arrives(page, ME)
        self.desktop.picture(f"{self.name}-signed-in")
        self.see("signed in", arrived and self.peer.email in page.text, page.text[:300].replace("\n", " "))

        handle = page.evaluate("document.cookie")
        self.see("the session cookie is out of the page's reach", "sessionid" not in handle)
        page.call("Network.deleteCookies", name="sessionid", url=self.servers.origin)
        # Canaille's access tokens differ by their second only, and it refuses to keep the same one twice.
        time.sleep(1.1)
        began = time.time()
        page = self.begin()
        self.see("a second sign-in asks for no password", self.arrives(page, ME) and self.peer.email in page.text,
                 f"{time.time() - began:.1f} s")

        page = self.open(f"/api/v1.0/logout/?returnTo={HOME}")
        arrived = self.arrives(page, HOME, leaving=True)
        self.desktop.picture(f"{self.name}-out")
        self.see("signed out, and back", arrived, page.url.split("?")[0] if arrived else page.text[:300])
        page = self.open(ME)
        self.see("no session is left", until(lambda: "session.absent" in page.text, 10), page.text[:80])
        if self.peer.tells:
            log = self.servers.gateway.log
            told = until(lambda: re.search(r'"sign_out.backchannel","ended":[1-9]', log.read_text()), 10)
            self.see("its logout token ended the session of the first sign-in too", told, told and told[0])
        page = self.begin()
        self.see("the next sign-in shows the form", self.form(page), page.url.split("?")[0])

        self.servers.stop_gateway()
        self.servers.openid |= {"essentialLevels": ["eidas2"], "extraParameters": {"acr_values": "eidas2"}}
        self.servers.start_gateway()
        page = self.begin()
        self.form(page)
        self.peer.sign_in(page)
        refused = self.arrives_refused(page)
        self.see("a sign-in below the demanded level is refused", refused, page.text[:80].replace("\n", " "))
        log = self.servers.gateway.log.read_text()
        self.see("the gateway says why", "did not reach the level" in log)
        page = self.open(ME)
        self.see("nobody is signed in", until(lambda: "session.absent" in page.text, 10), page.text[:80])

    def arrives_refused(self, page):
        def there():
            if "Sign-in did not work" in page.text:
                return True
            self.peer.step(page, False)
            return False
        return until(there, 20, 0.5)


def journey(report):
    for name in sys.argv[1:] or PEERS:
        with Desktop(report, keyring=False) as desktop:
            Story(report, name, desktop).tell()


sys.exit(run("providers", journey))
