"""Messages, whole, in the real shell: previews with the session, a message with a file from writing to reading, an archive brought in,
remote images by the backend alone (LK-10, NB-2, NB-4, NB-6, NB-12)."""
import json
import sys

from report import run
from world import world

LETTERS = "".join(
    f"From a@old.example.org Tue Mar  3 09:00:00 2015\\nFrom: Old Friend <a@old.example.org>\\nSubject: Zeppelin {n}\\n"
    f"Message-ID: <z{n}@old.example.org>\\nDate: Tue, 3 Mar 2015 09:0{n}:00 +0100\\n\\nLetter {n}.\\n\\n" for n in range(1, 4))

# A file of 3 MB whose every byte depends on its place, so that a piece lost or doubled shows.
FILE = "new File([Uint8Array.from({length: 3000000}, (_, at) => (at * 31 + (at >> 8)) & 255)], '../../tide \u202etable.bin', {type: 'application/x-tide'})"


def fill(app, selector, text):
    app.evaluate(f"(() => {{ const field = document.querySelector({json.dumps(selector)}); field.focus(); field.value = {json.dumps(text)};"
                 " field.dispatchEvent(new Event('input', {bubbles: true})); return 1 })()")


def choose(app, selector, file):
    """A file as the system's dialog would give it."""
    app.evaluate(f"(() => {{ const data = new DataTransfer(); data.items.add({file}); const input = document.querySelector({json.dumps(selector)});"
                 " input.files = data.files; input.dispatchEvent(new Event('change', {bubbles: true})); return 1 })()")


def tap(app, name, where=""):
    """A press without the mouse, whose pointer would leave a tooltip's window over the app's."""
    words = f"({app.FIND})({json.dumps(name)}, {json.dumps(where)})"
    app.wait_for(f"!!{words}", 15, f"a button called {name}")
    app.evaluate(f"({words}.click(), 1)")


def journey(report):
    with world(report) as w:
        app = w.app
        app.start()
        me = w.sign_in(report)["profile"]["email"]
        app.wait_for("document.querySelectorAll('.row-link').length > 5", 20, "the thread list")

        app.open_mail("picture, film, bell")
        app.wait_for("document.querySelectorAll('.attachment').length === 7", 10, "the attachments")
        tap(app, "Show harbour at seven.png…")
        width = app.wait_for("document.querySelector('.preview-image img')?.naturalWidth", 10, "the picture")
        report.see("a picture is shown with the session", width == 640, width)
        tap(app, "Next attachment")
        app.wait_for("document.querySelector('.preview-stage video')?.readyState >= 1", 15, "the film")
        app.evaluate("document.querySelector('video').currentTime = 1")
        size = app.wait_for("document.querySelector('video').currentTime === 1 && !document.querySelector('video').seeking && document.querySelector('video').videoWidth", 15, "seeking")
        report.see("a film plays and seeks", size == 320, size)
        app.picture("1-film")
        tap(app, "Next attachment")
        seconds = app.wait_for("document.querySelector('.preview-stage audio')?.duration", 15, "the sound")
        report.see("a sound plays", abs(seconds - 2) < 0.1, seconds)
        tap(app, "Next attachment")
        app.wait_for("!!document.querySelector('.preview-pdf, .preview-stage .state-card')", 15, "the PDF")
        report.say("PDF: " + app.evaluate("document.querySelector('.preview-pdf') ? 'shown' : document.querySelector('.preview-stage').innerText"))
        app.picture("2-pdf")
        tap(app, "Close", "dialog")

        tap(app, "New message")
        app.wait_for("!!document.querySelector('.compose-text')", 5)
        fill(app, ".people-field input", me + ",")
        fill(app, "#compose-subject", "Zeppelin to myself")
        fill(app, ".compose-text", "It flies.")
        choose(app, ".compose-files input[type=file]", FILE)
        app.wait_for("!!document.querySelector('.upload.done')", 20, "the file to be attached")
        app.picture("3-writing")
        tap(app, "Send")
        app.wait_for("document.querySelector('.composer') === null", 10, "sending")
        app.wait_for("document.querySelector('.row-link')?.innerText.includes('Zeppelin to myself')", 15, "the message in the inbox")
        app.evaluate("(document.querySelector('.row-link').click(), 1)")
        app.wait_for("!!document.querySelector('.attachment')", 10)
        report.see("it arrived with its file, whose name is fit for a disk", app.evaluate("document.querySelector('.attachment bdi').textContent") == "tide table.bin")
        app.evaluate("""(() => { const link = document.querySelector('.attachment a').href; window.heard = null;
            fetch(link).then((answer) => answer.arrayBuffer()).then((buffer) => { const bytes = new Uint8Array(buffer);
              window.heard = [bytes.length, bytes.every((byte, at) => byte === ((at * 31 + (at >> 8)) & 255))]; }); return 1 })()""")
        heard = app.wait_for("window.heard", 20, "the file")
        report.see("its 3 MB are there byte for byte", heard == [3000000, True], heard)
        app.picture("4-arrived")

        tap(app, "Account of …")
        tap(app, "Import mail")
        choose(app, ".import input[type=file]", f"new File(['{LETTERS}'], 'old.mbox')")
        text = app.wait_for("document.querySelector('.import-result') && document.querySelector('.import-body').innerText", 20, "the import")
        report.see("an archive came in", "3 messages imported" in text, text)
        app.picture("5-import")
        tap(app, "Go to Archive")
        app.wait_for("location.hash === '#/archive' && document.body.innerText.includes('Zeppelin 3')", 10, "the archive")

        app.evaluate("location.hash = '#/inbox?q=pixel'")
        thread = app.wait_for("""(async () => { for (const row of (await (await fetch(nacre.api.origin + '/api/v1.0/threads/?limit=200')).json()).results) {
            const thread = await (await fetch(nacre.api.origin + '/api/v1.0/threads/' + row.id + '/')).json();
            if (thread.messages.some((one) => /<img[^>]*src=.https:/.test(one.html ?? ''))) return row.id; } })().then((id) => (window.remote = id)) && window.remote""", 30, "a message with remote images")
        app.evaluate(f"location.hash = '#/inbox/{thread}'")
        tap(app, "Show images")
        source = app.wait_for("document.querySelector('.mail-frame')?.srcdoc.match(/src=\"([^\"]*remote-image[^\"]*)\"/)?.[1]", 10, "images through the backend")
        report.see("remote images come from the backend alone", source.startswith(app.evaluate("nacre.api.origin")) and "img-src data:" in app.evaluate("document.querySelector('.mail-frame').srcdoc"), source)
        answer = app.wait_for("""(window.refused ??= fetch(document.querySelector('.mail-frame').srcdoc.match(/src="([^"]*remote-image[^"?]*)/)[1] + '?url=' + encodeURIComponent('https://127.0.0.1/a.png'))
            .then((answer) => answer.json()).then((body) => (window.code = body.code))) && window.code""", 15, "the refusal")
        report.see("an address inside the network is refused", answer == "remote_refused", answer)
        report.see("the shell can print", app.evaluate("nacre.can('print')"))
        app.close()


sys.exit(run("messages", journey))
