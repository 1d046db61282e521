#!/usr/bin/python3
"""A window of another program from which files can be dragged; run with the system's Python (GTK 4).

usage: drag_source.py PATH..."""
import sys

import gi

gi.require_version("Gtk", "4.0")
gi.require_version("Gdk", "4.0")
from gi.repository import Gdk, Gio, Gtk  # noqa: E402

FILES = [Gio.File.new_for_path(path) for path in sys.argv[1:]]


def activate(app):
    window = Gtk.ApplicationWindow(application=app, title="Drag source")
    window.set_default_size(160, 90)
    window.set_decorated(False)
    label = Gtk.Label(label="Drag me")
    label.set_hexpand(True)
    label.set_vexpand(True)
    source = Gtk.DragSource()
    # As a file manager offers them: GTK makes text/uri-list and the rest of it.
    source.set_content(Gdk.ContentProvider.new_for_value(Gdk.FileList.new_from_list(FILES)))
    source.set_actions(Gdk.DragAction.COPY)
    label.add_controller(source)
    window.set_child(label)
    window.present()


app = Gtk.Application(application_id="org.example.dragsource", flags=Gio.ApplicationFlags.NON_UNIQUE)
app.connect("activate", activate)
app.run([])
