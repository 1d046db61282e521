"""NB-6, NB-14, NB-1: files of any size leave by a real file input (through the file chooser portal) or are dropped onto the
page, streamed from disk; names, slices, forms, progress and abort; a server that breaks off, stops listening or refuses.

NACRE_UPLOAD_MB sets the size of the large file (1024; 64 at least)."""
import hashlib
import os
import sys
import time

from api_server import Api, content, stream_content
from desktop import Desktop
from page_app import MemoryWatch, PageApp
from portal import Portal
from report import Failed, run, until

PAGE = """<!doctype html><title>Uploads</title><body><h1>Uploads</h1>
<p><input type="file" id="one"> <input type="file" id="many" multiple accept="image/png,.txt"> <input type="file" id="camera" accept="image/*" capture></p>
<div id="zone" style="height: 200px; background: #dde; color: #223">Drop here</div>
<script>
const one = () => document.querySelector('#one').files[0];
const put = (name, body, init = {}) => fetch(`%API%/upload?name=${name}`, {method: 'PUT', credentials: 'include', body, ...init}).then(r => r.json());
const xhr = (name, body) => new Promise((done, fail) => { const x = new XMLHttpRequest(); let steps = 0, last = 0;
  x.upload.onprogress = e => { steps++; last = e.loaded; window.progress = last }; x.onload = () => done({steps, last, ...JSON.parse(x.responseText)});
  x.onerror = () => fail('error'); x.open('POST', `%API%/upload?name=${name}`); x.withCredentials = true; x.send(body); window.x = x });
const parts = async (file, name, size) => { const all = []; for (let at = 0, n = 0; at < file.size; at += size, n++)
  all.push(await fetch(`%API%/upload?name=${name}&part=${n}`, {method: 'PUT', credentials: 'include', body: file.slice(at, at + size)}).then(r => r.json()));
  return all };
const form = files => { const f = new FormData(); f.append('a', 'b'); for (const file of files) f.append('files', file);
  return fetch('%API%/form', {method: 'POST', body: f, credentials: 'include'}).then(r => r.json()) };
// What a page does that takes an upload up again: it asks how much is there and sends the rest.
const resumed = async (file, name, breaks) => { let tries = 0, errors = [];
  for (;;) {
    const {size} = await fetch(`%API%/resume?name=${name}`, {credentials: 'include'}).then(r => r.json());
    if (size >= file.size) return {tries, errors, size};
    tries++;
    const url = `%API%/resume?name=${name}&at=${size}${tries <= breaks ? '&break=' + (size + 7_000_000) : ''}`;
    try { const r = await fetch(url, {method: 'PATCH', body: file.slice(size), credentials: 'include'}); if (!r.ok) errors.push(r.status) }
    catch (e) { errors.push(e.name) }
    if (tries > breaks + 2) throw Error('gave up');
  } };
const zone = document.querySelector('#zone');
window.hovered = [];
zone.ondragover = e => { e.preventDefault(); hovered.push([...e.dataTransfer.types].join()) };
zone.ondrop = e => { e.preventDefault(); window.dropped = [...e.dataTransfer.files] };
</script>"""
SIZE = int(os.environ.get("NACRE_UPLOAD_MB", "1024")) << 20
# As a browser writes them into a form (HTML, "multipart/form-data encoding algorithm").
NAMES = {"notes é.txt": "notes é.txt", 'quo"te;a=b.txt': "quo%22te;a=b.txt", "line\nbreak.txt": "line%0Abreak.txt",
         "invoice\u202efdp.exe": "invoice\u202efdp.exe", "x" * 200 + ".txt": "x" * 200 + ".txt", "日本 語.txt": "日本 語.txt"}


def journey(report):
    with Desktop(report, keyring=False) as desktop:
        portal = Portal(desktop)
        api = Api()
        app = PageApp(desktop, api, {"index.html": PAGE})
        large = desktop.root / "large.bin"
        digest = hashlib.sha256()
        with large.open("wb") as out:
            for piece in stream_content(SIZE):
                out.write(piece)
                digest.update(piece)
        try:
            app.start()
            chosen(report, desktop, app, portal)
            whole(report, app, portal, large, digest.hexdigest())
            pieces(report, app, api, large)
            broken(report, app, api, large)
            dropped(report, desktop, app)
            app.picture("1-uploads")
            report.see("it closes as ever", app.close() == 0)
        finally:
            api.stop()


def ask(app, portal, selector, *paths):
    """A person's click on the input, and the portal's answer."""
    portal.opens(*paths)
    before = len(portal.asked)
    for _ in range(3):
        # From elsewhere, as a hand comes: where it rests a tooltip may have come up under it.
        app.desktop.xdotool("mousemove", 5, 5)
        app.click(selector)
        if until(lambda: len(portal.asked) > before, 10):
            return portal.asked[-1]
    raise Failed(f"the chooser was not asked for {selector}")


def choose(app, portal, selector, *paths):
    """The same, until the page has the files."""
    asked = ask(app, portal, selector, *paths)
    # By the names, since the files of an earlier choice may still be there.
    names = sorted(p.name for p in paths)
    if not until(lambda: app.evaluate(f"[...document.querySelector('{selector}').files].map(f => f.name).sort()") == names, 10):
        raise Failed(f"the files were not chosen: {names}")
    return asked


def chosen(report, desktop, app, portal):
    small = desktop.root / "notes é.txt"
    small.write_bytes(content(100_000))
    image = desktop.root / "image.png"
    image.write_bytes(content(5000, 3))
    asked = choose(app, portal, "#one", small)
    report.see("NB-14: a file input asks the system's chooser for one file", asked["kind"] == "open" and not asked["multiple"], asked)
    asked = choose(app, portal, "#many", small, image)
    report.see("NB-14: multiple and accept reach the chooser, and every file stays in reach",
               asked["multiple"] and asked["filters"] == [["image/png"], ["*"]], asked)
    asked = choose(app, portal, "#camera", image)
    report.see("NB-14: capture asks the chooser too", asked["kind"] == "open" and asked["filters"][0] == ["image/*"], asked)
    app.evaluate("void (window.cancelled = 0, document.querySelector('#camera').addEventListener('cancel', () => cancelled++))")
    ask(app, portal, "#camera")
    report.see("NB-14: a person who cancels keeps what was chosen, and the page hears of it",
               until(lambda: app.evaluate("cancelled == 1 && document.querySelector('#camera').files.length == 1"), 10))

    expected = hashlib.sha256(content(100_000)).hexdigest()
    seen = app.run("put('fetch', one())")
    report.see("a file by fetch, byte for byte", seen == {"sha256": expected, "size": 100_000}, seen)
    files = []
    for number, name in enumerate(NAMES):
        files.append(desktop.root / name)
        files[-1].write_bytes(content(1000 + number, number))
    choose(app, portal, "#many", *files)
    seen = app.run("form(document.querySelector('#many').files)")
    report.see("a form carries every file by its right name", sorted(seen["names"]) == sorted(NAMES.values()), seen["names"])
    report.see("and its bytes", sorted(seen["sha256"]) == sorted(hashlib.sha256(f.read_bytes()).hexdigest() for f in files), len(files))


def whole(report, app, portal, large, digest):
    choose(app, portal, "#one", large)
    watch = MemoryWatch(app)
    app.evaluate("void xhr('large', one()).then(r => window.large = r, e => window.large = {e: String(e)})")
    start = time.time()
    while time.time() - start < 240 and not app.evaluate("window.large"):
        watch.look()
        time.sleep(0.3)
    seen = app.evaluate("window.large")
    report.see(f"{SIZE >> 20} MB from disk arrive byte for byte", seen and seen.get("sha256") == digest, (seen, f"{time.time() - start:.0f} s"))
    report.see("with progress to the end", seen["steps"] > 5 and seen["last"] == SIZE, (seen["steps"], seen["last"]))
    report.see("NB-6: memory stays flat, ours and the network process's", watch.flat(), watch.growth())


def pieces(report, app, api, large):
    app.evaluate("void parts(one().slice(0, 40_000_001), 'parts', 8_000_000).then(r => window.parts_ = r)")
    seen = app.wait_for("window.parts_", 30, "the parts")
    with large.open("rb") as file:
        right = [hashlib.sha256(file.read(part["size"])).hexdigest() == part["sha256"] for part in seen]
    report.see("NB-1: a chunked PUT of slices arrives byte for byte", all(right) and sum(p["size"] for p in seen) == 40_000_001, len(seen))
    app.evaluate("void xhr('aborted', one()).catch(() => 0)")
    until(lambda: any("name=aborted" in r[1] for r in api.requests), 20)
    app.evaluate("void x.abort()")
    report.see("an aborted upload ends at the API", until(lambda: any("name=aborted" in p for p in api.aborted), 10), api.aborted[-2:])
    seen = app.run("put('after', 'still here')")
    report.see("and the next one goes through", seen["size"] == 10, seen)


def broken(report, app, api, large):
    watch = MemoryWatch(app)
    seen = app.run("resumed(one().slice(0, 30_000_000), 'resumed', 2)", 60)
    with large.open("rb") as file:
        expected = hashlib.sha256(file.read(30_000_000)).hexdigest()
    # The page hears our 502 or, where it was still sending as the way broke, of a network error.
    report.see("a connection that breaks in mid-body is an error for the page, which takes the upload up again",
               seen["tries"] == 3 and len(seen["errors"]) == 2 and set(seen["errors"]) <= {502, "TypeError"} and hashlib.sha256(api.resumed["resumed"]).hexdigest() == expected, seen)

    # A server that says no at once, and reads nothing of what comes.
    app.evaluate("void fetch('%s/early', {method: 'POST', body: one().slice(0, 50_000_000), credentials: 'include'}).then(r => window.early = r.status, e => window.early = String(e))" % app.api_origin)
    report.see("a refusal that comes before the body is over reaches the page", app.wait_for("window.early", 20) == 413, app.evaluate("window.early"))

    # One that accepts and then stops listening.
    app.evaluate("void (window.control = new AbortController()); void fetch('%s/stall', {method: 'POST', body: one(), credentials: 'include',"
                 " signal: control.signal}).then(r => window.stalled = r.status, e => window.stalled = e.name)" % app.api_origin)
    until(lambda: api.seen("/stall"), 10)
    end = time.time() + 4
    while time.time() < end:
        watch.look()
        time.sleep(0.2)
    report.see("a server that stops listening is waited for", app.evaluate("window.stalled === undefined"))
    report.see("with memory as flat", watch.flat(), watch.growth())
    app.evaluate("control.abort()")
    report.see("until the page gives up", app.wait_for("window.stalled", 10) == "AbortError")
    api.release.set()
    report.see("which ends it at the API too", until(lambda: any("/stall" in p for p in api.aborted), 10), api.aborted[-2:])

    # No server at all.
    api.pause()
    seen = app.run("fetch('%s/upload?name=nowhere', {method: 'PUT', body: one().slice(0, 5_000_000), credentials: 'include'})"
                   ".then(r => r.json().then(j => [r.status, j.code]), e => e.name)" % app.api_origin, 40)
    report.see("where no server is, the page hears so", seen == [502, "transport.unreachable"], seen)
    api.resume()
    seen = app.run("put('again', one().slice(0, 5_000_000))", 30)
    report.see("and goes through once it is back", seen["size"] == 5_000_000, seen)


def dropped(report, desktop, app):
    """Another program's window beside ours, and a hand that drags files over."""
    first, second = desktop.root / "dropped é.bin", desktop.root / "second.txt"
    first.write_bytes(content(3_000_000, 5))
    second.write_bytes(b"second")
    source = desktop.drag_source(first, second)
    desktop.drag(source, app, "#zone")
    if not until(lambda: app.evaluate("window.dropped"), 15):
        desktop.picture("not-dropped")
        # A hand that was too quick for a busy machine tries once more.
        desktop.drag(source, app, "#zone")
    names = app.wait_for("window.dropped && dropped.map(f => f.name)", 10, "the dropped files")
    report.see("files dragged in from another program arrive by their names", sorted(names) == sorted([first.name, second.name]), names)
    seen = app.run("put('dropped', dropped.find(f => f.name.endsWith('.bin')))")
    report.see("and byte for byte at the API", seen == {"sha256": hashlib.sha256(content(3_000_000, 5)).hexdigest(), "size": 3_000_000}, seen)
    report.see("while they hover the page knows that there are files, not which", "Files" in app.evaluate("hovered"), app.evaluate("hovered.slice(0, 3)"))
    app.evaluate("void (window.dropped = null)")
    desktop.drag(source, app, "h1")
    time.sleep(1)
    report.see("NB-10: dropped beside the zone they go nowhere, and do not take the page's place",
               app.evaluate("location.href + (window.dropped === null)") == "https://localhost/true", app.evaluate("location.href"))
    desktop.drag(source, app, "#many")
    app.wait_for("document.querySelector('#many').files.length == 2", 10, "files dropped onto an input")
    report.see("onto a file input they are its files", sorted(app.evaluate("[...document.querySelector('#many').files].map(f => f.name)")) == sorted([first.name, second.name]))
    desktop.stop(source)
    # A page cannot give itself a file by dragging (CVE-2025-13947): what it drags is a name, not a file.
    app.evaluate("""void (() => { const d = document.createElement('div'); d.id = 'bait'; d.draggable = true; d.textContent = 'bait'; d.style.height = '60px';
      d.ondragstart = e => e.dataTransfer.setData('text/uri-list', 'file:///etc/passwd'); document.body.append(d); window.dropped = null })()""")
    x, y = app.place("#bait")
    desktop.drag_by_hand((x, y), app.place("#zone"))
    time.sleep(1)
    seen = app.evaluate("window.dropped && dropped.length")
    report.see("a page that drags a file's name onto itself gets no file", not seen, seen)


sys.exit(run("uploads", journey))
