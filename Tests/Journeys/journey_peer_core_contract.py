"""A bundle that calls its host exactly as bundles built for @capacitor/core do, unmodified, in the real shell (NB-9).

The guest's half is written from the contract. Where a copy of the real one is at hand, NACRE_CAPACITOR_CORE names its ES module, and
the same checks run over it."""
import os
import shutil
import sys

from bundles import PICTURES, ROOT, BundleApp, digest, nacre_init
from desktop import Desktop
from report import run
from servers import BINARIES

SOURCE = ROOT / "Tests" / "Peers" / "core-contract"


def tell(report, desktop, folder, what):
    before = digest(folder / "www")
    app = BundleApp(desktop, folder)
    app.start()
    app.wait_for("window.waitsForLink === true", 30, "the bundle to listen")
    desktop.spawn("link", [BINARIES / "nacre", "run", folder, "org.example.contract://open/thread/7"],
                  env={"NACRE_ENV": "development"})
    results = app.wait_for("window.results && JSON.parse(JSON.stringify(window.results))", 60, "the bundle's verdict")
    app.picture(what.replace(" ", "-"))
    for result in results:
        report.see(f"{what}: {result['name']}", result["passed"], result["seen"])
    report.see(f"{what}: the app closes", app.close() == 0)
    report.see(f"{what}: the bundle is as it was", digest(folder / "www") == before)


def journey(report):
    report.pictures = PICTURES
    PICTURES.mkdir(parents=True, exist_ok=True)
    with Desktop(report) as desktop:
        folder = desktop.root / "contract"
        shutil.copytree(SOURCE, folder)
        said = nacre_init(desktop, folder, "--api", "https://api.example.org")
        report.see("nacre init reads the configuration", "appId: app.id" in said and "Keyboard.setResizeMode" in said)
        tell(report, desktop, folder, "core contract")
        real = os.environ.get("NACRE_CAPACITOR_CORE")
        if real:
            shutil.copy(real, folder / "www" / "core.js")
            tell(report, desktop, folder, "real core")
        else:
            report.say("the real @capacitor/core is not in any registry that tests may reach: its contract's own half ran alone")


if __name__ == "__main__":
    sys.exit(run("peer-core-contract", journey))
