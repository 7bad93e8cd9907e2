"""What a file manager that loads no Python asks, and is told: a JSON object a line. Knows neither GLib nor a file manager.

`{"look": PATH}` is answered with `{"path", "emblem"}` where the path has an emblem, and again whenever that is another one, null for
none; `{"hide": PATH}` ends it. `{"menu": [PATH, …], "id": N}` is answered with `{"menu": N, "items": [{"action", "label", "tip"}, …]}`;
`{"choose": N, "action": ACTION}` does one of them.
"""

import json

from . import states

# Menus whose items can still be chosen; files of a menu.
MENUS, FILES = 8, states.PATH_LIMIT


class Lines:
    """`say` takes an object that is a line, `perform` an item that was chosen, `note` what is of interest to tests."""

    def __init__(self, view, say, perform, note=lambda **_: None):
        self._view, self._say, self._perform, self._note = view, say, perform, note
        self._emblems, self._menus = {}, {}

    def take(self, line):
        """Does what a line asks for; what is no such line is skipped."""
        try:
            order = json.loads(line)
        except (ValueError, RecursionError):
            return
        if not isinstance(order, dict):
            return
        paths, number = order.get("menu"), order.get("id")
        if isinstance(order.get("look"), str):
            self.look(order["look"])
        elif isinstance(order.get("hide"), str):
            self._emblems.pop(order["hide"], None)
            self._view.hide(order["hide"])
        elif isinstance(paths, list) and isinstance(number, int) and all(isinstance(each, str) for each in paths):
            self._offer(number, paths)
        elif isinstance(order.get("choose"), int):
            for item in self._menus.get(order["choose"], []):
                if item.action == order.get("action"):
                    self._perform(item)

    def look(self, path):
        """Says a path's emblem if it is another one than was said last."""
        def came(entry):
            emblem = states.emblem(entry)
            self._note(path=path, state=entry.state if entry else None, emblem=emblem)
            if entry is not None or self._view.may_be_ours(path):
                self._view.show(path, emblem)
            else:
                self._view.hide(path)
            if self._emblems.pop(path, None) != emblem:
                self._say({"path": path, "emblem": emblem})
            if emblem is not None:
                self._emblems[path] = emblem

        self._view.look(path, came)

    def _offer(self, number, paths):
        if not 0 < len(paths) <= FILES:
            return self._answer(number, [])
        entries, left = [None] * len(paths), len(paths)

        def came(position, entry):
            nonlocal left
            entries[position] = entry
            left -= 1
            if left == 0:
                self._answer(number, states.menu(entries))

        for position, path in enumerate(paths):
            self._view.look(path, lambda entry, position=position: came(position, entry))
        return None

    def _answer(self, number, items):
        self._menus.pop(number, None)
        self._menus[number] = items
        while len(self._menus) > MENUS:
            self._menus.pop(next(iter(self._menus)))
        self._say({"menu": number, "items": [{"action": each.action, "label": each.label, "tip": each.tip} for each in items]})
