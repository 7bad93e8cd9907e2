"""`doctor`: nothing is wrong, then one thing at a time is, and each is named with what helps."""

import json
import os
import shutil
import subprocess
import tarfile
import time

import pytest

import agent as cli
from harness import write
from process import wait_until


@pytest.fixture(scope="module")
def pair(nodes):
    """An agent and a node that share `docs`, in sync."""
    lab, node, agent = nodes
    there = lab.folder_path(node, "docs")
    os.makedirs(there, exist_ok=True)
    write(os.path.join(there, "a"), b"a")
    lab.share(agent, "docs", node, mode="full")
    agent.wait_connected(node.id)

    def is_in_sync():
        docs = agent.folder("docs")
        # Before it is looked at, nothing is known to be needed.
        return docs["global"]["files"] == docs["local"]["files"] == 1 and docs["need"]["files"] == 0 and not docs["waits"]
    wait_until(is_in_sync, what="docs is in sync", child=agent)
    return lab, node, agent


def examined(agent, command=None):
    """The exit code, and code → findings that are not ok."""
    if command is None:
        result = agent.try_run("doctor", "--json")
    else:
        result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=agent.environment, cwd="/")
    assert not result.stderr, result.stderr
    report = json.loads(result.stdout)
    assert report["schema"] == 1
    found = {}
    for finding in report["findings"]:
        if finding["state"] != "ok":
            found.setdefault(finding["code"], []).append(finding)
    return result.returncode, found


def problems(found):
    return {code for code, findings in found.items() if any(f["state"] == "problem" for f in findings)}


def test_nothing_is_wrong(pair):
    _, node, agent = pair
    agent.wait_connected(node.id)
    code, found = examined(agent)
    assert code == 0 and not problems(found), found

    def idle():
        text = agent.run("doctor", "--verbose").stdout.decode()
        return "docs: idle, needs nothing." in text and text
    text = wait_until(idle, what="docs is idle", child=agent)
    assert f"{node.name} is connected (tcp " in text
    assert "The index has " in text and ", no damage." in text
    assert "config.toml is valid: 1 folder, 1 device." in text


def test_a_key_that_others_can_read(pair):
    agent = pair[2]
    key = agent.file("key.pem")
    os.chmod(key, 0o644)
    try:
        code, found = examined(agent)
        assert code == 1 and problems(found) == {"key-mode"}
        command = found["key-mode"][0]["command"]
        assert command == f"chmod 600 {key}"
        subprocess.run(command, shell=True, check=True)
        assert examined(agent)[0] == 0, "the command helps"
    finally:
        os.chmod(key, 0o600)


def test_a_node_that_does_not_share_back(pair):
    lab, node, agent = pair
    agent.add_folder("lonely", lab.directory("lonely"), node.id)
    try:
        wait_until(lambda: agent.folder("lonely")["waits"], what="the folder waits")
        code, found = examined(agent)
        assert code == 1 and problems(found) == {"waits-unshared-there"}, found
        finding = found["waits-unshared-there"][0]
        assert finding["subject"] == "lonely" and finding["message"].startswith(f"lonely: {node.name} does not share it")
        assert "`lonely` there" in finding["remedy"] and finding["details"] == [f"{node.name}: {node.id}"]
    finally:
        agent.run("folder", "remove", "lonely", "--yes")


def test_a_disk_below_its_floor(pair):
    agent = pair[2]
    free = shutil.disk_usage(agent.folder("docs")["path"]).free
    agent.run("folder", "set", "docs", f"minimum-free={free * 2} B")
    try:
        code, found = examined(agent)
        assert code == 1 and problems(found) == {"disk-space"}
        finding = found["disk-space"][0]
        assert "docs is below its floor" in finding["message"] and " free docs --until " in finding["command"]
    finally:
        agent.run("folder", "set", "docs", "minimum-free=")


def test_a_typo_in_the_configuration(pair):
    agent = pair[2]
    path = agent.file("config.toml")
    with open(path) as file:
        text = file.read()
    line = text[:text.index("\n[limits]\n")].count("\n") + 3
    write(path, text.replace("\n[limits]\n", "\n[limits]\nupp = 1\n", 1).encode())
    try:
        code, found = examined(agent)
        assert code == 1 and problems(found) == {"configuration"}
        finding = found["configuration"][0]
        assert finding["message"].startswith(f"{path}:{line}: ") and "upp" in finding["message"]
        assert finding["command"] == f"synctrain --home {agent.home} reload"
    finally:
        write(path, text.encode())


def test_no_fuse(pair):
    agent = pair[2]
    program = shutil.which("fusermount3")
    hidden = f"mount --bind /dev/null {program} && exec \"$@\""
    if program is None or subprocess.run(["unshare", "-m", "sh", "-c", hidden, "sh", "true"], check=False,
                                         capture_output=True).returncode != 0:
        pytest.skip("no program can be hidden here")
    code, found = examined(agent, ["unshare", "-m", "sh", "-c", hidden, "sh", *agent.command("doctor", "--json")])
    assert code == 0 and found["fusermount3"][0]["command"] == "sudo apt install fuse3"


def clock(agent):
    """What doctor says of the clocks."""
    report = agent.document("doctor")
    return next(f for f in report["findings"] if f["code"] == "clock-skew")


def test_two_agents_tell_each_other_the_time(lab):
    here, there = lab.agent("here"), lab.agent("there")
    lab.introduce(here, there)
    there.add_device(here.id, "here")
    here.wait_connected(there.id)
    there.wait_connected(here.id)
    for agent in (here, there):
        assert clock(agent)["message"] == "The clock agrees with those of the connected devices."


def test_a_clock_that_is_wrong(lab):
    """A known device gets the time, in nanoseconds, and is told apart by its own; a stranger gets none."""
    agent, peer, stranger = lab.agent(), lab.peer("peer"), lab.peer("stranger")
    lab.introduce(agent, peer)
    hello = peer.hello()
    peer.hello = lambda: hello | {"num_connections": 1, "timestamp": time.time_ns() + 3600 * 10**9}
    session = peer.dial_until(agent.address)
    assert abs(session.hello["timestamp"] - time.time_ns()) < 60 * 10**9
    found = wait_until(lambda: (one := clock(agent))["state"] == "warning" and one, what="the clock is seen")
    assert found["message"].startswith("The clock of peer is ") and "ahead of this one's" in found["message"], found
    unknown = stranger.dial(agent.address)
    unknown.wait_end()
    assert unknown.hello is not None and not unknown.hello.get("timestamp") and not unknown.hello.get("device_name")


def members(path):
    """name → bytes of what is in the archive."""
    with tarfile.open(path, "r:gz") as archive:
        return {member.name: archive.extractfile(member).read() for member in archive.getmembers()}


def test_a_support_file_has_no_names(pair):
    lab, node, agent = pair
    path = lab.path("support.tar.gz")
    agent.run("device", "rename", node.name, "Grossmutters NAS")
    agent.add_folder("krankenakte-7", lab.directory("Steuer 2026"), node.id)
    try:
        listed = {member["name"]: member["bytes"] for member in agent.document("doctor", "--bundle", path)["members"]}
        inside = members(path)
        assert {name: len(data) for name, data in inside.items()} == listed
        assert {"README.txt", "versions.txt", "doctor.json", "status.json", "reach.json", "config.toml", "agent.log"} == set(inside)
        assert os.stat(path).st_mode & 0o777 == 0o600
        with open(agent.file("key.pem")) as file:
            secrets = file.read().split("\n")[1:-2]
        names = [node.id, node.id[:7], agent.id, agent.id[:7], "Grossmutters", "krankenakte", "Steuer", "docs",
                 str(node.port), str(agent.port), "127.0.0.1", os.path.basename(lab.path()), *secrets]
        for name, data in inside.items():
            for secret in names:
                assert secret.encode() not in data, (name, secret, data[:4000])
        status, report = json.loads(inside["status.json"]), json.loads(inside["doctor.json"])
        assert [d["connected"] for d in status["devices"]] == [True] and status["devices"][0]["client"].startswith("syncthing v")
        assert status["devices"][0]["id"] == status["devices"][0]["name"], "both are the same device"
        folder = next(f for f in status["folders"] if f["waits"])
        finding = next(f for f in report["findings"] if f["code"] == "waits-unshared-there")
        assert finding["subject"] == folder["id"] and finding["remedy"].endswith(f"the folder `{folder['id']}` there.")
        assert folder["id"].encode() in inside["config.toml"], "the same pseudonym everywhere"
        again = agent.try_run("doctor", "--bundle", path)
        assert again.returncode == cli.FAILED and b"already exists" in again.stderr
    finally:
        agent.run("folder", "remove", "krankenakte-7", "--yes")
        agent.run("device", "rename", node.id, node.name)


def test_an_agent_that_is_stopped(pair):
    _, node, agent = pair
    agent.stop()
    try:
        code, found = examined(agent)
        assert code == 1 and problems(found) == {"agent"}
        assert found["agent"][0]["command"] == f"synctrain --home {agent.home} agent start"
        text = agent.try_run("doctor").stdout.decode()
        assert "The agent is not running." in text and text.endswith("\n") and "1 problem" in text
        path = os.path.join(agent.home, "..", "stopped.tar.gz")
        assert b"config.toml" in agent.run("doctor", "--bundle", path).stdout
        assert not any(node.id.encode() in data or b"docs" in data for data in members(path).values())
    finally:
        agent.start()
        agent.wait_connected(node.id)


def test_an_agent_that_answers_nothing(pair):
    _, node, agent = pair
    goes_on = f"kill -CONT {agent.process.pid}"
    agent.suspend()
    try:
        code, found = examined(agent)
        assert code == 1 and problems(found) == {"agent"}
        [finding] = found["agent"]
        assert f"(process {agent.process.pid}) is stopped" in finding["message"] and finding["command"] == goes_on
        waits = subprocess.run(["timeout", "8", *agent.command("status")], capture_output=True, env=agent.environment)
        assert waits.returncode == 124 and f"`{goes_on}`".encode() in waits.stderr, waits.stderr
        path = os.path.join(agent.home, "..", "silent.tar.gz")
        assert b"config.toml" in agent.run("doctor", "--bundle", path).stdout
        subprocess.run(goes_on.split(), check=True)
        assert agent.run("status").returncode == 0
        agent.suspend()
        result = agent.try_run("agent", "stop")
        assert result.returncode == cli.TIMED_OUT and f"`{goes_on}`".encode() in result.stderr
    finally:
        agent.stop()
        agent.start()
        agent.wait_connected(node.id)


def test_a_home_without_a_device(lab):
    agent = lab.agent(start=False, init=False)
    code, found = examined(agent)
    assert code == 1 and found["identity"][0]["command"] == f"synctrain --home {agent.home} init"
    assert cli.FAILED == code
