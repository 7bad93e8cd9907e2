"""A mount against a plain directory: the same random operations give the same bytes, names and errors, and a real node gets the
same tree, also where it edits files in between, and where the agent, the mount or the connection is lost meanwhile.

`SYNCTRAIN_MODEL_SEEDS` says which seeds are run, as `1-200` (`make mount-model`)."""

import errno
import os
import signal

import harness
import pytest
from mount_model import AGENT_GONE, MOUNT_GONE, Waiting, Walk, initial, tree
from process import wait_until
from test_mount import mounted as process_of
from test_mount_writing import Mounted, pytestmark, wait_equal  # noqa: F401 (skips where nothing can be mounted)

FIRST, LAST = map(int, os.environ.get("SYNCTRAIN_MODEL_SEEDS", "1-10").split("-"))
SEEDS = range(FIRST, LAST + 1)
# Seeds that share a folder.
BATCH = 10
STEPS = 60


class Folders:
    """A folder for each batch of seeds, one at a time."""

    def __init__(self, nodes):
        self.nodes, self.batch, self.mounted = nodes, None, None

    def of(self, seed):
        batch = (seed - 1) // BATCH
        if self.batch != batch:
            self.end()
            files = {"here/kept": b"kept"}
            for each in range(batch * BATCH + 1, (batch + 1) * BATCH + 1):
                files.update(initial(each))
            self.batch, self.mounted = batch, Mounted(*self.nodes, f"model-{batch}", files)
        return self.mounted

    def end(self):
        if self.mounted:
            self.mounted.end()


@pytest.fixture(scope="module")
def folders(nodes):
    folders = Folders(nodes)
    yield folders
    folders.end()


class AgentKilled:
    """The agent is killed and started again, twice between operations and once while one is under way."""

    errors = AGENT_GONE

    def __init__(self, walk):
        self.walk, self.agent = walk, walk.mounted.agent

    def before_step(self, number):
        if number in (5, 11):
            self.kill()
            self.restore()
        elif number == 15:
            self.walk.cut_off(self.kill, self.restore, self.errors)

    def kill(self):
        self.agent.kill()

    def restore(self):
        self.agent.start()
        self.agent.wait_connected(self.walk.mounted.node.id)

        def answers():
            try:
                os.stat(self.walk.mounted.path(f"never {self.agent.process.pid}"))
            except OSError as error:
                return error.errno == errno.ENOENT
        wait_until(answers, 20, "the mount has found the agent", child=self.agent)

    def end_part(self):
        pass


class MountKilled(AgentKilled):
    """The same with the process of the mount."""

    errors = MOUNT_GONE

    def kill(self):
        os.kill(process_of(self.walk.mounted.directory), signal.SIGKILL)

    def restore(self):
        mounted = self.walk.mounted

        def is_over():
            # A process that ends has no name before it closes its files, and what it served is there until then.
            if process_of(mounted.directory) is not None:
                return False
            try:
                return os.listdir(mounted.directory) == []
            except OSError as error:
                return error.errno in MOUNT_GONE
        wait_until(is_over, 20, "its process ends")
        mounted.agent.run("mount", mounted.folder, mounted.directory)


class HolderLost(AgentKilled):
    """The only device that has what is absent is disconnected for a while."""

    def before_step(self, number):
        node = self.walk.mounted.node
        if number == 8:
            node.change_device(self.agent.id, paused=True)
            self.agent.wait_disconnected(node.id)
            self.walk.hasHolder = False

    def end_part(self):
        if not self.walk.hasHolder:
            self.walk.mounted.node.change_device(self.agent.id, paused=False)
            self.agent.wait_connected(self.walk.mounted.node.id)
            self.walk.hasHolder = True


class NoTrouble(AgentKilled):
    def before_step(self, number):
        pass


TROUBLES = [NoTrouble, NoTrouble, AgentKilled, MountKilled, HolderLost]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_mount_does_as_a_plain_directory(folders, seed):
    mounted = folders.of(seed)
    plain = mounted.lab.directory(f"plain-{seed}")
    for name, content in initial(seed).items():
        harness.write(os.path.join(plain, name.split("/", 1)[1]), content)
    walk = Walk(seed, mounted, plain)
    trouble = TROUBLES[seed % len(TROUBLES)](walk)
    there = mounted.there(f"s{seed}")
    with Waiting():
        for part in range(3):
            for number in range(STEPS // 3):
                if part == 1:
                    trouble.before_step(number)
                walk.step()
            trouble.end_part()
            assert tree(walk.root) == tree(plain), walk.log[-25:]
            wait_equal(lambda: tree(there), lambda: tree(plain), mounted.agent)
            if part < 2:
                edit_elsewhere(walk, there)
    assert mounted.conflicts() == []


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
    walk.mounted.node.scan(walk.mounted.folder)
    wait_equal(lambda: tree(walk.root), lambda: tree(walk.plain), walk.mounted.agent)
    # A listing shows at once that a name is gone; by the name itself the kernel goes on finding it until it is told.
    wait_until(lambda: not any(os.path.lexists(os.path.join(walk.root, path)) for path in files
                               if not os.path.lexists(os.path.join(walk.plain, path))), 10, "what is gone is gone")
