"""What Nautilus, Nemo and Caja load: emblems and menu items. Thin: it hands paths to a `View` and does what `states` decides."""

import json
import os
import time

from gi.repository import Gio, GLib, GObject

from . import places, states
from .agent import Agent
from .view import SHOWN, View

# Seconds for an answer to what a person has chosen: freeing a large directory takes its time.
CHANGE_PATIENCE = 600
# Files of one path that are remembered: one for each window that shows it.
SAME = 8


class Session:
    """Of one file manager's process."""

    def __init__(self):
        self._files = {}
        self._log = os.environ.get("SYNCTRAIN_FILE_MANAGER_LOG")
        socket = places.socket(os.environ)
        self._agent = Agent(socket) if socket else None
        self.view = View(self._agent, time.monotonic, self._later, self._mounts, self._changed) if socket else None

    def look(self, file):
        """Puts its emblem on a file if that is known; else has the file manager ask again once it is."""
        path = file.get_location().get_path() if self.view else None
        if path is None:
            return
        is_late = False

        def came(entry):
            emblem = states.emblem(entry)
            if is_late and emblem is not None:
                return file.invalidate_extension_info()
            self._note(path=path, state=entry.state if entry else None, emblem=emblem)
            if entry is not None or self.view.may_be_ours(path):
                self._remember(path, file, emblem)
            else:
                self.view.hide(path)
            if emblem is not None:
                file.add_emblem(emblem)

        self.view.look(path, came)
        is_late = True

    def items(self, files):
        if self.view is None:
            return []
        paths = [file.get_location().get_path() for file in files]
        return states.menu([self.view.known(path) if path else None for path in paths])

    def perform(self, item):
        self._note(action=item.action, references=item.references)
        if item.action == "show":
            return self._run(states.command(item))
        target, body = states.request(item)
        return self._agent.ask("POST", target, body, CHANGE_PATIENCE, lambda status, answer: self._say(item, status, answer))

    def _say(self, item, status, answer):
        self._note(action=item.action, status=status)
        words = states.remark(item, status, answer)
        if words is None:
            return
        self._note(title=words[0], text=words[1])
        Gio.bus_get(Gio.BusType.SESSION, None, lambda _, result: self._notify(result, *words))

    @staticmethod
    def _notify(result, title, text):
        try:
            bus = Gio.bus_get_finish(result)
        except GLib.Error:
            return
        arguments = GLib.Variant("(susssasa{sv}i)", ("synctrain", 0, "synctrain", title, GLib.markup_escape_text(text), [], {}, -1))
        bus.call("org.freedesktop.Notifications", "/org/freedesktop/Notifications", "org.freedesktop.Notifications", "Notify",
                 arguments, None, Gio.DBusCallFlags.NONE, -1, None, None)

    def _run(self, words):
        try:
            process = Gio.Subprocess.new(words, Gio.SubprocessFlags.STDERR_PIPE | Gio.SubprocessFlags.STDOUT_SILENCE)
        except GLib.Error as error:
            return self._note(command=words, error=error.message)
        return process.communicate_utf8_async(None, None, lambda process, result: self._ended(words, process, result))

    def _ended(self, words, process, result):
        try:
            _, _, errors = process.communicate_utf8_finish(result)
        except GLib.Error:
            errors = ""
        self._note(command=words, status=process.get_exit_status() if process.get_if_exited() else -1, errors=errors)

    def _remember(self, path, file, emblem):
        self.view.show(path, emblem)
        # Not the files themselves: the file manager decides how long it needs them.
        known = [each for each in self._files.pop(path, []) if each() not in (None, file)]
        self._files[path] = known[-SAME:] + [file.weak_ref()]
        while len(self._files) > SHOWN:
            self._files.pop(next(iter(self._files)))

    def _changed(self, path):
        files = [file for file in (each() for each in self._files.get(path, [])) if file is not None]
        if not files:
            self._files.pop(path, None)
            self.view.hide(path)
        for file in files:
            file.invalidate_extension_info()

    @staticmethod
    def _later(seconds, call):
        def once():
            call()
            return GLib.SOURCE_REMOVE

        GLib.timeout_add(int(seconds * 1000), once)

    @staticmethod
    def _mounts():
        # The kernel's own list: no file system is asked for it.
        try:
            with open("/proc/self/mountinfo", "rb") as file:
                return file.read(1 << 20)
        except OSError:
            return b""

    def _note(self, **words):
        """For tests, and for finding out what is wrong: `SYNCTRAIN_FILE_MANAGER_LOG` names a file."""
        if self._log:
            with open(self._log, "a", encoding="utf-8", errors="surrogateescape") as file:
                file.write(json.dumps(words) + "\n")


def provider(library):
    """The class that a file manager's binding makes an object of; `library` is that of Nautilus, Nemo or Caja."""

    class Synctrain(GObject.GObject, library.InfoProvider, library.MenuProvider):
        __gtype_name__ = f"Synctrain{library._namespace}Provider"

        def __init__(self):
            super().__init__()
            self._session = Session()

        def update_file_info(self, file):
            # Not update_file_info_full: nautilus-python 4.0 hands out no handle that could be completed, and what is given late
            # is never shown.
            self._session.look(file)
            return library.OperationResult.COMPLETE

        def get_file_items(self, *arguments):
            # Nemo and Caja say the window first.
            return [self._item(item) for item in self._session.items(arguments[-1])]

        def get_background_items(self, *arguments):
            return []

        def _item(self, item):
            shown = library.MenuItem(name=f"Synctrain::{item.action}", label=item.label, tip=item.tip)
            shown.connect("activate", lambda *_: self._session.perform(item))
            return shown

    return Synctrain
