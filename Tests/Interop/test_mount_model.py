"""A mount against a plain directory: the same random operations give the same bytes, names and errors, and a real node gets the
same tree, also where it edits files in between, and where the agent, the mount or the connection is lost meanwhile.

`SYNCTRAIN_MODEL_SEEDS` says which seeds are run, as `1-200`, and `SYNCTRAIN_MODEL_STEPS` how many operations of each (`make
mount-model`)."""

import errno
import os
import shutil
import signal
import tempfile
from concurrent.futures import ThreadPoolExecutor

import harness
import pytest
from mount_model import AGENT_GONE, MOUNT_GONE, Waiting, Walk, differences, initial, tree
from process import wait_until
from test_mount import mounted as process_of
from test_mount_writing import Mounted, pytestmark  # noqa: F401 (skips where nothing can be mounted)

FIRST, LAST = map(int, os.environ.get("SYNCTRAIN_MODEL_SEEDS", "1-200").split("-"))
# Of each seed, a third before, while and after something goes wrong.
STEPS = int(os.environ.get("SYNCTRAIN_MODEL_STEPS", "15"))
PART = STEPS // 3
# Seeds that share a folder and what goes wrong: setting these up costs as much as the operations of ten seeds. Not more, nor with more
# steps: each line of a folder's selection makes the next one dearer.
BATCH = max(10, 375 // STEPS)
# Seeds whose operations are under way at the same time. The agent waits for the disk more than it computes.
PROGRAMS = 4


class NoTrouble:
    """Nothing goes wrong."""

    def __init__(self, mounted, walks):
        self.mounted, self.walks, self.agent, self.node = mounted, walks, mounted.agent, mounted.node

    def before_step(self, number):
        pass

    def end_part(self):
        pass

    def wait_connected(self):
        # The node is asked first, which costs less than a command.
        wait_until(lambda: self.node.is_connected(self.agent.id), 20, "the node is connected", every=0.05, child=self.agent)
        self.agent.wait_connected(self.node.id)


class AgentKilled(NoTrouble):
    """The agent is killed and started again, twice between operations and once while one of each seed is under way."""

    errors = AGENT_GONE

    def before_step(self, number):
        if number in (PART // 4, PART // 2):
            self.kill()
            self.restore()
        elif number == PART * 3 // 4:
            cuts = [walk.cut_off() for walk in self.walks]
            for cut in cuts:
                cut.begin()
            self.kill()
            self.restore()
            for cut in cuts:
                cut.judge(self.errors)

    def kill(self):
        self.agent.kill()

    def restore(self):
        self.agent.start()
        self.wait_connected()
        wait_until(self.answers, 20, "the mount has found the agent", child=self.agent)

    def answers(self):
        try:
            os.stat(self.mounted.path(f"never {self.agent.process.pid}"))
        except OSError as error:
            return error.errno == errno.ENOENT


class MountKilled(AgentKilled):
    """The same with the process of the mount."""

    errors = MOUNT_GONE

    def kill(self):
        os.kill(process_of(self.mounted.directory), signal.SIGKILL)

    def restore(self):
        wait_until(self.is_over, 20, "its process ends")
        self.agent.run("mount", self.mounted.folder, self.mounted.directory)

    def is_over(self):
        # A process that ends has no name before it closes its files, and what it served is there until then.
        if process_of(self.mounted.directory) is not None:
            return False
        try:
            return os.listdir(self.mounted.directory) == []
        except OSError as error:
            return error.errno in MOUNT_GONE


class HolderLost(NoTrouble):
    """The only device that has what is absent is disconnected for a while."""

    def before_step(self, number):
        if number == PART * 2 // 5:
            self.node.change_device(self.agent.id, paused=True)
            self.agent.wait_disconnected(self.node.id)
            for walk in self.walks:
                walk.hasHolder = False

    def end_part(self):
        if not self.walks[0].hasHolder:
            # With an address, the node connects at once; the agent has tried in vain, and waits longer each time.
            self.node.change_device(self.agent.id, paused=False, addresses=[self.agent.address])
            self.wait_connected()
            for walk in self.walks:
                walk.hasHolder = True


TROUBLES = [NoTrouble, AgentKilled, MountKilled, HolderLost]


@pytest.fixture
def plains():
    """Where the plain directories are: in memory if there is room, where nothing waits for a disk."""
    memory = "/dev/shm"
    hasRoom = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 256 << 20
    with tempfile.TemporaryDirectory(prefix="synctrain-plain-", dir=memory if hasRoom else None) as directory:
        yield directory


@pytest.mark.parametrize("batch", range((FIRST - 1) // BATCH, (LAST - 1) // BATCH + 1))
def test_a_mount_does_as_a_plain_directory(nodes, plains, batch):
    agent = nodes[2]
    seeds = range(max(FIRST, batch * BATCH + 1), min(LAST, (batch + 1) * BATCH) + 1)
    files = {"here/kept": b"kept"}
    for seed in seeds:
        files.update(initial(seed))
    mounted = Mounted(*nodes, f"model-{batch}", files)
    try:
        walks = []
        for seed in seeds:
            plain = os.path.join(plains, str(seed))
            for name, content in initial(seed).items():
                harness.write(os.path.join(plain, name.split("/", 1)[1]), content)
            walks.append(Walk(seed, mounted, plain))
        with Waiting():
            walk_all(mounted, walks, TROUBLES[batch % len(TROUBLES)](mounted, walks))
        assert mounted.conflicts() == []
    finally:
        mounted.end()
        # Or the next batch would pay for it.
        agent.run("folder", "remove", mounted.folder, "--yes")


def walk_all(mounted, walks, trouble):
    """Three parts of a third of the steps each; after each, the node gets the same trees, and edits some files."""
    for part in range(3):
        with ThreadPoolExecutor(PROGRAMS) as programs:
            for number in range(PART):
                if part == 1:
                    trouble.before_step(number)
                # A failure is raised once what is under way has ended.
                list(programs.map(Walk.step, walks))
        trouble.end_part()
        expected = {walk: tree(walk.plain) for walk in walks}
        for walk in walks:
            assert tree(walk.root) == expected[walk], walk.log[-25:]
        wait_same([(mounted.there(f"s{walk.seed}"), expected[walk]) for walk in walks], mounted.agent)
        if part < 2:
            edit_elsewhere(mounted, walks, expected)


def wait_same(pairs, agent):
    """Waits until each directory has the tree that is beside it."""
    rest = list(pairs)

    def agree():
        while rest and tree(rest[0][0]) == rest[0][1]:
            rest.pop(0)
        return not rest
    try:
        wait_until(agree, 60, "both are the same", every=0.1, child=agent)
    except TimeoutError:
        pytest.fail(f"{rest[0][0]}: {differences(tree(rest[0][0]) or {}, rest[0][1])}")


def edit_elsewhere(mounted, walks, trees):
    """The node edits some files, and what it wrote is read through the mount."""
    listed = {}
    for walk in walks:
        there = mounted.there(f"s{walk.seed}")
        files = listed[walk] = sorted(path for path, (kind, _, _) in trees[walk].items() if kind == "file")
        for path in walk.random.sample(files, min(3, len(files))):
            content = walk.content() + b"edited there"
            for root in (there, walk.plain):
                harness.write(os.path.join(root, path), content)
        if files and walk.random.random() < 0.5:
            for root in (there, walk.plain):
                if os.path.exists(os.path.join(root, files[0])):
                    os.unlink(os.path.join(root, files[0]))
    mounted.node.scan(mounted.folder)
    wait_same([(walk.root, tree(walk.plain)) for walk in walks], mounted.agent)
    # A listing shows at once that a name is gone; by the name itself the kernel goes on finding it until it is told.
    wait_until(lambda: not any(os.path.lexists(os.path.join(walk.root, path)) for walk in walks for path in listed[walk]
                               if not os.path.lexists(os.path.join(walk.plain, path))), 10, "what is gone is gone", every=0.1)
