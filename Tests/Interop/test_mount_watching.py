"""Programs that watch directories of a mount (inotify) hear of what other devices make, change and delete there."""

import contextlib
import ctypes
import errno
import os
import signal
import stat
import struct

import harness
import pytest
from process import wait_until
from test_mount import mounted
from test_mount_writing import Mounted, pytestmark, refused  # noqa: F401 (skips where nothing can be mounted)

MODIFY, ATTRIB, CLOSE_WRITE, MOVED_FROM, MOVED_TO = 0x2, 0x4, 0x8, 0x40, 0x80
CREATE, DELETE, DELETE_SELF = 0x100, 0x200, 0x400
IS_DIRECTORY = 0x40000000
ALL = MODIFY | ATTRIB | CLOSE_WRITE | MOVED_FROM | MOVED_TO | CREATE | DELETE | DELETE_SELF

libc = ctypes.CDLL(None, use_errno=True)


class Watch:
    """Directories that are listed and watched, as file managers do it, and what has been heard of each."""

    def __init__(self, *directories):
        self.descriptor = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        assert self.descriptor >= 0
        self.events = []
        self.places = {}
        for directory in directories:
            number = libc.inotify_add_watch(self.descriptor, os.fsencode(directory), ALL)
            assert number > 0, os.strerror(ctypes.get_errno())
            self.places[number] = os.path.basename(directory)
            os.listdir(directory)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.descriptor)

    def take(self):
        """All so far: directory, name, mask."""
        with contextlib.suppress(BlockingIOError):
            while bytes_ := os.read(self.descriptor, 1 << 16):
                while bytes_:
                    number, mask, _, count = struct.unpack_from("iIII", bytes_)
                    name = os.fsdecode(bytes_[16:16 + count].rstrip(b"\0"))
                    self.events.append((self.places.get(number), name, mask))
                    bytes_ = bytes_[16 + count:]
        return self.events

    def of(self, name):
        return [mask for _, found, mask in self.take() if found == name]

    def hears(self, agent, name, mask):
        wait_until(lambda: mask in self.of(name), 20, f"{name} is heard of", child=agent)


def callers(process):
    """The processes that call for watchers of a mount's process."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
            if words[1:2] == [b"--call-for-watchers"] and parent == process:
                found.append(int(pid))
    return found


def has_ended(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


@pytest.fixture(scope="module")
def work(nodes):
    files = {"here/a.txt": b"a", "here/b.txt": b"b", "here/sub/c.txt": b"c", "big/0": b"0"}
    for name in ("a", "b", "c", "d"):
        files[f"far/{name}.txt"] = name.encode() * 100
    mounted = Mounted(*nodes, "watched", files)
    os.makedirs(mounted.there("far/olddir"))
    os.symlink("a.txt", mounted.there("far/oldlink"))
    mounted.node.scan("watched")
    wait_until(lambda: os.path.lexists(mounted.path("far/oldlink")) and os.path.isdir(mounted.path("far/olddir")), 20,
               "all of it is seen", child=mounted.agent)
    yield mounted
    mounted.end()


@pytest.mark.parametrize("place", ["far", "here"])
def test_what_another_device_changes_is_heard(work, place):
    """In a directory of which nothing is on this disk, and in one that is selected."""
    with Watch(work.path(place)) as watch:
        harness.write(work.there(place, "new.txt"), b"new text")
        os.mkdir(work.there(place, "newdir"))
        os.symlink("new.txt", work.there(place, "newlink"))
        work.node.scan("watched", place)
        watch.hears(work.agent, "new.txt", CREATE)
        assert harness.read(work.path(place, "new.txt")) == b"new text", "what is read upon that is what it is about"
        watch.hears(work.agent, "newdir", CREATE | IS_DIRECTORY)
        watch.hears(work.agent, "newlink", CREATE)
        assert os.readlink(work.path(place, "newlink")) == "new.txt"
        assert os.listdir(work.path(place, "newdir")) == []
        harness.write(work.there(place, "b.txt"), b"b is longer now")
        work.node.scan("watched", place)
        watch.hears(work.agent, "b.txt", MODIFY)
        assert harness.read(work.path(place, "b.txt")) == b"b is longer now"
        os.unlink(work.there(place, "a.txt"))
        os.unlink(work.there(place, "newlink"))
        os.rmdir(work.there(place, "newdir"))
        work.node.scan("watched", place)
        watch.hears(work.agent, "a.txt", DELETE)
        watch.hears(work.agent, "newlink", DELETE)
        watch.hears(work.agent, "newdir", DELETE | IS_DIRECTORY)
        assert not os.path.lexists(work.path(place, "a.txt"))
        # Each once: who hears of more than there is reads again for nothing.
        assert watch.of("new.txt").count(CREATE) == 1 and watch.of("a.txt").count(DELETE) == 1
    assert work.conflicts() == []
    expected = {path for path in harness.walk(work.root) if path.startswith(place)}
    assert {path for path in harness.walk(work.directory) if path.startswith(place)} == expected


def test_what_becomes_something_else_is_heard_as_gone_and_made(work):
    with Watch(work.path("far")) as watch:
        os.unlink(work.there("far/c.txt"))
        os.mkdir(work.there("far/c.txt"))
        work.node.scan("watched", "far")
        watch.hears(work.agent, "c.txt", CREATE | IS_DIRECTORY)
        masks = watch.of("c.txt")
        assert masks.index(DELETE) < masks.index(CREATE | IS_DIRECTORY)
        assert stat.S_ISDIR(os.stat(work.path("far/c.txt")).st_mode)


def test_a_program_hears_what_it_writes_as_on_any_disk(work):
    """What the kernel tells of a program's own calls, and nothing of it a second time once the agent has scanned it."""
    with Watch(work.path("here")) as watch:
        harness.write(work.path("here/own.txt"), b"1")
        with open(work.path("here/own.txt"), "ab") as file:
            file.write(b"2")
        os.mkdir(work.path("here/owndir"))
        os.rename(work.path("here/own.txt"), work.path("here/renamed.txt"))
        os.symlink("x", work.path("here/ownlink"))
        os.utime(work.path("here/renamed.txt"), (1, 1_000_000_000))
        os.unlink(work.path("here/ownlink"))
        names = ["own.txt", "owndir", "renamed.txt", "ownlink"]
        before = {name: watch.of(name) for name in names}
        assert CREATE in before["own.txt"] and MOVED_TO in before["renamed.txt"] and DELETE in before["ownlink"]
        work.wait_there("here/renamed.txt", b"12")
        wait_until(lambda: os.stat(work.there("here/renamed.txt")).st_mtime == 10**9, 20, "its time arrives", child=work.agent)
        wait_until(lambda: os.path.isdir(work.there("here/owndir")), 20, "the directory arrives", child=work.agent)
        # Two things that another device does after that.
        for number in range(2):
            harness.write(work.there(f"here/after-{number}"), b"after")
            work.node.scan("watched", "here")
            watch.hears(work.agent, f"after-{number}", CREATE)
            assert {name: watch.of(name) for name in names} == before
        harness.write(work.there("here/renamed.txt"), b"from elsewhere")
        work.node.scan("watched", "here")
        wait_until(lambda: len(watch.of("renamed.txt")) > len(before["renamed.txt"]), 20, "the change is heard",
                   child=work.agent)
        assert watch.of("renamed.txt")[len(before["renamed.txt"]):] == [MODIFY]
        assert harness.read(work.path("here/renamed.txt")) == b"from elsewhere"


def test_nobody_else_may_make_what_is_called_for(work):
    """What makes events for watchers makes nothing: neither for them, nor for a program that tries it."""
    refused(errno.EPERM, os.mknod, work.path("far/pretended"), stat.S_IFREG | 0o644)
    with pytest.raises(OSError):
        os.getxattr(work.directory, "user.synctrain.watchers")
    assert not os.path.lexists(work.path("far/pretended"))


def test_a_killed_process_comes_back(work):
    process = mounted(work.directory)
    with Watch(work.path("far")) as watch:
        for number in range(2):
            harness.write(work.there(f"far/killed-{number}"), b"x")
            work.node.scan("watched", "far")
            watch.hears(work.agent, f"killed-{number}", CREATE)
            caller, = callers(process)
            os.kill(caller, signal.SIGKILL)
        wait_until(lambda: os.path.exists(work.path("far/killed-1")), 5, "the mount goes on")
        harness.write(work.there("far/killed-again"), b"x")
        work.node.scan("watched", "far")
        watch.hears(work.agent, "killed-again", CREATE)
        # One that hangs is ended.
        caller, = callers(process)
        os.kill(caller, signal.SIGSTOP)
        harness.write(work.there("far/after-the-stop"), b"x")
        work.node.scan("watched", "far")
        wait_until(lambda: os.path.exists(work.path("far/after-the-stop")), 10, "the mount does not wait for it")
        watch.hears(work.agent, "after-the-stop", CREATE)
        assert caller not in callers(process)


def test_what_changed_while_the_agent_was_gone_is_heard(work):
    with Watch(work.path("far")) as watch:
        work.agent.stop()
        os.unlink(work.there("far/d.txt"))
        harness.write(work.there("far/meanwhile"), b"x")
        work.node.scan("watched", "far")
        work.agent.start()
        watch.hears(work.agent, "d.txt", DELETE)
        watch.hears(work.agent, "meanwhile", CREATE)


def test_many_changes_are_heard(work):
    """Up to some hundreds each by its name; more as one of the directory."""
    with Watch(work.path("big"), work.directory) as watch:
        for number in range(1, 200):
            harness.write(work.there(f"big/{number}"), b"x")
        work.node.scan("watched", "big")
        wait_until(lambda: sum(mask == CREATE for _, _, mask in watch.take()) >= 199, 40, "all are heard of",
                   child=work.agent)
        assert {name for _, name, mask in watch.take() if mask == CREATE} == {str(number) for number in range(1, 200)}
        wait_until(lambda: len(os.listdir(work.path("big"))) == 200, 20, "all are listed", child=work.agent)


def test_unmounting_does_not_wait(nodes):
    lab, node, agent = nodes
    other = Mounted(lab, node, agent, "ended", {"here/a": b"a", "far/a": b"a"})
    try:
        process = mounted(other.directory)
        with Watch(other.path("far")) as watch:
            harness.write(other.there("far/b"), b"b")
            node.scan("ended", "far")
            watch.hears(agent, "b", CREATE)
        caller, = callers(process)
        agent.run("unmount", other.directory)
        assert not os.path.ismount(other.directory)
        wait_until(lambda: has_ended(caller), 5, "its process ends with the mount")
        # Killed, it takes its process along, too.
        agent.run("mount", "ended", other.directory)
        process = mounted(other.directory)
        with Watch(other.path("far")) as watch:
            harness.write(other.there("far/c"), b"c")
            node.scan("ended", "far")
            watch.hears(agent, "c", CREATE)
        caller, = callers(process)
        os.kill(process, signal.SIGKILL)
        wait_until(lambda: has_ended(caller), 5, "its process ends with the mount's")
    finally:
        other.end()
