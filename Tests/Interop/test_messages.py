"""What goes wrong is told with its true cause and what to do: permissions, a device that is not set up, paths in the home
directory, names that are in each other's way, an index that cannot be stored."""

import os

import agent as cli
import harness
import pytest
from harness import read, write

# A user without root's rights; where the tests run without them themselves, that is their own.
USER = 65534 if os.getuid() == 0 else os.getuid()


def give(path):
    if os.getuid() == 0:
        os.chown(path, USER, USER)


def plain_user(lab, name="plain"):
    """An agent of a user whom permissions hold back."""
    agent = lab.agent(name, start=False, init=False)
    os.chmod(lab.root, 0o711)
    give(lab.directory(name))
    if os.getuid() == 0:
        agent.options = {"user": USER, "group": USER, "extra_groups": []}
    return agent.init().start()


@pytest.fixture(scope="module")
def plain(module_lab):
    """An agent of such a user, and a peer whose folder it keeps whole."""
    lab = module_lab
    agent, peer = plain_user(lab), lab.peer()
    lab.introduce(agent, peer)
    give(lab.directory("plain-f"))
    lab.share(agent, "f", peer, mode="full")
    session = peer.dial_until(agent.address)
    return lab, agent, peer.folders["f"], lambda: session.send_index("f")


def test_a_directory_that_this_user_may_not_write_to_is_named(plain):
    lab, agent, folder, announce = plain
    theirs = lab.directory("plain-f", "theirs")
    if os.getuid() == 0:
        os.chmod(theirs, 0o755)
    folder.add_directory("theirs")
    folder.add("theirs/file", b"new")
    announce()
    message = agent.wait_problem("f", "theirs/file")
    assert "“f:theirs” is not writable by this user" in message
    assert "chmod" in message and "chown" in message
    assert os.listdir(theirs) == []


def test_a_fetch_leaves_the_permissions_of_a_directory_of_the_users_alone(plain):
    lab, agent, folder, announce = plain
    folder.add("wanted", b"wanted")
    folder.add("tree/inner", b"inner")
    announce()
    agent.wait_entry("f:tree/inner", lambda entry: entry)
    out = lab.directory("read-only")
    give(out)
    os.chmod(out, 0o555)
    before = os.stat(out)
    for path, output in (("f:wanted", f"{out}/wanted"), ("f:wanted", out), ("f:tree", out)):
        result = agent.try_run("fetch", path, "-o", output)
        assert result.returncode == cli.FAILED, (path, output)
        assert f"“{out}” is not writable by this user".encode() in result.stderr, result.stderr
    assert os.listdir(out) == []
    # Not even for a moment: that would show in the time of change.
    assert os.stat(out) == before
    os.chmod(out, 0o755)
    agent.run("fetch", "f:wanted", "-o", out)
    assert read(os.path.join(out, "wanted")) == b"wanted"
