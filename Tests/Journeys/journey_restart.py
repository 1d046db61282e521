"""Restart: the session is kept, validated in the background, revoked with a reason, kept while the server is
unreachable, and renewed 13 hours later (SE-1, SE-3, SE-4, HO-13)."""
import sqlite3
import sys

from report import run, until
from world import world


def journey(report):
    with world(report) as w:
        w.app.start()
        w.sign_in(report)
        report.see("the app closes gracefully", w.app.close() == 0)
        w.app.start()
        state = w.app.state()
        report.see("after a restart the page opens signed in", state["state"] == "signedIn", state["state"])
        report.see("the profile is there from the store", bool(state["profile"]), state["profile"])
        state = w.app.wait_for("nacre.session.current.server == 'reachable' && JSON.parse(JSON.stringify(nacre.session.current))", 15)
        report.see("the session was validated in the background", state["server"] == "reachable")
        w.app.picture("1-restarted")

        w.app.kill()
        w.app.start()
        report.see("after kill -9 the page opens signed in", w.app.state()["state"] == "signedIn")
        w.app.close()

        w.servers.stop_gateway()
        w.app.start()
        state = w.app.wait_for("nacre.session.current.server == 'unreachable' && JSON.parse(JSON.stringify(nacre.session.current))", 20)
        report.see("with the server away the person stays signed in", state["state"] == "signedIn", state)
        w.app.picture("2-unreachable")
        w.app.close()

        w.servers.start_gateway()
        w.servers.hours_later(13)
        w.app.start()
        state = w.app.wait_for("nacre.session.current.server == 'reachable' && JSON.parse(JSON.stringify(nacre.session.current))", 20)
        report.see("13 hours later the session is renewed at the provider", state["state"] == "signedIn", state["state"])
        # "session.not_revalidated" is the other outcome: the whole word counts.
        done = until(lambda: '"session.revalidated"' in w.servers.gateway.log.read_text(), 5)
        log = w.servers.gateway.log.read_text()
        report.see("HO-13: the gateway says that it revalidated, and not that it could not",
                   done and "session.not_revalidated" not in log)
        w.app.close()

        w.servers.stop_gateway()
        revoked = 0
        for file in w.servers.data.rglob("*.sqlite"):
            with sqlite3.connect(file) as db:
                tables = [r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
                if "sessions" in tables:
                    revoked += db.execute("DELETE FROM sessions").rowcount
        w.servers.start_gateway()
        report.see("the session is revoked on the server", revoked > 0, revoked)
        w.app.start()
        state = w.app.wait_state("signedOut")
        report.see("a session that was ended elsewhere signs out with that reason", state["reason"] == "session_revoked", state["reason"])
        w.app.picture("3-revoked")


sys.exit(run("restart", journey))
