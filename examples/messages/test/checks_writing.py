# Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
"""LK-10: writing, answering, sending, drafts and their files, checked in the browser."""

import time

import fixtures
import pictures
import samples
from checks import check, eventually, expect, same

TEXT = "document.querySelector('.compose-text').value"
CHIPS = "[...document.querySelectorAll('.people-field .chip bdi')].map((chip) => chip.textContent)"


def sent_requests(servers, ending):
    return [one for one in servers.seen if one.endswith(ending)]


def draft(servers, scenario="normal"):
    return list(servers.mail[scenario].drafts.values())[-1]


def saved(browser):
    browser.wait("/saved/.test(document.querySelector('.compose-status').textContent)", what="draft saved")


@check("LK-10: a new message by keyboard alone: c, people by name and by paste, subject, text, Ctrl+Enter; it is under Sent")
def _(browser, servers):
    browser.open()
    browser.wait("document.querySelector('.row-link') !== null")
    browser.key("c")
    browser.wait("document.activeElement.matches('.people-field input')", what="focus in To")
    browser.type("lé")
    browser.wait("document.querySelector('.suggestions li') !== null")
    same(browser.js("document.activeElement.getAttribute('aria-expanded')"), "true", "the list is announced")
    browser.key("Enter")
    same(browser.js(CHIPS), ["Léa Fontaine"], "a known person by the first letters")
    browser.js("""{const data = new DataTransfer(); data.setData('text/plain', '"Bernard, H." <hugo@ville.example>; sam@ville.example\\nines@ville.example');
      document.activeElement.dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true}))}""")
    same(browser.js(CHIPS), ["Léa Fontaine", "Bernard, H.", "sam@ville.example", "ines@ville.example"], "several at once")
    browser.key("Backspace")
    same(len(browser.js(CHIPS)), 3, "Backspace takes the last")
    browser.key("Tab", "Tab")
    browser.type("Benches")
    browser.key("Enter")
    browser.type("Oak, please. ? e # s")
    same(browser.js("document.querySelector('dialog')"), None, "letters are words while writing")
    saved(browser)
    same(draft(servers)["text"], "Oak, please. ? e # s", "the draft is on the server before it is sent")
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    ActionChains(browser.driver).key_down(Keys.CONTROL).send_keys(Keys.ENTER).key_up(Keys.CONTROL).perform()
    browser.wait("document.querySelector('.toast')?.textContent.includes('Message sent')")
    same(browser.js("document.querySelector('.composer')"), None, "the composer is gone")
    browser.click(".toast .button")
    browser.wait("location.hash.startsWith('#/sent/') && document.querySelector('.message.open') !== null")
    expect("Oak, please" in browser.js("document.querySelector('.messages').textContent"), "the sent message")
    same(len(servers.mail["normal"].drafts), len(fixtures.DRAFTS), "drafts left")


@check("LK-10: reply, reply to all and forward: people, subject, quoted text, attachments; r, a, f; focus comes back")
def _(browser, servers):
    browser.open(route="#/inbox/park")
    browser.wait("document.querySelector('.answer-bar') !== null")
    browser.js("{document.querySelector('.subject').focus()}")
    browser.key("r")
    browser.wait("document.activeElement.matches('.compose-text')", what="an answer begins in its text")
    same(browser.js("document.activeElement.selectionStart"), 0, "above the quoted text")
    same(browser.js(CHIPS), ["Léa Fontaine"], "to the sender")
    same(browser.js("document.querySelector('#compose-subject').value"), "Re: New view of the park, please check by Thursday", "subject")
    expect("> Here is the new view of the park" in browser.js(TEXT) and "Léa Fontaine <lea.fontaine@ville.example> wrote:" in browser.js(TEXT), "quoted text")
    browser.key("Escape")
    browser.wait("document.querySelector('.composer') === null")
    expect(browser.js("document.activeElement.matches('.subject')"), "focus where it was")
    same(len(servers.mail["normal"].drafts), 2, "an answer nobody wrote a word in is no draft")
    browser.key("a")
    browser.wait("document.querySelector('.compose-text') !== null")
    same(browser.js(CHIPS), ["Léa Fontaine", "Hugo Bernard", "Inès Caron"], "to all, without oneself")
    browser.type("Fine with me.")
    saved(browser)
    same(draft(servers)["in_reply_to"], "p2", "it answers that message")
    browser.click(".compose-send")
    browser.wait("document.querySelectorAll('.message').length === 3", what="the answer stands in the conversation")
    servers.reset()
    browser.open(route="#/inbox/park")
    browser.wait("document.querySelector('.answer-bar') !== null")
    browser.js("{document.querySelector('.subject').focus()}")
    browser.key("f")
    browser.wait("document.querySelectorAll('.upload.done').length > 0", what="the attachments come along")
    same(browser.js("document.querySelector('#compose-subject').value"), "Fwd: New view of the park, please check by Thursday", "subject")
    same(browser.js("document.activeElement.matches('.people-field input')"), True, "a forwarded message needs people first")


@check("LK-10: a draft is kept: closed, reloaded, opened from Drafts, discarded after a question")
def _(browser, servers):
    browser.open()
    browser.wait("document.querySelector('.row-link') !== null")
    pictures.compose(browser)
    browser.click(".compose-text")
    browser.type("Half a sentence")
    saved(browser)
    browser.driver.refresh()
    browser.wait("document.querySelector('.compose-text')?.value === 'Half a sentence'", what="after a reload")
    browser.click(".compose-close")
    browser.wait("document.querySelector('.composer') === null")
    browser.key("3")
    browser.wait("document.querySelectorAll('.row-link').length === 3", what="it is listed under Drafts")
    time.sleep(0.6)
    browser.click(".row-link")
    browser.wait("document.querySelector('.compose-text')?.value === 'Half a sentence'", what="opened again")
    browser.click("[aria-label='Discard the draft']")
    browser.wait("document.querySelector('dialog[role=alertdialog]')?.textContent.includes('cannot be brought back')")
    browser.key("Escape")
    expect(browser.js("document.activeElement.getAttribute('aria-label') === 'Discard the draft'"), "focus back on the button")
    browser.click("[aria-label='Discard the draft']")
    browser.click("dialog .button.danger")
    browser.wait("document.querySelector('.composer') === null && document.querySelectorAll('.row-link').length === 2", what="gone")


@check("LK-10: without the server a draft is kept on the device and said so; it is saved when the server is back")
def _(browser, servers):
    browser.open(api="draft-offline")
    browser.wait("document.querySelector('.row-link') !== null")
    pictures.compose(browser)
    browser.click(".compose-text")
    browser.type("Written on a train")
    browser.wait("document.querySelector('.compose-status').textContent.includes('kept on this device')")
    place = browser.js("location.hash")
    browser.open(api="open-offline", route=place)
    browser.wait("document.querySelector('.compose-text')?.value === 'Written on a train'", what="opened without the server")
    browser.open(route=place)
    saved(browser)
    same(draft(servers)["text"], "Written on a train", "on the server at last")
    same(browser.js("Object.keys(localStorage).filter((key) => key.startsWith('messages.draft.'))"), [], "and no longer on the device")
    browser.open(api="draft-offline")
    browser.wait("document.querySelector('.row-link') !== null")
    pictures.compose(browser)
    browser.click(".compose-text")
    browser.type("Only here")
    browser.wait("document.querySelector('.compose-status').textContent.includes('kept on this device')")
    browser.become(state="signedOut", reason="signed_out", profile=None)
    browser.wait("document.querySelector('.mail') === null")
    same(browser.js("Object.keys(localStorage).filter((key) => key.startsWith('messages.draft.'))"), [], "nothing stays after signing out")


@check("LK-10: files: several, their progress, cancel, retry, limits; sending waits and says why (LK-7)")
def _(browser, servers):
    browser.open(api="upload-slow")
    browser.wait("document.querySelector('.row-link') !== null")
    pictures.compose(browser)
    pictures.attach("walk.pdf", "bell.wav", "boat.webm", large=True)(browser)
    browser.wait("document.querySelectorAll('.upload').length === 3 && document.querySelectorAll('.upload.sending').length === 2", what="two at a time")
    browser.wait("Number(document.querySelector('.upload [role=progressbar]').getAttribute('aria-valuenow')) > 10", what="progress")
    expect(browser.js("document.querySelector('.compose-send').disabled && document.querySelector('.compose-reason').textContent.includes('still on the way')"), "the reason is said")
    for _ in range(3):
        browser.click(".upload button:last-of-type")
    browser.wait("document.querySelectorAll('.upload').length === 0 && !document.querySelector('.compose-send').disabled", what="all cancelled")
    browser.open(api="upload-error")
    browser.wait("document.querySelector('.row-link') !== null")
    pictures.compose(browser)
    pictures.attach("walk.pdf", too_large=True)(browser)
    browser.wait("document.querySelectorAll('.upload.failed').length === 2")
    words = browser.js("[...document.querySelectorAll('.file-state')].map((one) => one.textContent)")
    expect("did not accept" in words[0] and "Too large: 25 MB at most" in words[1], f"reasons: {words}")
    same(browser.js("[...document.querySelectorAll('.upload')].map((one) => one.querySelectorAll('button').length)"), [2, 1], "only what may work is offered again")
    before = len(servers.seen)
    browser.click(".upload .icon-button")
    browser.wait("document.querySelector('.upload.failed .file-state') !== null")
    eventually("tried again", lambda: any("/attachments/" in one for one in servers.seen[before:]))
    time.sleep(0.3)
    expect(not any("26000000" in one for one in servers.seen), "what is too large is never sent")


@check("LK-10: files arrive byte for byte, are shown and removed; hostile names are shown as names; dropped and pasted ones count")
def _(browser, servers):
    browser.open()
    browser.wait("document.querySelector('.row-link') !== null")
    pictures.compose(browser)
    pictures.attach("boat.webm", "walk.pdf")(browser)
    browser.wait("document.querySelectorAll('.upload.done').length === 2")
    stored = {part["name"]: servers.mail["normal"].uploads[part["id"]] for part in draft(servers)["attachments"]}
    for name, kind in (("boat.webm", "video/webm"), ("walk.pdf", "application/pdf")):
        same(stored[name], (kind, samples.path(name).read_bytes()), name)
    names = ["../../x", "CON", "a\u202egpj.exe", "n" * 300, "<img src=x onerror=alert(1)>", "été №1.txt"]
    browser.js("""{const data = new DataTransfer();
      for (const name of arguments[0]) data.items.add(new File(['x'], name, {type: 'text/plain'}));
      const target = document.querySelector('.composer');
      target.dispatchEvent(new DragEvent('dragenter', {dataTransfer: data, bubbles: true, cancelable: true}));
      target.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));}""", names)
    browser.wait("document.querySelectorAll('.upload.done').length === 8")
    same(browser.js("document.querySelector('.composer').classList.contains('dropping')"), False, "the drop sign is gone")
    same([part["name"] for part in draft(servers)["attachments"]][2:], names, "names as they were")
    same(browser.js("document.querySelectorAll('.files img, .files script').length"), 0, "a name is no markup")
    expect("\u202e" not in browser.js("document.querySelector('.files').textContent"), "a name cannot turn the reading order round")
    expect(browser.js("document.documentElement.scrollWidth <= innerWidth"), "a long name does not widen the page")
    browser.click(".upload:nth-child(2) .file-name")
    browser.wait("document.querySelector('dialog.preview[open] h2')?.textContent === 'walk.pdf'")
    browser.key("Escape")
    expect(browser.js("document.activeElement.matches('.file-name')"), "focus back on the file")
    browser.click(".upload:nth-child(1) .icon-button")
    browser.wait("document.querySelectorAll('.upload').length === 7")
    eventually("removed on the server", lambda: len(draft(servers)["attachments"]) == 7)


@check("LK-10: nothing is lost when sending fails: no answer, an error, an ended session; sent elsewhere is said")
def _(browser, servers):
    for scenario, words in (("send-offline", "you’re offline"), ("send-error", "answered with an error")):
        browser.open(api=scenario, route="#/inbox?draft=draft-0000-0000-0001")
        browser.wait("document.querySelector('.compose-text') !== null")
        browser.click(".compose-send")
        browser.wait("!document.querySelector('.compose-problem').hidden")
        expect(words in browser.js("document.querySelector('.compose-problem').textContent"), words)
        expect(browser.js(TEXT).startswith("Dear neighbours"), "the text is there")
        same(len(servers.mail[scenario].drafts), 2, "and the draft")
    browser.open(api="draft-elsewhere", route="#/inbox?draft=draft-0000-0000-0001")
    browser.wait("document.querySelector('.compose-text') !== null")
    browser.click(".compose-text")
    browser.type("More words. ")
    browser.wait("!document.querySelector('.compose-problem').hidden")
    browser.click(".compose-problem .button")
    saved(browser)
    expect(draft(servers, "draft-elsewhere")["id"] != "draft-0000-0000-0001" and "More words." in draft(servers, "draft-elsewhere")["text"], "kept as a new draft")


@check("LK-7: what cannot be sent is said beside its field; no subject and lost files are asked about")
def _(browser, servers):
    browser.open()
    browser.wait("document.querySelector('.row-link') !== null")
    pictures.compose(browser)
    browser.click(".compose-send")
    browser.wait("document.querySelector('.people-field .field-error').textContent !== ''")
    expect(browser.js("document.activeElement.matches('.people-field input') && document.activeElement.getAttribute('aria-invalid') === 'true'"), "focus and state")
    browser.type("not an address,")
    browser.wait("document.querySelector('.chip.wrong') !== null")
    browser.click(".compose-send")
    same(sent_requests(servers, "/send/"), [], "nothing is sent")
    browser.click(".chip.wrong button")
    browser.type("hugo.bernard@ville.example")
    browser.click(".compose-send")
    browser.wait("document.querySelector('dialog')?.textContent.includes('without a subject')")
    browser.click("dialog .button.secondary")
    browser.wait("document.querySelector('dialog') === null")
    same(sent_requests(servers, "/send/"), [], "nothing is sent")
    browser.click(".compose-send")
    browser.click("dialog .button.primary")
    browser.wait("document.querySelector('.composer') === null")
    same(len(sent_requests(servers, "/send/")), 1, "sent once")


@check("In a plain browser: drafts, files and sending carry the CSRF token")
def _(browser, servers):
    browser.open(plain="1", route="#/inbox")
    browser.wait("document.querySelector('.row-link') !== null")
    pictures.compose(browser)
    browser.type("hugo.bernard@ville.example,")
    pictures.attach("bell.wav")(browser)
    browser.wait("document.querySelectorAll('.upload.done').length === 1")
    browser.click("#compose-subject")
    browser.type("Bell")
    browser.click(".compose-send")
    browser.wait("document.querySelector('.toast')?.textContent.includes('Message sent')")


@check("LK-10: nothing of the list or the conversation moves by a key while something is written")
def _(browser, servers):
    browser.open(route="#/inbox/park")
    browser.wait("document.querySelector('.answer-bar') !== null")
    pictures.compose(browser)
    browser.js("{document.querySelector('.compose-close').focus()}")
    before = len(sent_requests(servers, "/flags/"))
    browser.key("e", "#", "s", "u", "j", "c", "5")
    time.sleep(0.3)
    same(len(sent_requests(servers, "/flags/")), before, "changes")
    expect(browser.js("location.hash.startsWith('#/inbox/park?draft=')"), "the place is the same")
