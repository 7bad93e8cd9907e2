"""Which folder a path of this machine is in: of folders' own directories and of mounts. Pure."""

import os
from urllib.parse import quote

TYPE, PREFIX = b"fuse.synctrain", b"synctrain:"
# Folders and mounts that are looked at.
LIMIT = 1000


def socket(environment):
    """The path of the control socket; None where nothing says where it is. As `AgentPlaces` of the agent finds it."""
    home = environment.get("SYNCTRAIN_HOME")
    if home:
        return os.path.join(home, "agent.sock") if home.startswith("/") else None
    for variable, rest in (("XDG_RUNTIME_DIR", "synctrain"), ("XDG_STATE_HOME", "synctrain"), ("HOME", ".local/state/synctrain")):
        directory = environment.get(variable, "")
        if directory.startswith("/"):
            return os.path.join(directory, rest, "agent.sock")
    return None


def folders(document):
    """Directory and id of each folder of an answer to `GET /v1/folders`."""
    found = document.get("folders") if isinstance(document, dict) else None
    pairs = [(folder.get("path"), folder.get("id")) for folder in found or [] if isinstance(folder, dict)] \
        if isinstance(found, list) else []
    return [(path.rstrip("/") or "/", id) for path, id in pairs[:LIMIT]
            if isinstance(path, str) and isinstance(id, str) and path.startswith("/")]


def _unescaped(word):
    parts = word.split(b"\\")
    found = [parts[0]]
    for part in parts[1:]:
        digits = part[:3]
        if len(digits) == 3 and all(48 <= byte < 56 for byte in digits) and int(digits, 8) < 256:
            found.append(bytes([int(digits, 8)]) + part[3:])
        else:
            found.append(b"\\" + part)
    return b"".join(found)


def mounts(text):
    """Directory and folder of each mount of ours in the bytes of /proc/self/mountinfo (proc_pid_mountinfo(5))."""
    found = []
    for line in text.split(b"\n"):
        words = line.split(b" ")
        if TYPE not in words or b"-" not in words[6:]:
            continue
        dash = words.index(b"-", 6)
        if words[dash + 1:dash + 2] != [TYPE] or len(words) <= dash + 2:
            continue
        source = _unescaped(words[dash + 2])
        if source.startswith(PREFIX):
            found.append((os.fsdecode(_unescaped(words[4])), os.fsdecode(source[len(PREFIX):])))
    return found[:LIMIT]


def find(path, roots):
    """The folder and the path in it, empty for its root; None for what is in none of `roots`."""
    best = None
    for directory, folder in roots:
        if path == directory or path.startswith(directory.rstrip("/") + "/"):
            if best is None or len(directory) > len(best[0]):
                best = (directory, folder)
    if best is None:
        return None
    relative = path[len(best[0]):].strip("/")
    try:
        # The control API has no way to say bytes that are not UTF-8.
        relative.encode()
    except UnicodeEncodeError:
        return None
    return best[1], relative


def shown(place):
    """The directory in which a place is shown, and its name there; the root of a folder is alone."""
    folder, path = place
    if not path:
        return (folder, None), ""
    parent, _, name = path.rpartition("/")
    return (folder, parent), name


def listing(directory, offset, limit):
    """The target that asks for a part of a directory, or for a folder's root alone."""
    folder, path = directory
    if path is None:
        return "/v1/stat?path=" + quote(folder + ":", safe="")
    return f"/v1/entries?path={quote(folder + ':' + path, safe='')}&limit={limit}&offset={offset}"
