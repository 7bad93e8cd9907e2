"""Renaming through `synctrain mount` what is on another device: that one renames it, nobody downloads it, a real node follows."""

import contextlib
import errno
import os
import shutil
import subprocess
import threading
import time

import harness
import pytest
from process import wait_until

pytestmark = pytest.mark.skipif(
    not os.access("/dev/fuse", os.R_OK | os.W_OK) or not shutil.which("fusermount3"),
    reason="mounting needs /dev/fuse and fusermount3")

FILES = {
    **{f"films/{number:02}/film.bin": harness.pattern(200_000, number) for number in range(10)},
    **{f"films/{number:02}/text.txt": b"text %d\n" % number for number in range(10)},
    "films/empty": b"",
    "mixed/here.bin": harness.pattern(300_000, 77), "mixed/there.bin": harness.pattern(300_000, 78),
    "mixed/sub/deep.bin": harness.pattern(100_000, 79),
    "single/one.bin": harness.pattern(150_000, 80), "single/two.bin": harness.pattern(150_000, 81),
    "strange/file.bin": harness.pattern(50_000, 82), "open/file.bin": harness.pattern(50_000, 83),
    "open/written.txt": b"written", "target/there.txt": b"there",
}


class Cluster:
    """A full agent that has everything, a real node that has it from there, and a selective agent with a mount."""

    def __init__(self, lab, folder, files):
        self.nas, self.laptop, self.node = lab.agent("nas"), lab.agent("laptop"), lab.syncthing()
        lab.introduce(self.nas, self.node)
        lab.introduce(self.laptop, self.nas)
        self.folder = folder
        self.root = lab.directory(f"nas-{folder}")
        self.local, self.copy = lab.path(f"laptop-{folder}"), lab.folder_path(self.node, folder)
        for name, content in files.items():
            harness.write(os.path.join(self.root, name), content)
        self.nas.add_folder(folder, self.root, self.laptop.id, self.node.id, mode="full")
        self.laptop.add_folder(folder, self.local, self.nas.id)
        self.node.set_folder(folder, self.copy, [self.nas.id])
        self.laptop.wait_global(folder, len(files))
        self.directory = lab.path(f"mount-{folder}")
        self.laptop.run("mount", folder, self.directory)
        self.wait_followed()

    def end(self):
        subprocess.run(["fusermount3", "-u", "-z", self.directory], check=False)

    def path(self, *parts):
        return os.path.join(self.directory, *parts)

    def wait_followed(self):
        """The real node has the same as the agent that renames."""
        def same():
            try:
                here, there = harness.regular_files(self.root), harness.regular_files(self.copy)
            except FileNotFoundError:
                return None
            return True if here == there else None
        wait_until(same, 30, "the real node follows", child=self.nas)

    def inodes(self, root, under):
        """Of each file below a directory, by its path relative to that."""
        base = os.path.join(root, under)
        return {os.path.relpath(os.path.join(directory, name), base): os.lstat(os.path.join(directory, name)).st_ino
                for directory, _, names in os.walk(base) for name in names}

    def received(self):
        """Bytes that the agent with the mount has received from all devices."""
        return sum(device["bytesIn"] for device in self.laptop.status()["devices"])


@pytest.fixture(scope="module")
def cluster(module_lab):
    cluster = Cluster(module_lab, "f", FILES)
    yield cluster
    cluster.end()


def below(root):
    return {path: digest for path, digest in harness.regular_files(root).items()
            if not os.path.basename(path).startswith(".syncthing.")}


def test_a_directory_that_is_elsewhere_is_renamed_there(cluster):
    nas, node = cluster.inodes(cluster.root, "films"), cluster.inodes(cluster.copy, "films")
    content = below(os.path.join(cluster.root, "films"))
    received = cluster.received()
    subprocess.run(["mv", cluster.path("films"), cluster.path("Films 2026")], check=True)
    # At once, for every program.
    assert "films" not in os.listdir(cluster.directory) and not os.path.exists(cluster.path("films"))
    assert sorted(os.listdir(cluster.path("Films 2026"))) == sorted([f"{number:02}" for number in range(10)] + ["empty"])
    assert os.stat(cluster.path("Films 2026/03/film.bin")).st_size == 200_000
    assert cluster.received() - received < 60_000, "the index, and no blocks"
    assert below(os.path.join(cluster.root, "Films 2026")) == content
    assert cluster.inodes(cluster.root, "Films 2026") == nas
    assert not os.path.lexists(os.path.join(cluster.root, "films"))
    cluster.wait_followed()
    assert cluster.inodes(cluster.copy, "Films 2026").keys() == node.keys()
    # Empty files all look alike, and are made again.
    assert {name: inode for name, inode in cluster.inodes(cluster.copy, "Films 2026").items() if name != "empty"} == {
        name: inode for name, inode in node.items() if name != "empty"}, "the real node downloaded what it had"
    with open(cluster.path("Films 2026/07/film.bin"), "rb") as file:
        assert file.read() == FILES["films/07/film.bin"]
    assert [path for path in below(cluster.root) if ".sync-conflict-" in path] == []


def test_single_files_go_to_other_directories(cluster):
    inode = os.stat(os.path.join(cluster.root, "single/one.bin")).st_ino
    os.rename(cluster.path("single/one.bin"), cluster.path("target/moved.bin"))
    assert os.listdir(cluster.path("single")) == ["two.bin"]
    with open(cluster.path("target/moved.bin"), "rb") as file:
        assert file.read() == FILES["single/one.bin"]
    assert os.stat(os.path.join(cluster.root, "target/moved.bin")).st_ino == inode
    # There and back.
    os.rename(cluster.path("target/moved.bin"), cluster.path("single/one.bin"))
    assert os.stat(os.path.join(cluster.root, "single/one.bin")).st_ino == inode
    cluster.wait_followed()


def test_what_is_here_of_a_directory_moves_along(cluster):
    cluster.laptop.run("select", "f:mixed/here.bin")
    here = os.path.join(cluster.local, "mixed/here.bin")
    wait_until(lambda: os.path.exists(here), 20, "what is selected comes", child=cluster.laptop)
    cluster.laptop.wait_entry("f:mixed/here.bin", lambda entry: entry and entry["state"] == "present")
    cluster.wait_followed()
    inode, received = os.stat(here).st_ino, cluster.received()
    os.rename(cluster.path("mixed"), cluster.path("target/mixed"))
    assert not os.path.exists(cluster.path("mixed"))
    assert sorted(os.listdir(cluster.path("target/mixed"))) == ["here.bin", "sub", "there.bin"]
    moved = os.path.join(cluster.local, "target/mixed/here.bin")
    assert os.stat(moved).st_ino == inode, "downloaded again"
    assert not os.path.exists(here) and cluster.received() - received < 60_000
    with open(os.path.join(cluster.local, ".stignore"), encoding="utf-8") as file:
        assert "!/target/mixed/here.bin" in file.read().splitlines(), "the selection did not follow"
    cluster.wait_followed()
    assert below(cluster.directory) == below(cluster.root)


def test_a_directory_with_more_in_it_there_is_copied(cluster):
    """What is no part of the folder stays where it is: `mv` copies, and the end is the same."""
    ignore = os.path.join(cluster.root, ".stignore")
    harness.write(ignore, b"*.private\n")
    harness.write(os.path.join(cluster.root, "strange/own.private"), b"own")
    cluster.nas.run("scan", "f")
    with pytest.raises(OSError) as caught:
        os.rename(cluster.path("strange"), cluster.path("stranger"))
    assert caught.value.errno == errno.EXDEV
    subprocess.run(["mv", cluster.path("strange/file.bin"), cluster.path("target/strange.bin")], check=True)
    wait_until(lambda: os.path.exists(os.path.join(cluster.root, "target/strange.bin")), 20, "it moves", child=cluster.nas)
    assert harness.read(os.path.join(cluster.root, "target/strange.bin")) == FILES["strange/file.bin"]
    assert harness.read(os.path.join(cluster.root, "strange/own.private")) == b"own"
    # Onto something that is there: copied, as ever.
    with pytest.raises(OSError) as caught:
        os.rename(cluster.path("single/two.bin"), cluster.path("target/there.txt"))
    assert caught.value.errno == errno.EXDEV
    with pytest.raises(OSError) as caught:
        os.rename(cluster.path("single/two.bin"), cluster.path("target/x.private"))
    assert caught.value.errno == errno.EXDEV


def test_a_directory_in_which_something_is_written_to_is_busy(cluster):
    with open(cluster.path("open/written.txt"), "ab") as file:
        file.write(b" by a program")
        file.flush()
        with pytest.raises(OSError) as caught:
            os.rename(cluster.path("open"), cluster.path("closed"))
        assert caught.value.errno == errno.EBUSY
    wait_until(lambda: harness.read(os.path.join(cluster.root, "open/written.txt")) == b"written by a program", 20,
               "what was written arrives", child=cluster.nas)
    # Who has another version, as far as is known, is not asked to rename it.
    cluster.laptop.wait_entry("f:open/written.txt", lambda entry: entry and entry["state"] == "present"
                              and cluster.nas.id in entry["holders"])
    os.rename(cluster.path("open"), cluster.path("closed"))
    assert harness.read(cluster.path("closed/written.txt")) == b"written by a program"
    assert os.path.exists(os.path.join(cluster.root, "closed/file.bin"))


@pytest.mark.long
def test_a_device_that_does_not_answer_is_not_waited_for_without_end(cluster):
    cluster.nas.suspend()
    try:
        with pytest.raises(OSError) as caught:
            os.rename(cluster.path("single/two.bin"), cluster.path("target/two.bin"))
        # Whether it has renamed anything nobody knows, unless the connection was found broken before it was asked.
        assert caught.value.errno in (errno.ETIMEDOUT, errno.EXDEV), caught.value
    finally:
        cluster.nas.resume()


def test_the_holder_is_killed(lab):
    files = {f"many/{number % 20:02}/{number:04}.txt": b"%d" % number * 20 for number in range(1500)}
    nas, laptop = lab.agent("nas"), lab.agent("laptop")
    lab.introduce(laptop, nas)
    root = lab.directory("nas-f")
    for name, content in files.items():
        harness.write(os.path.join(root, name), content)
    content = below(os.path.join(root, "many"))
    nas.add_folder("f", root, laptop.id, mode="full")
    laptop.add_folder("f", lab.path("laptop-f"), nas.id)
    laptop.wait_global("f", len(files))
    directory = lab.path("mount")
    laptop.run("mount", "f", directory)
    try:
        name = "many"
        for round, wait in enumerate((0.02, 0.08, 0.2)):
            new, caught = f"round-{round}", []

            def rename(old=os.path.join(directory, name), new=os.path.join(directory, new), caught=caught):
                try:
                    os.rename(old, new)
                except OSError as error:
                    caught.append(error.errno)
            thread = threading.Thread(target=rename)
            thread.start()
            time.sleep(wait)
            nas.kill()
            thread.join(60)
            assert not thread.is_alive()
            assert set(caught) <= {errno.ETIMEDOUT, errno.EXDEV}, caught
            nas.start()
            laptop.wait_connected(nas.id)

            def settled():
                with contextlib.suppress(FileNotFoundError):
                    there = [entry for entry in os.listdir(root) if not entry.startswith(".")]
                    if there not in ([name], [new]) or below(os.path.join(root, there[0])) != content:
                        return None
                    shown = os.listdir(directory)
                    names = {path for path, kind in harness.walk(os.path.join(directory, there[0])).items() if kind == "file"}
                    return there[0] if shown == there and names == content.keys() else None
                return None
            name = wait_until(settled, 60, "old or new names, and nothing lost", child=nas)
    finally:
        subprocess.run(["fusermount3", "-u", "-z", directory], check=False)
