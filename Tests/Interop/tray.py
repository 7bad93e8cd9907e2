"""A desktop's tray for tests: `org.kde.StatusNotifierWatcher`, as a process on a bus of ours, and what it finds at an item."""

import os
import sys

import dbus
from process import Child

WATCHER, WATCHER_PATH = "org.kde.StatusNotifierWatcher", "/StatusNotifierWatcher"
ITEM, ITEM_PATH, MENU = "org.kde.StatusNotifierItem", "/StatusNotifierItem", "com.canonical.dbusmenu"
PROPERTIES = "org.freedesktop.DBus.Properties"

# It has its name only when it can be called, so that nobody comes too early.
PROGRAM = f"""
import dbus, dbus.mainloop.glib, dbus.service
from gi.repository import GLib
dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.SessionBus()
class Watcher(dbus.service.Object):
    names, signals = [], []
    @dbus.service.method({WATCHER!r}, in_signature="s")
    def RegisterStatusNotifierItem(self, name): self.names.append(name)
    @dbus.service.method({WATCHER!r}, out_signature="as")
    def Names(self): return dbus.Array(self.names, signature="s")
    @dbus.service.method({WATCHER!r}, out_signature="as")
    def Signals(self): return dbus.Array(self.signals, signature="s")
    def heard(self, *_, member): self.signals.append(member)
watcher = Watcher(bus, {WATCHER_PATH!r})
for interface in ({ITEM!r}, {MENU!r}):
    bus.add_signal_receiver(watcher.heard, dbus_interface=interface, member_keyword="member")
bus.request_name({WATCHER!r})
GLib.MainLoop().run()
"""


class Item:
    """What a tray would show of a program."""

    def __init__(self, connection, name):
        self.connection, self.name = connection, name

    def call(self, path, interface, member, signature="", *arguments):
        return self.connection.call_blocking(self.name, path, interface, member, signature, arguments)

    def get(self, name):
        return self.call(ITEM_PATH, PROPERTIES, "Get", "ss", ITEM, name)

    @property
    def tip(self):
        """The lines of its tip."""
        return str(self.get("ToolTip")[3]).split("\n")

    @property
    def menu_path(self):
        return str(self.get("Menu"))

    @property
    def menu(self):
        """The visible items, `{label: number}`; of disabled ones the number is None."""
        _, (_, _, children) = self.call(self.menu_path, MENU, "GetLayout", "iias", 0, -1, [])
        return {str(p["label"]): int(number) if p.get("enabled", True) else None
                for number, p, _ in children if p.get("visible", True) and p.get("type") != "separator"}

    def click(self, label):
        """As a click on a line of the menu."""
        self.call(self.menu_path, MENU, "Event", "isvu", self.menu[label], "clicked", dbus.Int32(0), 0)

    def error(self, path, interface, member, signature="", *arguments):
        """The name of the error that a call is answered with."""
        try:
            answer = self.call(path, interface, member, signature, *arguments)
        except dbus.exceptions.DBusException as error:
            return error.get_dbus_name()
        raise AssertionError(f"{interface}.{member} was answered with {answer}")


class Tray:
    """`begin` has the watcher come, `end` has it go."""

    def __init__(self, bus, directory):
        self.bus, self.directory, self.watcher = bus, directory, None

    def begin(self):
        self.watcher = Child("watcher", os.path.join(self.directory, "watcher.log"))
        self.watcher.spawn([sys.executable, "-c", PROGRAM], env={**os.environ, **self.bus.variables})
        self.bus.wait_owner(WATCHER, self.watcher)

    def end(self):
        if self.watcher:
            self.watcher.kill()

    def _ask(self, member):
        answer = self.bus.connection.call_blocking(WATCHER, WATCHER_PATH, WATCHER, member, "", ())
        return [str(text) for text in answer]

    @property
    def names(self):
        """Of the items that were registered since the watcher came, in their order, again where one was registered again."""
        return self._ask("Names")

    @property
    def signals(self):
        return self._ask("Signals")

    @property
    def item(self):
        """The item that is registered last and still there."""
        names = [name for name in self.names if self.bus.connection.name_has_owner(name)]
        return Item(self.bus.connection, names[-1]) if names else None
