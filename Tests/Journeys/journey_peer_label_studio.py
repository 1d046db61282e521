"""Label Studio's React app, as its package ships it, with its real server behind the gateway: sign in, open a project, label a task,
see its picture, play its sound."""
import json
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Peers"))
from browser import Browser  # noqa: E402
from bundles import PICTURES, ROOT, BundleApp, digest, nacre_init  # noqa: E402
from desktop import Desktop  # noqa: E402
from label_studio_peer import LabelStudio  # noqa: E402
from report import run, until  # noqa: E402
from servers import Servers  # noqa: E402
from world import World  # noqa: E402

SHEET = ROOT / "Tests" / "Peers" / "label-studio"
SCHEME = "org.example.annotate"
# A choice's text ends with its key.
CHOICE = "[...document.querySelectorAll('label')].find(e => e.innerText.trim().startsWith('Boat'))"
PLAY = '[data-testid="playback-button:play"]'


def gateway_before(servers, path):
    """The gateway's settings with Label Studio as its upstream."""
    settings = json.loads(servers.configuration().read_text())
    settings["name"] = "Annotate"
    settings["upstream"] = {"origin": f"http://127.0.0.1:{servers.backend_port}", "csrf": "django",
                            "prefixes": ["/api/", "/data/", "/static/", "/projects/", "/user/"]}
    path.write_text(json.dumps(settings))
    servers.configuration = lambda: path
    servers.start_gateway()


def journey(report):
    report.pictures = PICTURES
    PICTURES.mkdir(parents=True, exist_ok=True)
    with Desktop(report) as desktop:
        servers = Servers(desktop, schemes=[SCHEME])
        visible = f"https://localhost:{servers.gateway_port}"
        gateway_before(servers, desktop.root / "gateway.json")
        studio = LabelStudio(desktop, servers.backend_port, servers.origin, visible, "alice@example.test").start()
        report.say("Label Studio 1.23.2 is ready behind the gateway")
        project = studio.project()

        folder = desktop.root / "annotate"
        shutil.copytree(studio.bundle, folder / "www" / "react-app", ignore=shutil.ignore_patterns("*.map"))
        for name in ("index.html", "boot.js"):
            shutil.copy(SHEET / name, folder / "www" / name)
        shutil.copy(SHEET / "capacitor.config.ts", folder)
        before = digest(folder / "www")
        said = nacre_init(desktop, folder, "--choose-server", "--api", servers.origin)
        report.see("nacre init reads the TypeScript configuration, and says what it cannot",
                   "appId: app.id" in said and "is decided when the file runs" in said)

        browser = Browser(desktop, schemes=[SCHEME], launch_from=[servers.origin])
        app = BundleApp(desktop, folder)
        # Label Studio is run by whoever uses it: the address that `nacre init` was given is only proposed.
        app.start()
        app.wait_for(f"nacre.server.asking && document.querySelector('#address').value == '{servers.origin}'", 30,
                     "the question for the server")
        app.picture("label-studio-0-server")
        app.click("#connect")
        until(lambda: False, 2)
        app._forget_page()
        app.wait_for(f"document.readyState == 'complete' && nacre.api.origin == '{visible}' && !document.querySelector('#sign-in').hidden",
                     60, "the app at its server")
        report.see("the person confirms the server that is proposed", app.evaluate("nacre.server.origin") == servers.origin)
        app.picture("label-studio-1-signed-out")
        w = World.__new__(World)
        w.desktop, w.browser, w.servers, w.app = desktop, browser, servers, app
        app.click("#sign-in button")
        page = browser.page(servers.issuer)
        report.see("the person's own browser shows the provider's form", page is not None)
        browser.sign_in(page=page)
        app.wait_state("signedIn", 30)
        app.wait_for("document.querySelector('.app-wrapper').innerText.includes('Harbour')", 40, "the project on the start page")
        report.see("signed in, the React app lists the project", True)
        app.picture("label-studio-2-home")

        app.evaluate(f"void (location.href = '/projects/{project}/data')")
        app.wait_for("window.APP_SETTINGS && !!document.querySelector('[class*=\"table\"] [class*=\"row\"], [class*=\"dm-table\"]')", 60,
                     "the data manager")
        app.wait_for("[...document.querySelectorAll('img')].some(i => i.src.includes('/data/upload/') && i.naturalWidth == 320)", 30,
                     "the picture in the grid")
        report.see("the project opens, with the task's picture in its grid", True)
        app.picture("label-studio-3-project")

        app.evaluate(f"void (location.href = '/projects/{project}/data?task=1')")
        app.wait_for("location.search.includes('task=1')", 20, "the task's page")
        image = app.wait_for(
            "(() => { const i = [...document.querySelectorAll('img')].find(i => /data\\/upload/.test(i.src) || i.src.startsWith('blob:'));"
            " return i && i.complete && i.naturalWidth })()", 60, "the task's picture")
        report.see("the task shows its picture", image == 320, image)
        app.wait_for(f"!!({CHOICE})", 20, "the choices")
        app.wait_for(f"!!document.querySelector('{PLAY}:enabled')", 30, "the sound's play button")
        app.wait_for("[...document.querySelectorAll('img')].some(i => i.naturalWidth == 320 && i.checkVisibility({opacityProperty: true,"
                     " visibilityProperty: true}) && i.getBoundingClientRect().width > 300)", 30, "the picture to be drawn large")
        until(lambda: False, 2)
        app.picture("label-studio-4-task")

        # The editor's own bar lies over the lower edge of what scrolls.
        app.evaluate(f"document.querySelector('{PLAY}').scrollIntoView({{block: 'center'}})")
        app.click(PLAY)
        at = app.wait_for("[...document.querySelectorAll('audio')].find(a => !a.paused && a.currentTime > 0.7)?.currentTime", 20,
                          "the sound to play")
        report.see("its sound plays", at > 0.7, f"{at:.1f} s")
        app.picture("label-studio-5-playing")

        app.evaluate(f"({CHOICE}).scrollIntoView({{block: 'center'}})")
        app._click_at(CHOICE)
        app.picture("label-studio-6-labelled")
        app.click('[data-testid="bottombar-submit-button"], button[name=submit]')
        made = until(lambda: studio.call("GET", "/api/tasks/1/annotations/"), 20, 0.5)
        report.see("the label arrives at the server", bool(made) and made[0]["result"][0]["value"]["choices"] == ["Boat"],
                   made and made[0]["result"][0]["value"])
        person = studio.call("GET", f"/api/users/{made[0]['completed_by']}/")
        report.see("as the work of the person who signed in", person["email"] == "alice@example.test", person["email"])
        app.wait_for("!!document.querySelector('[data-testid=\"bottombar-update-button\"]')", 30, "the editor with the label")
        until(lambda: False, 2)
        app.picture("label-studio-7-submitted")
        report.see("the app closes", app.close() == 0)
        report.see("the bundle is as it was", digest(folder / "www") == before)


if __name__ == "__main__":
    sys.exit(run("peer-label-studio", journey))
