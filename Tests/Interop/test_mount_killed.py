"""Mounts whose agent, process or folder is gone: what `mount --list`, `status` and `doctor` say then, and what comes back."""

import contextlib
import errno
import json
import os
import shutil
import signal
import socket
import struct
import subprocess

import harness
import pytest
from process import wait_until
from test_mount import mounted as process_of
from test_mount_settings import mount_at, state_at

pytestmark = pytest.mark.skipif(
    not os.access("/dev/fuse", os.R_OK | os.W_OK) or not shutil.which("fusermount3"),
    reason="mounting needs /dev/fuse and fusermount3")

# As `MountAnswer` and `MountFailure` have them.
FAILED, WRONG_VERSION = 109, 11


@pytest.fixture(scope="module")
def work(nodes):
    """An agent with a folder of its own and one that it shares with a node."""
    lab, node, agent = nodes
    root = lab.directory(f"{node.name}-own")
    harness.write(os.path.join(root, "absent"), b"absent\n")
    lab.share(agent, "own", node)
    node.wait_scanned("own", 1)
    agent.wait_global("own", 1)
    yield lab, node, agent
    for mount in listed(agent, lab.root):
        subprocess.run(["fusermount3", "-u", "-z", mount["directory"]], check=False, capture_output=True)


def listed(agent, under):
    """What `mount --list` says of mounts below a directory; a failure where it waits for one that does not answer."""
    program = subprocess.Popen(agent.command("mount", "--list", "--json"), env=agent.environment, stdout=subprocess.PIPE,
                               stdin=subprocess.DEVNULL, start_new_session=True)
    wait_until(lambda: program.poll() is not None, 20, "`mount --list` ends")
    with program.stdout:
        return [mount for mount in json.loads(program.stdout.read())["mounts"] if mount["directory"].startswith(under)]


def listed_at(agent, directory):
    return next(iter(listed(agent, directory)), None)


def words_of(agent, directory):
    lines = agent.run("mount", "--list").stdout.decode().splitlines()
    return next((line for line in lines if directory in line.split()), None)


def kill_alone(agent):
    """Kills the agent and not the mounts that it has started."""
    os.kill(agent.process.pid, signal.SIGKILL)
    agent.process.wait(20)


def kill_with_helper(directory):
    """Kills the process of a mount and the one that would unmount it then."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            if words[0].endswith(b"fusermount3") and os.fsencode(directory) in words:
                os.kill(int(pid), signal.SIGKILL)
    process = process_of(directory)
    os.kill(process, signal.SIGKILL)
    # Another may be there at once.
    wait_until(lambda: process_of(directory) != process, 20, "its process ends")


def is_dead(directory):
    """Whether nobody serves the mount any more: its process has no name before it closes its files."""
    try:
        os.listdir(directory)
    except OSError as error:
        return error.errno == errno.ENOTCONN
    return False


def doctor_says(agent, code):
    findings = json.loads(agent.try_run("doctor", "--json").stdout)["findings"]
    return [finding["message"] for finding in findings if finding["code"] == code]


def test_one_whose_process_is_stopped_is_not_asked(work):
    lab, _, agent = work
    directory = lab.path("stopped")
    agent.run("mount", "own", directory)
    assert listed_at(agent, directory) == {"directory": directory, "folder": "own", "state": "mounted", "access": "read-write"}
    process = process_of(directory)
    os.kill(process, signal.SIGSTOP)
    try:
        assert listed_at(agent, directory)["state"] == "not-answering"
        assert f"kill -CONT {process}" in words_of(agent, directory)
        # It also names mounts of other agents of this user.
        assert f"own: the mount on {directory} does not answer." in doctor_says(agent, "mount-answers")
    finally:
        os.kill(process, signal.SIGCONT)
    wait_until(lambda: state_at(agent, directory) == "mounted", 10, "it goes on", child=agent)
    assert not any(directory in message for message in doctor_says(agent, "mount-answers"))
    agent.run("unmount", directory)


def test_one_whose_agent_is_gone_is_said_not_to_answer(work):
    lab, node, agent = work
    directory = lab.path("alone")
    agent.run("mount", "own", directory)
    process = process_of(directory)
    kill_alone(agent)
    assert listed_at(agent, directory)["state"] == "not-answering" and "agent start" in words_of(agent, directory)
    agent.start()
    wait_until(lambda: listed_at(agent, directory)["state"] == "mounted", 20, "it is connected again", child=agent)
    assert process_of(directory) == process
    agent.wait_connected(node.id)
    assert harness.read(os.path.join(directory, "absent")) == b"absent\n"
    agent.run("unmount", directory)


def test_one_that_nobody_has_cleared_away(work):
    lab, _, agent = work
    directory = lab.path("dead")
    agent.run("mount", "own", directory)
    kill_with_helper(directory)
    wait_until(lambda: is_dead(directory), 20, "nobody answers")
    wait_until(lambda: state_at(agent, directory) == "not-answering", 20, "the agent knows it", child=agent)
    assert listed_at(agent, directory)["state"] == "not-answering" and "has ended" in words_of(agent, directory)
    agent.run("mount", "own", directory)
    assert os.listdir(directory) == ["absent"] and state_at(agent, directory) == "mounted"
    kill_with_helper(directory)
    agent.run("unmount", directory)
    assert listed_at(agent, directory) is None and os.listdir(directory) == [] and mount_at(agent, directory) is None
    # One that the configuration wants comes back by itself.
    agent.run("mount", "own", directory, "--at-login")
    kill_with_helper(directory)
    wait_until(lambda: process_of(directory) is not None and state_at(agent, directory) == "mounted", 20, "it is mounted again",
               child=agent)
    agent.run("unmount", "--forget", directory)


def test_one_that_nobody_mounts_again_is_told(work):
    """What programs write to the directory then is in the directory below the mount alone."""
    lab, _, agent = work
    directory = lab.path("killed")
    agent.run("mount", "own", directory)
    os.kill(process_of(directory), signal.SIGKILL)
    wait_until(lambda: listed_at(agent, directory) is None and os.listdir(directory) == [], 20, "it is unmounted")
    wait_until(lambda: (mount_at(agent, directory) or {}).get("problem"), 20, "it is told", child=agent)
    assert f"synctrain mount own {directory}" in agent.run("status").stdout.decode()
    agent.run("mount", "own", directory)
    wait_until(lambda: state_at(agent, directory) == "mounted" and not mount_at(agent, directory).get("problem"), 20,
               "all is well again", child=agent)
    agent.run("unmount", directory)


def test_one_that_outlived_an_agent_is_looked_after_by_the_next(work):
    lab, _, agent = work
    directory = lab.path("outlived")
    agent.run("mount", "own", directory, "--at-login")
    process = process_of(directory)
    kill_alone(agent)
    agent.start()
    wait_until(lambda: state_at(agent, directory) == "mounted", 20, "it connects again", child=agent)
    assert process_of(directory) == process
    for _ in range(2):
        os.kill(process, signal.SIGKILL)
        wait_until(lambda: process_of(directory) not in (None, process) and state_at(agent, directory) == "mounted", 20,
                   "it is mounted again", child=agent)
        assert os.listdir(directory) == ["absent"]
        process = process_of(directory)
        kill_alone(agent)
        agent.start()
        wait_until(lambda: state_at(agent, directory) == "mounted", 20, "it connects again", child=agent)
    # Both at once.
    kill_alone(agent)
    kill_with_helper(directory)
    agent.start()
    wait_until(lambda: state_at(agent, directory) == "mounted", 20, "it is mounted again", child=agent)
    assert os.listdir(directory) == ["absent"]
    agent.run("unmount", "--forget", directory)


def test_one_of_a_folder_that_is_removed(work):
    lab, _, agent = work
    directory = lab.path("removed")
    agent.run("folder", "add", "mine", lab.directory(f"{agent.name}-mine"))
    agent.run("mount", "mine", directory)
    harness.write(os.path.join(directory, "kept"), b"kept")
    with open(os.path.join(directory, "kept"), "rb") as file:
        agent.run("folder", "remove", "mine", "--yes")
        wait_until(lambda: listed_at(agent, directory) is None, 20, "it is unmounted", child=agent)
        assert mount_at(agent, directory) is None and os.listdir(directory) == []
        assert file.read() == b"kept", "what is open stays so"
    wait_until(lambda: process_of(directory) is None, 20, "its process ends")
    assert harness.read(os.path.join(lab.path(f"{agent.name}-mine"), "kept")) == b"kept"


def test_one_of_another_version_mounts_again_as_the_installed_program(work):
    """The agent of another version is played by this test, which gives the socket back to the real one then."""
    lab, node, agent = work
    directory, path = lab.path("updated"), os.path.join(os.path.dirname(agent.socket), "mount.sock")
    agent.run("mount", "own", directory)
    process = process_of(directory)
    assert b"--ready" in harness.read(f"/proc/{process}/cmdline")
    os.kill(process, signal.SIGSTOP)
    try:
        kill_alone(agent)
        agent.start()
        os.rename(path, path + ".real")
        server = socket.socket(socket.AF_UNIX)
        server.bind(path)
        server.listen()
    finally:
        os.kill(process, signal.SIGCONT)
    server.settimeout(20)
    with server, server.accept()[0] as connection:
        connection.recv(4096)
        os.rename(path + ".real", path)
        connection.sendall(struct.pack("<IBQB", 10, FAILED, 0, WRONG_VERSION))
        wait_until(lambda: b"--ready" not in harness.read(f"/proc/{process}/cmdline"), 20, "it has become the installed one")
    wait_until(lambda: state_at(agent, directory) == "mounted", 20, "it is mounted again", child=agent)
    assert process_of(directory) == process
    agent.wait_connected(node.id)
    assert harness.read(os.path.join(directory, "absent")) == b"absent\n"
    agent.run("unmount", directory)
