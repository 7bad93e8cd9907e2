"""What a file manager's process has of its own: the agent, what is known of its files, and what a chosen menu item does."""

import json
import os
import time

from gi.repository import Gio, GLib

from . import places, states
from .agent import Agent
from .view import View

# Seconds for an answer to what a person has chosen: freeing a large directory takes its time.
CHANGE_PATIENCE = 600


class Session:
    """`_changed(path)` of a subclass hears of files whose emblem is another one by now."""

    def __init__(self):
        self._log = os.environ.get("SYNCTRAIN_FILE_MANAGER_LOG")
        socket = places.socket(os.environ)
        self._agent = Agent(socket) if socket else None
        self.view = View(self._agent, time.monotonic, self._later, self._mounts, self._changed) if socket else None

    def perform(self, item):
        self._note(action=item.action, references=item.references)
        if item.action == "show":
            return self._run(states.command(item))
        target, body = states.request(item)
        return self._agent.ask("POST", target, body, CHANGE_PATIENCE, lambda status, answer: self._say(item, status, answer))

    def _say(self, item, status, answer):
        self._note(action=item.action, status=status)
        self._tell(states.remark(item, status, answer))

    def _tell(self, words):
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
            self._note(command=words, error=error.message)
            return self._tell(states.complaint(-1, error.message))
        return process.communicate_utf8_async(None, None, lambda process, result: self._ended(words, process, result))

    def _ended(self, words, process, result):
        try:
            _, _, errors = process.communicate_utf8_finish(result)
        except GLib.Error:
            errors = ""
        status = process.get_exit_status() if process.get_if_exited() else -1
        self._note(command=words, status=status, errors=errors)
        self._tell(states.complaint(status, errors or ""))

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
