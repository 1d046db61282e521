#!/usr/bin/python3
"""A desktop's file chooser portal that answers by a file instead of asking a person; run with the system's Python (dbus).

usage: portal_double.py STATE      STATE/answer: {"save": folder or null, "open": [paths] or null}; STATE/asked: a JSON line
for each question. Everything else of the app is the real way through GTK and the session bus."""
import json
import pathlib
import sys

import dbus
import dbus.lowlevel
import dbus.service
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib

STATE = pathlib.Path(sys.argv[1])
PATH = "/org/freedesktop/portal/desktop"


class Request(dbus.service.Object):
    @dbus.service.method("org.freedesktop.portal.Request")
    def Close(self):
        pass


class Desktop(dbus.service.Object):
    def answer(self, sender, kind, options, uris_of):
        token = str(options.get("handle_token", "t"))
        path = f"{PATH}/request/{sender[1:].replace('.', '_')}/{token}"
        asked = {"kind": kind, "name": str(options.get("current_name", "")), "multiple": bool(options.get("multiple", False)),
                 "filters": [[str(f[1]) for f in filters[1]] for filters in options.get("filters", [])]}
        with open(STATE / "asked", "a") as log:
            log.write(json.dumps(asked) + "\n")
        request = Request(dbus.SessionBus(), path)
        uris = uris_of(json.loads((STATE / "answer").read_text()).get(kind))

        def reply():
            results = {} if uris is None else {"uris": dbus.Array(uris, signature="s", variant_level=1)}
            # To the asker alone, as the real portal sends it: GTK listens for nothing else.
            message = dbus.lowlevel.SignalMessage(path, "org.freedesktop.portal.Request", "Response")
            message.set_destination(sender)
            message.append(dbus.UInt32(1 if uris is None else 0), dbus.Dictionary(results, signature="sv"), signature="ua{sv}")
            dbus.SessionBus().send_message(message)
            request.remove_from_connection()
            return False
        GLib.timeout_add(150, reply)
        return dbus.ObjectPath(path)

    @dbus.service.method("org.freedesktop.portal.FileChooser", in_signature="ssa{sv}", out_signature="o", sender_keyword="sender")
    def SaveFile(self, parent, title, options, sender=None):
        return self.answer(sender, "save", options, lambda folder: folder and [
            pathlib.Path(folder, str(options.get("current_name", "unnamed"))).as_uri()])

    @dbus.service.method("org.freedesktop.portal.FileChooser", in_signature="ssa{sv}", out_signature="o", sender_keyword="sender")
    def OpenFile(self, parent, title, options, sender=None):
        return self.answer(sender, "open", options, lambda paths: paths and [pathlib.Path(p).as_uri() for p in paths])

    @dbus.service.method("org.freedesktop.DBus.Properties", in_signature="ss", out_signature="v")
    def Get(self, interface, name):
        return dbus.UInt32(4, variant_level=1)

    @dbus.service.method("org.freedesktop.DBus.Properties", in_signature="s", out_signature="a{sv}")
    def GetAll(self, interface):
        return dbus.Dictionary({"version": dbus.UInt32(4, variant_level=1)}, signature="sv")


DBusGMainLoop(set_as_default=True)
name = dbus.service.BusName("org.freedesktop.portal.Desktop", dbus.SessionBus())
desktop = Desktop(dbus.SessionBus(), PATH)
(STATE / "ready").touch()
GLib.MainLoop().run()
