"""Sign-in and sign-out through a third-party provider: OAuthToolkit (HO-1 … HO-7)."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Peers"))
from peer_story import story  # noqa: E402
from peers import OAuthToolkit  # noqa: E402
from report import run  # noqa: E402

sys.exit(run("peer-oauth-toolkit", lambda report: story(report, OAuthToolkit)))
