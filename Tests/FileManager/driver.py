"""Loaded by the file manager beside the extension: does in its process what a test orders, with its own objects for files."""

import json
import os
import sys

from gi.repository import GLib, GObject

ORDERS = os.environ["DRIVER_ORDERS"]
library = next(module for name, module in list(sys.modules.items())
               if name in ("gi.repository.Nautilus", "gi.repository.Nemo", "gi.repository.Caja"))
files, providers = {}, []


def find():
    """The extension's own object, which the file manager made."""
    import gc

    if not providers:
        providers.extend(each for each in gc.get_objects() if type(each).__name__ == "Synctrain")
    return providers[0]


def look():
    if not os.path.exists(ORDERS):
        return GLib.SOURCE_CONTINUE
    with open(ORDERS) as file:
        order = json.load(file)
    os.remove(ORDERS)
    chosen = [files[path] for path in order["files"] if path in files]
    items = find().get_file_items(*([chosen] if library._namespace == "Nautilus" else [None, chosen]))
    labels = [item.get_property("label") for item in items]
    for item in items:
        if item.get_property("label") == order.get("activate"):
            item.emit("activate")
    with open(ORDERS + ".answer.new", "w") as file:
        json.dump({"labels": labels, "files": len(chosen)}, file)
    os.rename(ORDERS + ".answer.new", ORDERS + ".answer")
    return GLib.SOURCE_CONTINUE


class Driver(GObject.GObject, library.InfoProvider):
    def update_file_info(self, file):
        path = file.get_location().get_path()
        if path:
            files[path] = file
        return library.OperationResult.COMPLETE


GLib.timeout_add(50, look)
