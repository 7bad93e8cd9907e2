"""A folder that is kept in full, both ways with a real Syncthing: what somebody does on one side is on the other.

With $SYNCTRAIN_TEST_DISK the agent's copy is on a disk of that kind (Tests/DiskLab/run)."""

import os
import shutil
import subprocess
import time

import disks
import harness
import pytest
from harness import Pair, read, write
from process import MIB, wait_until

DISK = disks.NAMED
LARGE_MIB = 40 if DISK else 200
IS_COARSE = DISK is not None and DISK.time_step >= 1_000_000_000
"""Whether the disk counts seconds."""


def unless_kept(what):
    """Marks a test of something that not every disk keeps: a field of `disks.Kind`."""
    return pytest.mark.skipif(DISK is not None and not getattr(DISK, what), reason=f"this disk has no {what}")


@pytest.fixture(scope="module")
def pair(module_lab):
    """With so many files in it that what the tests delete is never most of the folder, which would halt it."""
    if DISK is None:
        yield filled(Pair(module_lab))
        return
    mounted = module_lab.directory("disk-of-here")
    with disks.disk(module_lab, mounted, size=512 * MIB):
        yield filled(Pair(module_lab, place=os.path.join(mounted, "f"), kind=DISK))


def filled(pair):
    for number in range(800):
        write(os.path.join(pair.there, "bystanders", str(number)), str(number).encode())
    pair.scan_there()
    pair.wait_same(timeout=30 if DISK is None else 120)
    return pair


class Side:
    """One copy, and what makes its keeper see a change."""

    def __init__(self, pair, name):
        self.pair, self.name = pair, name
        self.root, self.other = (pair.here, pair.there) if name == "here" else (pair.there, pair.here)

    def path(self, *parts):
        return os.path.join(self.root, self.name, *parts)

    def far(self, *parts):
        return os.path.join(self.other, self.name, *parts)

    def sync(self):
        if self.name == "there":
            self.pair.scan_there(self.name)
        return self.pair.wait_same(self.name)


@pytest.fixture(params=["here", "there"])
def side(request, pair):
    """The tests of one side work below a directory of its name."""
    return Side(pair, request.param)


def data_bytes(link):
    """Bytes of files among what went over a link both ways, about: messages of the index are small in these tests."""
    return link["bytesIn"] + link["bytesOut"]


# MARK: what people do to files

def test_create_change_append_truncate(side):
    body = harness.pattern(300 << 10)
    write(side.path("edit", "file"), body)
    side.sync()
    assert read(side.far("edit", "file")) == body
    write(side.path("edit", "file"), b"tail", "ab")
    side.sync()
    assert read(side.far("edit", "file")) == body + b"tail"
    with open(side.path("edit", "file"), "r+b") as file:
        file.seek(200 << 10)
        file.write(b"in the middle")
        file.truncate(250 << 10)
    side.sync()
    assert read(side.far("edit", "file")) == read(side.path("edit", "file"))
    assert os.path.getsize(side.far("edit", "file")) == 250 << 10
    write(side.path("edit", "file"), b"")
    side.sync()
    assert read(side.far("edit", "file")) == b""


def test_delete_files_and_trees(side):
    for name in ("gone", "kept", "tree/one", "tree/deep/two", "tree/deep/empty/three"):
        write(side.path("delete", name), name.encode())
    side.sync()
    os.remove(side.path("delete", "gone"))
    shutil.rmtree(side.path("delete", "tree"))
    found = side.sync()
    assert [path for path in found if path.startswith("delete/")] == ["delete/kept"]
    assert not os.path.exists(side.far("delete", "tree"))


def test_empty_directories(side):
    os.makedirs(side.path("empty", "a", "b"))
    os.makedirs(side.path("empty", "c"))
    side.sync()
    assert os.path.isdir(side.far("empty", "a", "b"))
    shutil.rmtree(side.path("empty", "a"))
    side.sync()
    assert sorted(os.listdir(side.far("empty"))) == ["c"]


@unless_kept("keeps_links")
def test_symlinks(side):
    write(side.path("links", "target"), b"target")
    os.symlink("target", side.path("links", "file"))
    os.symlink("../../../nowhere", side.path("links", "dangling"))
    os.symlink("/etc/passwd", side.path("links", "absolute"))
    os.symlink(".", side.path("links", "loop"))
    side.sync()
    assert os.readlink(side.far("links", "dangling")) == "../../../nowhere"
    assert os.readlink(side.far("links", "absolute")) == "/etc/passwd"
    os.remove(side.path("links", "file"))
    os.symlink("dangling", side.path("links", "file"))
    os.remove(side.path("links", "loop"))
    side.sync()
    assert os.readlink(side.far("links", "file")) == "dangling"
    assert not os.path.lexists(side.far("links", "loop"))


@unless_kept("keeps_permissions")
@pytest.mark.skipif(DISK is not None and DISK.time_step > 1, reason="test_disk.py has what becomes of times")
def test_permissions_and_times(side):
    write(side.path("modes", "tool"), b"#!/bin/sh\n")
    os.utime(side.path("modes", "tool"), ns=(1, 1_234_567_890_123_456_789))
    side.sync()
    assert os.stat(side.far("modes", "tool")).st_mtime_ns == 1_234_567_890_123_456_789
    os.chmod(side.path("modes", "tool"), 0o750)
    os.chmod(side.path("modes"), 0o700)
    side.sync()
    assert os.stat(side.far("modes", "tool")).st_mode & 0o777 == 0o750
    assert os.stat(side.far("modes")).st_mode & 0o777 == 0o700
    os.utime(side.path("modes", "tool"), ns=(1, 1_000_000_000_000_000_001))
    side.sync()
    assert os.stat(side.far("modes", "tool")).st_mtime_ns == 1_000_000_000_000_000_001


def test_holes_stay_holes(side):
    path = side.path("sparse", "file")
    write(path, b"start")
    with open(path, "r+b") as file:
        file.seek(64 * MIB)
        file.write(b"end")
    before = data_bytes(side.pair.device)
    side.sync()
    assert DISK is not None and not DISK.keeps_holes or os.stat(side.far("sparse", "file")).st_blocks * 512 < MIB
    assert data_bytes(side.pair.device) - before < MIB


def test_file_becomes_directory_and_back(side):
    write(side.path("turns", "thing"), b"file")
    write(side.path("turns", "other", "inside"), b"inside")
    side.sync()
    os.remove(side.path("turns", "thing"))
    write(side.path("turns", "thing", "inside"), b"now a directory")
    shutil.rmtree(side.path("turns", "other"))
    write(side.path("turns", "other"), b"now a file")
    side.sync()
    assert read(side.far("turns", "thing", "inside")) == b"now a directory"
    assert read(side.far("turns", "other")) == b"now a file"


@unless_kept("keeps_links")
def test_link_becomes_file_or_directory_and_back(side):
    write(side.path("kinds", "thing"), b"file")
    write(side.path("kinds", "other", "inside"), b"inside")
    os.symlink("thing", side.path("kinds", "link"))
    side.sync()
    os.remove(side.path("kinds", "thing"))
    write(side.path("kinds", "thing", "inside"), b"now a directory")
    shutil.rmtree(side.path("kinds", "other"))
    write(side.path("kinds", "other"), b"now a file")
    os.remove(side.path("kinds", "link"))
    os.mkdir(side.path("kinds", "link"))
    side.sync()
    assert read(side.far("kinds", "thing", "inside")) == b"now a directory"
    assert read(side.far("kinds", "other")) == b"now a file"
    os.rmdir(side.path("kinds", "link"))
    os.symlink("other", side.path("kinds", "link"))
    os.remove(side.path("kinds", "other"))
    os.symlink("thing", side.path("kinds", "other"))
    side.sync()
    assert os.readlink(side.far("kinds", "link")) == "other"
    assert os.readlink(side.far("kinds", "other")) == "thing"


@pytest.mark.skipif(DISK is not None and (DISK.refused or not DISK.keeps_links), reason="test_disk.py has what such a disk does")
def test_odd_names(side):
    harness.make_odd_tree(side.path("names"))
    found = side.sync()
    assert len(found) > 3 * len(harness.ODD_NAMES)
    for name in os.listdir(side.path("names", "odd")):
        path = side.path("names", "odd", name)
        if os.path.isfile(path) and not os.path.islink(path):
            write(path, b"changed", "ab")
    side.sync()
    shutil.rmtree(side.path("names"))
    side.sync()


def test_copies_of_what_is_there_are_not_sent(side):
    write(side.path("copies", "one"), harness.pattern(4 * MIB, side.name))
    side.sync()
    before = data_bytes(side.pair.device)
    shutil.copyfile(side.path("copies", "one"), side.path("copies", "two"))
    side.sync()
    assert data_bytes(side.pair.device) - before < MIB


# MARK: renames

def test_rename_of_a_file_asks_for_no_data(side):
    body = harness.pattern(4 * MIB, side.name + "rename")
    write(side.path("rename", "old name"), body)
    side.sync()
    inode, before = os.stat(side.far("rename", "old name")).st_ino, data_bytes(side.pair.device)
    os.makedirs(side.path("rename", "elsewhere"))
    os.rename(side.path("rename", "old name"), side.path("rename", "elsewhere", "new name"))
    side.sync()
    assert data_bytes(side.pair.device) - before < MIB
    assert read(side.far("rename", "elsewhere", "new name")) == body
    assert os.stat(side.far("rename", "elsewhere", "new name")).st_ino == inode, "renamed, not copied"


def test_rename_of_a_directory_asks_for_no_data(side):
    for number in range(20):
        write(side.path("album", "deep", f"{number}.bin"), harness.pattern(200 << 10, f"{side.name}{number}"))
    side.sync()
    inodes = {name: os.stat(side.far("album", "deep", name)).st_ino for name in os.listdir(side.far("album", "deep"))}
    before = side.pair.device
    os.rename(side.path("album"), side.path("renamed album"))
    side.sync()
    now = side.pair.device
    assert data_bytes(now) - data_bytes(before) < MIB, f"files were sent again: the device was {before}, is {now}"
    assert not os.path.exists(side.far("album"))
    after = {name: os.stat(side.far("renamed album", "deep", name)).st_ino for name in inodes}
    assert after == inodes, "renamed, not copied"


# MARK: how little is sent, and how soon

@pytest.fixture(scope="module")
def large(pair):
    """200 MiB on both sides, 40 on a disk that is a file in memory."""
    chunk = harness.pattern(MIB)
    path = os.path.join(pair.there, "large", "file")
    write(path)
    with open(path, "r+b") as file:
        for number in range(LARGE_MIB):
            file.write(number.to_bytes(8, "big") + chunk[8:])
    pair.scan_there("large")
    pair.wait_same("large", timeout=60)
    return "large/file"


@pytest.mark.parametrize("where", ["here", "there"])
def test_one_changed_block_of_a_large_file(pair, large, where):
    root = pair.here if where == "here" else pair.there
    before = data_bytes(pair.device)
    with open(os.path.join(root, large), "r+b") as file:
        file.seek(LARGE_MIB // 2 * MIB + 5)
        file.write(where.encode())
    if where == "there":
        pair.scan_there("large")
    pair.wait_same("large", timeout=60)
    # Blocks of 200 MiB are 256 KiB; its list of them is about 35 KiB, and goes both ways.
    assert data_bytes(pair.device) - before < MIB


def test_a_file_is_announced_within_a_second_of_its_closing(pair):
    """Of several files one at least: the machine may be busy."""
    os.makedirs(os.path.join(pair.here, "written"))
    pair.wait_same("written")
    took = []
    while not took or took[-1] >= 1.0 and len(took) < 5:
        took.append(time_to_announce(pair, f"slowly {len(took)}"))
    assert min(took) < 1.0, f"{took} s after they were closed"


def time_to_announce(pair, name):
    """Seconds from when a file is closed, which was written for a while, to when the node knows it."""
    path = os.path.join(pair.here, "written", name)
    parts = [harness.pattern(100 << 10, number) for number in range(8)]
    with open(path, "wb") as file:
        for part in parts:
            file.write(part)
            file.flush()
            # Not a wait for anything: the file has to be open for longer than the agent takes to look.
            time.sleep(0.25)
    closed = time.monotonic()

    def announced():
        try:
            info = pair.node.get("/rest/db/file", folder=pair.id, file=f"written/{name}")["global"]
        except OSError:
            return False
        return info.get("size") == sum(map(len, parts)) and not info.get("deleted")
    wait_until(announced, 20, "the node knows the file", every=0.01)
    took = time.monotonic() - closed
    pair.wait_same("written")
    assert read(os.path.join(pair.there, "written", name)) == b"".join(parts)
    return took


def test_a_burst_of_small_files(side):
    for number in range(300):
        write(side.path("burst", f"{number % 10}", f"{number}"), f"{side.name} {number}".encode())
    assert len([path for path in side.sync() if path.startswith("burst/")]) == 310
    shutil.rmtree(side.path("burst"))
    side.sync()


# MARK: restarts and commands

def test_what_changed_while_the_agent_was_stopped(pair):
    base = os.path.join(pair.here, "stopped")
    for name in ("changed", "deleted", "renamed", "moved/inside", "same"):
        write(os.path.join(base, name), harness.pattern(50_000, name))
    pair.wait_same("stopped")
    pair.agent.stop()
    write(os.path.join(base, "changed"), b"while away", "ab")
    write(os.path.join(base, "new"), b"while away")
    os.remove(os.path.join(base, "deleted"))
    os.rename(os.path.join(base, "renamed"), os.path.join(base, "renamed 2"))
    os.rename(os.path.join(base, "moved"), os.path.join(base, "moved 2"))
    write(os.path.join(pair.there, "stopped", "from there"), b"from there")
    pair.scan_there("stopped")
    pair.agent.start()
    pair.connect()
    found = pair.wait_same("stopped")
    assert sorted(found) == ["changed", "from there", "moved 2", "moved 2/inside", "new", "renamed 2", "same"]


def hashed_by_scan(pair):
    return pair.agent.document("scan")["folders"][0]["bytesHashed"]


def test_nothing_is_hashed_again_when_nothing_changed(pair, large):
    pair.wait_at_rest()
    if IS_COARSE:
        # What was written in these seconds could be written once more in them, and is read again.
        wait_until(lambda: hashed_by_scan(pair) == 0, 30, "no file is as young as the disk's clock", child=pair.agent)
    pair.agent.stop()
    pair.agent.start()
    pair.connect()
    pair.agent.run("wait", pair.id, "--timeout", 20)
    summary = pair.agent.document("scan")["folders"][0]
    assert summary["bytesHashed"] == 0 and summary["changed"] == 0 and summary["deleted"] == 0
    assert summary["files"] > 0


def test_scan_of_a_path(pair):
    write(os.path.join(pair.here, "scanned", "in", "file"), b"1")
    pair.wait_same("scanned")
    summary = pair.agent.document("scan", f"{pair.id}:scanned/in")["folders"][0]
    assert (summary["folder"], summary["changed"]) == (pair.id, 0)
    assert IS_COARSE or summary["bytesHashed"] == 0
    # What the watcher has not said yet (or has: both end the same way).
    write(os.path.join(pair.here, "scanned", "in", "second"), b"22")
    pair.agent.run("scan", f"{pair.id}:scanned/in/second")
    entry = pair.agent.records("stat", f"{pair.id}:scanned/in/second")[0]
    assert entry["state"] == "present" and entry["size"] == 2
    assert pair.agent.try_run("scan", "nowhere:x").returncode == 4


def test_the_copies_are_the_same_in_the_end(pair):
    pair.barrier()
    pair.wait_same()
    pair.wait_at_rest()
    status = pair.status
    assert status["errors"] == 0 and status["problems"] == []
    assert status["local"] == status["global"]
    assert pair.agent.run("wait", pair.id).returncode == 0
    node = pair.node.status(pair.id)
    assert status["global"]["files"] == node["globalFiles"] + node["globalSymlinks"]
    leftovers = [name for root in (pair.here, pair.there) for _, _, names in os.walk(root) for name in names
                 if name.startswith(".syncthing.") or "sync-conflict" in name]
    assert leftovers == []


@pytest.mark.skipif(DISK is not None, reason="it is not on the disk")
@pytest.mark.parametrize("source, name", [("root", "g"), ("root/in/it", "g"), ("root", "g/below"), ("", "g")])
def test_a_directory_that_is_mounted_twice_is_no_second_folder(lab, source, name):
    agent = lab.agent()
    root, place = lab.path("shared", "root"), lab.path("mounts", "g")
    os.makedirs(os.path.join(root, "in/it"))
    os.makedirs(place)
    agent.run("folder", "add", "f", root, "--mode", "full", "--new")
    agent.stop()
    before = harness.walk(root)
    # Without an agent the command looks itself, in its own namespace.
    bind = "mount --bind \"$0\" \"$1\" && shift && exec \"$@\""
    unshared = ["unshare", "-m", "sh", "-c", bind, lab.path("shared", source), place]
    if subprocess.run([*unshared, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("nothing can be mounted here")
    command = agent.command("folder", "add", "g", lab.path("mounts", name), "--mode", "full", "--new")
    result = subprocess.run([*unshared, *command], env=agent.environment, capture_output=True, check=False, timeout=60)
    assert result.returncode != 0 and b"`f`" in result.stderr, result.stderr
    assert harness.walk(root) == before, "nothing is made"
