"""The agent killed (SIGKILL) at random moments, again and again, while it pulls and scans and both sides go on editing.

Every file has one writer at a time, so no conflict is anybody's doing; in between it must all come to rest, and then the
index says what is on the disk, both sides have the same bytes, and nothing that was written last is lost.

    SYNCTRAIN_CRASH_SEED=7 SYNCTRAIN_CRASH_KILLS=1000 python3 -m pytest -s Tests/Interop/test_crash.py
"""

import hashlib
import os
import random
import signal
import time

import pytest

import tree
from harness import pattern
from process import MIB, wait_until

FOLDER = "k"
SEED = int(os.environ.get("SYNCTRAIN_CRASH_SEED", "1"))
KILLS = int(os.environ.get("SYNCTRAIN_CRASH_KILLS", "100"))
KILLS_BETWEEN_RESTS = 25
LONGEST_LIFE = 0.6
PATIENCE = 120


def kill_alone(agent):
    """The agent's process and not its child, as the kernel would when memory runs out; the child must end by itself."""
    children = [pid for pid in agent.pids() if pid != agent.process.pid]
    os.kill(agent.process.pid, signal.SIGKILL)
    agent.process.wait(10)
    return children


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Writer:
    """One side's user, who alone writes the files below `own`; `files` is what they must be in the end, by SHA-256."""

    def __init__(self, user, rnd, own):
        self.user, self.rnd, self.own = user, rnd, own
        self.files, self.number = {}, 0

    def new(self, size):
        self.number += 1
        directory = f"{self.own}/{self.number // 100:03}"
        self.user.make_directory(self.own)
        self.user.make_directory(directory)
        self.put(f"{directory}/f{self.number:05}", size)

    def put(self, path, size):
        data = self.rnd.randbytes(size)
        assert self.user.write(path, data), path
        self.files[path] = hashlib.sha256(data).hexdigest()

    def some(self, count):
        return self.rnd.sample(sorted(self.files), min(count, len(self.files)))

    def work(self, new, changed, deleted, renamed, large=0):
        for _ in range(new):
            self.new(self.rnd.choice((0, 100, 4096, 5000, 60_000)))
        for _ in range(large):
            self.new(self.rnd.choice((3, 8)) * MIB + 77)
        for path in self.some(changed):
            self.put(path, self.rnd.choice((100, 4096, 150_000)))
        for path in self.some(deleted):
            assert self.user.delete(path), path
            del self.files[path]
        for path in self.some(renamed):
            assert self.user.rename(path, path + "r"), path
            self.files[path + "r"] = self.files.pop(path)


def index_against_disk(agent, root):
    """A look at everything finds nothing new, and the totals are those of the disk."""
    summary = agent.records("scan", f"{FOLDER}:")[0]
    found = tree.entries(root)
    files = [path for path, entry in found.items() if entry[0] == "file"]
    local = agent.folder(FOLDER)["local"]
    return {
        "changed": summary["changed"], "deleted": summary["deleted"], "problems": summary["problems"],
        "files": local["files"] - len(files),
        "directories": local["directories"] - sum(entry[0] == "directory" for entry in found.values()),
        "bytes": local["bytes"] - sum(os.path.getsize(os.path.join(root, path)) for path in files),
    }


def come_to_rest(agent, real, roots):
    """Waits until both need nothing; returns both trees."""
    real.scan(FOLDER)
    last = [None]

    def is_quiet():
        ours, theirs = agent.folder(FOLDER), real.status(FOLDER)
        need = {key: value for key, value in ours["need"].items() if value}
        completion = real.completion(FOLDER, agent.id)
        last[0] = (ours["state"], need, ours["problems"], theirs["state"], theirs["needTotalItems"], completion)
        if ours["state"] != "idle" or need or theirs["state"] != "idle" or theirs["needTotalItems"]:
            return False
        if completion["completion"] != 100 or completion["needItems"] or completion["needDeletes"]:
            return False
        ours, theirs = map(tree.entries, roots)
        # A Syncthing keeps what it gave up on for a day.
        theirs = {path: entry for path, entry in theirs.items() if not tree.is_temporary(os.path.basename(path))}
        trees = ours, theirs
        lines = tree.difference(*trees)
        last[0] = "ours / theirs differ:\n  " + "\n  ".join(lines)
        return None if lines else trees
    try:
        return wait_until(is_quiet, PATIENCE, "rest", every=0.2)
    except TimeoutError:
        pytest.fail(f"no rest after {PATIENCE} s: {last[0]}")


def test_killed_at_random_moments(lab):
    print(f"\nSYNCTRAIN_CRASH_SEED={SEED}, {KILLS} kills")
    rnd = random.Random(SEED)
    real, agent = lab.syncthing(), lab.agent()
    lab.introduce(agent, real)
    our_root = lab.share(agent, FOLDER, real, mode="full")
    real.set_folder(FOLDER, lab.folder_path(real, FOLDER), [agent.id], maxConflicts=-1)
    real_root = lab.folder_path(real, FOLDER)
    roots = (our_root, real_root)
    writers = [Writer(tree.User(root, lab.path(f"desk{n}")), random.Random(f"{SEED}/{n}"), f"side{n}")
               for n, root in enumerate(roots)]
    agent.wait_connected(real.id)
    writers[0].work(new=300, changed=0, deleted=0, renamed=0)
    writers[1].work(new=600, changed=0, deleted=0, renamed=0, large=2)
    children, kills, busy = [], 0, {}
    started = time.monotonic()
    while kills < KILLS:
        for _ in range(min(KILLS_BETWEEN_RESTS, KILLS - kills)):
            if agent.is_running:
                children += kill_alone(agent)
                kills += 1
            # What happens while it is down, and what while it runs.
            writers[rnd.randrange(2)].work(new=20, changed=10, deleted=4, renamed=4)
            real.scan(FOLDER)
            agent.launch()
            if rnd.random() < 0.6:
                wait_until(lambda: agent.is_ready, 20, "ready", child=agent, every=0.005)
            life = rnd.uniform(0.01, LONGEST_LIFE)
            end = time.monotonic() + life
            time.sleep(life * rnd.random())
            writers[1].work(new=rnd.choice((10, 60)), changed=10, deleted=2, renamed=3, large=rnd.random() < 0.2)
            real.scan(FOLDER)
            writers[0].work(new=10, changed=10, deleted=2, renamed=3)
            time.sleep(max(0, end - time.monotonic()))
            state = "not ready"
            if agent.is_ready and kills % 5 == 0:
                state = agent.folder(FOLDER).get("state", "none")
            busy[state] = busy.get(state, 0) + 1
        children += kill_alone(agent)
        kills += 1
        agent.start()
        agent.wait_connected(real.id)
        trees = come_to_rest(agent, real, roots)
        print(f"{kills} kills, {time.monotonic() - started:.0f} s, {len(trees[0])} names, seen {busy}")
        check(agent, trees, writers, our_root)
        # Each goes on with what the other wrote.
        writers[0].files, writers[1].files = writers[1].files, writers[0].files
        writers[0].own, writers[1].own = writers[1].own, writers[0].own
        writers[0].number, writers[1].number = writers[1].number, writers[0].number
    wait_until(lambda: not any(map(is_alive, children[:-1])), 10, "programs that watch have ended")


def check(agent, trees, writers, root):
    found = {path: entry for path, entry in trees[0].items() if entry[0] == "file"}
    expected = writers[0].files | writers[1].files
    copies = sorted(path for path in found if tree.is_conflict_copy(path))
    assert not copies, f"conflicts that nobody caused: {copies[:10]}"
    temporary = sorted(path for path in found if tree.is_temporary(os.path.basename(path)))
    assert not temporary, f"left behind: {temporary[:10]}"
    # One wrote each of them, so what was written last is what must be there.
    lines = tree.difference({path: entry[1] for path, entry in found.items()}, expected)
    assert not lines, "\n".join(lines)
    nothing = dict.fromkeys(("changed", "deleted", "problems", "files", "directories", "bytes"), 0)
    assert index_against_disk(agent, root) == nothing


def test_blocks_that_came_are_not_fetched_twice(lab):
    """A large file on a slow link, the agent killed several times on the way."""
    # Slow enough for a busy machine to see each part before the next has come.
    size, rate = 64 * MIB, 8_000
    rnd = random.Random(SEED)
    real = lab.syncthing(options={"limitBandwidthInLan": "true", "maxSendKbps": str(rate)})
    agent = lab.agent()
    lab.introduce(agent, real)
    root = lab.share(agent, FOLDER, real, mode="full")
    with open(os.path.join(lab.folder_path(real, FOLDER), "large"), "wb") as file:
        file.write(pattern(size, SEED))
    real.scan(FOLDER)

    def sent():
        return real.connections()["total"]["outBytesTotal"]

    kills = 0
    place = os.path.join(root, "large")
    for _ in range(5):
        before = sent()
        wait_until(lambda: sent() > before + rnd.uniform(9, 12) * MIB or os.path.exists(place), 60, "some of it came")
        if os.path.exists(place):
            break
        agent.kill()
        kills += 1
        agent.start()
    wait_until(lambda: os.path.exists(place), 60, "the file is there", child=agent)
    assert tree.entry(place) == tree.entry(os.path.join(lab.folder_path(real, FOLDER), "large"))
    print(f"{kills} kills, {sent() / size:.2f} of the file's size sent")
    assert kills == 5
    # Of each life, what was under way when it ended is asked for again; without resuming it would be 1.7.
    assert sent() < size * 1.35
