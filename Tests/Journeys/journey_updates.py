"""Updates over the air in the real shell: nobody is interrupted, a notice and one press, storage kept, broken and hanging bundles and one
that changes its storage taken back and not tried again, a rollback from the device's own copy (UP-1, UP-4, UP-6, UP-7, UP-8, UP-11, UP-13)."""
import json
import sys

from publishing import Channel
from report import run, until
from updating import apply, check, done, later, runs, state, taken_back
from world import world

SERVICE_WORKER = "self.addEventListener('install', () => self.skipWaiting());"

# What a person's bundle would keep: a word, a row, a service worker and a cache.
KEEP = """(async () => {
  localStorage.setItem('journey', 'kept');
  await new Promise((done, failed) => {
    const ask = indexedDB.open('journey', 1);
    ask.onupgradeneeded = () => ask.result.createObjectStore('rows');
    ask.onerror = () => failed(ask.error);
    ask.onsuccess = () => {
      const write = ask.result.transaction('rows', 'readwrite');
      write.objectStore('rows').put('a row', 1);
      write.oncomplete = () => (ask.result.close(), done());
    };
  });
  await navigator.serviceWorker.register('/worker.js');
  await (await caches.open('journey')).put('/cached', new Response('old'));
  return [(await navigator.serviceWorker.getRegistrations()).length, (await caches.keys()).length];
})().then((seen) => (window.kept = seen), (error) => (window.kept = String(error)))"""

# What is there after a switch: the word, the row, and no service worker and no cache.
LOOK = """(async () => [
  localStorage.getItem('journey'),
  await new Promise((done) => {
    const ask = indexedDB.open('journey', 1);
    ask.onerror = () => done(String(ask.error));
    ask.onsuccess = () => {
      const read = ask.result.transaction('rows').objectStore('rows').get(1);
      read.onsuccess = () => (ask.result.close(), done(read.result));
    };
  }),
  (await navigator.serviceWorker.getRegistrations()).length, (await caches.keys()).length,
])().then((seen) => (window.looked = seen), (error) => (window.looked = String(error)))"""

# A bundle that raises its database's version and then does not start.
RAISE = """const ask = indexedDB.open('journey', 2);
ask.onupgradeneeded = () => ask.result.createObjectStore('new');
ask.onsuccess = () => { console.log('raised to ' + ask.result.version); ask.result.close(); };
"""


def journey(report):
    # The manifest's address is the gateway's to say; it is known before the world is.
    channel = None

    def environment(desktop):
        nonlocal channel
        channel = Channel(desktop)
        return {"MOBILE_OTA_MANIFEST_URL": channel.manifest}

    def settings(desktop):
        return {"updates": {"freshness": "freshness.json"}}

    with world(report, environment=environment, settings=settings) as w:
        story(report, w, channel)


def fresh(report, w, channel):
    """The gateway's own signed word that nothing is new spares the bucket (UP-1)."""
    app = w.app
    # No check before the confirm, which this bundle gives late.
    app.wait_for("(Capacitor.Plugins.CapacitorUpdater.current().then((seen) => (window.says = seen)), window.says?.bundle.status == 'success')", 15,
                 "the confirm")
    channel.bucket.take()
    seen, asked = check(app), channel.bucket.take()
    report.see("a check that finds nothing new asks the bucket once", seen["outcome"] == "current" and [(path.split("/")[-1], status, size)
               for path, status, size in asked] == [("manifest.json", 304, 0)], asked)
    word = channel.freshness(w.desktop.root / "freshness.json")
    served = until(lambda: w.servers.config().get("MOBILE_OTA_FRESHNESS"), 90, 0.5)
    report.see("the running gateway passes on what `nacre ota freshness` wrote", served == word, served and sorted(served))
    seen, asked = check(app), channel.bucket.take()
    report.see("with its word a check asks the bucket nothing", seen["outcome"] == "current" and asked == [], (seen, asked))


def story(report, w, channel):
    app = w.app
    (app.folder / "web" / "worker.js").write_text(SERVICE_WORKER)
    settings = json.loads((app.folder / "nacre.json").read_text())
    settings["bundle"]["serviceWorker"] = True
    (app.folder / "nacre.json").write_text(json.dumps(settings))
    # Bundles that confirm late here have 3 or 4 s of it, and a busy machine needs some too.
    channel.into(app, appReadyTimeout=15000)

    # UP-1: found at the start, after the confirm; UP-6, HO-10: held while somebody signs in.
    channel.publish(app, "0.2.0")
    app.start()
    app.wait_for("nacre.updates.state.staged == '0.2.0'", 20, "the release to be staged")
    report.see("a release is found and staged at the start, by itself", True, state(app))
    app.wait_state("signedOut")
    app.begin_sign_in()
    app.wait_state("signingIn")
    apply(app)
    report.see("it is held back during a sign-in", app.wait_for("window.refused", 10) == "update.held")
    page = w.browser.page(w.servers.issuer)
    w.browser.sign_in(page=page)
    app.wait_state("signedIn")
    app.wait_for("document.querySelectorAll('.row-link').length > 5", 20, "the thread list")
    report.see("after it the page is the same one", app.evaluate("window.refused == 'update.held' && nacre.version.web.version") == "0.1.0")

    # UP-6: nobody is interrupted.
    seen = done(app, KEEP, "kept")
    report.see("the page keeps a word and a row, has a service worker and a cache", seen == [1, 1], seen)
    app.press("New message")
    app.wait_for("!!document.querySelector('.compose-text')", 10)
    app.click(".compose-text")
    app.desktop.xdotool("type", "--delay", "20", "Dear all, ")
    channel.publish(app, "0.2.1")
    seen = check(app)
    report.see("a newer release takes the staged one's place", seen == {"outcome": "staged", "version": "0.2.1"}, seen)
    app.desktop.xdotool("type", "--delay", "20", "the tide")
    text = app.wait_for("document.querySelector('.compose-text')?.value.endsWith('tide') && document.querySelector('.compose-text').value", 10)
    report.see("writing goes on while it is staged", text == "Dear all, the tide", text)
    notice = app.wait_for("document.querySelector('.banner.news')?.innerText", 10, "the notice")
    report.see("a lasting notice offers it", "A new version is ready" in notice and "Update" in notice, notice)
    app.picture("1-notice")
    pid = app.process.pid
    app.press("Update", ".banner")
    runs(app, "0.2.1")
    app.wait_for("document.querySelectorAll('.row-link').length > 5", 20, "the thread list")
    report.see("one press shows the new version, in the same process, still signed in", app.process.poll() is None and app.process.pid == pid
               and app.state()["state"] == "signedIn")
    seen = done(app, LOOK, "looked")
    report.see("what the page had stored is there; service worker and cache are not", seen == ["kept", "a row", 0, 0], seen)
    app.press("Account of …")
    line = app.wait_for("document.querySelector('dialog .version-text')?.innerText", 10)
    report.see("the menu says both versions", "Version 0.1.0" in line and "Web interface 0.2.1" in line, line.replace("\n", " · "))
    report.see("the report is of the running bundle", "· web 0.2.1 (" in app.evaluate("nacre.version.report"), app.evaluate("nacre.version.report"))
    app.picture("2-updated")
    app.desktop.xdotool("key", "Escape")

    # UP-7: taken back.
    channel.publish(app, "0.3.0", js_app__js="throw new Error('broken at its start');")
    report.see("a broken release is staged like any other", check(app)["outcome"] == "staged")
    apply(app)
    taken_back(report, app, "0.3.0", "0.2.1")
    app.wait_for("document.querySelector('.toast')?.innerText.includes('0.3.0')", 15, "the toast")
    app.picture("3-taken-back")
    channel.publish(app, "0.4.0", js_app__js="for (;;) {}")
    check(app)
    apply(app)
    taken_back(report, app, "0.4.0", "0.2.1")
    report.see("a start of the app shows the good one", app.close() == 0)
    app.start()
    runs(app, "0.2.1")
    report.see("and the failure is still known", state(app)["failed"] == "0.4.0", state(app))

    channel.publish(app, "0.5.0", "--storage-epoch", "1", js_app__js=RAISE)
    check(app)
    apply(app)
    taken_back(report, app, "0.5.0", "0.2.1", 60)
    report.see("it had raised the database's version", "raised to 2" in app.process.log.read_text(errors="replace"))
    seen = done(app, LOOK, "looked")
    report.see("its database is as the older version left it", seen[:2] == ["kept", "a row"], seen)

    # UP-7: a kill before the confirm is one chance of two, a close is none.
    channel.publish(app, "0.6.0", js_updates__js=later(3000))
    check(app)
    apply(app)
    runs(app, "0.6.0")
    app.kill()
    app.start()
    runs(app, "0.6.0")
    app.wait_for("(Capacitor.Plugins.CapacitorUpdater.current().then((seen) => (window.says = seen)), window.says?.bundle.status == 'success')", 15,
                 "the confirm")
    seen = app.evaluate("window.says")
    report.see("one impatient quit does not condemn a good bundle", seen["bundle"]["version"] == "0.6.0" and state(app)["failed"] != "0.6.0", seen)
    channel.publish(app, "0.7.0", js_updates__js=later(4000))
    check(app)
    apply(app)
    runs(app, "0.7.0")
    for _ in range(2):
        app.close()
        app.start()
    runs(app, "0.7.0")
    app.wait_for("(Capacitor.Plugins.CapacitorUpdater.current().then((seen) => (window.says = seen)), window.says?.bundle.status == 'success')", 15,
                 "the confirm")
    report.see("closing it again and again before its confirm does not either", app.evaluate("window.says.bundle.version") == "0.7.0")

    # UP-8, and the calls of an app that looks for its releases by itself.
    channel.rollback("0.6.0")
    seen = done(app, """(async () => { const updater = Capacitor.Plugins.CapacitorUpdater; await updater.notifyAppReady();
        const { bundle } = await updater.current(); const { bundles } = await updater.list(); const failed = await updater.getFailedUpdate();
        const got = await updater.download({ url: 'https://evil.example/x.zip', version: '0.6.0', checksum: 'c', sessionKey: 's' });
        await updater.next({ id: got.id }); return [bundle.version, bundles.length, got.version, got.status]; })()
        .then((seen) => (window.ota = seen), (error) => (window.ota = [error.code, error.message]))""", "ota")
    report.see("a rollback is followed, by the calls that a Capacitor app makes", seen == ["0.7.0", 1, "0.6.0", "pending"], seen)
    asked = channel.bucket.take()
    bytes_ = sum(size for path, _, size in asked if "/manifest.json" not in path)
    report.see("and the device's own copy is used: nothing but the manifest was fetched", bytes_ == 0, asked)
    app.evaluate("void Capacitor.Plugins.CapacitorUpdater.reload()")
    runs(app, "0.6.0")

    decisions = app.wait_for("(nacre.updates.report().then((seen) => (window.why = seen)), window.why)", 10)["decisions"]
    whats = [(one["what"], one["version"]) for one in decisions]
    report.see("the report says why this bundle", whats[-1] == ("activated", "0.6.0") or ("activated", "0.6.0") in whats, whats)
    fresh(report, w, channel)
    text = app.wait_for("(nacre.report().then((seen) => (window.problem = seen)), window.problem)", 10)
    report.see("a problem report has it as well", "Updates:" in text and "decisions:" in text and "0.6.0" in text)
    app.close()

    settings = json.loads((app.folder / "nacre.json").read_text())
    del settings["updates"]
    (app.folder / "nacre.json").write_text(json.dumps(settings))
    app.start()
    seen = app.evaluate("[nacre.version.web.version, nacre.updates === undefined, nacre.can('updates'), Capacitor.isPluginAvailable('CapacitorUpdater')]")
    report.see("a build without `updates` has no updater", seen == ["0.1.0", True, False, False], seen)
    app.close()


sys.exit(run("updates", journey))
