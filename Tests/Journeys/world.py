"""One world for most journeys: desktop, browser, servers, app."""
import contextlib
import re
import subprocess

from app import App
from browser import Browser
from desktop import Desktop
from servers import Servers


class World:
    def __init__(self, desktop, browser, servers):
        self.desktop, self.browser, self.servers = desktop, browser, servers
        self.app = App(desktop, servers)

    def sign_in(self, report, app=None):
        """From the signed-out page to the thread list, through the person's browser."""
        app = app or self.app
        app.wait_state("signedOut")
        app.begin_sign_in()
        app.wait_state("signingIn")
        page = self.browser.page(self.servers.issuer)
        report.see("the person's own browser shows the provider's form", page is not None, page and page.url.split("?")[0])
        self.browser.sign_in(page=page)
        state = app.wait_state("signedIn")
        report.see("the app is signed in", state["state"] == "signedIn", state["profile"])
        return state


    def secrets_of_sessions(self):
        """The cookie values under which sessions are open: the app's, as its own jar in the keyring has it, and the
        browser's. As bytes."""
        found = set()
        kept = subprocess.run(["secret-tool", "search", "--all", "--unlock", "xdg:schema", "org.nacre.Secret"],
                              env=self.desktop.env, capture_output=True)
        # Among them are keys, which are no text.
        for match in re.finditer(rb'"name":"sessionid"[^{}]*?"value":"([^"]+)"', kept.stdout + kept.stderr):
            found.add(match[1])
        found |= {value.encode() for value in self.browser.cookies() if len(value) >= 32}
        return found


@contextlib.contextmanager
def world(report, schemes=("stmessages",), provider=None, environment=None, settings=None, **options):
    with Desktop(report, **options) as desktop:
        if callable(provider):
            provider = provider(desktop)
        if callable(environment):
            environment = environment(desktop)
        servers = Servers(desktop, schemes=schemes, provider=provider, environment=environment)
        servers.settings = settings(desktop) if settings else {}
        if provider:
            provider.start(servers.origin)
        browser = Browser(desktop, schemes=schemes, launch_from=[servers.origin])
        servers.start()
        yield World(desktop, browser, servers)
