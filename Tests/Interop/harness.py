"""A laboratory for one test (or one module): a directory with Syncthing nodes, synctrain agents and peers of our own,
all on loopback, all gone at its end. Logs are kept if the test failed."""

import datetime
import hashlib
import os
import shutil
import tempfile

import bep
from agent import Agent, find_program
from process import wait_until
from syncthing import Syncthing


class Lab:
    def __init__(self, parent=None):
        self.root = tempfile.mkdtemp(prefix="synctrain-lab-", dir=parent)
        self._nodes, self._peers = [], []

    def path(self, *parts):
        return os.path.join(self.root, *parts)

    def directory(self, *parts):
        path = self.path(*parts)
        os.makedirs(path, exist_ok=True)
        return path

    # who takes part

    def agent(self, name="agent", start=True, init=True):
        agent = Agent(find_program(), name, self.path(name))
        self._nodes.append(agent)
        if init:
            agent.init()
        return agent.start() if start else agent

    def syncthing(self, name="real", start=True, key=None, options=None):
        """With `key` ("rsa", "ed25519", …) it gets such an identity instead of its own P-384."""
        home = self.directory(name)
        if key:
            bep.Identity.create(home, key)
        node = Syncthing(name, home, options)
        self._nodes.append(node)
        return node.start() if start else node

    def peer(self, name="probe", key="p256"):
        peer = bep.Peer(name, bep.Identity.create(self.path(name), key))
        self._peers.append(peer)
        return peer

    # who shares what

    def introduce(self, agent, *others):
        """Makes the agent and each other know one another; the agent dials Syncthing nodes and other agents."""
        for other in others:
            if isinstance(other, bep.Peer):
                agent.add_device(other.id, other.name)
            elif isinstance(other, Syncthing):
                agent.add_device(other.id, other.name, other.address)
                other.add_device(agent.id, name=agent.name)
            else:
                agent.add_device(other.id, other.name, other.address)
                other.add_device(agent.id, agent.name)

    def share(self, agent, folder_id, *others, mode="selective", type=None, place=None):
        """Shares a folder among the agent and the others; returns the agent's path of it, which is `place` if that is named.
        A Syncthing node's is `path(NODE'S NAME + "-" + FOLDER)`, a peer's `Folder` is in its `folders`."""
        path = place or self.path(f"{agent.name}-{folder_id}")
        agent.add_folder(folder_id, path, *[other.id for other in others], mode=mode, type=type)
        for other in others:
            if isinstance(other, bep.Peer):
                if folder_id not in other.folders:
                    other.share(folder_id, [agent.id])
                elif agent.id not in other.folders[folder_id].devices:
                    other.folders[folder_id].devices.append(agent.id)
            elif isinstance(other, Syncthing):
                other.set_folder(folder_id, self.folder_path(other, folder_id), [agent.id])
            else:
                other.add_folder(folder_id, self.path(f"{other.name}-{folder_id}"), agent.id, mode=mode)
        return path

    def folder_path(self, node, folder_id):
        return self.path(f"{node.name}-{folder_id}")

    def end(self):
        """Ends all that take part; their files stay."""
        for peer in self._peers:
            peer.close()
        for node in self._nodes:
            node.kill() if not node.is_running else (node.resume(), node.kill())

    def close(self, keep=False):
        self.end()
        if keep:
            self._keep_logs()
        self.remove_files()

    def remove_files(self):
        shutil.rmtree(self.root, ignore_errors=True)

    def _keep_logs(self):
        """Copies logs and settings (not keys and data) to `$SYNCTRAIN_INTEROP_LOGS` or beside the laboratory."""
        target = os.path.join(os.environ.get("SYNCTRAIN_INTEROP_LOGS", tempfile.gettempdir()),
                              os.path.basename(self.root) + "-logs")
        for directory, _, names in os.walk(self.root):
            for name in names:
                if name.endswith((".log", ".out", "log.txt", "config.xml", "config.toml")):
                    path = os.path.join(directory, name)
                    copy = os.path.join(target, os.path.relpath(path, self.root))
                    os.makedirs(os.path.dirname(copy), exist_ok=True)
                    shutil.copyfile(path, copy)
        for node in self._nodes:
            print(f"--- end of {node.name}'s log (all in {target})\n{node.log_tail()}")

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.close(keep=kind is not None)


class Pair:
    """An agent and a real Syncthing node that share one folder: `here` is the agent's copy, `there` the node's. The agent
    watches its copy; the node looks at its own when it is told to. `place` is where `here` is to be, `kind` the kind of
    disk that it is on (`disks.Kind`)."""

    def __init__(self, lab, folder_id="f", mode="full", node=None, agent=None, type=None, place=None, kind=None):
        self.lab, self.id, self.kind = lab, folder_id, kind
        self.node, self.agent = node or lab.syncthing(), agent or lab.agent()
        if node is None or agent is None:
            lab.introduce(self.agent, self.node)
        self.there = lab.directory(f"{self.node.name}-{folder_id}")
        self.here = lab.share(self.agent, folder_id, self.node, mode=mode, type=type, place=place)
        self.connect()

    @property
    def device(self):
        """The node, as the agent's `status` has it."""
        return next(d for d in self.agent.status()["devices"] if d["id"] == self.node.id)

    @property
    def status(self):
        return self.agent.folder(self.id)

    def connect(self):
        self.node.change_device(self.agent.id, paused=False)
        self.agent.wait_connected(self.node.id)
        self.node.wait_connected(self.agent.id)

    def disconnect(self):
        self.node.change_device(self.agent.id, paused=True)
        self.agent.wait_disconnected(self.node.id)

    def scan_there(self, sub=None):
        self.node.scan(self.id, sub)

    def wait_same(self, under="", timeout=10):
        """Until both copies have the same below `under`; returns it."""
        trees = []

        def same():
            trees[:] = [snapshot(os.path.join(root, under), self.kind) for root in (self.here, self.there)]
            return trees[0] == trees[1]
        try:
            wait_until(same, timeout, "the copies agree", every=0.03, child=self.agent)
        except TimeoutError as error:
            only = [sorted(set(a.items()) - set(b.items())) for a, b in (trees, trees[::-1])]
            raise TimeoutError(f"the copies differ below {under!r}\nhere: {only[0][:8]}\nthere: {only[1][:8]}\n"
                               f"status: {self.status}") from error
        return trees[0]

    def wait_at_rest(self, timeout=20):
        """Until neither side needs anything, and the node sees the agent at 100 %."""
        def at_rest():
            status = self.status
            node = self.node.status(self.id)
            complete = self.node.completion(self.id, self.agent.id)
            return (status["state"] == "idle" and status["need"]["files"] == 0 and node["state"] == "idle"
                    and node["needTotalItems"] == 0 and complete["completion"] == 100
                    and complete["needItems"] == 0 and complete["needDeletes"] == 0)
        wait_until(at_rest, timeout, "both are at rest", every=0.03, child=self.agent)

    def barrier(self, under="", timeout=20):
        """Until each side has taken in all that the other had noted before: a new file below `under` goes each way."""
        for source, other in ((self.here, self.there), (self.there, self.here)):
            name = os.path.join(under, f"barrier {os.urandom(4).hex()}")
            write(os.path.join(source, name), b"")
            if source == self.there:
                self.scan_there(name)
            wait_until(lambda: os.path.exists(os.path.join(other, name)), timeout, "the barrier passes",
                       child=self.agent)


# MARK: files

def write(path, data=b"", mode="wb"):
    """Writes a file, with the directories above it."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, mode) as file:
        file.write(data)


def read(path):
    """What is in the file; None if there is none."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None


def snapshot(root, kind=None):
    """relative path → what two copies of a folder must agree on: kind, contents, permissions and time; of the last two as much
    as a disk of that kind keeps."""
    found = {}
    step, keeps = (kind.time_step, kind.keeps_permissions) if kind else (1, True)

    def permissions(status):
        return status.st_mode & 0o777 if keeps else None
    for path, kind in walk(root).items():
        name = os.path.basename(path)
        if name.startswith((".syncthing.", "~syncthing~")):
            continue
        full = os.path.join(root, path)
        try:
            status = os.lstat(full)
            if kind == "symlink":
                found[path] = ("symlink", os.readlink(full))
            elif kind == "directory":
                found[path] = ("directory", permissions(status))
            else:
                found[path] = ("file", sha256_of(full), permissions(status), status.st_mtime_ns // step)
        except OSError as error:
            found[path] = ("changing", type(error).__name__)
    return found


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def walk(root):
    """relative path → "file", "directory" or "symlink", without Syncthing's and synctrain's own files."""
    found = {}
    for directory, directories, names in os.walk(root):
        directories[:] = [d for d in directories if d not in (".stfolder", ".stversions")]
        for name in directories + names:
            path = os.path.join(directory, name)
            relative = os.path.relpath(path, root)
            if relative == ".stignore":
                continue
            found[relative] = ("symlink" if os.path.islink(path) else
                               "directory" if os.path.isdir(path) else "file")
    return found


def regular_files(root):
    """relative path → SHA-256."""
    return {path: sha256_of(os.path.join(root, path)) for path, kind in walk(root).items() if kind == "file"}


ODD_NAMES = [
    "with space.txt", " leading and trailing ", "new\nline.txt", "carriage\rreturn", "tab\there", "back\\slash",
    "quote's \"double\" `tick`", "-leading-dash", "--help", "#hash", "~tilde", "$HOME", "percent%20", "star*?[x]{y}",
    "colon:name", "naïve café", "日本語", "🚆🚆", "ÅÄÖ", "\u202eright-to-left", "\u2028line separator", "(?d)!x",
    "n" * 200, "ü" * 100, "empty-file", "escape\x1b[31m", ".hidden", "CON", "a.b.c...",
]
"""Names in normal form C that are legal on Linux."""


def make_odd_tree(root):
    """A directory `odd`: a file and a directory of each odd name, links, an executable, an empty directory."""
    odd = os.path.join(root, "odd")
    os.makedirs(os.path.join(odd, "directories"))
    for number, name in enumerate(ODD_NAMES):
        name = bep.nfc(name)
        with open(os.path.join(odd, name), "wb") as file:
            file.write(b"" if name == "empty-file" else f"{number}: {name}\n".encode())
        os.mkdir(os.path.join(odd, "directories", name))
        with open(os.path.join(odd, "directories", name, "inside"), "w") as file:
            file.write(name)
    os.mkdir(os.path.join(odd, "empty directory"))
    with open(os.path.join(odd, "executable"), "w") as file:
        file.write("#!/bin/sh\n")
    os.chmod(os.path.join(odd, "executable"), 0o755)
    with open(os.path.join(odd, "300-KiB"), "wb") as file:
        file.write(pattern(300 << 10))
    with open(os.path.join(odd, "two-blocks"), "wb") as file:
        file.write(pattern(256 << 10))
    with open(os.path.join(odd, "one-block"), "wb") as file:
        file.write(pattern(128 << 10))
    os.symlink("executable", os.path.join(odd, "link"))
    os.symlink("../../outside/nowhere", os.path.join(odd, "dangling"))
    os.symlink("directories", os.path.join(odd, "link to a directory"))


def pattern(count, seed=0):
    """Bytes that differ from block to block and do not compress, the same for the same seed."""
    out = bytearray()
    number = 0
    while len(out) < count:
        out += hashlib.shake_256(f"{seed}/{number}".encode()).digest(min(1 << 16, count - len(out)))
        number += 1
    return bytes(out)


def copy_documentation(root, limit=2500):
    """Copies so many entries of /usr/share/doc, links as links, everything readable."""
    count = 0
    for package in sorted(os.listdir("/usr/share/doc")):
        source = os.path.join("/usr/share/doc", package)
        if os.path.isdir(source) and not os.path.islink(source):
            shutil.copytree(source, os.path.join(root, package), symlinks=True)
            count += len(walk(source)) + 1
        if count > limit:
            break


def unix_time(text):
    """Whole seconds since 1970 of an RFC 3339 time."""
    return int(datetime.datetime.fromisoformat(text).timestamp())
