"""NB-1, NB-2: what a page's fetch and XHR come to in the app, case by case beside Chromium: equal, or on the list of
differences, which may only shrink. Twice: by the page channel, and by the patched one of systems whose web view takes no
proxy (`--page-channel patched`), each with a list of its own."""
import json
import sys

from api_server import Api
from browser import Browser
from desktop import Desktop
from page_app import PageApp
from report import ROOT, run, until

BUNDLE = {"index.html": '<!doctype html><meta charset="utf-8"><title>Fetch</title><body><script src="fetch.js"></script>',
          "frame.html": '<!doctype html><meta charset="utf-8"><script src="fetch.js"></script>', "fetch.js": None, "shared.js": None}
SCOPES = ("page", "worker", "frame")
CHANNELS = {"proxy": "fetch_differences.json", "patched": "patched_fetch_differences.json"}


def journey(report):
    with Desktop(report, keyring=False) as desktop:
        api_for_app = Api()
        app = PageApp(desktop, api_for_app, BUNDLE)
        api = Api(app.folder / "dist")
        browser = Browser(desktop)
        try:
            theirs = None
            for channel, differences in CHANNELS.items():
                report.say(f"-- the {channel} channel")
                app.start("--page-channel", channel)
                app.evaluate(started(app.api_origin))
                theirs = theirs or chromium(report, desktop, api, browser)
                story(report, channel, ROOT / "Tests" / "Journeys" / differences, app, api_for_app, theirs)
        finally:
            api_for_app.stop()
            api.stop()


def started(api_origin):
    return f"void runAll({json.dumps(api_origin)}).then(r => window.results = r, e => window.results = {{e: String(e)}})"


def chromium(report, desktop, api, browser):
    wrapper = desktop.root / "bin" / "system-browser"
    desktop.spawn("chromium", [wrapper, "--headless=new", api.page_origin + "/index.html"])
    page = browser.page(api.page_origin)
    report.see("an ordinary browser shows the same bundle", page is not None)
    until(lambda: page.evaluate("typeof runAll == 'function'"), 10)
    page.evaluate(started(api.origin))
    results = until(lambda: page.evaluate("window.results"), 60, 0.5)
    report.see("every case came to an end there", results and "e" not in results, results and results.get("e"))
    (report.pictures / "chromium.json").write_text(json.dumps(results, indent=1, sort_keys=True))
    return results


def story(report, channel, differences, app, own, theirs):
    ours = until(lambda: app.evaluate("window.results"), 90, 0.5)
    report.see("every case came to an end", ours and "e" not in ours, ours and ours.get("e"))
    (report.pictures / f"{channel}.json").write_text(json.dumps(ours, indent=1, sort_keys=True))

    known = json.loads(differences.read_text())
    count, unknown, gone = 0, [], []
    for scope in SCOPES:
        report.see(f"{scope}: the same cases ran", sorted(ours[scope]) == sorted(theirs[scope]), len(ours[scope]))
        for name in sorted(ours[scope]):
            count += 1
            listed = name in known
            if ours[scope][name] != theirs[scope][name] and not listed:
                unknown.append(f"{scope}: {name}: app {json.dumps(ours[scope][name])} chromium {json.dumps(theirs[scope][name])}")
    for name in known:
        if all(ours[s].get(name) == theirs[s].get(name) for s in SCOPES):
            gone.append(name)
    for line in unknown:
        report.say("differs: " + line)
    report.see(f"{count} cases come to the same as in Chromium, {len(known)} kinds listed as different", not unknown, len(unknown))
    report.see("the list holds nothing that is equal by now", not gone, gone)
    never = [f"{s}: {n}" for s in ours for n, r in ours[s].items() if r == "never"]
    report.see("nothing waits for ever", not never, never)

    if channel == "patched":
        # WebKit sends no stream by itself, and Chromium none to a server of HTTP/1.
        body = "new ReadableStream({start(c) { for (let i = 0; i < 9; i++) c.enqueue(make(100_000)); c.close() }})"
        both = app.run(
            f"fetch({json.dumps(app.api_origin)} + '/echo', {{method: 'POST', duplex: 'half', body: {body}}}).then(r => r.json())"
            ".then(async r => [r.sha256, await sha(await new Blob(Array(9).fill(make(100_000))).arrayBuffer())])")
        report.see("NB-2: a stream's bytes arrive as the request's body", both[0] == both[1], both)
    for scope in SCOPES:
        report.see(f"{scope}: an abort reaches the API", until(lambda: f"/slow?abort={scope}" in own.aborted, 5))
    report.see("the API was asked no preflight", not [r for r in own.requests if r[0] == "OPTIONS" and "access-control-request-method" in r[2]])
    report.see("and never saw the page's origin as its caller's",
               not [r for r in own.requests if r[2].get("origin") not in (None, own.origin)])
    app.evaluate(f"fetch({json.dumps(app.api_origin)} + '/cookie', {{credentials: 'include'}}).then(r => r.status)")
    seen = app.run(f"fetch({json.dumps(app.api_origin)} + '/echo', {{credentials: 'include'}}).then(r => r.json())")
    report.see("a cookie of the API is kept natively, SameSite=Strict too, and never seen by the page",
               seen["cookie"] == "session=from-the-api" and app.evaluate("document.cookie") == "", seen["cookie"])
    own.beacons.clear()
    app.evaluate(f"navigator.sendBeacon({json.dumps(app.api_origin)} + '/beacon', 'from the page')")
    report.see("a beacon arrives", until(lambda: own.beacons == [b"from the page"], 5), own.beacons)
    report.see("a manual abort left no transfer behind", app.close() == 0)
    own.requests.clear()
    own.aborted.clear()


sys.exit(run("fetch", journey))
