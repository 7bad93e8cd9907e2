"""Mounts that the configuration wants, what `status` says of mounts, and the settings of `[mount]`."""

import errno
import json
import os
import shutil
import signal
import stat
import subprocess
import time

import harness
import pytest
from process import wait_until
from test_messages import USER, give, plain_user
from test_mount import mounted

pytestmark = pytest.mark.skipif(
    not os.access("/dev/fuse", os.R_OK | os.W_OK) or not shutil.which("fusermount3"),
    reason="mounting needs /dev/fuse and fusermount3")

MIB = 1 << 20
SIZE = 4 * MIB


@pytest.fixture(scope="module")
def films(nodes):
    """An agent that has nothing of a node's folder on its disk."""
    lab, node, agent = nodes
    root = lab.directory(f"{node.name}-archive")
    for number in range(6):
        harness.write(os.path.join(root, f"film {number}.bin"), harness.pattern(SIZE, number))
    local = lab.share(agent, "archive", node)
    node.wait_scanned("archive", 6)
    agent.wait_global("archive", 6)
    yield lab, node, agent, local
    for mount in mounts(agent):
        subprocess.run(["fusermount3", "-u", "-z", mount["directory"]], check=False, capture_output=True)


def mounts(agent):
    return agent.status()["mounts"]


def mount_at(agent, directory):
    return next((mount for mount in mounts(agent) if mount["directory"] == directory), None)


def state_at(agent, directory):
    mount = mount_at(agent, directory)
    return mount and mount["state"]


def configured(agent, key="mount"):
    return json.loads(agent.run("folder", "get", "archive", key, "--json").stdout)


def test_the_agents_sockets_are_its_users_own(films):
    _, _, agent, _ = films
    socket = os.path.join(os.path.dirname(agent.socket), "mount.sock")
    assert stat.S_ISSOCK(os.stat(socket).st_mode) and stat.S_IMODE(os.stat(socket).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(socket)).st_mode) == 0o700


def test_mounted_whenever_the_agent_starts(films):
    lab, node, agent, _ = films
    directory = lab.path("at-login")
    said = agent.run("mount", "archive", directory, "--at-login").stderr.decode()
    assert f"Mounted archive on {directory}, and from now on whenever the agent starts." in said
    assert "synctrain agent" in said, "nobody starts this test's agent at login, and that is said"
    assert len(os.listdir(directory)) == 6
    entry = mount_at(agent, directory)
    assert (entry["folder"], entry["state"], entry["configured"], entry["readOnly"]) == ("archive", "mounted", True, False)
    assert abs(time.time() - harness.unix_time(entry["since"])) < 60
    table = agent.run("status").stdout.decode()
    assert "Mounts" in table and directory in table and "whenever the agent starts" in table
    # It outlives the agent, which finds it again.
    process = mounted(directory)
    agent.stop()
    assert mounted(directory) == process
    agent.start()
    wait_until(lambda: state_at(agent, directory) == "mounted", 20, "the mount connects again", child=agent)
    assert mounted(directory) == process
    # Unmounted by hand it stays so, until the agent starts.
    agent.run("unmount", directory)
    assert state_at(agent, directory) == "unmounted"
    agent.stop()
    agent.start()
    wait_until(lambda: state_at(agent, directory) == "mounted", 20, "it is mounted at the start", child=agent)
    agent.wait_connected(node.id)
    assert len(os.listdir(directory)) == 6
    # Without a directory the folder's own is meant.
    agent.run("unmount", directory)
    agent.run("mount", "archive")
    assert len(os.listdir(directory)) == 6
    with open(os.path.join(directory, "film 0.bin"), "rb"):
        result = agent.try_run("unmount", "--forget", directory)
        assert result.returncode != 0 and str(os.getpid()).encode() in result.stderr
        assert mount_at(agent, directory)["configured"], "what is in use is neither unmounted nor forgotten"
    agent.run("unmount", "--forget", "archive")
    assert mount_at(agent, directory) is None
    wait_until(lambda: mounted(directory) is None, 10, "its process ends", child=agent)
    assert agent.try_run("unmount", "--forget", directory).returncode == 4
    agent.stop()
    agent.start()
    agent.wait_connected(node.id)
    assert mount_at(agent, directory) is None and os.listdir(directory) == []


def test_a_setting_mounts_moves_and_unmounts(films):
    lab, _, agent, local = films
    first, second = lab.path("first"), lab.path("second")
    agent.run("folder", "set", "archive", f"mount={first}")
    wait_until(lambda: state_at(agent, first) == "mounted", 20, "the folder is mounted", child=agent)
    harness.write(os.path.join(first, "new"), b"new")
    agent.run("folder", "set", "archive", f"mount={second}", "mount-read-only=true")
    wait_until(lambda: state_at(agent, second) == "mounted" and mounted(first) is None, 20, "it moves", child=agent)
    assert mount_at(agent, first) is None and mount_at(agent, second)["readOnly"]
    with pytest.raises(OSError) as caught:
        harness.write(os.path.join(second, "newer"), b"newer")
    assert caught.value.errno == errno.EROFS
    os.remove(os.path.join(local, "new"))
    # A directory that is not empty: said, and mounted once it is.
    full = lab.directory("not-empty")
    harness.write(os.path.join(full, "x"), b"x")
    agent.run("folder", "set", "archive", f"mount={full}")
    wait_until(lambda: state_at(agent, full) == "unmounted" and mount_at(agent, full).get("problem"), 20, "the problem is said",
               child=agent)
    assert "not empty" in mount_at(agent, full)["problem"]["message"]
    assert "not empty" in agent.run("status").stdout.decode()
    os.remove(os.path.join(full, "x"))
    wait_until(lambda: state_at(agent, full) == "mounted", 20, "it is tried again", child=agent)
    agent.run("folder", "set", "archive", "mount=")
    wait_until(lambda: mounts(agent) == [], 20, "it is unmounted", child=agent)
    assert os.listdir(full) == []
    for path, words in [(local + "/m", "nested"), (os.path.dirname(local), "nested"), ("m", "absolute")]:
        result = agent.try_run("folder", "set", "archive", f"mount={path}")
        assert result.returncode != 0 and words in result.stderr.decode()


def test_a_killed_mount_is_not_shown_as_mounted(films):
    lab, _, agent, _ = films
    directory = lab.path("killed")
    agent.run("mount", "archive", directory)
    assert state_at(agent, directory) == "mounted"
    process = mounted(directory)
    os.kill(process, signal.SIGSTOP)
    try:
        # A stopped process answers nobody. It stops a moment after it is told to.
        wait_until(lambda: state_at(agent, directory) == "not-answering", 10, "it is seen", child=agent)
        assert "does not answer" in agent.run("status").stdout.decode()
    finally:
        os.kill(process, signal.SIGCONT)
    wait_until(lambda: state_at(agent, directory) == "mounted", 10, "it goes on", child=agent)
    os.kill(process, signal.SIGKILL)
    wait_until(lambda: mounted(directory) is None, 10, "it is gone")
    wait_until(lambda: state_at(agent, directory) != "mounted", 10, "it is seen", child=agent)
    wait_until(lambda: mount_at(agent, directory) is None, 10, "the system has unmounted it")
    # One that the configuration wants is started again.
    agent.run("mount", "archive", directory, "--at-login")
    process = mounted(directory)
    os.kill(process, signal.SIGKILL)
    # Until it is dead, the old one is the mount, and what reads there fails.
    wait_until(lambda: mounted(directory) not in (None, process), 20, "another process comes", child=agent)
    wait_until(lambda: state_at(agent, directory) == "mounted" and os.listdir(directory), 20, "it is mounted again", child=agent)
    agent.run("unmount", "--forget", directory)


def test_who_reads_is_said(films):
    lab, _, agent, _ = films
    directory = lab.path("readers")
    agent.run("mount", "archive", directory)
    assert mount_at(agent, directory)["readers"] == []
    path = os.path.join(directory, "film 1.bin")
    reader = subprocess.Popen(["sh", "-c", 'exec tail -f -c +1 "$1"', "sh", path], stdout=subprocess.DEVNULL)
    try:
        def readers():
            return mount_at(agent, directory)["readers"]
        wait_until(lambda: readers() and readers()[0]["bytes"] == SIZE, 20, "the reader is seen", child=agent)
        [entry] = readers()
        assert (entry["program"], entry["process"], entry["path"], entry["files"]) == ("tail", reader.pid, "film 1.bin", 1)
        table = agent.run("status").stdout.decode()
        assert f"tail ({reader.pid}) reads film 1.bin" in table and "4.0 MiB of 1 file" in table
    finally:
        reader.terminate()
        reader.wait(20)
    wait_until(lambda: readers() == [], 20, "nobody reads any more", child=agent)
    agent.run("unmount", directory)


def test_patience_budget_and_scanners_are_settings(films):
    lab, node, agent, _ = films
    directory = lab.path("settings")
    agent.run("mount", "archive", directory)
    film = os.path.join(directory, "film 2.bin")
    for value in ("4", "601"):
        assert agent.try_run("config", "set", "mount.patience", value).returncode != 0
    # The budget: of a mount that has none of its own, and at once.
    agent.run("config", "set", "mount.read-budget", "1MiB")
    wait_until(lambda: os.getxattr(directory, "user.synctrain.budget") == b"%d" % MIB, 10, "the mount hears of it")
    result = subprocess.run(["cat", film, os.path.join(directory, "film 3.bin")], capture_output=True, check=False,
                            start_new_session=True)
    assert b"Disk quota exceeded" in result.stderr
    agent.run("config", "unset", "mount.read-budget")
    wait_until(lambda: os.getxattr(directory, "user.synctrain.budget") == b"none", 10, "the mount hears of it")
    # Programs that may not download.
    program = lab.path("cataloguer")
    shutil.copy(shutil.which("cat"), program)
    agent.run("config", "set", "mount.scanners", "cataloguer")
    path = os.path.join(directory, "film 4.bin")
    wait_until(lambda: b"No data available" in subprocess.run([program, path], capture_output=True, check=False).stderr, 10,
               "the program is refused")
    agent.run("config", "unset", "mount.scanners")
    wait_until(lambda: subprocess.run([program, path], capture_output=True, check=False).stdout == harness.pattern(SIZE, 4), 10,
               "the program may download")
    # A device that says nothing is waited for as long as is said.
    agent.run("config", "set", "mount.patience", "5")
    node.suspend()
    try:
        reader = subprocess.Popen(["cat", os.path.join(directory, "film 5.bin")], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE)
        # It would be 20 s otherwise.
        wait_until(lambda: reader.poll() is not None, 15, "the reader gives up")
        said = reader.stderr.read()
        assert b"Connection timed out" in said or b"Network is down" in said, said
    finally:
        node.resume()
        agent.run("config", "unset", "mount.patience")
    agent.run("unmount", directory)


@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("setpriv"), reason="needs root, to become somebody else")
def test_an_agent_without_new_privileges_has_systemd_mount(lab):
    """As its systemd unit has it: fusermount3 would get no rights from it. The user's systemd is played by this test."""
    agent = plain_user(lab)
    directory = lab.directory("by-systemd")
    give(directory)
    folder = lab.directory("plain-own")
    give(folder)
    agent.run("folder", "add", "own", folder)
    agent.stop()
    wrapper = lab.path("wrapper")
    harness.write(wrapper, f'#!/bin/sh\nexec setpriv --no-new-privs {agent.program} "$@"\n'.encode())
    os.chmod(wrapper, 0o755)
    agent.program = wrapper
    agent.start()
    result = agent.try_run("mount", "own", directory, "--at-login")
    assert result.returncode == 1 and b"NoNewPrivileges" in result.stderr and b"no systemd" in result.stderr
    assert mounts(agent) == [], "what could not be mounted is not remembered"
    # A systemd of the user: what it is asked for is run by somebody who may mount.
    agent.stop()
    runtime, programs, asked = lab.directory("runtime"), lab.directory("programs"), lab.directory("asked")
    harness.write(os.path.join(runtime, "systemd/private"))
    harness.write(os.path.join(programs, "systemd-run"),
                  b'#!/bin/sh\nprintf "%s\\0" "$@" > "$ASKED/new" && mv "$ASKED/new" "$ASKED/words"\n')
    os.chmod(os.path.join(programs, "systemd-run"), 0o755)
    for path in (runtime, asked):
        give(path)
    agent.variables |= {"XDG_RUNTIME_DIR": runtime, "ASKED": asked, "PATH": f"{programs}:{os.environ['PATH']}"}
    agent.start()
    command = agent.begin("mount", "own", directory, "--at-login")
    path = os.path.join(asked, "words")
    wait_until(lambda: os.path.exists(path), 20, "systemd-run is asked", child=agent)
    words = harness.read(path).decode().split("\0")[:-1]
    options, program = words[:words.index("--")], words[words.index("--") + 1:]
    assert {"--user", "--collect", "--property=Restart=on-failure"} <= set(options)
    assert any(option.startswith("--property=ExecStopPost=-") and directory in option for option in options)
    unit = subprocess.Popen(program, user=USER, group=USER, extra_groups=[], cwd="/")
    try:
        assert command.process.wait(30) == 0, command.log_tail()
        wait_until(lambda: state_at(agent, directory) == "mounted", 20, "it is mounted", child=agent)
        assert mount_at(agent, directory)["configured"]
        agent.run("unmount", "--forget", "own")
        assert unit.wait(20) == 0 and mounts(agent) == [] and os.listdir(directory) == []
    finally:
        unit.terminate()
        unit.wait(20)
