"""A page's worst company: frames that reach for the session or the bridge, addresses that run or leave, floods; and the
windows and keys of the shell around an honest page (NB-10, NB-11, NB-13, NB-14, SH-7, SH-8)."""
import os
import signal
import subprocess
import sys
import time

from api_server import Api
from browser import Browser
from desktop import Desktop
from page_app import MemoryWatch, PageApp
from portal import Portal
from report import run, until

# Its own policy lets frames run scripts: the one made for bundles without would stop them before anything is tried.
PAGE = """<!doctype html><meta http-equiv="Content-Security-Policy" content="default-src * data: blob: 'unsafe-inline'">
<title>Host</title><body><h1>An honest page</h1><p id="words">needle in a haystack, needle</p>
<script>
window.heard = []; onmessage = e => heard.push(e.data);
// Results that no call of this document has asked for.
window.strays = []; const asked = new Set(), {toNative, fromNative} = Capacitor;
Capacitor.toNative = (...call) => { const id = toNative(...call); asked.add(id); return id };
Capacitor.fromNative = result => { if (result.pluginId != 'Nacre' && !asked.has(result.callbackId)) strays.push(result); return fromNative(result) };
const frame = (text, sandbox) => { const f = document.createElement('iframe'); if (sandbox !== null) f.sandbox = sandbox; f.srcdoc = text; document.body.append(f); return f };
</script>"""
# What a hostile frame tries; each says what came of it.
# A window without an opener; it can tell the page what came of it only by what they both may write.
ALONE = """<!doctype html><title>Alone</title><script>
(async () => { let came = typeof window.Capacitor + ' ' + typeof window.webkit?.messageHandlers?.nacre;
  try { if (window.Capacitor?.nativePromise) came += ' ' + JSON.stringify(await Capacitor.nativePromise('App', 'getInfo')) }
  catch (e) { came += ' refused ' + e.code }
  localStorage.alone = came })();
</script>"""
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
attempt('camera', () => navigator.mediaDevices ? navigator.mediaDevices.getUserMedia({video: true}).then(() => 'films') : 'refused');
attempt('handler', () => typeof window.webkit?.messageHandlers?.nacre);
attempt('capacitor', () => typeof window.Capacitor);
attempt('parent', () => parent.document.title);
attempt('top', () => { top.location = 'https://evil.invalid/'; return 'went' });
attempt('popup', () => window.open('about:blank') ? 'opened' : 'refused');
attempt('forged greeting', () => { document.dispatchEvent(new CustomEvent('nacre-hello', {detail: 'x'})); return 'sent' });
</script><form action="%API%/beacon?form" method="post" target="_self"><input name="a" value="stolen"></form>"""


def pressed(press, done, tries=6):
    """For keys that do no harm twice: a window that has just come loses one now and then beside other work."""
    for _ in range(tries):
        press()
        if value := until(done, 4):
            return value
    return None


def journey(report):
    with Desktop(report, keyring=False) as desktop:
        api = Api()
        browser = Browser(desktop)
        prints = desktop.root / "prints"
        prints.mkdir()
        desktop.env["NACRE_PRINT_FOLDER"] = str(prints)
        desktop.env["NACRE_MOCK_CAPTURE"] = "1"
        portal = Portal(desktop)
        app = PageApp(desktop, api, {"index.html": PAGE, "other.html": "<!doctype html><title>Other</title>Other page", "alone.html": ALONE})
        try:
            app.start()
            frames(report, app, api)
            addresses(report, desktop, app, browser)
            floods(report, app)
            stale(report, app)
            windows(report, desktop, app, prints)
            capture(report, desktop, app)
            keys(report, desktop, app)
            recovery(report, desktop, app, portal)
        finally:
            api.stop()


def frames(report, app, api):
    app.evaluate(f"fetch('{app.api_origin}/cookie', {{credentials: 'include'}}).then(r => r.status)")
    attack = ATTACK.replace("%API%", app.api_origin)
    app.evaluate(f"void frame({attack!r}, 'allow-scripts allow-forms allow-popups')")
    app.wait_for("heard.length >= 13", 30, "the frame's attempts")
    time.sleep(0.5)
    came = {m["what"]: m["came"] for m in app.evaluate("heard")}
    report.say(f"a sandboxed frame: {came}")
    for what in ("fetch", "page host", "proxy", "events", "socket", "parent", "camera"):
        report.see(f"SH-8: a sandboxed frame: {what} comes to nothing", came.get(what, "refused").startswith("refused"), came.get(what))
    report.see("NB-10: no handler, no Capacitor in it", came["handler"] == "undefined" and came["capacitor"] == "undefined", came)
    app.evaluate("void (heard.length = 0, frame('<script>parent.postMessage({what: \"own\", came: [typeof window.Capacitor, typeof window.nacre,"
                 " typeof window.webkit?.messageHandlers?.nacre].join()}, \"*\")<\\/script>', null))")
    report.see("NB-10: nor in a frame of the page's own origin", app.wait_for("heard.find(m => m.what == 'own')", 20)["came"] == "undefined,undefined,undefined",
               app.evaluate("heard"))
    hostile = [r for r in api.requests if "hostile" in r[1] or r[1].startswith("/beacon") or "session=" in (r[2].get("cookie") or "")]
    report.see("NB-13: not one request of it has reached the API", not hostile, [(r[0], r[1]) for r in hostile])
    report.see("the page is still there", app.evaluate("location.href + document.title") == "https://localhost/Host")
    log = app.log()
    refused = log.count('"page.refused"') + log.count('"page.tunnel_refused"')
    report.see("and the log says what was refused", refused >= 4, refused)


def addresses(report, desktop, app, browser):
    def click(address, target=""):
        try:
            app.act(f"void (() => {{ const a = document.createElement('a'); a.href = {address!r}; a.target = '{target}'; document.body.append(a); a.click(); a.remove() }})()")
        except Exception:
            # The answer was lost with the document that it came from.
            app._forget_page()

    for address in ("javascript:document.title='run'", "data:text/html,<title>data</title>", "file:///etc/passwd", "blob:https://evil.invalid/1",
                    "about:blank", "https://localhost.evil.invalid/", "nacrepages://auth?token=x", "view-source:https://localhost/"):
        click(address)
        time.sleep(0.25)
        if address != "about:blank":
            click(address, "_blank")
            time.sleep(0.15)
        place = until(lambda: app.evaluate("location.origin == 'https://localhost' && location.origin"), 20)
        report.see(f"NB-10: {address[:32]} does not take the page's place", place == "https://localhost", place)
    until(lambda: app.evaluate("document.title") == "Host", 15)
    opened = len([r for r in open(app.process.log, errors="replace") if "browser" in r])
    for what, way in (("a script", "location = 'https://evil.invalid/'"), ("a script in the page's words", "location = 'javascript:document.title=`run`'"),
                      ("a data: address by script", "location = 'data:text/html,<title>data</title>'"),
                      ("a form", "(() => { const f = document.createElement('form'); f.action = 'https://evil.invalid/'; f.method = 'post'; document.body.append(f); f.submit(); f.remove() })()"),
                      ("a refresh", "(() => { const m = document.createElement('meta'); m.httpEquiv = 'refresh'; m.content = '0;url=https://evil.invalid/'; document.head.append(m); m.remove() })()")):
        app.evaluate(f"void ({way})")
        time.sleep(0.4)
        place = until(lambda: app.evaluate("location.href"), 5)
        report.see(f"NB-10: {what} that leads away leads nowhere", place.startswith("https://localhost/"), place)
    report.see("and without a person's doing the system's browser is not bothered", len([r for r in open(app.process.log, errors="replace") if "browser" in r]) == opened)


def floods(report, app):
    app.evaluate("window.answers = 0; void (async () => { for (let i = 0; i < 3000; i++) Capacitor.nativePromise('App', 'getInfo', {}).then(() => answers++, () => answers++) })()")
    report.see("3,000 calls of the bridge at once are all answered", app.wait_for("answers == 3000 && answers", 30))
    watch = MemoryWatch(app)
    app.evaluate("void setTimeout(() => Capacitor.nativePromise('App', 'getInfo', {x: 'y'.repeat(100 * 1024 * 1024)}).then(() => window.large = 'went', e => window.large = e.code), 0)")
    until(lambda: watch.look() and app.evaluate("window.large"), 40, 0.2)
    report.see("a bridge message of 100 MB settles, by a clear code", app.evaluate("window.large") == "bridge.too_large", app.evaluate("window.large"))
    report.see("with our memory as flat as before", watch.flat(), watch.growth())
    # More bytes than letters: the page's own script cannot tell, the app can.
    seen = app.run("Capacitor.nativePromise('App', 'getInfo', {x: 'é'.repeat(12 * 1024 * 1024)}).then(() => 'went', e => e.code)")
    report.see("one that is too large only in bytes as well", seen == "bridge.too_large", seen)
    seen = app.run("Promise.all([Capacitor.nativePromise('App', 'getInfo', [1]), Capacitor.nativePromise('App', 'getInfo', 'text'),"
                   " Capacitor.nativePromise('App', 'getInfo', JSON.parse('{\"a\":'.repeat(5000) + '1' + '}'.repeat(5000)))].map(p => p.then(() => 'went', e => e.code)))")
    report.see("so does every call that makes no sense", all(code and code != "went" for code in seen), seen)
    report.see("and answers the next", app.run("Capacitor.nativePromise('App', 'getInfo', {}).then(i => i.id)") == app.id)


def stale(report, app):
    """A page that leaves while its calls are on their way."""
    app.evaluate("void sessionStorage.setItem('before', 'yes')")
    app.evaluate(f"for (let i = 0; i < 20; i++) Capacitor.nativePromise('CapacitorHttp', 'request', {{method: 'GET', url: '{app.api_origin}/slow?n=15'}}); location.reload(); 0")
    app._forget_page()
    app.wait_for("document.readyState == 'complete' && sessionStorage.getItem('before') == 'yes'", 20, "the next load")
    time.sleep(2.5)
    report.see("the answers to a page that has gone do not reach the next", app.evaluate("strays.length") == 0, app.evaluate("strays"))
    report.see("which has its own", app.run("Capacitor.nativePromise('App', 'getInfo', {}).then(i => i.id)") == app.id)


def windows(report, desktop, app, prints):
    def titles():
        ids = desktop.xdotool("search", "--onlyvisible", "--name", ".").split()
        return [desktop.xdotool("getwindowname", w) for w in ids]

    app.act("window.w = window.open(''); w.document.write('<title>To print</title><h1>Printed words</h1>'); w.document.close(); w.print(); void 0")
    printed = until(lambda: [p for p in prints.glob("*.pdf") if p.stat().st_size > 500], 20)
    report.see("NB-11: a blank window that the page wrote prints", printed, [p.name for p in prints.iterdir()])
    seen = app.evaluate("[typeof w.webkit?.messageHandlers?.nacre, typeof w.Capacitor, typeof w.nacre, w.location.href].join(' ')")
    report.see("NB-10: there is no bridge in it", seen.startswith("undefined undefined undefined "), seen)
    report.see("and a title of its own", until(lambda: any(t.startswith("To print") for t in titles()), 15), titles())
    desktop.picture("1-blank-window")
    app.evaluate("w.close()")
    report.see("NB-11: it closes when the page says so", until(lambda: app.evaluate("w.closed") and not any("To print" in t for t in titles()), 15), titles())
    app.act("window.w = window.open('/other.html'); void 0")
    report.see("a page of the app's own opens in a window", until(lambda: app.evaluate("w.document?.title") == "Other", 20))
    seen = app.evaluate("[typeof w.webkit?.messageHandlers?.nacre, typeof w.Capacitor, typeof w.nacre].join(' ')")
    report.see("NB-10: nor is there one in that", seen == "undefined undefined undefined", seen)
    app.act("void window.open('/alone.html', '_blank', 'noopener')")
    refused = until(lambda: '"path":"/alone.html"' in app.log(), 20)
    report.see("NB-10: a window without an opener is not shown the app's pages at all", refused and app.evaluate("localStorage.alone === undefined"))
    report.see("and what its bridge's script says is not heard", until(lambda: '"event":"bridge.refused","window":"another"' in app.log(), 15))
    app.evaluate("w.location = 'https://evil.invalid/'; 0")
    time.sleep(0.7)
    report.see("NB-10: and stays the app's own", app.evaluate("(() => { try { return w.location.origin } catch { return 'gone' } })()") == "https://localhost")
    app.evaluate("w.close()")
    report.see("window.open without a person's doing opens nothing", app.evaluate("window.open('') === null"))
    app.evaluate("void location.reload()")
    app._forget_page()
    app.wait_for("document.readyState == 'complete' && typeof w === 'undefined'", 15, "the next load")
    report.see("what a page has opened goes with it", until(lambda: [t for t in titles() if "Chromium" not in t and "Profile" not in t] == ["Pages"], 15), titles())
    app.act("window.print()")
    report.see("NB-11: window.print() prints the page", until(lambda: len(list(prints.glob("*.pdf"))) >= 2, 20), len(list(prints.glob("*.pdf"))))
    report.see("NB-11: nacre.can('print')", app.evaluate("nacre.can('print')"))


def capture(report, desktop, app):
    """Camera and microphone, which the engine plays by itself here; the question and its answer are real."""
    film = "(want => navigator.mediaDevices.getUserMedia(want).then(s => { const t = s.getTracks().map(t => t.kind + ' ' + t.readyState).sort().join(); s.getTracks().forEach(t => t.stop()); return t }, e => e.name))"

    def begin(want):
        app.evaluate(f"void {film}({want}).then(v => window.filmed = v); window.filmed = null")

    def answer(accept):
        dialog = app.dialog()
        report.see("SH-7: a person is asked", dialog)
        desktop.picture(f"3-question-{'yes' if accept else 'no'}")
        desktop.xdotool("windowfocus", "--sync", dialog, "key", *(["Tab", "Return"] if accept else ["Escape"]))
        seen = app.wait_for("window.filmed", 15, "the page to hear of the answer")
        time.sleep(0.3)
        return seen

    states = "Promise.all(['camera', 'microphone'].map(name => navigator.permissions.query({name}).then(p => p.state, e => e.name))).then(s => s.join())"
    report.see("SH-7: at first nothing is allowed", app.evaluate(states) == "prompt,prompt", app.evaluate(states))
    begin("{video: true}")
    report.see("a no is the page's NotAllowedError", answer(False) == "NotAllowedError", app.evaluate("filmed"))
    seen = app.run(f"{film}({{video: true}})")
    report.see("and holds for this document: it cannot ask again and again", seen == "NotAllowedError" and app.dialog(1) is None, seen)
    app.evaluate("void location.reload()")
    app._forget_page()
    app.wait_for("document.readyState == 'complete' && !window.filmed", 15, "the next load")
    begin("{video: true}")
    seen = answer(True)
    report.see("a yes lets the page film", seen == "video live", seen)
    seen = app.run(f"{film}({{video: true}})")
    report.see("and is not asked for again", seen == "video live" and app.dialog(1) is None, seen)
    report.see("SH-7: the camera's yes is not the microphone's", app.evaluate(states) == "granted,prompt", app.evaluate(states))
    begin("{audio: true, video: true}")
    seen = answer(True)
    report.see("both at once are one question", seen == "audio live,video live", seen)
    report.see("the page sees what it has been allowed", app.evaluate(states) == "granted,granted", app.evaluate(states))


def keys(report, desktop, app):
    window = app._window()
    key = lambda *names: desktop.xdotool("windowfocus", "--sync", window, "key", *names)  # noqa: E731
    width = app.evaluate("innerWidth")
    key("ctrl+minus", "ctrl+minus")
    report.see("Ctrl and minus makes the page smaller", app.wait_for(f"innerWidth > {width * 1.15}", 15))
    zoomed = app.evaluate("innerWidth")

    def find():
        key("ctrl+f")
        time.sleep(0.4)
        desktop.xdotool("type", "--delay", "30", "needle")

    pressed(find, lambda: app.evaluate("getSelection().toString() == 'needle'"), 3)
    app.picture("2-find")
    # The found text is selected for whoever looks.
    key("Escape")
    report.see("find in page selects what it finds", app.wait_for("getSelection().toString() == 'needle'", 15), app.evaluate("getSelection().toString()"))

    app.evaluate("onbeforeunload = e => { e.preventDefault(); return 'typed' }")
    app.click("#words")
    app.process.send_signal(signal.SIGCONT)

    def corner():
        """The colour of the page where it is empty: WebKit dims it behind a question, which is no window of its own."""
        return subprocess.run(["import", "-window", window, "-crop", "1x1+20+300", "txt:-"], env=desktop.env,
                              capture_output=True, text=True).stdout.splitlines()[1:]

    bright = corner()
    key("ctrl+w")
    asked = until(lambda: app.process.poll() is not None or corner() != bright, 15)
    desktop.picture("4-beforeunload")
    report.see("beforeunload asks before the window closes", bright and asked and app.process.poll() is None, (bright, corner()))
    gone = pressed(lambda: desktop.xdotool("key", "Escape"), lambda: app.process.poll() is not None or corner() == bright)
    report.see("and staying stays", gone and app.process.poll() is None and until(lambda: app.evaluate("document.title"), 15) == "Host")
    app.evaluate("onbeforeunload = null")
    app.close()
    app.start()
    report.see("zoom is kept for the next start", abs(app.evaluate("innerWidth") - zoomed) <= 2, (app.evaluate("innerWidth"), zoomed))
    key = lambda *names: desktop.xdotool("windowfocus", "--sync", app._window(), "key", *names)  # noqa: E731
    key("ctrl+0")
    report.see("Ctrl and 0 brings it back", app.wait_for(f"innerWidth == {width}", 15))


def problem(report, desktop, app, portal):
    """What a person hands to somebody who is to help."""
    app.evaluate("void setTimeout(() => Capacitor.handleError(new Error('could not load, token=s3cr3t for ada@example.org')), 0)")
    until(lambda: "could not load" in app.log(), 20)
    text = app.run("nacre.report()")
    report.see("a problem report has versions, the page's exception and its crash", all(w in text for w in (app.id, "web engine 2.", "could not load", "page.crashed")),
               text[:160])
    report.see("and neither the secret nor the address in it", "s3cr3t" not in text and "ada@example.org" not in text and str(desktop.root / "home") not in text)
    folder = desktop.root / "saved"
    folder.mkdir(exist_ok=True)
    portal.saves_to(folder)
    # By the menu of the right button, its last entry.
    own, place = app._window(), app.place("h1")
    windows = lambda: set(desktop.xdotool("search", "--onlyvisible", "--pid", app.process.pid).split())  # noqa: E731
    before = windows()

    def choose():
        desktop.xdotool("windowfocus", "--sync", own, "key", "Escape", "mousemove", *place, "click", 3)
        until(lambda: windows() - before, 10)
        time.sleep(0.5)
        desktop.picture("7-menu")
        desktop.xdotool("key", "Up", "Return")

    saved = pressed(choose, lambda: [p for p in folder.iterdir() if p.stat().st_size > 500], 4)
    report.see("the window's menu saves it", saved and "page.crashed" in saved[0].read_text(), portal.asked[-1:])


def recovery(report, desktop, app, portal):
    def crash():
        for pid in list(desktop._ours()):
            try:
                if open(f"/proc/{pid}/comm").read().startswith("WebKitWebProces"):
                    os.kill(pid, signal.SIGKILL)
            except OSError:
                pass

    def reload(*keys):
        def press():
            desktop.xdotool("windowfocus", "--sync", app._window(), "key", *keys)
            app._forget_page()

        return pressed(press, lambda: app.evaluate("document.title") == "Host")

    app.evaluate(f"void (localStorage.kept = 'yes', fetch('{app.api_origin}/slow?n=100').catch(() => 0))")
    time.sleep(1)
    crash()
    report.see("a page whose process dies is reported", until(lambda: app.log().count("page.crashed") == 1, 20))
    app._forget_page()
    until(lambda: app.evaluate("document.querySelector('h1')?.textContent") == "The page stopped working", 15)
    time.sleep(0.8)
    desktop.picture("5-crashed")
    report.see("and comes back by its button", reload("Return"))
    report.see("with its bridge and what it has stored", app.run("Capacitor.nativePromise('App', 'getInfo', {}).then(i => i.id + localStorage.kept)") == app.id + "yes")
    crash()
    until(lambda: app.log().count("page.crashed") == 2, 20)
    # A process that dies while it is being started takes the app along: WebKit itself ends it then.
    app._forget_page()
    report.see("a page of the shell's own says what has happened", until(lambda: app.evaluate("document.querySelector('h1')?.textContent"), 15) == "The page stopped working")
    crash()
    report.see("where even the page that says so dies, the window says it by itself", until(lambda: app.log().count("page.crashed") == 3, 20))
    time.sleep(0.5)
    desktop.picture("6-crashed-twice")
    report.see("and its button works too", reload("Tab", "Return"))
    problem(report, desktop, app, portal)
    report.see("it closes as ever", app.close() == 0)


sys.exit(run("hostile-page", journey))
