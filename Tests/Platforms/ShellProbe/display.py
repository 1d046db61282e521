# Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
"""A virtual display, a session bus and a home of its own around a script."""
import os, shutil, subprocess, sys, tempfile


def inside(script):
    """Returns in the inner run; the outer one starts it, cleans up and exits with its code."""
    if os.environ.get("SHELL_PROBE_INSIDE"):
        return
    home = tempfile.mkdtemp(prefix="shell-probe-")
    for name in ("run", "data", "config", "cache"):
        os.mkdir(f"{home}/{name}", 0o700)
    read, write = os.pipe()
    display = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write), "-screen", "0", "1280x1000x24", "-nolisten", "tcp"], pass_fds=[write],
        stderr=subprocess.DEVNULL)
    number = os.read(read, 16).decode().strip()
    environment = dict(
        os.environ, HOME=home, XDG_RUNTIME_DIR=home + "/run", XDG_DATA_HOME=home + "/data",
        XDG_CONFIG_HOME=home + "/config", XDG_CACHE_HOME=home + "/cache", DISPLAY=":" + number, GDK_BACKEND="x11",
        GTK_A11Y="none", LC_ALL="C.UTF-8", SHELL_PROBE_INSIDE="1")
    try:
        code = subprocess.run(
            ["dbus-run-session", "--", sys.executable, script, *sys.argv[1:]], env=environment).returncode
    finally:
        display.terminate()
        display.wait()
        shutil.rmtree(home, ignore_errors=True)
    sys.exit(code)
