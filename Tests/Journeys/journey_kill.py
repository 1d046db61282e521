"""Kill: the process dies with the browser open; the link starts a new one and the sign-in completes (HO-8, HO-9)."""
import subprocess
import sys

from report import run, until
from world import world


def journey(report):
    with world(report) as w:
        w.app.start()
        w.app.wait_state("signedOut")
        w.app.begin_sign_in()
        w.app.wait_state("signingIn")
        page = w.browser.page(w.servers.issuer)
        report.see("the browser is open on the form", page is not None)
        w.app.kill()
        report.see("the app is dead", w.app.process.poll() is not None)
        alive = subprocess.run(["pgrep", "-f", f"nacre run.*{w.app.folder}"], capture_output=True, text=True).stdout.split()
        report.see("no process of it is left", not alive, alive)
        w.browser.sign_in(page=page)
        found = until(lambda: subprocess.run(["pgrep", "-f", f"nacre run.*{w.app.folder}"], capture_output=True,
                                             text=True).stdout.split(), 20)
        report.see("the link started a new process", found)
        state = w.app.wait_state("signedIn", 30)
        report.see("and the sign-in completed there", state["state"] == "signedIn", state["profile"])
        w.app.picture("1-completed-after-kill")
        w.app.wait_for("document.querySelectorAll('.row-link').length > 5", 20, "the thread list")
        report.see("the mails are there", True)


sys.exit(run("kill", journey))
