# Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
"""LK-10: previews, saving, printing, archives, notifications, checked in the browser."""

import time
import zipfile

import pictures
import samples
from checks import check, eventually, expect, same


def show(browser, number, wait):
    pictures.preview(number)(browser)
    browser.wait(f"document.querySelector('{wait}') !== null", what=wait)


@check("LK-10: previews: a picture zooms, a film and a sound play and seek, text and dates read, an .eml is a message; arrows go on")
def _(browser, servers):
    browser.open(route="#/inbox/media")
    browser.wait("document.querySelector('.attachments') !== null")
    show(browser, 1, ".preview-image img")
    expect(browser.js("document.querySelector('.preview-image img').naturalWidth === 640"), "the picture")
    browser.click(".preview-image")
    same(browser.js("document.querySelector('.preview-image').getAttribute('aria-pressed')"), "true", "in full size")
    browser.js("{document.querySelector('#preview-title').focus()}")
    browser.key("Right")
    browser.wait("document.querySelector('.preview-stage video') !== null")
    expect(browser.js("document.querySelector('#preview-title').textContent === 'the little boat.webm' && document.querySelector('.preview-about').textContent.includes('2 of 7')"), "the next one")
    moved = browser.driver.execute_async_script("""
      const done = arguments[0], video = document.querySelector('video');
      video.muted = true;
      video.addEventListener('seeked', () => done([video.currentTime, video.videoWidth]), {once: true});
      video.currentTime = 1;""")
    same(moved, [1, 320], "seeking in the film")
    browser.key("Right")
    browser.wait("document.querySelector('.preview-stage audio') !== null")
    expect(abs(browser.js("document.querySelector('audio').duration") - 2) < 0.1, "the sound's length")
    browser.key("Escape")
    browser.wait("document.querySelector('dialog') === null")
    expect(browser.js("document.activeElement.matches('.attachment-open')"), "focus back on the attachment")
    show(browser, 5, ".preview-text")
    expect("Trees: 11" in browser.js("document.querySelector('.preview-text').textContent"), "text")
    browser.key("Escape")
    browser.open(route="#/inbox/park")
    browser.wait("document.querySelector('.attachments') !== null")
    show(browser, 3, ".preview-events")
    words = browser.js("document.querySelector('.preview-events').innerText")
    for part in ("Site visit, north entrance", "Rue des Tanneries 4", "Léa Fontaine", "Boots are useful.\nWe meet at the gate."):
        expect(part in words, f"{part} in {words}")
    expect("not this" not in words, "what belongs to an alarm is not the event's")
    browser.key("Escape")
    show(browser, 4, ".preview-mail")
    expect("How steep is the ramp?" in browser.js("document.querySelector('.preview-mail').innerText"), "the message")


@check("LK-10: what is not what it says, or could act as a page, is not shown; a lost server is said, with a retry")
def _(browser, servers):
    browser.open(route="#/inbox/media")
    browser.wait("document.querySelector('.attachments') !== null")
    show(browser, 6, ".preview-stage .state-card")
    expect("damaged" in browser.js("document.querySelector('.preview-stage').textContent"), "a script that calls itself a picture")
    browser.key("Escape")
    show(browser, 7, ".preview-stage .state-card")
    expect(browser.js("document.querySelector('.preview-stage a[download]').href.endsWith('/blob/budget/?download=1')"), "it can be saved")
    browser.open(api="blob-offline", route="#/inbox/media")
    browser.wait("document.querySelector('.attachments') !== null")
    show(browser, 5, ".preview-stage .state-card")
    before = len(servers.seen)
    browser.click(".preview-stage .button")
    browser.wait("document.querySelector('.preview-stage [role=alert]') !== null")
    expect(len(servers.seen) > before, "asked again")


@check("LK-10, NB-5: attachments, a message as .eml and an event as .ics are saved by plain links that name them")
def _(browser, servers):
    browser.open(route="#/inbox/park")
    browser.wait("document.querySelector('.attachments') !== null")
    links = browser.js("[...document.querySelectorAll('.attachment a')].map((link) => [link.download, new URL(link.href).pathname.split('/v1.0')[1] + new URL(link.href).search])")
    expect(["site-visit.ics", "/blob/invite/?download=1"] in links and ["Neighbours’ questions.eml", "/blob/forward/?download=1"] in links, f"{links}")
    browser.click(".message.open [aria-haspopup]")
    browser.wait("document.querySelector('dialog.menu[open]') !== null")
    same(browser.js("document.querySelector('dialog.menu a').download"), "New view of the park, please check by Thursday.eml", "the message's name")
    expect(browser.js("document.querySelector('dialog.menu a').href.endsWith('/messages/p2/source/')"), "the message's address")
    browser.key("Down", "Down")
    expect(browser.js("document.activeElement.closest('dialog.menu') !== null"), "arrows move in the menu")
    browser.key("Escape")
    expect(browser.js("document.activeElement.matches('.message.open [aria-haspopup]')"), "focus back on its button")


@check("LK-10, NB-11: printing takes the open conversation, or one message; p prints; nothing else is on the paper")
def _(browser, servers):
    browser.open(route="#/inbox/day")
    browser.wait("document.querySelector('.message.open') !== null")
    browser.js("{window.printed = []; window.print = () => printed.push(document.querySelectorAll('.message.printing').length)}")
    browser.js("{document.querySelector('.subject').focus()}")
    browser.key("p")
    browser.click(".message.open [aria-haspopup]")
    browser.click("dialog.menu button:last-of-type")
    browser.wait("printed.length === 2")
    same(browser.js("printed"), [0, 1], "the conversation, then one message")
    browser.cdp("Emulation.setEmulatedMedia", media="print")
    seen = browser.js("[...document.querySelectorAll('.rail, .tabs, .list-pane, .reader-tools, .answer-bar, .message-acts, .message')].filter((one) => one.checkVisibility()).map((one) => one.className)")
    browser.cdp("Emulation.setEmulatedMedia", media="")
    same(seen, ["message open printing"], "on the paper")
    browser.js("{window.dispatchEvent(new Event('afterprint'))}")
    same(browser.js("document.querySelectorAll('.printing').length + Number(document.documentElement.hasAttribute('data-print-one'))"), 0, "afterwards all is as before")


def start(browser, file, **options):
    browser.open(**options)
    browser.wait("document.querySelector('.row-link') !== null")
    pictures.open_import(browser)
    browser.files(".import input[type=file]", [file])


def finished(browser):
    browser.wait("document.querySelector('.import-result') !== null", seconds=15)
    return browser.js("document.querySelector('.import-body').innerText")


@check("LK-10: an mbox comes in message by message, byte for byte, progress said; done again nothing comes twice")
def _(browser, servers):
    start(browser, samples.mbox(12))
    expect("12 messages imported" in finished(browser), "count")
    same([one.split(b"\r\n")[2] for one in servers.imported], [f"Subject: Letter {number}".encode() for number in range(1, 13)], "each, in order")
    same(servers.imported[0], samples.letter(1), "the bytes of the message")
    same(servers.imported[1], samples.letter(2, "From the window I see the sea.\r\nFrom here, too.\r\n"), "a protected line is as it was, a line “From” in a text is no beginning")
    browser.key("Escape")
    pictures.open_import(browser)
    browser.files(".import input[type=file]", [samples.mbox(12)])
    expect("12 were there already" in finished(browser), "again")
    browser.click(".import .button")


@check("LK-10: an mbox larger than the pieces it is read in: every beginning is found, wherever a piece ends")
def _(browser, servers):
    browser.open()
    found = browser.driver.execute_async_script("""
      const done = arguments[0];
      import('./js/mbox.js').then(async ({mboxMessages}) => {
        const wrong = [];
        for (let shift = -12; shift <= 12; shift += 1) {
          // The second message begins right around the end of the first piece of 1 MB.
          const head = 'From a\\nSubject: 1\\n\\n', rest = '\\n\\nFrom b\\nSubject: 2\\n\\nFrom me\\ntwo\\n';
          const fill = 'x'.repeat(1024 * 1024 - head.length + shift);
          const file = new Blob([head, fill, rest]);
          const texts = [];
          for await (const one of mboxMessages(file)) texts.push(new TextDecoder().decode(await one.read()));
          const wanted = ['Subject: 1\\n\\n' + fill + '\\n', 'Subject: 2\\n\\nFrom me\\ntwo\\n'];
          if (texts.length !== 3 || texts[0] !== wanted[0]) wrong.push([shift, texts.length, texts.map((text) => text.length)]);
        }
        done(wrong);
      }, (error) => done([String(error)]));""")
    same(found, [], "seams")


@check("LK-10: a zip of .eml files: stored and packed; damaged, locked and false ones are named with their reason")
def _(browser, servers):
    good = samples.archive("good.zip", {"mail/one.eml": samples.letter(1), "mail/two.EML": samples.letter(2), "mail/readme.txt": b"no mail", "__MACOSX/mail/one.eml": b"x"})
    start(browser, good)
    expect("2 messages imported" in finished(browser), "both")
    same(servers.imported, [samples.letter(1), samples.letter(2)], "byte for byte")
    bad = samples.archive("bad.zip", {"one.eml": samples.letter(1), "two.eml": samples.letter(2, "long " * 400), "three.eml": b"just text", "four.eml": samples.letter(4)}, zipfile.ZIP_STORED)
    data = bytearray(bad.read_bytes())
    data[data.index(b"Letter number 1") + 3] ^= 1  # the checksum no longer fits
    directory = data.rindex(b"PK\1\2")
    data[directory + 8] |= 1  # the last is said to be encrypted
    bad.write_bytes(data)
    servers.reset()
    start(browser, bad)
    words = finished(browser)
    for line in ("1 message imported", "3 could not be imported", "one.eml\nDamaged in the archive", "three.eml\nNo e-mail message", "four.eml\nProtected by a password"):
        expect(line in words, f"{line!r} in {words!r}")
    expect(browser.js("document.querySelector('.import a[download]').download === 'bad.zip-errors.txt'"), "the list can be saved")


@check("LK-10: a zip that says little and gives much is stopped at what it said; cut-off and foreign files are said before anything is sent")
def _(browser, servers):
    bomb = samples.archive("bomb.zip", {"bomb.eml": b"From: a@x.org\r\n\r\n" + b"0" * 30_000_000, "two.eml": samples.letter(2)})
    data = bytearray(bomb.read_bytes())
    directory = data.index(b"PK\1\2")
    data[directory + 24 : directory + 28] = (1000).to_bytes(4, "little")
    bomb.write_bytes(data)
    start(browser, bomb)
    words = finished(browser)
    expect("bomb.eml\nDamaged in the archive" in words and "1 message imported" in words, words)
    cut = samples.archive("cut.zip", {"one.eml": samples.letter(1)})
    cut.write_bytes(cut.read_bytes()[:-30])
    empty = samples.made("empty.mbox", 0)
    none = samples.archive("none.zip", {"readme.txt": b"hello"})
    for file, reason in ((cut, "cut off"), (empty, "empty"), (none, "no .eml file"), (samples.path("boat.webm"), "neither an .mbox")):
        servers.reset()
        start(browser, file)
        browser.wait("document.querySelector('.import-problem') !== null", what=file.name)
        expect(reason in browser.js("document.querySelector('.import-problem').textContent"), f"{file.name}: {reason}")
        same(len(servers.imported), 0, "sent")


@check("LK-10: an import can be stopped and says what came; without the server it waits and goes on")
def _(browser, servers):
    start(browser, samples.mbox(40), api="import-slow")
    browser.wait("Number(document.querySelector('.import-body [role=progressbar]')?.getAttribute('aria-valuenow')) > 5", what="progress")
    browser.click(".import-body .button")
    words = finished(browser)
    expect("Import stopped" in words and "Import the same file again" in words, words)
    count = len(servers.imported)
    time.sleep(1)
    expect(len(servers.imported) <= count + 1 < 40, "nothing more is sent")
    servers.reset()
    start(browser, samples.mbox(3), api="import-offline")
    browser.wait("document.querySelector('.import-problem:not([hidden])') !== null")
    expect("does not answer" in browser.js("document.querySelector('.import-problem').textContent"), "said")
    before = len([one for one in servers.seen if one.endswith("/imports/")])
    browser.click(".import-problem .button")
    eventually("goes on with the same message", lambda: len([one for one in servers.seen if one.endswith("/imports/")]) > before)
    time.sleep(0.5)
    same(browser.js("document.querySelector('.import-line').textContent"), "0 messages", "nothing is counted as lost")


@check("LK-10: a notification says that there is mail, not what is in it, and only while nobody looks; off is off")
def _(browser, servers):
    browser.open()
    browser.wait("document.querySelector('.row-link') !== null")
    shown = browser.driver.execute_async_script("""
      const done = arguments[0];
      window.notes = [];
      window.Notification = class extends EventTarget { static permission = 'default'; static async requestPermission() { return (this.permission = 'granted'); }
        constructor(title, options) { super(); notes.push([title, options.body]); } close() {} };
      import('./js/new-mail.js').then(async ({NewMail}) => {
        let mail = [{unread: true, last_at: '2026-01-01'}];
        const one = new NewMail({api: {threads: async () => ({results: mail})}, session: {current: {state: 'signedIn'}}, onNew: () => notes.push('refresh')});
        await one.look();
        await one.turn(true);
        await one.look();
        mail = [{unread: true, last_at: '2026-01-02', subject: 'Secret'}];
        await one.look();
        Object.defineProperty(document, 'visibilityState', {value: 'hidden', configurable: true});
        mail = [{unread: true, last_at: '2026-01-03', subject: 'Secret'}];
        await one.look();
        mail = [{unread: false, last_at: '2026-01-04'}];
        await one.look();
        await one.turn(false);
        mail = [{unread: true, last_at: '2026-01-05'}];
        await one.look();
        delete document.visibilityState;
        done(notes);
      }, (error) => done([String(error)]));""")
    same(shown, ["refresh", "refresh", ["Messages", "New message"]], "what was shown")


@check("LK-10, UP-11: the version is the last entry of the help, and a press copies the report")
def _(browser, servers):
    browser.cdp("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    browser.open()
    browser.wait("document.querySelector('.row-link') !== null")
    browser.js("{document.querySelector('.row-link').focus()}")
    browser.key("?")
    browser.wait("document.querySelector('dialog.help[open]') !== null")
    expect(browser.js("document.querySelector('dialog.help').lastElementChild.matches('.version')"), "last")
    browser.click("dialog.help .version")
    browser.wait("document.querySelector('.toast')?.textContent.includes('app 1.2.0 (42) · web 0.1.0 (a1b2c3d) · linux')")


@check("LK-10: a search marks what it found, whatever case and accents; arrows lead from the field into the results")
def _(browser, servers):
    browser.open()
    browser.wait("document.querySelector('.row-link') !== null")
    found = browser.driver.execute_async_script("""
      const done = arguments[0];
      import('./js/highlight.js').then(({highlighted}) => {
        const text = (source, query) => [].concat(highlighted(source, query)).map((part) => part.tagName === 'MARK' ? '[' + part.textContent + ']' : part).join('');
        done([text('Été à Nîmes', 'ete NIMES'), text('The park, park!', 'park'), text('aaa', 'aa a'), text('🎉 fête', 'fete'), text('<b>x</b>', 'b'), text('', 'x'), text('none', '')]);
      }, (error) => done([String(error)]));""")
    same(found, ["[Été] à [Nîmes]", "The [park], [park]!", "[aa][a]", "🎉 [fête]", "<[b]>x</[b]>", "", "none"], "marks")
    browser.key("/")
    browser.type("works")
    browser.wait("/q=works/.test(location.hash) && document.querySelector('.row mark')?.textContent === 'works'", what="marked")
    browser.key("Down")
    expect(browser.js("document.activeElement.matches('.row-link')"), "into the results")
