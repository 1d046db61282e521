"""The conformance kit in the real shell: every golden trace of the bridge, called as @capacitor/core calls (NB-9)."""
import json
import sys
import types
import urllib.parse

from app import App
from desktop import Desktop, free_port
from kit_server import KitServer
from report import ROOT, run, until

TRACES = ROOT / "Tests" / "ContractTests" / "Fixtures" / "bridge"


def openers(desktop):
    """A program of the desktop that notes each address it is to open."""
    notes = desktop.root / "opened"
    notes.touch()
    script = desktop.root / "bin" / "note-address"
    script.write_text(f'#!/bin/sh\nprintf "%s\\n" "$1" >> {notes}\n')
    script.chmod(0o755)
    kinds = ["x-scheme-handler/http", "x-scheme-handler/https", "x-scheme-handler/mailto"]
    (desktop.root / "data" / "applications" / "note-address.desktop").write_text(
        f"[Desktop Entry]\nType=Application\nName=Notes\nExec={script} %u\nMimeType={';'.join(kinds)};\n")
    (desktop.root / "config" / "mimeapps.list").write_text(
        "[Default Applications]\n" + "".join(f"{kind}=note-address.desktop\n" for kind in kinds))
    return notes


def journey(report):
    with Desktop(report) as desktop:
        notes = openers(desktop)
        server = KitServer(free_port())
        try:
            story(report, desktop, server, notes)
        finally:
            server.stop()


def story(report, desktop, server, notes):
    app = App(desktop, types.SimpleNamespace(origin=server.origin))
    app.use_page("kit")
    # Any key: nothing is offered here.
    settings = json.loads((app.folder / "nacre.json").read_text())
    settings["updates"] = {"rootKeys": ["11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="]}
    (app.folder / "nacre.json").write_text(json.dumps(settings))
    app.start()
    app.wait_for("!!window.runKit", 10)
    report.see("platform, native, server URL as a custom platform has them",
               app.evaluate("[Capacitor.getPlatform(), Capacitor.isNativePlatform(), Capacitor.getServerUrl()]")
               == ["linux", True, "https://localhost"])
    report.see("the headers were there before the first script of the page",
               app.evaluate("headersAtStart === Capacitor.PluginHeaders && headersAtStart.length > 10"),
               app.evaluate("headersAtStart.length"))
    report.see("a plugin that is not there is not available",
               app.evaluate("[Capacitor.isPluginAvailable('Filesystem'), Capacitor.isPluginAvailable('Radio')]")
               == [True, False])
    traces = [json.loads(path.read_text()) for path in sorted(TRACES.glob("*.json"))]
    names = {"API": server.visible, "NETWORK": server.origin, "PAGE": "https://localhost", "SCHEME": app.scheme,
             "API-ESCAPED": urllib.parse.quote(server.visible, safe="")}
    app.evaluate(f"void runKit({json.dumps(traces)}, {json.dumps(names)})")

    def step():
        wants = app.evaluate("window.kitWants ?? null")
        if wants:
            act(desktop, app, wants)
            app.evaluate("void (window.kitWants = null)")
        return app.evaluate("window.kitResults ?? null")

    results = until(step, 150, 0.1)
    report.see("the kit came to its end", bool(results))
    wrong = [r for r in results if r["why"]]
    for result in wrong:
        report.say(f"{result['plugin']} row {result['index']}: {json.dumps(result['row'], ensure_ascii=False)[:200]}")
        report.say(f"    {result['why']}")
    for plugin in sorted({r["plugin"] for r in results}):
        rows = [r for r in results if r["plugin"] == plugin]
        report.say(f"{plugin:20} {sum(not r['why'] for r in rows)} of {len(rows)} rows")
    report.see("every row of every trace is as it is in process", not wrong, f"{len(results) - len(wrong)} of {len(results)}")
    opened = notes.read_text()
    report.see("Browser.open reached the person's own browser, fragment and all", "https://example.org/a?b=c#d" in opened)
    report.see("Share began a mail", "mailto:?subject=Hello&body=A%20text%0D%0Ahttps%3A%2F%2Fexample.org%2F%3Fa%3Db" in opened,
               opened.splitlines()[-1])
    app.picture("1-kit")
    frame(report, app)
    app.close()


def act(desktop, app, wants):
    if wants["action"] == "link":
        desktop.spawn("link", [app.process.args[0], "run", app.folder, wants["value"]],
                      env={"NACRE_ENV": "development"}).wait(15)
    elif wants["action"] == "back":
        desktop.xdotool("windowfocus", "--sync", app._window(), "key", "alt+Left")


def frame(report, app):
    """NB-10: what is in a frame reaches no plugin, and no file of the app."""
    uri = app.evaluate("Capacitor.nativePromise('Filesystem', 'writeFile', {path: 'f.html', directory: 'DATA', "
                       "data: '<script>parent.postMessage(\"ran\", \"*\")</script>', encoding: 'utf8'}).then(r => r.uri)")
    seen = app.evaluate("""new Promise(done => {
        const seen = []; addEventListener('message', e => seen.push(e.data));
        const source = Capacitor.convertFileSrc(%s);
        const inner = `<img src="${source}" onload="parent.postMessage('img','*')"><script>
          parent.postMessage(typeof window.Capacitor + typeof window.webkit, '*');
          fetch("${source}").then(r => parent.postMessage('fetched ' + r.status, '*'), () => parent.postMessage('refused', '*'))</scr` + `ipt>`;
        for (const make of [f => f.src = source, f => { f.sandbox = 'allow-scripts'; f.srcdoc = inner }]) {
          const f = document.createElement('iframe'); make(f); document.body.append(f) }
        setTimeout(() => done(seen.sort()), 1500) })""" % json.dumps(uri))
    report.see("NB-10: no frame runs a file of the app, reads one, or sees the bridge", seen == ["refused", "undefinedundefined"], seen)


sys.exit(run("bridge", journey))
