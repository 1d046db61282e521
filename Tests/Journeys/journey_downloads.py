"""NB-5: what a page downloads is fetched with the session, resumed where it breaks, named safely and saved by the
desktop's own dialog (through the file chooser portal)."""
import hashlib
import sys
import time
import urllib.parse

from api_server import Api, content
from desktop import Desktop
from page_app import MemoryWatch, PageApp
from portal import Portal
from report import run, until

PAGE = """<!doctype html><title>Downloads</title><body><h1>Downloads</h1><script>
const go = (href, name) => { const a = document.createElement('a'); a.href = href; if (name !== undefined) a.download = name;
  document.body.append(a); a.click(); a.remove(); };
</script>"""


def journey(report):
    with Desktop(report, keyring=False) as desktop:
        portal = Portal(desktop)
        api = Api()
        app = PageApp(desktop, api, {"index.html": PAGE, "notes.txt": "from the bundle"})
        folder = desktop.root / "saved"
        folder.mkdir()
        portal.saves_to(folder)
        try:
            app.start()
            story(report, desktop, app, api, portal, folder)
        finally:
            api.stop()


def story(report, desktop, app, api, portal, folder):
    def saved(name, size=None, seconds=15):
        path = folder / name
        return until(lambda: path.exists() and (size is None or path.stat().st_size == size) and path, seconds)

    def see_saved(what, name, size=None, seconds=15):
        path = saved(name, size, seconds)
        if not path:
            desktop.picture("not-saved")
        return report.see(what, path, portal.asked[-1:]) and path

    def file(**query):
        return f"{app.api_origin}/file?" + urllib.parse.urlencode(query)

    app.evaluate(f"fetch('{app.api_origin}/cookie', {{credentials: 'include'}}).then(r => r.status)")

    # A link to an attachment of the API: a navigation off the app's origin that is a file.
    app.act(f"go('{file(n=300_000, disposition='attachment; filename=report.bin', session=1)}')")
    path = see_saved("an attachment of the API is saved with the session", "report.bin", 300_000)
    report.see("byte for byte", path.read_bytes() == content(300_000))
    report.see("the page is still the same", app.evaluate("location.href") == "https://localhost/")
    app.picture("1-saved")
    app.act(f"window.open('{file(n=1000, disposition='attachment; filename=window.bin')}')")
    report.see("window.open of an attachment too", saved("window.bin", 1000), portal.asked[-1])
    app.act(f"go('{file(n=1000, type='application/zip', x='archive.zip')}')")
    report.see("what no page can be made of is saved, named after its address and type", saved("file.zip", 1000), portal.asked[-1])

    # Links with a download attribute.
    app.act("go('notes.txt', 'my notes.txt')")
    path = saved("my notes.txt")
    report.see("a file of the bundle by <a download>", path and path.read_text() == "from the bundle", portal.asked[-1])
    app.act("go(URL.createObjectURL(new Blob(['made by the page'])), 'blob é.txt')")
    path = saved("blob é.txt")
    report.see("a blob: that the page made", path and until(lambda: path.read_text() == "made by the page", 5), portal.asked[-1])
    app.act("go('data:text/plain,of%20data', 'data.txt')")
    path = saved("data.txt")
    report.see("a data: address", path and until(lambda: path.read_text() == "of data", 5), portal.asked[-1])
    proxy = "/_capacitor_http_interceptor_?u=" + urllib.parse.quote(file(n=5000, session=1, disposition="attachment; filename=proxied.bin"), safe="")
    app.act(f"go('{proxy}', 'x.bin')")
    report.see("NB-4: a proxy address is unwrapped and fetched", saved("proxied.bin", 5000), portal.asked[-1])

    # Names.
    for given, expected in [("../../x", "x"), ("CON", "_CON"), ("a" * 300 + ".pdf", None), ("invoice\u202efdp.exe", "invoicefdp.exe"),
                            ("..", "file"), ("a\x01b.txt", "ab.txt"), ("naïve €.txt", "naïve €.txt")]:
        before = len(portal.asked)
        disposition = "attachment; filename*=UTF-8''" + urllib.parse.quote(given, safe="")
        app.act(f"go('{file(n=10, disposition=disposition, type='application/x-any')}')")
        until(lambda: len(portal.asked) > before, 10)
        name = portal.asked[-1]["name"]
        report.see(f"a name such as {given[:24]!r} is made safe",
                   name == expected if expected else name.endswith(".pdf") and len(name.encode()) <= 255, name[:60])
    report.see("nothing was written beside the chosen folder",
               not [p for p in desktop.root.iterdir() if p.name in ("x", "_CON")], sorted(p.name for p in folder.iterdir())[:5])

    # Breaks.
    app.act(f"go('{file(n=2_000_000, cut=700_000, times=2, disposition='attachment; filename=resumed.bin')}')")
    path = saved("resumed.bin", 2_000_000, 30)
    report.see("a download that breaks twice is taken up where it broke", path and path.read_bytes() == content(2_000_000))
    resumed = [r for r in api.requests if "resumed.bin" in r[1]]
    report.see("by Range and If-Range", [r[2].get("range") for r in resumed][-2:] == ["bytes=700000-", "bytes=1400000-"] and
               resumed[-1][2].get("if-range") == '"v1"', [r[2].get("range") for r in resumed])
    app.act(f"go('{file(n=500_000, cut=100_000, norange=1, disposition='attachment; filename=norange.bin')}')")
    path = saved("norange.bin", 500_000, 30)
    report.see("a server that ignores Range is heard from the beginning again", path and path.read_bytes() == content(500_000))
    app.act(f"go('{file(n=400_000, cut=100_000, change=1, disposition='attachment; filename=changed.bin')}')")
    path = saved("changed.bin", 400_000, 30)
    report.see("a file that changes midway is never put together from two", path and path.read_bytes() == content(400_000, 1))

    # A person who cancels.
    portal.saves_to(None)
    before = len(portal.asked)
    app.act(f"go('{file(n=1000, disposition='attachment; filename=unwanted.bin')}')")
    until(lambda: len(portal.asked) > before, 10)
    cache = desktop.root / "cache" / app.id / "downloads"
    report.see("Cancel in the dialog saves nothing and leaves nothing",
               until(lambda: not (folder / "unwanted.bin").exists() and not [p for p in cache.rglob("*") if p.is_file()], 8),
               [str(p) for p in cache.rglob("*")])
    portal.saves_to(folder)
    app.act(f"go('{file(n=50_000_000, slow=0.05, disposition='attachment; filename=slow.bin')}')")
    until(lambda: [p for p in cache.rglob(".part") if p.stat().st_size > 100_000], 10)
    app.picture("2-progress")
    report.see("closing the app while something is downloaded ends cleanly", app.close() == 0)
    app.start()
    report.see("and the next start finds nothing half", not [p for p in cache.rglob("*") if p.is_file()])

    # Size.
    watch = MemoryWatch(app)
    size = 300_000_000
    app.act(f"go('{file(n=size, disposition='attachment; filename=large.bin')}')")
    end = time.time() + 180
    while time.time() < end and not saved("large.bin", size, 0.2):
        watch.look()
    path = folder / "large.bin"
    digest = hashlib.sha256(path.read_bytes() if path.exists() else b"").hexdigest()
    report.see("300 MB arrive whole", digest == hashlib.sha256(content(size)).hexdigest())
    report.see("memory stays flat", watch.flat(), watch.growth())
    app.close()


sys.exit(run("downloads", journey))
