"""NB-1, NB-2: what a page's fetch and XHR come to in the app, case by case beside Chromium: equal, or on the list of
differences in `fetch_differences.json`, which may only shrink."""
import json
import sys

from api_server import Api
from browser import Browser
from desktop import Desktop
from page_app import PAGES, PageApp
from report import ROOT, run, until

BUNDLE = {"index.html": '<!doctype html><meta charset="utf-8"><title>Fetch</title><body><script src="fetch.js"></script>',
          "frame.html": '<!doctype html><meta charset="utf-8"><script src="fetch.js"></script>', "fetch.js": None}
DIFFERENCES = ROOT / "Tests" / "Journeys" / "fetch_differences.json"


def journey(report):
    with Desktop(report, keyring=False) as desktop:
        api_for_app = Api()
        app = PageApp(desktop, api_for_app, BUNDLE).start()
        api = Api(app.folder / "dist")
        browser = Browser(desktop)
        try:
            story(report, desktop, app, api_for_app, api, browser)
        finally:
            api_for_app.stop()
            api.stop()


def story(report, desktop, app, own, other, browser):
    wrapper = desktop.root / "bin" / "system-browser"
    desktop.spawn("chromium", [wrapper, "--headless=new", other.page_origin + "/index.html"])
    page = browser.page(other.page_origin)
    report.see("an ordinary browser shows the same bundle", page is not None)
    until(lambda: page.evaluate("typeof runAll == 'function'"), 10)
    app.evaluate(f"void runAll({json.dumps(app.api_origin)}).then(r => window.results = r, e => window.results = {{e: String(e)}})")
    page.evaluate(f"void runAll({json.dumps(other.origin)}).then(r => window.results = r, e => window.results = {{e: String(e)}})")
    theirs = until(lambda: page.evaluate("window.results"), 60, 0.5)
    ours = until(lambda: app.evaluate("window.results"), 60, 0.5)
    report.see("every case came to an end in both", ours and theirs and "e" not in ours and "e" not in theirs, ours and ours.get("e"))
    (report.pictures / "app.json").write_text(json.dumps(ours, indent=1, sort_keys=True))
    (report.pictures / "chromium.json").write_text(json.dumps(theirs, indent=1, sort_keys=True))

    known = json.loads(DIFFERENCES.read_text())
    count, unknown, gone = 0, [], []
    for scope in ("page", "worker", "frame"):
        report.see(f"{scope}: the same cases ran", sorted(ours[scope]) == sorted(theirs[scope]), len(ours[scope]))
        for name in sorted(ours[scope]):
            count += 1
            listed = name in known
            if ours[scope][name] != theirs[scope][name] and not listed:
                unknown.append(f"{scope}: {name}: app {json.dumps(ours[scope][name])} chromium {json.dumps(theirs[scope][name])}")
    for name in known:
        if all(ours[s].get(name) == theirs[s].get(name) for s in ("page", "worker", "frame")):
            gone.append(name)
    for line in unknown:
        report.say("differs: " + line)
    report.see(f"{count} cases come to the same as in Chromium, {len(known)} kinds listed as different", not unknown, len(unknown))
    report.see("the list holds nothing that is equal by now", not gone, gone)
    never = [f"{s}: {n}" for s in ours for n, r in ours[s].items() if r == "never"]
    report.see("nothing waits for ever", not never, never)

    for scope in ("page", "worker", "frame"):
        report.see(f"{scope}: an abort reaches the API", until(lambda: f"/slow?abort={scope}" in own.aborted, 5))
    report.see("the API was asked no preflight", not [r for r in own.requests if r[0] == "OPTIONS" and "access-control-request-method" in r[2]])
    report.see("and never saw the page's origin as its caller's",
               not [r for r in own.requests if r[2].get("origin") not in (None, own.origin)])
    app.evaluate(f"fetch({json.dumps(app.api_origin)} + '/cookie', {{credentials: 'include'}}).then(r => r.status)")
    seen = app.run(f"fetch({json.dumps(app.api_origin)} + '/echo', {{credentials: 'include'}}).then(r => r.json())")
    report.see("a cookie of the API is kept natively, SameSite=Strict too, and never seen by the page",
               seen["cookie"] == "session=from-the-api" and app.evaluate("document.cookie") == "", seen["cookie"])
    app.evaluate(f"navigator.sendBeacon({json.dumps(app.api_origin)} + '/beacon', 'from the page')")
    app.run("fetch('https://localhost/').then(r => r.status)")
    report.say(f"beacons that arrived: {own.beacons}")
    report.see("a manual abort left no transfer behind", app.close() == 0)


sys.exit(run("fetch", journey))
