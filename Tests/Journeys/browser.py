"""The person's own browser: a real Chromium window that the desktop opens links with, driven over its debugging port."""
import base64
import json
import time
import urllib.parse
import urllib.request

import websocket

from desktop import free_port
from report import until


# The middle of an element, after two frames: before its first one a page hears no mouse. A hidden tab draws none.
PLACE = """(async () => {
    const e = document.querySelector(%s);
    if (!e || document.readyState !== 'complete') return null;
    e.scrollIntoView({block: 'center'});
    const frame = () => new Promise(requestAnimationFrame), late = new Promise((done) => setTimeout(done, 500));
    await Promise.race([frame().then(frame), late]);
    const r = e.getBoundingClientRect(), [x, y] = [r.x + r.width / 2, r.y + r.height / 2];
    return e.contains(document.elementFromPoint(x, y)) ? [x, y] : null;
})()"""


class Page:
    """One tab, by the DevTools protocol. Mouse and keys are trusted input, as from a person."""

    def __init__(self, url):
        self.socket = websocket.create_connection(url, timeout=20, suppress_origin=True)
        self.number = 0

    def call(self, method, **parameters):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"].get("text"))
        return result["result"].get("value")

    @property
    def url(self):
        return self.evaluate("location.href")

    @property
    def text(self):
        return self.evaluate("document.body ? document.body.innerText : ''")

    def click(self, selector):
        """As a person does: when it is drawn, stays where it is, and nothing lies over it."""
        seen = [None]

        def place():
            seen.append(self.evaluate(PLACE % json.dumps(selector)))
            return seen[-1] if seen[-1] == seen[-2] else None

        spot = until(place, 10)
        if not spot:
            raise RuntimeError(f"nothing to click matches {selector} on {self.url}")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=spot[0], y=spot[1], button="left", clickCount=1)

    def type(self, selector, text):
        self.click(selector)
        self.evaluate(f"document.querySelector({json.dumps(selector)}).value = ''")
        for letter in text:
            self.call("Input.dispatchKeyEvent", type="keyDown", text=letter)
            self.call("Input.dispatchKeyEvent", type="keyUp")

    def picture(self, path):
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))


class Browser:
    """Registers itself as the desktop's handler of http and https; starts when a link is opened."""

    def __init__(self, desktop, schemes=("stmessages",), launch_from=(), profile="chromium"):
        self.desktop, self.port = desktop, free_port()
        # Below a folder of this name, so that what searches the world for leaks leaves the browser's own jar out.
        self.profile = desktop.root / "chromium" / profile
        (self.profile / "Default").mkdir(parents=True)
        self.schemes, self.launch_from = schemes, []
        self.lets_launch(*launch_from)
        wrapper = desktop.root / "bin" / "system-browser"
        wrapper.write_text(
            "#!/bin/sh\nexec chromium --no-sandbox --no-first-run --no-default-browser-check --password-store=basic"
            " --disable-gpu --disable-dev-shm-usage --disable-background-networking --disable-component-update"
            f" --user-data-dir={self.profile} --remote-debugging-port={self.port} --remote-allow-origins='*'"
            f" --window-size=1000,800 --lang=en \"$@\" >>{desktop.log}/chromium.log 2>&1\n")
        wrapper.chmod(0o755)
        applications = desktop.root / "data" / "applications"
        (applications / "system-browser.desktop").write_text(
            "[Desktop Entry]\nType=Application\nName=System Browser\n"
            f"Exec={wrapper} %u\nMimeType=x-scheme-handler/http;x-scheme-handler/https;text/html;\n")
        (desktop.root / "config" / "mimeapps.list").write_text(
            "[Default Applications]\nx-scheme-handler/http=system-browser.desktop\n"
            "x-scheme-handler/https=system-browser.desktop\n")

    def lets_launch(self, *origins):
        """These, too, may open the app; before the browser's first start."""
        self.launch_from += origins
        # What ticking "Always allow" in the browser's own dialog writes.
        (self.profile / "Default" / "Preferences").write_text(json.dumps({"protocol_handler": {
            "allowed_origin_protocol_pairs": {origin: dict.fromkeys(self.schemes, True) for origin in self.launch_from}}}))

    def targets(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/json", timeout=2) as answer:
                return [t for t in json.load(answer) if t["type"] == "page"]
        except OSError:
            return []

    def page(self, containing, seconds=60):
        """The tab whose address contains this text, once there is one."""
        found = until(lambda: [t for t in self.targets() if containing in t["url"]], seconds)
        return Page(found[0]["webSocketDebuggerUrl"]) if found else None

    def history(self):
        return [t["url"] for t in self.targets()]

    def new_tab(self, url):
        """A tab at this address, in the browser that runs already."""
        place = f"http://127.0.0.1:{self.port}/json/new?{urllib.parse.quote(url, safe=':/')}"
        with urllib.request.urlopen(urllib.request.Request(place, method="PUT"), timeout=10) as answer:
            return Page(json.load(answer)["webSocketDebuggerUrl"])

    def close(self, target):
        urllib.request.urlopen(f"http://127.0.0.1:{self.port}/json/close/{target['id']}", timeout=2).read()

    def close_tabs(self):
        for target in self.targets():
            self.close(target)
        time.sleep(0.3)

    def cookies(self):
        """The values of the cookies in the jar, also of those that no script may read."""
        targets = self.targets()
        if not targets:
            return []
        page = Page(targets[0]["webSocketDebuggerUrl"])
        return [cookie["value"] for cookie in page.call("Network.getAllCookies")["cookies"]]

    def end(self):
        """Ends the browser, as closing its last window does."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/json/version", timeout=2) as answer:
            Page(json.load(answer)["webSocketDebuggerUrl"]).call("Browser.close")
        until(lambda: not self.targets(), 10)

    def sign_in(self, user="alice", password="alice-password-1", remember=True, page=None):
        """Fills in the embedded provider's form as a person does."""
        page = page or self.page("/login") or self.page("/authorize")
        until(lambda: page.evaluate("!!document.querySelector('input[name=password]')"), 10)
        page.type("input[name=username]", user)
        page.type("input[name=password]", password)
        if not remember:
            page.click("input[name=remember]")
        page.click("button[type=submit]")
        return page
