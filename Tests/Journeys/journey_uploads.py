"""NB-6, NB-14, NB-1: files of any size leave by a real file input (through the file chooser portal), streamed from disk;
slices arrive byte for byte; forms with files; progress and abort."""
import hashlib
import sys
import time

from api_server import Api, content, stream_content
from desktop import Desktop
from page_app import MemoryWatch, PageApp
from portal import Portal
from report import Failed, run, until

PAGE = """<!doctype html><title>Uploads</title><body><h1>Uploads</h1>
<p><input type="file" id="one"> <input type="file" id="many" multiple accept="image/png,.txt"> <input type="file" id="camera" accept="image/*" capture></p>
<script>
const put = (name, body, init = {}) => fetch(`%API%/upload?name=${name}`, {method: 'PUT', credentials: 'include', body, ...init}).then(r => r.json());
const xhr = (name, body) => new Promise((done, fail) => { const x = new XMLHttpRequest(); let steps = 0, last = 0;
  x.upload.onprogress = e => { steps++; last = e.loaded }; x.onload = () => done({steps, last, ...JSON.parse(x.responseText)});
  x.onerror = () => fail('error'); x.open('POST', `%API%/upload?name=${name}`); x.withCredentials = true; x.send(body); window.x = x });
const parts = async (file, name, size) => { const all = []; for (let at = 0, n = 0; at < file.size; at += size, n++)
  all.push(await fetch(`%API%/upload?name=${name}&part=${n}`, {method: 'PUT', credentials: 'include', body: file.slice(at, at + size)}).then(r => r.json()));
  return all };
</script>"""
SIZE = 1 << 30


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
            story(report, desktop, app, api, portal, large, digest.hexdigest())
        finally:
            api.stop()


def choose(app, portal, selector, *paths):
    """A person's click on the input, and the portal's answer."""
    portal.opens(*paths)
    before = len(portal.asked)
    for _ in range(3):
        app.click(selector)
        if until(lambda: len(portal.asked) > before, 4):
            break
    if len(portal.asked) == before:
        raise Failed(f"the chooser was not asked for {selector}")
    app.wait_for(f"document.querySelector('{selector}').files.length == {len(paths)}", 10, "the chosen files")
    return portal.asked[-1]


def story(report, desktop, app, api, portal, large, digest):
    small = desktop.root / "notes é.txt"
    small.write_bytes(content(100_000))
    image = desktop.root / "image.png"
    image.write_bytes(content(5000, 3))
    asked = choose(app, portal, "#one", small)
    report.see("NB-14: a file input asks the system's chooser for one file", asked["kind"] == "open" and not asked["multiple"], asked)
    name = app.evaluate("document.querySelector('#one').files[0].name")
    report.see("and the page gets it by its name", name == small.name, name)
    asked = choose(app, portal, "#many", small, image)
    report.see("NB-14: multiple and accept reach the chooser", asked["multiple"] and asked["filters"], asked)
    asked = choose(app, portal, "#camera", image)
    report.see("NB-14: capture asks the chooser too", asked["kind"] == "open", asked)

    expected = hashlib.sha256(content(100_000)).hexdigest()
    seen = app.run("put('fetch', document.querySelector('#one').files[0])")
    report.see("a file by fetch, byte for byte", seen == {"sha256": expected, "size": 100_000}, seen)
    seen = app.run("(() => { const f = new FormData(); f.append('a', 'b'); for (const file of document.querySelector('#many').files) f.append('files', file);"
                   " return fetch('%s/echo', {method: 'POST', body: f, credentials: 'include'}).then(r => r.json()) })()" % app.api_origin)
    report.see("a form with files", seen["type"] == "multipart/form-data" and seen["size"] == 3, seen)

    choose(app, portal, "#one", large)
    watch = MemoryWatch(app)
    app.evaluate("void xhr('large', document.querySelector('#one').files[0]).then(r => window.large = r, e => window.large = {e: String(e)})")
    start = time.time()
    while time.time() - start < 60 and not app.evaluate("window.large"):
        watch.look()
        time.sleep(0.3)
    seen = app.evaluate("window.large")
    report.see("1 GB from disk arrives byte for byte", seen and seen.get("sha256") == digest, seen)
    report.see("with progress to the end", seen["steps"] > 5 and seen["last"] == SIZE, (seen["steps"], seen["last"]))
    report.see("memory stays flat", all(grown <= 64 for grown in watch.growth().values()), (watch.growth(), f"{time.time() - start:.0f} s"))

    app.evaluate("void parts(document.querySelector('#one').files[0].slice(0, 40_000_001), 'parts', 8_000_000).then(r => window.parts_ = r)")
    seen = app.wait_for("window.parts_", 30, "the parts")
    whole = hashlib.sha256()
    with large.open("rb") as file:
        for part in seen:
            piece = file.read(part["size"])
            whole.update(piece)
            report.see(f"a slice of {part['size']} bytes arrives as it is", hashlib.sha256(piece).hexdigest() == part["sha256"])
    report.see("all slices in order are the file", sum(p["size"] for p in seen) == 40_000_001, len(seen))

    app.evaluate("void xhr('aborted', document.querySelector('#one').files[0]).catch(() => 0); void setTimeout(() => x.abort(), 400)")
    report.see("an aborted upload ends at the API", until(lambda: any("name=aborted" in p for p in api.aborted), 10), api.aborted[-2:])
    seen = app.run("put('after', 'still here')")
    report.see("and the next one goes through", seen["size"] == 10, seen)
    app.picture("1-uploads")
    app.close()


sys.exit(run("uploads", journey))
