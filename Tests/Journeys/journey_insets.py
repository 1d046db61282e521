"""SH-5, SH-9: a page on a device with a cutout, turned and typed on, in the real shell; and every step of going back."""
import json
import sys
import types

from app import App
from desktop import Desktop, free_port
from report import run, until

UPRIGHT = {"size": [390, 700], "insets": {"top": 47, "bottom": 34}}
PROFILE = {"name": "Phone with a cutout", "touch": True, "steps": [
    UPRIGHT,
    {"after": 2500, "keyboard": 300},
    {"after": 2500, "keyboard": 0},
    {"after": 2500, "size": [760, 390], "insets": {"left": 47, "right": 47, "bottom": 21}},
    {"after": 2500, **UPRIGHT}]}
TYPED = {"name": "Phone without a cutout", "steps": [
    {"size": [390, 700], "insets": {}}, {"after": 3500, "keyboard": 280}]}


def journey(report):
    with Desktop(report, keyring=False) as desktop:
        app = App(desktop, types.SimpleNamespace(origin=f"http://localhost:{free_port()}"))
        app.use_page("insets")
        turned(report, desktop, app)
        typed(report, desktop, app)
        plain(report, app)
        back(report, desktop, app)


def profile(desktop, content):
    file = desktop.root / "profile.json"
    file.write_text(json.dumps(content))
    return file


def saw(app, seconds=15, **wanted):
    """Whether the page has been told all of this at once."""
    words = " && ".join(f"s.{name} === {json.dumps(value)}" for name, value in wanted.items())
    return until(lambda: app.evaluate(f"seen.find(s => {words}) ?? null"), seconds)


def turned(report, desktop, app):
    app.start("--phone", "--profile", profile(desktop, PROFILE))
    first = app.evaluate("first")
    report.see("SH-5: insets, data-phone, data-touch and data-platform are there before the first paint",
               not first["body"] and first["touch"] and first["platform"] == "linux" and "--safe-top: 47px" in (first["style"] or ""),
               first)
    report.see("SH-5: upright, with a cutout above and a bar below",
               saw(app, width=390, height=700, top="47px", bottom="34px", left="0px", keyboard="0px", old="47px", phone=True),
               app.evaluate("seen"))
    report.see("from the first look at it on", app.evaluate("[seen[0].width, seen[0].height]") == [390, 700], app.evaluate("seen[0]"))
    app.picture("1-upright")
    report.see("SH-9: the keyboard takes its height off the page's box, once, and no variable says it again",
               saw(app, width=390, height=400, top="47px", bottom="0px", keyboard="0px"), app.evaluate("seen.at(-1)"))
    app.picture("2-keyboard")
    report.see("SH-9: and gives it back", until(lambda: app.evaluate(
        "seen.findLastIndex(s => s.height == 700 && s.bottom == '34px') > seen.findIndex(s => s.height == 400)"), 10),
        app.evaluate("seen.at(-1)"))
    events = app.evaluate("keyboardEvents")
    report.see("Keyboard's events reach the window, in order",
               [[name, height] for name, height, _ in events]
               == [["keyboardWillShow", 300], ["keyboardDidShow", 300], ["keyboardWillHide", None], ["keyboardDidHide", None]],
               events)
    report.see("SH-5: turned, the cutout is at the side and the window no phone's",
               saw(app, width=760, height=390, top="0px", left="47px", right="47px", bottom="21px", phone=False),
               app.evaluate("seen.at(-1)"))
    app.picture("3-turned")
    report.see("SH-5: and turned back", until(lambda: app.evaluate(
        "(s => s.width == 390 && s.height == 700 && s.top == '47px' && s.phone)(seen.at(-1))"), 10), app.evaluate("seen.at(-1)"))
    report.see("the page has the whole screen: its ground lies under the cutout",
               app.evaluate("document.body.getBoundingClientRect().top") == 0)
    app.evaluate("void setTimeout(() => location.reload(), 20)")
    app.wait_for("document.readyState == 'complete' && seen.length > 0 && seen[0].top == '47px'", 15, "the page again")
    report.see("SH-5: a page loaded later starts with the insets of its moment",
               "--safe-top: 47px" in (app.evaluate("first.style") or ""), app.evaluate("first.style"))
    app.close()


def typed(report, desktop, app):
    app.start("--phone", "--profile", profile(desktop, TYPED))
    app.evaluate("void Capacitor.nativePromise('Keyboard', 'setResizeMode', {mode: 'none'})")
    report.see("SH-5: without a cutout the insets are nothing",
               saw(app, width=390, height=700, top="0px", bottom="0px"), app.evaluate("seen.at(-1)"))
    report.see("SH-9: with setResizeMode none the box stays and --keyboard tells",
               saw(app, width=390, height=700, keyboard="280px"), app.evaluate("seen.at(-1)"))
    report.see("and the footer stands above the keyboard",
               app.evaluate("Math.round(document.querySelector('footer').getBoundingClientRect().bottom)") == 420,
               app.evaluate("document.querySelector('footer').getBoundingClientRect().bottom"))
    app.picture("4-keyboard-none")
    app.evaluate("void Capacitor.nativePromise('Keyboard', 'setResizeMode', {mode: 'native'})")
    report.see("SH-9: and back in native the box shrinks", saw(app, width=390, height=420, keyboard="0px"), app.evaluate("seen.at(-1)"))
    app.evaluate("void Capacitor.nativePromise('Keyboard', 'hide')")
    report.see("hide takes the keyboard away", until(lambda: app.evaluate("innerHeight == 700"), 8), app.evaluate("innerHeight"))
    app.close()


def plain(report, app):
    app.start()
    report.see("a desktop window covers nothing", saw(app, top="0px", right="0px", bottom="0px", left="0px", keyboard="0px"),
               app.evaluate("seen.at(-1)"))
    report.see("and is neither a phone nor touched", app.evaluate("[first.phone, first.touch]") == [False, False])
    app.close()


def back(report, desktop, app):
    app.start("--phone")

    def press(*words):
        desktop.xdotool("windowfocus", "--sync", app._window(), *(words or ("key", "alt+Left")))

    def mouse():
        desktop.xdotool("mousemove", "--window", app._window(), 200, 500, "click", 8)

    app.evaluate("history.pushState({}, '', '/deep')")
    app.evaluate("document.getElementById('sheet').showModal()")
    press()
    report.see("SH-5: back closes an open sheet first", until(lambda: not app.evaluate("sheet.open"), 5))
    report.see("and nothing else goes back", app.evaluate("location.pathname") == "/deep")
    app.evaluate("document.getElementById('popover').showPopover()")
    mouse()
    report.see("SH-5: so does the mouse's button, here a popover",
               until(lambda: not app.evaluate("document.getElementById('popover').matches(':popover-open')"), 5))
    app.evaluate("document.getElementById('stubborn').showModal()")
    press()
    press()
    report.see("a dialog that refuses to close stays, and keeps the page where it is",
               app.evaluate("[document.getElementById('stubborn').open, location.pathname]") == [True, "/deep"])
    app.evaluate("document.getElementById('stubborn').close()")
    app.evaluate("void (window.handle = Capacitor.addListener('App', 'backButton', e => backs.push(e.canGoBack)))")
    press()
    report.see("SH-5: then the page's own listener has it", until(lambda: app.evaluate("backs.length"), 5), app.evaluate("backs"))
    report.see("and history stays", app.evaluate("location.pathname") == "/deep")
    mouse()
    report.see("the mouse's button too", until(lambda: app.evaluate("backs.length == 2"), 5))
    app.evaluate("void handle.remove()")
    app.evaluate("void Capacitor.nativePromise('App', 'getState')")
    # An entry that no person has made is passed over on the way back.
    app.click("input")
    app.evaluate("history.pushState({}, '', '/deeper')")
    press()
    report.see("SH-5: then history", until(lambda: app.evaluate("location.pathname != '/deeper'"), 5), app.evaluate("location.pathname"))
    for _ in range(4):
        if app.process.poll() is None:
            press()
            until(lambda: app.process.poll() is not None, 3)
    report.see("SH-5: and at its beginning, in a phone's window, the way out", app.process.poll() == 0, app.process.poll())


sys.exit(run("insets", journey))
