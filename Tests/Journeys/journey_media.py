"""NB-4, NB-12: the API's pictures, sounds and films in a page and in a sandboxed frame: with the session, seeked in by Range,
memory flat for a film of a gigabyte."""
import io
import subprocess
import sys
import time
import urllib.parse
import wave
import zlib

from api_server import Api
from desktop import Desktop
from page_app import MemoryWatch, PageApp
from report import run, until

ORIGIN = "https://pages.example"
# Its own policy lets frames run scripts: the one made for bundles without would stop them before anything is tried.
PAGE = """<!doctype html><meta http-equiv="Content-Security-Policy" content="default-src * data: blob: 'unsafe-inline'">
<title>Media</title><body><h1>Media</h1><script>
const show = (kind, src, parent = document.body) => new Promise(done => {
  const e = parent.ownerDocument.createElement(kind);
  e.onload = () => done([e.naturalWidth, e.naturalHeight]);
  e.onloadedmetadata = () => done(e.duration);
  e.onerror = () => done('error ' + (e.error?.code ?? ''));
  e.preload = 'metadata'; e.src = src; parent.append(e); window.last = e; });
const seek = (e, to) => new Promise(done => { e.onseeked = () => done(e.currentTime); e.onerror = () => done('error'); e.currentTime = to; });
</script>"""


def picture():
    """A PNG of 7 × 5, red."""
    def part(kind, data):
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")
    rows = b"".join(b"\0" + b"\xff\0\0" * 7 for _ in range(5))
    head = (7).to_bytes(4, "big") + (5).to_bytes(4, "big") + b"\x08\x02\0\0\0"
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b"")


def sound(seconds, rate=8000):
    """A WAV file: header, then silence."""
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(1)
        file.setframerate(rate)
        file.writeframes(b"\x80" * 0)
    head = bytearray(out.getvalue())
    size = seconds * rate
    head[4:8] = (36 + size).to_bytes(4, "little")
    head[40:44] = size.to_bytes(4, "little")
    return bytes(head), size


class MediaApi(Api):
    def do_blob(self, h):
        """/blob/picture.png, /blob/sound.wav, /blob/long.wav: a WAV whose sound is made as it is read."""
        if "session=from-the-api" not in h.headers.get("Cookie", ""):
            return self.send(h, 401, {"Content-Type": "text/plain"}, b"who are you")
        name = h.path.split("?")[0].rsplit("/", 1)[1]
        if name == "picture.png":
            return self.send(h, 200, {"Content-Type": "image/png"}, picture())
        if name == "mail.svg":
            return self.send(h, 200, {"Content-Type": "image/svg+xml"},
                             b'<svg xmlns="http://www.w3.org/2000/svg" width="4" height="4" onload="top.hacked=1"/>')
        head, size = sound(131_000 if "long" in name else 30)
        whole = len(head) + size
        start, end, status, headers = 0, whole, 200, {"Content-Type": "audio/wav", "ETag": '"1"'}
        asked = h.headers.get("Range", "")
        if asked.startswith("bytes=") and "norange" not in h.query:
            first, last = asked[6:].split("-")
            start = int(first) if first else whole - int(last)
            end = min(whole, int(last) + 1) if first and last else whole
            status, headers["Content-Range"] = 206, f"bytes {start}-{end - 1}/{whole}"
            headers["Accept-Ranges"] = "bytes"
        self.send(h, status, headers, length=end - start)
        at = start
        while at < end:
            piece = head[at:end] if at < len(head) else b"\x80" * min(65536, end - at)
            h.wfile.write(piece)
            at += len(piece)

    do_other = do_blob


def film(path):
    """A WebM of 12 seconds by GStreamer, as the shell plays it; None where the tools are missing."""
    made = subprocess.run(
        ["gst-launch-1.0", "-q", "videotestsrc", "num-buffers=120", "!", "video/x-raw,width=160,height=120,framerate=10/1", "!",
         "vp8enc", "deadline=1", "keyframe-max-dist=10", "!", "webmmux", "!", "filesink", f"location={path}"],
        capture_output=True)
    return path.read_bytes() if made.returncode == 0 and path.exists() else None


def journey(report):
    with Desktop(report, keyring=False) as desktop:
        api = MediaApi()
        # Of another site than the API, so that only api.media and the proxy carry the session without CORS.
        app = PageApp(desktop, api, {"index.html": PAGE}, media=["/blob/"], origin=ORIGIN)
        try:
            app.start()
            story(report, app, api)
        finally:
            api.stop()


def story(report, app, api):
    blob, other = f"{app.api_origin}/blob/", f"{app.api_origin}/other/"

    def proxied(url):
        return "/_capacitor_http_interceptor_?u=" + urllib.parse.quote(url, safe="")

    app.evaluate(f"fetch('{app.api_origin}/cookie', {{credentials: 'include'}}).then(r => r.status)")
    report.see("a picture of api.media by its own address", app.run(f"show('img', '{blob}picture.png')") == [7, 5])
    report.see("a picture of any API path through the proxy", app.run(f"show('img', '{proxied(other + 'picture.png')}')") == [7, 5])
    report.see("a picture outside of api.media needs the proxy", "error" in str(app.run(f"show('img', '{other}picture.png')")))
    report.see("a foreign address is not proxied", "error" in str(app.run(f"show('img', '{proxied('https://evil.invalid/x.png')}')")))
    status = app.run(f"fetch('{proxied('https://evil.invalid/x')}').then(r => r.status + ' ' + r.headers.get('x-nacre-reason'))")
    report.see("and says why", status == "403 not-an-api-origin", status)
    for name, address in (("by its own address", blob + "sound.wav"), ("through the proxy", proxied(other + "sound.wav")),
                          ("from a server that ignores Range", proxied(other + "sound.wav?norange=1"))):
        seconds = app.run(f"show('audio', '{address}')")
        report.see(f"a sound {name} is played and seeked in", seconds == 30 and abs(app.run("seek(last, 20)") - 20) < 0.5, seconds)
    ranges = [r[2].get("range") for r in api.requests if r[1].startswith("/other/sound.wav") and "norange" not in r[1]]
    report.see("by Range", any(r and r != "bytes=0-" for r in ranges), ranges[:6])
    direct = app.run(f"fetch('{proxied(other + 'sound.wav')}', {{headers: {{Range: 'bytes=0-3'}}}}).then(async r => [r.status, await r.text()])")
    report.see("and fetch gets 206 with exactly its part", direct == [206, "RIFF"], direct)

    # A frame with remote content, as a mail's body.
    frame = (f"<img id=a src='{blob}picture.png'><img id=b src='{ORIGIN}{proxied(blob + 'picture.png')}'>"
             f"<img id=c src='{other}picture.png'><img id=d src='{ORIGIN}{proxied(other + 'picture.png')}'>"
             f"<img id=e src='{ORIGIN}{proxied(blob + 'mail.svg')}'>"
             f"<script>onload = async () => {{ const r = {{}};"
             f" for (const i of 'abcde') r[i] = document.getElementById(i).naturalWidth;"
             f" r.read = await fetch('{blob}picture.png').then(() => 'read', () => 'refused');"
             f" r.proxy = await fetch('{ORIGIN}{proxied(blob + 'picture.png')}').then(() => 'read', () => 'refused');"
             f" parent.postMessage(r, '*') }}</script>")
    app.evaluate("window.frame = new Promise(done => onmessage = e => done(e.data)); const f = document.createElement('iframe');"
                 f"f.sandbox = 'allow-scripts'; f.srcdoc = {frame!r}; document.body.append(f)".replace("const f", "var f"))
    seen = app.run("window.frame", 15)
    report.see("NB-12: a sandboxed frame shows the pictures of api.media, both ways", seen["a"] == 7 and seen["b"] == 7 and seen["e"] > 0, seen)
    report.see("NB-12: and no other picture of the API", seen["c"] == 0 and seen["d"] == 0, seen)
    report.see("NB-12: and reads nothing", seen["read"] == "refused" and seen["proxy"] == "refused", seen)
    report.see("a picture runs no script", app.evaluate("window.hacked === undefined"))
    shown = app.run(f"new Promise(done => {{ const f = document.createElement('iframe'); f.onload = () => done(f.contentDocument?.body?.innerText ?? 'closed');"
                    f" f.src = '{proxied(blob + 'mail.svg')}'; document.body.append(f) }})")
    report.see("the proxy is never a document of the page", "may not use" in shown or shown == "closed", shown)

    # A sound of a gigabyte.
    watch = MemoryWatch(app)
    seconds = app.run(f"show('audio', '{proxied(other + 'long.wav')}')", 20)
    report.see("a sound of a gigabyte opens at once", seconds == 131_000, seconds)
    for place in (60_000, 120_000, 10):
        at = app.run(f"seek(last, {place})", 30)
        watch.look()
        report.see(f"a seek to {place} s lands there", isinstance(at, (int, float)) and abs(at - place) < 2, at)
    for _ in range(15):
        time.sleep(0.1)
        watch.look()
    report.see("memory stays flat", watch.flat(), watch.growth())
    app.picture("1-media")
    app.close()


sys.exit(run("media", journey))
