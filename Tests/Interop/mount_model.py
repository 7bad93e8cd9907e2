"""One seed of the mount's model test: random operations on the mount and on a plain directory, and what goes wrong meanwhile."""

import contextlib
import errno
import hashlib
import os
import random
import shutil
import stat
import threading
import time

import harness

DIRECTORIES = ["", "a", "a/b", "c"]
NAMES = ["x", "y", "z", "d", "ü"]
KINDS = ["write", "write", "append", "patch", "truncate", "read", "list", "stat", "unlink", "mkdir", "rmdir", "rename", "rename",
         "save", "symlink", "chmod", "exclusive"]
# What a program is told whose operation was under way when the agent or the mount was killed.
AGENT_GONE = {errno.EIO}
# Once it is unmounted, the directory is empty.
MOUNT_GONE = {errno.EIO, errno.ENOTCONN, errno.ECONNABORTED, errno.ENOENT}
# What it is told when no connected device has what it needs.
NO_HOLDER = {errno.ENETDOWN, errno.ETIMEDOUT}
# Of the folder itself.
OWN = {".stfolder", ".stversions", ".stignore"}


def initial(seed):
    """What the node has at first; the agent has none of it."""
    return {f"s{seed}/{directory}/{name}".replace("//", "/"): harness.pattern(200 * number + seed, number)
            for number, (directory, name) in enumerate((d, n) for d in DIRECTORIES for n in NAMES[:3])}


def tree(root):
    """path → what it is and holds, and permissions of files; None while it changes."""
    found, rest = {}, [""]
    try:
        while rest:
            below = rest.pop()
            with os.scandir(os.path.join(root, below)) as entries:
                for entry in entries:
                    # What a node keeps of a download that was overtaken.
                    if entry.name.startswith(".syncthing.") or entry.name in OWN:
                        continue
                    path, status = os.path.join(below, entry.name), entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(status.st_mode):
                        rest.append(path)
                        found[path] = ("directory", None, None)
                    elif stat.S_ISLNK(status.st_mode):
                        found[path] = ("symlink", os.readlink(entry.path), None)
                    else:
                        found[path] = ("file", digest(entry.path), oct(stat.S_IMODE(status.st_mode)))
    except NotADirectoryError:
        return None
    except FileNotFoundError:
        return {} if not os.path.lexists(root) else None
    return found


def digest(path):
    """SHA-256 of a file, without what a buffer asks of it before."""
    file = os.open(path, os.O_RDONLY)
    try:
        sum = hashlib.sha256()
        while chunk := os.read(file, 1 << 20):
            sum.update(chunk)
        return sum.hexdigest()
    finally:
        os.close(file)


def is_file(path):
    """As `os.path.isfile`, which is also false where a mount that was killed does not answer."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def differences(first, second):
    return {path: (first.get(path), second.get(path)) for path in first.keys() | second.keys()
            if first.get(path) != second.get(path)}


class Waiting(threading.Thread):
    """Finds threads of this process that wait in the kernel for more than 2.5 s and cannot be killed."""

    LIMIT = 2.5

    def __init__(self):
        super().__init__(daemon=True)
        self.ended = threading.Event()
        self.found = []

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.join()
        assert self.found == []

    def run(self):
        since = {}
        while not self.ended.wait(0.1):
            now, waits = time.monotonic(), {}
            for thread in os.listdir("/proc/self/task"):
                wait = self.wait_of(thread)
                if wait:
                    waits[thread, wait] = since.get((thread, wait), now)
                    if now - waits[thread, wait] > self.LIMIT:
                        self.found.append(wait)
            since = waits

    @staticmethod
    def wait_of(thread):
        """Which wait of the thread this is; None if it does not wait, or can be killed as one that waits for a page can."""
        try:
            with open(f"/proc/self/task/{thread}/status", encoding="ascii", errors="replace") as file:
                fields = dict(line.split(":", 1) for line in file.read().splitlines() if ":" in line)
            with open(f"/proc/self/task/{thread}/wchan", encoding="ascii") as file:
                place = file.read()
        except OSError:
            return None
        isUnkillable = fields["State"].split()[0] == "D" and not place.startswith("folio_wait")
        return (place, fields["voluntary_ctxt_switches"].strip()) if isUnkillable else None


class Walk:
    """One seed's operations, done to the mount and to a plain directory."""

    def __init__(self, seed, mounted, plain):
        self.random = random.Random(seed)
        self.mounted, self.plain, self.seed = mounted, plain, seed
        self.root = mounted.path(f"s{seed}")
        # Whether the node is connected.
        self.hasHolder = True
        self.log = []

    def place(self):
        return os.path.join(self.random.choice(DIRECTORIES), self.random.choice(NAMES))

    def content(self):
        return self.random.randbytes(self.random.choice([0, 1, 100, 5000, 140_000]))

    def draw(self):
        kind = self.random.choice(KINDS)
        first, second, content, size = self.place(), self.place(), self.content(), self.random.choice([0, 50, 9000])
        self.log.append((kind, first, second, len(content), size))
        return kind, first, second, content, size

    def step(self):
        kind, first, second, content, size = operation = self.draw()
        outcome = self.outcome(self.root, operation)
        if not self.hasHolder and isinstance(outcome, int) and outcome in NO_HOLDER:
            self.log.append(("no holder", errno.errorcode[outcome]))
            return
        expected = self.outcome(self.plain, operation)
        if outcome == errno.EXDEV:
            assert kind == "rename" and isinstance(expected, bool), self.log
            self.move_as_mv(first, second)
            return
        assert outcome == expected, (f"{outcome!r:.100} and {expected!r:.100} at {self.log[-25:]}; "
                                     f"{self.whereabouts(first)}, {self.whereabouts(second)}")

    def whereabouts(self, name):
        """Who has something of the name, and what the agent says of it; for messages."""
        path = os.path.join(f"s{self.seed}", name)
        roots = {"plain": os.path.join(self.plain, name), "mount": self.mounted.path(path), "node": self.mounted.there(path),
                 "agent": os.path.join(self.mounted.local, path)}
        said = self.mounted.agent.try_run("stat", f"{self.mounted.folder}:{path}", "--json")
        return name, [root for root, full in roots.items() if os.path.lexists(full)], said.stdout.decode()

    def move_as_mv(self, first, second):
        """As mv(1) does; of a directory of which something is absent nothing is done."""
        if os.path.isdir(os.path.join(self.plain, second)):
            os.rename(os.path.join(self.plain, second), os.path.join(self.plain, first))
            return
        source, target = (os.path.join(self.root, name) for name in (first, second))
        try:
            if os.path.islink(source):
                os.symlink(os.readlink(source), target + ".tmp")
            else:
                shutil.copy(source, target + ".tmp")
        except OSError as error:
            if self.hasHolder or error.errno not in NO_HOLDER:
                raise
            os.unlink(target + ".tmp")
            os.rename(os.path.join(self.plain, second), os.path.join(self.plain, first))
            self.adopt(second)
            return
        os.rename(target + ".tmp", target)
        os.unlink(source)

    def cut_off(self):
        """An operation that is to be cut off."""
        self.log.append("cut off")
        return CutOff(self, self.draw())

    def is_part(self, kind, first, content, found, before, after):
        """Whether all but the file that was written to is as before, and that has a part of it."""
        if kind not in ("write", "append", "patch", "exclusive") or not differences(found, before).keys() <= {first}:
            return False
        if found.get(first, ("none",))[0] != "file" or after.get(first, ("none",))[0] != "file":
            return False
        now = harness.read(os.path.join(self.root, first))
        if kind == "patch":
            return True
        old = harness.read(os.path.join(self.plain, first)) if kind == "append" and first in before else b""
        return now.startswith(old) and (old + content).startswith(now)

    def adopt(self, path):
        """The plain directory gets what the mount has there."""
        source, target = os.path.join(self.root, path), os.path.join(self.plain, path)
        if os.path.isdir(target) and not os.path.islink(target):
            shutil.rmtree(target)
        elif os.path.lexists(target):
            os.unlink(target)
        if os.path.islink(source):
            os.symlink(os.readlink(source), target)
        elif os.path.isdir(source):
            os.makedirs(target, exist_ok=True)
            for name in os.listdir(source):
                self.adopt(os.path.join(path, name))
        elif os.path.exists(source):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            harness.write(target, harness.read(source))
            os.chmod(target, stat.S_IMODE(os.stat(source).st_mode))

    # operations

    def outcome(self, root, operation):
        kind, first, second, content, size = operation
        path, other = os.path.join(root, first), os.path.join(root, second)
        try:
            return getattr(self, "do_" + kind)(path, other, content, size)
        except OSError as error:
            return error.errno

    def do_write(self, path, _, content, __):
        with open(path, "wb") as file:
            file.write(content)

    def do_append(self, path, _, content, __):
        with open(path, "ab") as file:
            file.write(content)

    def do_patch(self, path, _, content, size):
        with open(path, "r+b") as file:
            file.seek(size)
            file.write(content)
            file.flush()
            file.seek(0)
            return file.read(), os.fstat(file.fileno()).st_size, os.stat(path).st_size

    def do_truncate(self, path, _, __, size):
        os.truncate(path, size)

    def do_read(self, path, *_):
        with open(path, "rb") as file:
            return file.read()

    def do_list(self, path, *_):
        return sorted(os.listdir(os.path.dirname(path)))

    def do_stat(self, path, *_):
        status = os.lstat(path)
        return stat.S_IFMT(status.st_mode), status.st_size if stat.S_ISREG(status.st_mode) else 0

    def do_unlink(self, path, *_):
        os.unlink(path)

    def do_mkdir(self, path, *_):
        os.mkdir(path)

    def do_rmdir(self, path, *_):
        os.rmdir(path)

    def do_rename(self, path, other, *_):
        # Empty directories of which nothing is here are not renamed, either.
        wasDirectory = os.path.isdir(path)
        os.rename(path, other)
        return wasDirectory

    def do_save(self, path, _, content, __):
        temporary = path + ".tmp"
        with open(temporary, "wb") as file:
            file.write(content)
            os.fsync(file.fileno())
        try:
            os.rename(temporary, path)
        except OSError:
            # It may have been done all the same, if the answer was lost.
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            raise

    def do_symlink(self, path, other, *_):
        os.symlink(os.path.basename(other) + "-nowhere", path)

    def do_chmod(self, path, *_):
        # Attributes of what is not here cannot be changed.
        if is_file(path):
            with open(path, "r+b"):
                os.chmod(path, 0o640)

    def do_exclusive(self, path, _, content, __):
        with open(path, "xb") as file:
            file.write(content)


class CutOff:
    """An operation that is under way while something is killed: it is done, or fails with a given error, and what it wrote is
    there in part."""

    def __init__(self, walk, operation):
        self.walk, self.operation = walk, operation
        self.before, self.copy = tree(walk.plain), walk.plain + "-after"
        shutil.copytree(walk.plain, self.copy, symlinks=True)
        self.expected, self.outcomes = walk.outcome(self.copy, operation), []
        self.program = threading.Thread(target=lambda: self.outcomes.append(walk.outcome(walk.root, operation)))

    def begin(self):
        self.program.start()

    def judge(self, errors):
        walk, (kind, first, _, content, _) = self.walk, self.operation
        self.program.join()
        outcome, before, after, found = self.outcomes[0], self.before, tree(self.copy), tree(walk.root)
        walk.log.append(("outcome", outcome if isinstance(outcome, int) else "done"))
        shutil.rmtree(self.copy)
        temporary = first + ".tmp"
        if kind == "save" and temporary in found:
            os.unlink(os.path.join(walk.root, temporary))
            del found[temporary]
        if outcome == self.expected:
            assert found == after, (differences(found, after), walk.log[-25:])
        else:
            isMeant = isinstance(outcome, int) and outcome in errors or outcome == errno.EXDEV and kind == "rename"
            assert isMeant, (outcome, self.expected, walk.log[-25:])
            isPart = walk.is_part(kind, first, content, found, before, after)
            assert isPart or found in (before, after), (differences(found, before), differences(found, after), walk.log[-25:])
        for path in differences(found, before):
            walk.adopt(path)
