"""Two agents with a mount each, and a real node between them: programs write through both at once, also while one is away. In the
end all three have the same, but for conflict copies of what an agent does not select, which are on its own disk; and nothing that a
program wrote is gone unless a program that had read it wrote over it.

`SYNCTRAIN_PAIR_SEEDS` says which seeds are run, as `1-20` (`make mount-model`)."""

import errno
import os
import random
import threading

import harness
import pytest
from mount_model import NO_HOLDER, Walk, differences, initial, tree
from process import wait_until
from test_mount_writing import Mounted, pytestmark  # noqa: F401 (skips where nothing can be mounted)

FIRST, LAST = map(int, os.environ.get("SYNCTRAIN_PAIR_SEEDS", "1-1").split("-"))
SEEDS = range(FIRST, LAST + 1)
SHARED = [f"shared/{number}" for number in range(4)]
EDITS, STEPS = 12, 15
# Somebody else's version came between the name and the file, or is being put in its place.
OVERTAKEN = {errno.ESTALE, errno.EBUSY}


class Program(threading.Thread):
    """Edits shared files, each only after it has read it, and does what `Walk` does in a directory of its own."""

    def __init__(self, mounted, seed, plain):
        super().__init__(name=mounted.agent.name)
        self.mounted = mounted
        self.random = random.Random(seed)
        self.walk = Walk(seed, mounted, plain)
        # (what was read, what was written over it)
        self.edits, self.failure = [], None

    def run(self):
        try:
            for _ in range(EDITS + STEPS):
                # What a walk does without anybody who has the files, test_mount_model.py tries.
                if self.random.randrange(EDITS + STEPS) < EDITS or not self.walk.hasHolder:
                    self.edit(self.random.choice(SHARED))
                else:
                    self.walk.step()
        except BaseException as failure:  # noqa: B036 (pytest's own are not Exceptions, and the thread that waits says it)
            self.failure = failure

    def edit(self, name):
        try:
            descriptor = os.open(self.mounted.path(name), os.O_RDWR)
        except OSError as error:
            isMeant = error.errno in OVERTAKEN or not self.walk.hasHolder and error.errno in NO_HOLDER
            assert isMeant, (error, self.mounted.agent.document("stat", f"{self.mounted.folder}:{name}"))
            return
        with os.fdopen(descriptor, "r+b", buffering=0) as file:
            read = file.readall()
            content = f"{self.name} {len(self.edits)} {self.random.random()}\n".encode() * self.random.choice([1, 100, 5000])
            file.seek(0)
            file.truncate()
            while content[file.tell():]:
                file.write(content[file.tell():])
        self.edits.append((read, content))


@pytest.fixture(scope="module")
def three(module_lab):
    """A laboratory, a real node and two agents that know it, but not each other."""
    node, agents = module_lab.syncthing(), [module_lab.agent(name) for name in ("left", "right")]
    for agent in agents:
        module_lab.introduce(agent, node)
    return module_lab, node, agents


class Pair:
    """A folder of the node, mounted by both agents."""

    def __init__(self, lab, node, agents, number, files):
        self.node, self.agents, self.mounts = node, agents, []
        folder = f"pair-{number}"
        for agent in agents:
            self.mounts.append(Mounted(lab, node, agent, folder, files))
            node.set_folder(folder, self.mounts[0].root, [each.id for each in agents], pullerPauseS=1)
        self.root = self.mounts[0].root
        for agent in agents:
            agent.wait_connected(node.id)

    def end(self):
        for mounted in self.mounts:
            mounted.end()


def run(programs):
    for program in programs:
        program.start()
    for program in programs:
        program.join()
        if program.failure:
            raise program.failure


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_that_two_programs_write_is_lost(three, seed):
    lab = three[0]
    seeds = [2 * seed, 2 * seed + 1]
    first = {name: f"{name} at first\n".encode() * 300 for name in SHARED}
    files = {"here/kept": b"kept"} | first | initial(seeds[0]) | initial(seeds[1])
    pair = Pair(*three, seed, files)
    try:
        plains = [lab.directory(f"plain-{each}") for each in seeds]
        for each, plain in zip(seeds, plains):
            for name, content in initial(each).items():
                harness.write(os.path.join(plain, name.split("/", 1)[1]), content)
        edits = []
        away = pair.agents[seed % 2]
        for part in range(3):
            programs = [Program(mounted, 100 * each + part, plain)
                        for mounted, each, plain in zip(pair.mounts, seeds, plains)]
            for program, each in zip(programs, seeds):
                program.walk.root = program.mounted.path(f"s{each}")
            if part == 1:
                pair.node.change_device(away.id, paused=True)
                away.wait_disconnected(pair.node.id)
                programs[seed % 2].walk.hasHolder = False
            run(programs)
            if part == 1:
                pair.node.change_device(away.id, paused=False)
                away.wait_connected(pair.node.id)
            edits += [edit for program in programs for edit in program.edits]
        judge(pair, seeds, plains, first, edits)
    finally:
        pair.end()


def judge(pair, seeds, plains, first, edits):
    views = [pair.root] + [mounted.directory for mounted in pair.mounts]

    def settled(view):
        try:
            found = tree(view)
        except OSError as error:
            # What is read is in no place any more: others have a newer version.
            assert error.errno in (errno.EIO, errno.ESTALE), error
            return None
        return found and {path: entry for path, entry in found.items() if ".sync-conflict-" not in path}

    def trees():
        return [settled(view) for view in views]

    def have_the_same():
        found = trees()
        return None not in found and found[0] == found[1] == found[2]
    try:
        wait_until(have_the_same, 60, "the node and both mounts have the same", every=0.3, child=pair.agents[0])
    except TimeoutError:
        there, *here = trees()
        pytest.fail(f"the node has, and the mount has: {[differences(there or {}, each or {}) for each in here]}")
    for each, plain in zip(seeds, plains):
        assert tree(os.path.join(views[0], f"s{each}")) == tree(plain), each
    known = set(first.values()) | {content for _, content in edits}
    for read, _ in edits:
        assert read in known, f"a program read what nobody wrote: {read[:60]!r}, {len(read)} bytes"
    over = {read for read, _ in edits}
    contents = {harness.read(os.path.join(root, path)) for root in [pair.root] + [mounted.local for mounted in pair.mounts]
                for path, kind in harness.walk(root).items() if kind == "file"}
    lost = [content[:40] for content in known - over if content not in contents]
    assert not lost, (lost, sorted(os.listdir(os.path.join(views[0], "shared"))))
