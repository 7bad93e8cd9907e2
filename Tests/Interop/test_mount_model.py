"""A mount against a plain directory: the same random operations give the same bytes, names and errors, and a real node gets the
same tree, also where it edits files in between."""

import errno
import hashlib
import os
import random
import shutil
import stat

import harness
import pytest
from test_mount_writing import Mounted, pytestmark, wait_equal  # noqa: F401 (skips where nothing can be mounted)

SEEDS = [1, 2, 3, 4]
STEPS = 60
DIRECTORIES = ["", "a", "a/b", "c"]
NAMES = ["x", "y", "z", "d", "ü"]


def initial(seed):
    """What the node has at first; the agent has none of it."""
    return {f"s{seed}/{directory}/{name}".replace("//", "/"): harness.pattern(200 * number + seed, number)
            for number, (directory, name) in enumerate((d, n) for d in DIRECTORIES for n in NAMES[:3])}


@pytest.fixture(scope="module")
def model(nodes):
    files = {"here/kept": b"kept"}
    for seed in SEEDS:
        files.update(initial(seed))
    mounted = Mounted(*nodes, "model", files)
    yield mounted
    mounted.end()


def tree(root):
    """path → what it is and holds, and permissions of files; None while it changes."""
    found = {}
    try:
        for path, kind in harness.walk(root).items():
            # What a node keeps of a download that was overtaken.
            if os.path.basename(path).startswith(".syncthing."):
                continue
            full = os.path.join(root, path)
            content = os.readlink(full) if kind == "symlink" else harness.read(full) if kind == "file" else None
            mode = oct(stat.S_IMODE(os.lstat(full).st_mode)) if kind == "file" else None
            digest = hashlib.sha256(content).hexdigest() if kind == "file" and content is not None else content
            found[path] = (kind, digest, mode)
    except FileNotFoundError:
        return None
    return found


class Walk:
    """One seed's operations, done to the mount and to a plain directory."""

    def __init__(self, seed, mounted, plain):
        self.random = random.Random(seed)
        self.mounted, self.plain, self.seed = mounted, plain, seed
        self.roots = [mounted.path(f"s{seed}"), plain]
        self.log = []

    def place(self):
        return os.path.join(self.random.choice(DIRECTORIES), self.random.choice(NAMES))

    def content(self):
        return self.random.randbytes(self.random.choice([0, 1, 100, 5000, 140_000]))

    def step(self):
        kind = self.random.choice(["write", "write", "append", "patch", "truncate", "read", "list", "stat", "unlink", "mkdir",
                                   "rmdir", "rename", "rename", "save", "symlink", "chmod", "exclusive"])
        first, second, content, size = self.place(), self.place(), self.content(), self.random.choice([0, 50, 9000])
        self.log.append((kind, first, second, len(content), size))
        outcomes = [self.outcome(kind, root, first, second, content, size) for root in self.roots]
        if outcomes[0] == errno.EXDEV:
            # As mv(1) does; of a directory of which something is absent nothing is done.
            assert kind == "rename" and isinstance(outcomes[1], bool), self.log
            if os.path.isdir(os.path.join(self.plain, second)):
                os.rename(os.path.join(self.plain, second), os.path.join(self.plain, first))
            else:
                source, target = (os.path.join(self.roots[0], name) for name in (first, second))
                shutil.copy(source, target)
                os.unlink(source)
            return
        assert outcomes[0] == outcomes[1], f"{outcomes[0]!r:.100} and {outcomes[1]!r:.100} at {self.log[-8:]}"

    def outcome(self, kind, root, first, second, content, size):
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

    def do_save(self, path, other, content, _):
        temporary = path + ".tmp"
        with open(temporary, "wb") as file:
            file.write(content)
            os.fsync(file.fileno())
        try:
            os.rename(temporary, path)
        except OSError:
            os.unlink(temporary)
            raise

    def do_symlink(self, path, other, *_):
        os.symlink(os.path.basename(other) + "-nowhere", path)

    def do_chmod(self, path, *_):
        # Attributes of what is not here cannot be changed.
        if os.path.isfile(path):
            with open(path, "r+b"):
                os.chmod(path, 0o640)

    def do_exclusive(self, path, _, content, __):
        with open(path, "xb") as file:
            file.write(content)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_mount_does_as_a_plain_directory(model, seed):
    plain = model.lab.directory(f"plain-{seed}")
    for name, content in initial(seed).items():
        harness.write(os.path.join(plain, name.split("/", 1)[1]), content)
    walk = Walk(seed, model, plain)
    for part in range(3):
        for _ in range(STEPS // 3):
            walk.step()
        assert tree(walk.roots[0]) == tree(plain), walk.log[-8:]
        there = model.there(f"s{seed}")
        wait_equal(lambda: tree(there), lambda: tree(plain), model.agent)
        if part < 2:
            edit_elsewhere(walk, there)
    assert model.conflicts() == []


def edit_elsewhere(walk, there):
    """The node edits some files, and what it wrote is read through the mount."""
    files = sorted(path for path, kind in harness.walk(walk.plain).items() if kind == "file")
    for path in walk.random.sample(files, min(3, len(files))):
        content = walk.content() + b"edited there"
        for root in (there, walk.plain):
            harness.write(os.path.join(root, path), content)
    if files and walk.random.random() < 0.5:
        for root in (there, walk.plain):
            if os.path.exists(os.path.join(root, files[0])):
                os.unlink(os.path.join(root, files[0]))
    walk.mounted.node.scan("model")
    wait_equal(lambda: tree(walk.roots[0]), lambda: tree(walk.plain), walk.mounted.agent)
