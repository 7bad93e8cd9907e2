"""From what the agent says of a name to an emblem, menu items, requests and words. Pure."""

from dataclasses import dataclass
from typing import NamedTuple

ABSENT, HERE, BUSY, PROBLEM = "synctrain-absent", "synctrain-here", "synctrain-busy", "synctrain-problem"

# Paths in one request, as the control API limits them.
PATH_LIMIT = 10_000
# What only a person can end.
STUCK = ("space", "halted", "other")


class Entry(NamedTuple):
    """Of an entry of the control API what is needed here."""

    folder: str
    path: str
    is_directory: bool
    state: str
    selected: str
    # Of a selected directory: something below it is not selected; of another one: something below it is.
    is_mixed: bool = False
    waits_for: str = ""

    @property
    def reference(self):
        """As paths are written in requests."""
        return f"{self.folder}:{self.path}"

    @property
    def is_selected(self):
        return self.selected in ("explicit", "implicit")


def entry(document):
    """Reads an entry of an answer; None for what is not one."""
    if not isinstance(document, dict):
        return None
    words = [document.get(key) for key in ("folder", "path", "type", "state", "selected")]
    if not all(isinstance(word, str) for word in words):
        return None
    folder, path, kind, state, selected = words
    is_mixed = any(document.get(key) is True for key in ("selectedBelow", "leftOutBelow"))
    waits_for = document.get("waitsFor")
    return Entry(folder, path, kind == "directory", state, selected, is_mixed, waits_for if isinstance(waits_for, str) else "")


def emblem(entry):
    """The emblem of an entry; None where there is nothing to say, or nothing that holds for all of a directory."""
    if entry is None:
        return None
    if entry.state in ("conflict", "extraneous"):
        return PROBLEM
    if entry.state in ("queued", "selected", "downloading", "partial"):
        if entry.waits_for in STUCK:
            return PROBLEM
        # Blocks that were read stay for a while: nobody waits for the others.
        is_wanted = entry.is_selected or (entry.is_directory and entry.is_mixed)
        return BUSY if is_wanted or entry.state == "downloading" else ABSENT
    if entry.state in ("present", "modified", "downloaded"):
        return None if entry.is_mixed else HERE
    if entry.state == "absent":
        return ABSENT
    return None


@dataclass(frozen=True)
class Item:
    """A menu item. `action` is `keep`, `free` or `show`."""

    action: str
    label: str
    tip: str
    references: tuple


def menu(entries):
    """The items for a selection of entries; none where one of them is not known, or there are too many."""
    if not entries or None in entries or len(entries) > PATH_LIMIT:
        return []
    # What is done with a whole folder has consequences that a menu cannot explain: the page and the command line do.
    names = [entry for entry in entries if entry.path]
    items = []
    keep = tuple(entry.reference for entry in names if not entry.is_selected or (entry.is_directory and entry.is_mixed))
    if keep and len(names) == len(entries):
        items.append(Item("keep", "Keep on this device", "Download now, and keep newer versions up to date", keep))
    free = tuple(entry.reference for entry in names if entry.is_selected or entry.state == "downloaded"
                 or (entry.is_directory and entry.is_mixed))
    if free and len(names) == len(entries):
        items.append(Item("free", "Free space on this device", "Remove from this disk what other devices have", free))
    if len(entries) == 1:
        one = entries[0]
        label = "Show in synctrain" if one.is_directory else "Versions and devices…"
        items.append(Item("show", label, "Open the page of synctrain here", (one.reference,)))
    return items


def request(item):
    """What the control API is asked to do for `keep` and `free`: target and body."""
    paths = [{"text": reference, "workingDirectory": "/"} for reference in item.references]
    return "/v1/selection", {"paths": paths, "select": item.action == "keep", "dryRun": False}


def command(item):
    """The command line of `show`."""
    # A text that begins with a dash is not an option behind the two.
    return ["synctrain", "ui", "--", item.references[0]]


def remark(item, status, answer):
    """What a person is told when the agent has answered, as a title and a text; None if it did what the menu said."""
    title = {"keep": "Keeping files on this device", "free": "Freeing space on this device"}.get(item.action, "synctrain")
    if status != 200:
        message = answer.get("message") if isinstance(answer, dict) else None
        return title, message if isinstance(message, str) and message else "The agent did not answer."
    folders = answer.get("folders") if isinstance(answer, dict) else None
    for folder in folders if isinstance(folders, list) else []:
        if not isinstance(folder, dict):
            continue
        freeing = folder.get("freeing")
        staying = freeing.get("staying") if isinstance(freeing, dict) else None
        if isinstance(staying, list) and staying and isinstance(staying[0], dict):
            first, count = staying[0], freeing.get("stayingFiles")
            more = f" (and {count - 1} more)" if isinstance(count, int) and count > 1 else ""
            return title, f"{first.get('path')}{more} stays: {first.get('message')}"
        short = folder.get("short")
        if item.action == "keep" and isinstance(short, int) and short > 0:
            return title, f"It does not fit: {size(short)} more free space is needed. What fits is downloaded."
    return None


def complaint(status, errors):
    """What a person is told when the command line of `show` has ended with a status, as `remark`; None if it did what the menu said.

    `errors` is what it printed, or why it could not be started."""
    if status == 0:
        return None
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    return "Showing in synctrain", lines[-1].removeprefix("synctrain: ") if lines else "`synctrain ui` failed."


def size(count):
    """Bytes for people."""
    value, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024 or unit == "TiB":
            break
        value /= 1024
    return f"{count} B" if unit == "B" else f"{value:.1f} {unit}"
