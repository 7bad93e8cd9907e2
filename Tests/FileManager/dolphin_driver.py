"""Run beside Dolphin on its session bus: does with its window what a test orders, as a screen reader would."""

import json
import os
import subprocess
import sys
import time

import gi

gi.require_version("Atspi", "2.0")
from gi.repository import Atspi, GLib  # noqa: E402

ORDERS = os.environ["DRIVER_ORDERS"]
FILES = (Atspi.Role.LIST_ITEM, Atspi.Role.TABLE_CELL, Atspi.Role.ICON)


def below(node):
    """All that is shown at and below a node."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if each is None:
            continue
        yield each
        try:
            waiting += [each.get_child_at_index(index) for index in range(min(each.get_child_count(), 500))]
        except GLib.Error:
            pass


def dolphin():
    desktop = Atspi.get_desktop(0)
    for index in range(desktop.get_child_count()):
        application = desktop.get_child_at_index(index)
        if application is not None and "dolphin" in (application.get_name() or "").lower():
            return application
    return None


def centre(node):
    place = node.get_extents(Atspi.CoordType.SCREEN)
    return place.x + place.width // 2, place.y + place.height // 2


def point(*words):
    subprocess.run(["xdotool", *map(str, words)], check=True)


class Focus:
    """Hears which item of a menu has the focus: a menu that pops up is below no window."""

    def __init__(self):
        self.label = None
        self._listener = Atspi.EventListener.new(self._came)
        self._listener.register("object:state-changed:focused")

    def _came(self, event, *_):
        if event.detail1 and event.source.get_role() == Atspi.Role.MENU_ITEM:
            self.label = (event.source.get_name() or "").replace("&", "")

    def next(self):
        """The label of the item behind this one; None if there is no menu."""
        self.label = None
        point("key", "Down")
        until(lambda: self.label, 2)
        return self.label


def until(condition, seconds):
    """What the condition gives as soon as that is something, or at last."""
    end = time.monotonic() + seconds
    while True:
        # What changes in the window is heard of here.
        while GLib.MainContext.default().iteration(False):
            pass
        found = condition()
        if found or time.monotonic() > end:
            return found
        time.sleep(0.02)


def shown(names):
    """The files with these names in the window; None until all are there."""
    files = {node.get_name(): node for node in below(dolphin()) if node.get_role() in FILES}
    return [files[name] for name in names] if set(names) <= set(files) else None


def obey(order, focus):
    files = until(lambda: shown([os.path.basename(path) for path in order["files"]]), 10)
    if not files:
        return {"labels": []}
    for number, file in enumerate(files):
        point(*(["keydown", "ctrl"] if number else []), "mousemove", *centre(file), "click", 1, *(["keyup", "ctrl"] if number else []))
    point("mousemove", *centre(files[-1]), "click", 3)
    end = time.monotonic() + 10
    labels = []
    while True:
        label = focus.next()
        if label is None and not labels and time.monotonic() < end:
            # It is not there yet.
            continue
        if label is None or label in labels:
            point("key", "Escape")
            return {"labels": labels}
        labels.append(label)
        if label == order.get("activate"):
            point("key", "Return")
            return {"labels": labels}


def main():
    focus = Focus()
    while os.getppid() != 1:
        time.sleep(0.05)
        if not os.path.exists(ORDERS):
            continue
        with open(ORDERS) as file:
            order = json.load(file)
        os.remove(ORDERS)
        with open(ORDERS + ".answer.new", "w") as file:
            json.dump(obey(order, focus), file)
        os.rename(ORDERS + ".answer.new", ORDERS + ".answer")


if __name__ == "__main__":
    sys.exit(main())
