"""What the journeys ask of an app's updates, through the page."""
import time

from report import Failed, until


def later(milliseconds):
    """The page confirms its start so much later."""
    return lambda text: text.replace("this.#updates?.confirm().catch(() => {});",
                                     f"setTimeout(() => this.#updates?.confirm().catch(() => {{}}), {milliseconds});")


def done(app, expression, name):
    app.evaluate(f"void {expression}")
    return app.wait_for(f"window.{name}", 15, name)


def state(app):
    return app.evaluate("JSON.parse(JSON.stringify(nacre.updates.state))")


def check(app):
    """As a person asks for it."""
    app.evaluate("void (window.checked = null, nacre.updates.check().then((seen) => (window.checked = seen), (error) => (window.checked = String(error))))")
    return app.wait_for("window.checked", 30, "the check")


def apply(app):
    app.evaluate("void nacre.updates.apply().catch((error) => (window.refused = error.code))")


def runs(app, version, seconds=30):
    app._forget_page()
    app.wait_for(f"document.readyState == 'complete' && nacre.version.web.version == '{version}' && nacre.updates.state.running == '{version}'",
                 seconds, f"version {version} to run")


def taken_back(report, app, version, back, seconds=40):
    """After `apply`: the bundle is tried, and the one before is there again."""
    app._forget_page()
    # Not asked by the inspector, which a page that hangs holds up for as long as it is asked.
    said = f'"event":"update.reverted","version":"{version}"'
    if not until(lambda: said in app.process.log.read_text(errors="replace"), 60):
        raise Failed(f"{version} was not taken back within 60 s")
    time.sleep(4)
    app.wait_for(f"nacre.updates?.state.failed == '{version}' && nacre.version.web.version == '{back}'", seconds, f"{version} to be taken back")
    seen = state(app)
    report.see(f"{version} was taken back: {back} runs, the failure is remembered by its version", seen["running"] == back and seen["failed"] == version, seen)
    seen = check(app)
    report.see(f"{version} is not tried again", seen["outcome"] in ("refused", "current") and state(app)["staged"] is None, seen)
