"""What `synctrain mount` lets programs do: change files only where that counts, and download only as much as they may."""

import errno
import json
import os
import subprocess

import harness
import pytest
from process import wait_until
from test_mount import cached
from test_mount_settings import state_at
from test_mount_writing import Mounted, pytestmark, refused  # noqa: F401 (skips where nothing can be mounted)

MIB = 1 << 20
ACCESS, BUDGET = "user.synctrain.access", "user.synctrain.budget"


def wait_access(agent, directory, text):
    wait_until(lambda: os.getxattr(directory, ACCESS).decode() == text, 20, f"{directory} is {text}", child=agent)
    listed = json.loads(agent.run("mount", "--list", "--json").stdout)["mounts"]
    assert [mount["access"] for mount in listed if mount["directory"] == directory] == [text]


def refuses_changes(directory):
    refused(errno.EROFS, harness.write, os.path.join(directory, "new"), b"new")
    refused(errno.EROFS, open, os.path.join(directory, "a"), "r+b")
    refused(errno.EROFS, os.truncate, os.path.join(directory, "a"), 0)
    refused(errno.EROFS, os.unlink, os.path.join(directory, "a"))
    refused(errno.EROFS, os.rename, os.path.join(directory, "a"), os.path.join(directory, "b"))
    refused(errno.EROFS, os.mkdir, os.path.join(directory, "d"))
    refused(errno.EROFS, os.chmod, os.path.join(directory, "a"), 0o600)
    assert harness.read(os.path.join(directory, "a")) == b"a"


@pytest.fixture
def pair(lab):
    """The owner of a folder, another agent, and where that has it mounted."""
    owner, other = lab.agent("owner"), lab.agent("other")
    lab.introduce(other, owner)
    harness.write(lab.path("owner-f", "a"), b"a")
    owner.add_folder("f", lab.path("owner-f"), other.id, mode="full")
    other.add_folder("f", lab.path("other-f"), owner.id)
    other.wait_global("f", 1)
    directory = lab.path("mounted")
    yield lab, owner, other, directory
    subprocess.run(["fusermount3", "-u", "-z", directory], check=False)


def wait_arrives(lab, agent, name, content):
    path = lab.path("owner-f", name)
    wait_until(lambda: os.path.exists(path) and harness.read(path) == content, 20, f"{name} arrives", child=agent)


def test_a_device_that_may_only_read_changes_nothing(pair):
    lab, owner, other, directory = pair
    assert b"read-only" not in other.run("mount", "f", directory).stderr
    harness.write(os.path.join(directory, "early"), b"early")
    wait_arrives(lab, other, "early", b"early")
    text = "read-only because other devices refuse changes of this one"
    owner.run("folder", "role", "f", other.id, "read")
    wait_access(other, directory, text)
    refuses_changes(directory)
    second = lab.path("second")
    assert text.encode() in other.run("mount", "f", second).stderr
    other.run("unmount", second)
    owner.run("folder", "role", "f", other.id, "write")
    wait_access(other, directory, "read-write")
    harness.write(os.path.join(directory, "late"), b"late")
    wait_arrives(lab, other, "late", b"late")


def test_a_folder_that_only_receives_may_send_later(pair):
    lab, _, other, directory = pair
    other.run("folder", "set", "f", "type=receiveonly")
    assert b"only receives" in other.run("mount", "f", directory).stderr
    wait_access(other, directory, "read-only because the folder only receives")
    refuses_changes(directory)
    other.run("folder", "set", "f", "type=sendreceive")
    wait_access(other, directory, "read-write")
    harness.write(os.path.join(directory, "late"), b"late")
    wait_arrives(lab, other, "late", b"late")


@pytest.fixture(scope="module")
def library(nodes):
    files = {"here/kept": b"kept"}
    for number in range(4):
        files[f"films/{number}"] = harness.pattern(4 * MIB, number)
        files[f"others/{number}"] = harness.pattern(4 * MIB, 10 + number)
    mounted = Mounted(*nodes, "library", files)
    yield mounted
    mounted.end()


def read_all(path):
    """What a program of its own process group reads of a directory, and says."""
    return subprocess.run(["sh", "-c", 'cat "$1"/*', "sh", path], capture_output=True, check=False, start_new_session=True)


def test_a_program_downloads_no_more_than_its_budget(library):
    directory, agent = library.lab.path("with-budget"), library.agent
    agent.run("mount", library.folder, directory, "--read-budget", "5M")
    try:
        assert os.getxattr(directory, BUDGET) == b"%d" % (5 * MIB)
        before = cached(agent)
        result = read_all(os.path.join(directory, "films"))
        assert result.returncode != 0 and b"Disk quota exceeded" in result.stderr
        # What was asked for ahead comes all the same; of the files behind that nothing is.
        assert 5 * MIB <= cached(agent) - before <= 12 * MIB
        assert b"budget" in os.getxattr(os.path.join(directory, "films/3"), "user.synctrain.error")
        # Another program has its own, and what has come before is for all.
        other = subprocess.run(["cat", os.path.join(directory, "films/0"), os.path.join(directory, "films/3")],
                               capture_output=True, check=True, start_new_session=True)
        assert other.stdout == harness.pattern(4 * MIB, 0) + harness.pattern(4 * MIB, 3)
        refused(errno.EINVAL, os.setxattr, directory, BUDGET, b"much")
        refused(errno.EOPNOTSUPP, os.setxattr, os.path.join(directory, "films"), BUDGET, b"none")
        # The mount says it to an agent that has started again.
        agent.kill()
        agent.start()
        agent.wait_connected(library.node.id)
        wait_until(lambda: state_at(agent, directory) == "mounted", 20, "the mount has found the agent", child=agent)
        assert b"Disk quota exceeded" in read_all(os.path.join(directory, "others")).stderr
        os.setxattr(directory, BUDGET, b"none")
        assert os.getxattr(directory, BUDGET) == b"none"
        result = read_all(os.path.join(directory, "others"))
        assert result.stdout == b"".join(harness.pattern(4 * MIB, 10 + number) for number in range(4)), result.stderr
    finally:
        agent.run("unmount", "--lazy", directory)
