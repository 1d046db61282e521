"""Python venvs of the programs that stand beside ours, made once from their requirements."""
import shutil
import subprocess
import sys

from report import ROOT


def venv(name, requirements, size="", options=()):
    """The folder of the venv `.venv-NAME`, made anew when Tests/Peers/REQUIREMENTS has changed; says so."""
    folder = ROOT / f".venv-{name}"
    wanted = ROOT / "Tests" / "Peers" / requirements
    stamp = folder / "requirements.stamp"
    if not stamp.exists() or stamp.read_bytes() != wanted.read_bytes():
        print(f"{name}: making the Python venv {folder.name}{size}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", *options,
                        "-r", wanted], check=True)
        shutil.copy(wanted, stamp)
    return folder
