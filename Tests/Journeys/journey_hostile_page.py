"""A page's worst company: frames that reach for the session or the bridge, addresses that run or leave, floods; and the
windows and keys of the shell around an honest page (NB-10, NB-11, NB-13, SH-8)."""
import os
import signal
import sys
import time

from api_server import Api
from browser import Browser
from desktop import Desktop
from page_app import PageApp
from report import run, until

# Its own policy lets frames run scripts: the one made for bundles without would stop them before anything is tried.
PAGE = """<!doctype html><meta http-equiv="Content-Security-Policy" content="default-src * data: blob: 'unsafe-inline'">
<title>Host</title><body><h1>An honest page</h1><p id="words">needle in a haystack, needle</p>
<script>
window.heard = []; onmessage = e => heard.push(e.data);
const frame = (text, sandbox) => { const f = document.createElement('iframe'); if (sandbox !== null) f.sandbox = sandbox; f.srcdoc = text; document.body.append(f); return f };
</script>"""
# What a hostile frame tries; each says what came of it.
ATTACK = """<script>
const tell = (what, came) => parent.postMessage({what, came: String(came)}, '*');
const attempt = (what, work) => { try { Promise.resolve(work()).then(v => tell(what, v), e => tell(what, 'refused ' + e.name)) } catch (e) { tell(what, 'refused ' + e.name) } };
attempt('fetch', () => fetch('%API%/echo', {credentials: 'include'}).then(r => r.status));
attempt('post', () => fetch('%API%/beacon?post', {method: 'POST', body: 'stolen', credentials: 'include', mode: 'no-cors'}).then(r => r.type));
attempt('beacon', () => navigator.sendBeacon('%API%/beacon?beacon', 'stolen'));
attempt('page host', () => fetch('https://localhost/_nacre_/x').then(r => r.status));
attempt('proxy', () => fetch('https://localhost/_capacitor_http_interceptor_?u=' + encodeURIComponent('%API%/echo')).then(r => r.status));
attempt('events', () => new Promise(d => { const e = new EventSource('%API%/slow?type=text/event-stream&hostile=1', {withCredentials: true}); e.onopen = () => d('open'); e.onerror = () => d('refused') }));
attempt('socket', () => new Promise(d => { const s = new WebSocket('%API%'.replace('https', 'wss') + '/ws?hostile=1'); s.onopen = () => d('open'); s.onerror = () => d('refused') }));
attempt('handler', () => typeof window.webkit?.messageHandlers?.nacre);
attempt('capacitor', () => typeof window.Capacitor);
attempt('parent', () => parent.document.title);
attempt('top', () => { top.location = 'https://evil.invalid/'; return 'went' });
attempt('popup', () => window.open('about:blank') ? 'opened' : 'refused');
attempt('forged greeting', () => { document.dispatchEvent(new CustomEvent('nacre-hello', {detail: 'x'})); return 'sent' });
</script><form action="%API%/beacon?form" method="post" target="_self"><input name="a" value="stolen"></form>"""


def journey(report):
    with Desktop(report, keyring=False) as desktop:
        api = Api()
        browser = Browser(desktop)
        prints = desktop.root / "prints"
        prints.mkdir()
        desktop.env["NACRE_PRINT_FOLDER"] = str(prints)
        app = PageApp(desktop, api, {"index.html": PAGE, "other.html": "<!doctype html><title>Other</title>Other page"})
        try:
            app.start()
            frames(report, app, api)
            addresses(report, desktop, app, browser)
            floods(report, app)
            windows(report, desktop, app, prints)
            recovery(report, desktop, app)
        finally:
            api.stop()


def frames(report, app, api):
    app.evaluate(f"fetch('{app.api_origin}/cookie', {{credentials: 'include'}}).then(r => r.status)")
    attack = ATTACK.replace("%API%", app.api_origin)
    app.evaluate(f"void frame({attack!r}, 'allow-scripts allow-forms allow-popups')")
    app.wait_for("heard.length >= 12", 15, "the frame's attempts")
    time.sleep(0.5)
    came = {m["what"]: m["came"] for m in app.evaluate("heard")}
    report.say(f"a sandboxed frame: {came}")
    for what in ("fetch", "page host", "proxy", "events", "socket", "parent"):
        report.see(f"SH-8: a sandboxed frame: {what} comes to nothing", came.get(what, "refused").startswith("refused"), came.get(what))
    report.see("NB-10: no handler, no Capacitor in it", came["handler"] == "undefined" and came["capacitor"] == "undefined", came)
    app.evaluate("void document.querySelector('iframe').contentWindow")
    hostile = [r for r in api.requests if "hostile" in r[1] or r[1].startswith("/beacon") or "session=" in (r[2].get("cookie") or "")]
    report.see("NB-13: not one request of it has reached the API", not hostile, [(r[0], r[1]) for r in hostile])
    report.see("the page is still there", app.evaluate("location.href + document.title") == "https://localhost/Host")
    log = app.log()
    refused = log.count('"page.refused"') + log.count('"page.tunnel_refused"')
    report.see("and the log says what was refused", refused >= 4, refused)


def addresses(report, desktop, app, browser):
    for address in ("javascript:document.title='run'", "data:text/html,<title>data</title>", "file:///etc/passwd", "blob:https://evil.invalid/1",
                    "about:blank", "https://localhost.evil.invalid/", "nacrepages://auth?token=x", "view-source:https://localhost/"):
        app.act(f"void (() => {{ const a = document.createElement('a'); a.href = {address!r}; document.body.append(a); a.click(); a.remove() }})()")
        time.sleep(0.25)
        app.act(f"void (() => {{ const a = document.createElement('a'); a.href = {address!r}; a.target = '_blank'; document.body.append(a); a.click(); a.remove() }})()"
                if address != "about:blank" else "0")
        time.sleep(0.15)
        place = until(lambda: app.evaluate("location.origin == 'https://localhost' && location.origin"), 5)
        report.see(f"NB-10: {address[:32]} does not take the page's place", place == "https://localhost", place)
    until(lambda: app.evaluate("document.title") == "Host", 5)


def floods(report, app):
    app.evaluate("window.answers = 0; void (async () => { for (let i = 0; i < 3000; i++) Capacitor.nativePromise('App', 'getInfo', {}).then(() => answers++, () => answers++) })()")
    report.see("3,000 calls of the bridge at once are all answered", app.wait_for("answers == 3000 && answers", 30))
    app.evaluate("void setTimeout(() => Capacitor.nativePromise('App', 'getInfo', {x: 'y'.repeat(100 * 1024 * 1024)}).catch(() => 0), 0)")
    refused = until(lambda: "bridge.too_large" in app.log(), 40, 0.5)
    report.see("a bridge message of 100 MB is refused, and the app lives", refused and app.process.poll() is None)
    report.see("and answers the next", app.run("Capacitor.nativePromise('App', 'getInfo', {}).then(i => i.id)") == app.id)


def windows(report, desktop, app, prints):
    def titles():
        ids = desktop.xdotool("search", "--onlyvisible", "--name", ".").split()
        return [desktop.xdotool("getwindowname", w) for w in ids]

    app.act("window.w = window.open(''); w.document.write('<title>To print</title><h1>Printed words</h1>'); w.document.close(); w.print(); void 0")
    printed = until(lambda: [p for p in prints.glob("*.pdf") if p.stat().st_size > 500], 10)
    report.see("NB-11: a blank window that the page wrote prints", printed, [p.name for p in prints.iterdir()])
    seen = app.evaluate("[typeof w.webkit?.messageHandlers?.nacre, typeof w.Capacitor, typeof w.nacre, w.location.href].join(' ')")
    report.see("NB-10: its handler is out of reach for scripts, as in the page that wrote it", seen.startswith("undefined "), seen)
    report.see("and a title of its own", until(lambda: any(t.startswith("To print") for t in titles()), 5), titles())
    desktop.picture("1-blank-window")
    app.evaluate("w.close()")
    report.see("NB-11: it closes when the page says so", until(lambda: app.evaluate("w.closed") and not any("To print" in t for t in titles()), 5), titles())
    app.act("window.w = window.open('/other.html'); void 0")
    report.see("a page of the app's own opens in a window", until(lambda: app.evaluate("w.document?.title") == "Other", 10))
    app.evaluate("w.location = 'https://evil.invalid/'; 0")
    time.sleep(0.7)
    report.see("NB-10: and stays the app's own", app.evaluate("(() => { try { return w.location.origin } catch { return 'gone' } })()") == "https://localhost")
    app.evaluate("w.close()")
    report.see("window.open without a person's doing opens nothing", app.evaluate("window.open('') === null"))
    app.act("window.print()")
    report.see("NB-11: window.print() prints the page", until(lambda: len(list(prints.glob("*.pdf"))) >= 2, 10), len(list(prints.glob("*.pdf"))))
    report.see("NB-11: nacre.can('print')", app.evaluate("nacre.can('print')"))

    window = app._window()
    key = lambda *names: desktop.xdotool("windowfocus", "--sync", window, "key", *names)  # noqa: E731
    width = app.evaluate("innerWidth")
    key("ctrl+minus", "ctrl+minus")
    report.see("Ctrl and minus makes the page smaller", app.wait_for(f"innerWidth > {width}", 5))
    zoomed = app.evaluate("innerWidth")
    key("ctrl+f")
    time.sleep(0.4)
    desktop.xdotool("type", "--delay", "30", "needle")
    time.sleep(0.8)
    app.picture("2-find")
    # The found text is selected for whoever looks.
    key("Escape")
    report.see("find in page selects what it finds", app.wait_for("getSelection().toString() == 'needle'", 5), app.evaluate("getSelection().toString()"))

    app.evaluate("onbeforeunload = e => { e.preventDefault(); return 'typed' }")
    app.click("#words")
    app.process.send_signal(signal.SIGCONT)
    desktop.xdotool("windowfocus", "--sync", window, "key", "ctrl+w")
    time.sleep(1.2)
    desktop.picture("4-beforeunload")
    report.see("beforeunload asks before the window closes", app.process.poll() is None)
    desktop.xdotool("key", "Escape")
    time.sleep(0.5)
    report.see("and staying stays", app.process.poll() is None and app.evaluate("document.title") == "Host")
    app.evaluate("onbeforeunload = null")
    app.close()
    app.start()
    report.see("zoom is kept for the next start", abs(app.evaluate("innerWidth") - zoomed) <= 2, (app.evaluate("innerWidth"), zoomed))
    key = lambda *names: desktop.xdotool("windowfocus", "--sync", app._window(), "key", *names)  # noqa: E731
    key("ctrl+0")
    report.see("Ctrl and 0 brings it back", app.wait_for(f"innerWidth == {width}", 5))


def recovery(report, desktop, app):
    for pid in list(desktop._ours()):
        try:
            if open(f"/proc/{pid}/comm").read().startswith("WebKitWebProces"):
                os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
    report.see("a page whose process dies is reported", until(lambda: "page.crashed" in app.log(), 10))
    time.sleep(1.5)
    desktop.picture("5-crashed")
    desktop.xdotool("windowfocus", "--sync", app._window(), "key", "Return")
    app._forget_page()
    report.see("and comes back by its button", until(lambda: app.evaluate("document.title") == "Host", 15))
    app.close()


sys.exit(run("hostile-page", journey))
