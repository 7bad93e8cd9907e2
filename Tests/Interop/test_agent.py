"""The agent's life: start, stop, second of its kind, settings with and without it, import from Syncthing."""

import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import threading
import time
import urllib.parse

import agent as cli
import bep
import pytest
from harness import read, write
from process import PATIENCE, wait_until


def ids(agent, kind):
    return {record["id"] for record in agent.records(kind, "list")}


def test_init_makes_private_files_and_an_id(lab):
    agent = lab.agent(start=False)
    assert re.fullmatch(r"([A-Z2-7]{7}-){7}[A-Z2-7]{7}", agent.id)
    assert stat.S_IMODE(os.stat(agent.home).st_mode) == 0o700
    keys = [os.path.join(d, n) for d, _, names in os.walk(agent.home) for n in names if n == "key.pem"]
    assert len(keys) == 1 and stat.S_IMODE(os.stat(keys[0]).st_mode) == 0o600
    # Once more: the identity stays.
    result = agent.try_run("init")
    assert result.returncode != cli.DONE or agent.run("id").stdout.decode().strip() == agent.id
    assert agent.run("id").stdout.decode().strip() == agent.id


def test_init_refuses_an_address_before_it_makes_anything(lab):
    agent = lab.agent(start=False)
    key = agent.file("key.pem")
    for path in (key, agent.file("cert.pem"), agent.file("config.toml")):
        os.remove(path)
    refused = agent.try_run("init", "--listen", "foo:bar")
    assert refused.returncode == cli.USAGE and b"foo:bar" in refused.stderr and b"config.toml" not in refused.stderr
    assert not os.path.exists(key)


def test_a_second_init_names_what_is_there(lab):
    agent = lab.agent(start=False)
    for options in ((), ("--name", "another")):
        refused = agent.try_run("init", *options)
        assert refused.returncode == cli.FAILED and b"this device already has an identity" in refused.stderr, refused.stderr
    os.remove(agent.file("key.pem"))
    os.remove(agent.file("cert.pem"))
    assert b"a configuration already exists" in agent.try_run("init", "--name", "another").stderr
    agent.run("init")


def test_an_init_that_was_interrupted_is_completed(lab):
    agent = lab.agent(start=False)
    identity = agent.id
    # A full disk or a crash behind the identity: what `agent run` advises then works, and the device stays the same.
    os.remove(agent.file("config.toml"))
    refused = agent.try_run("agent", "run")
    assert refused.returncode == cli.UNUSABLE_CONFIGURATION and b"the configuration of this device is missing" in refused.stderr
    assert agent.run("init", "--listen", agent.address, "--no-discovery").stdout.decode().strip() == identity
    agent.start()
    agent.stop()
    # Half of an identity: which half, and what to do.
    certificate = agent.file("cert.pem")
    os.remove(certificate)
    for command, code in ((("init",), cli.FAILED), (("agent", "run"), cli.UNUSABLE_CONFIGURATION)):
        refused = agent.try_run(*command)
        assert refused.returncode == code and f"{certificate}: this half of the device's identity is missing" in refused.stderr.decode()


def test_socket_is_private_and_status_is_the_documented_one(lab):
    agent = lab.agent()
    assert stat.S_IMODE(os.stat(agent.socket).st_mode) == 0o600
    agent.add_folder("f", lab.path("f"))
    status = agent.status()
    assert status["schema"] == 1 and status["device"] == agent.id
    assert {"folders", "devices", "transfers"} <= set(status)
    folder = status["folders"][0]
    promised = {"id", "path", "mode", "state", "global", "local", "need", "extraneous", "conflicts", "errors"}
    assert promised <= set(folder)
    assert (folder["id"], folder["path"], folder["mode"]) == ("f", lab.path("f"), "selective")
    assert os.path.isdir(lab.path("f")), "the directory is made"


@pytest.mark.parametrize("how", ["agent stop", "SIGTERM", "SIGINT"])
def test_ends_within_two_seconds(lab, how):
    """With a link, a transfer that gets no answer, and a connection that says nothing."""
    agent, peer = lab.agent(), lab.peer()
    lab.introduce(agent, peer)
    lab.share(agent, "f", peer)
    peer.folders["f"].add("file", b"data")
    asked = threading.Event()
    peer.serve = lambda session, request: asked.set()
    session = peer.dial_until(agent.address)
    agent.wait_global("f", 1)
    fetch = agent.begin("fetch", "f:file", "-o", lab.path("out"))
    assert asked.wait(20 * PATIENCE)
    start = time.monotonic()
    if how == "agent stop":
        agent.run("agent", "stop")
    else:
        agent.process.send_signal(getattr(signal, how))
    code = agent.process.wait(10)
    took = time.monotonic() - start
    assert took < 2 * PATIENCE, f"{took:.1f} s"
    assert code == cli.DONE
    session.wait_end()
    assert fetch.process.wait(20) != cli.DONE
    assert agent.try_run("status").returncode == cli.NO_AGENT
    agent.start()


def test_start_names_the_one_cause_for_which_the_agent_exited(lab):
    agent = lab.agent(start=False)
    # What is logged before is not the cause.
    agent.run("folder", "add", "f", lab.path("f"))
    shutil.rmtree(lab.path("f"))
    port = int(agent.address.rsplit(":", 1)[1])
    with socket.create_server(("127.0.0.1", port)):
        result = agent.try_run("agent", "start")
    said = result.stderr.decode()
    assert result.returncode == cli.FAILED
    assert said.startswith(f"synctrain: The agent exited at once: cannot listen on {agent.address}")
    assert said.count("\n") == 1 and "\\x0a" not in said and "{" not in said


def test_logs_of_an_agent_in_the_background_are_json_lines(lab):
    agent = lab.agent(start=False)
    agent.run("agent", "start")
    agent.run("agent", "stop")
    written = agent.run("logs").stdout.decode().splitlines()
    assert written and all("message" in json.loads(line) for line in written)
    # One of before, or of a crash.
    with open(agent.file("agent.log"), "a") as log:
        log.write("ready\n")
    lines = agent.run("logs", "--json").stdout.decode().splitlines()
    assert lines[:-1] == written and json.loads(lines[-1]) == {"message": "ready"}


def test_the_log_of_an_agent_in_the_background_is_bounded(lab):
    agent = lab.agent(start=False)
    agent.run("agent", "start")
    agent.run("agent", "stop")
    path = agent.file("agent.log")
    line = b'{"level":"info","message":"of before","time":"2026-01-01T00:00:00Z"}\n'
    with open(path, "ab") as log:
        log.write(line * ((16 << 20) // len(line) + 1))
    agent.run("agent", "start")
    agent.run("agent", "stop")
    with open(path + ".1", "rb") as before, open(path, "rb") as now:
        before, now = before.read(), now.read()
    assert line in before and now and line not in now
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert agent.run("logs").stdout == before + now


def test_doctor_names_why_the_agent_cannot_start(lab):
    agent = lab.agent(start=False)
    with socket.create_server(("127.0.0.1", int(agent.address.rsplit(":", 1)[1]))):
        findings = json.loads(agent.try_run("doctor", "--json").stdout)["findings"]
    assert [f"cannot listen on {agent.address}" in finding["message"] for finding in findings if finding["code"] == "agent"] == [True]
    findings = json.loads(agent.try_run("doctor", "--json").stdout)["findings"]
    assert [finding["message"] for finding in findings if finding["code"] == "agent"] == ["The agent is not running."]


def test_doctor_names_what_in_the_home_keeps_an_agent_from_starting(lab):
    agent = lab.agent()
    agent.stop()

    def causes():
        findings = json.loads(agent.try_run("doctor", "--json").stdout)["findings"]
        return [finding["message"] for finding in findings if finding["code"] == "agent"]

    def damaged(name):
        path = agent.file(name)
        with open(path, "rb") as file:
            sound = file.read()
        with open(path, "r+b") as file:
            file.write(b"x" * 4096)
        # What keeps the agent from starting is what `agent start` says.
        refused = agent.try_run("agent", "start").stderr.decode().partition(": The agent exited at once: ")[2].strip()
        found = causes()
        with open(path, "wb") as file:
            file.write(sound)
        return refused, found

    for name in ("key.pem", "http.key", "index.sqlite"):
        refused, found = damaged(name)
        assert len(found) == 1 and refused and found[0].startswith("The agent is not running and cannot start: " + refused), (refused, found)
    with contextlib.closing(sqlite3.connect(agent.file("index.sqlite"))) as database, database:
        database.execute("INSERT INTO grdb_migrations VALUES ('v999')")
    found = causes()
    assert len(found) == 1 and "was written by a newer synctrain" in found[0], found
    agent.run("reset", "index", "--yes")
    assert causes() == ["The agent is not running."]
    agent.start()
    os.remove(agent.socket)
    found = causes()
    assert len(found) == 1 and f"process {agent.process.pid} is the agent already" in found[0], found


def test_closed_streams_are_not_taken_by_files(lab):
    """As after `>&- 2>&-`: what is printed and logged is not to go into a file or socket that gets the number."""
    agent = lab.agent(start=False)
    agent.options = {"preexec_fn": lambda: (os.close(0), os.close(2))}
    agent.start()
    for stream in (0, 2):
        assert os.readlink(f"/proc/{agent.process.pid}/fd/{stream}") == "/dev/null"
    agent.options = {}
    refused = agent.try_run("status", preexec_fn=lambda: os.close(1))
    assert refused.returncode == cli.FAILED
    assert refused.stderr == b"synctrain: The output cannot be written: Bad file descriptor.\n"


def test_children_are_waited_for_whatever_started_the_command(lab):
    """A process that ignores SIGCHLD has those that it starts ignore it: then nobody is told how a child ended."""
    agent = lab.agent()
    agent.variables = {"SYNCTRAIN_OPEN": "true"}
    agent.run("ui", preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))


def test_restart_starts_another_process(lab):
    agent = lab.agent()
    assert "The agent is running" in agent.document("agent", "restart")["message"]
    assert agent.process.wait(10) == cli.DONE
    assert agent.status()["schema"] == 1
    assert agent.document("agent", "stop") == {"schema": 1, "message": "The agent has stopped."}


def test_stop_returns_when_another_agent_may_start(lab):
    agent = lab.agent()
    page = urllib.parse.urlsplit(agent.status()["http"])
    # As a browser has one open that it may need: it ends later than the control socket.
    with socket.create_connection((page.hostname, page.port)), open(agent.file("lock")) as lock:
        agent.run("agent", "stop")
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_an_agent_that_is_silent_is_not_waited_for_without_end(lab):
    """As one in the foreground after Ctrl-Z."""
    agent = lab.agent()
    agent.suspend()
    for verb in ("stop", "start", "restart"):
        assert agent.try_run("agent", verb, "--timeout", "1").returncode == cli.TIMED_OUT, verb
    # Until it is plain that no answer comes.
    assert agent.try_run("wait", "--timeout", "0").returncode == cli.TIMED_OUT


def test_an_agent_whose_socket_is_gone_can_be_stopped(lab):
    # As after a logout, which takes $XDG_RUNTIME_DIR away.
    agent = lab.agent()
    os.remove(agent.socket)
    refused = agent.try_run("agent", "start")
    assert refused.returncode == cli.FAILED and f"(process {agent.process.pid})" in refused.stderr.decode()
    agent.run("agent", "stop")
    assert agent.process.wait(10) == cli.DONE
    agent.run("agent", "start")
    os.remove(agent.socket)
    agent.run("agent", "restart")
    agent.run("agent", "stop")
    assert agent.try_run("agent", "stop").returncode == cli.NO_AGENT


def test_second_agent_on_the_same_home_refuses(lab):
    agent = lab.agent()
    second = agent.try_run("agent", "run", timeout=20)
    assert second.returncode == cli.FAILED and b"ready" not in second.stdout
    assert b"already" in second.stderr or b"running" in second.stderr
    assert agent.status()["device"] == agent.id, "the first is none the worse"


def test_starts_again_after_being_killed(lab):
    agent = lab.agent()
    agent.add_folder("f", lab.path("f"))
    for _ in range(3):
        agent.kill()
        assert agent.try_run("status").returncode == cli.NO_AGENT
        agent.start()
    assert agent.folder("f")["path"] == lab.path("f")


def test_settings_without_a_running_agent(lab):
    agent, node = lab.agent(start=False), lab.syncthing()
    agent.add_device(node.id, "real", node.address)
    agent.add_folder("f", lab.path("f"), node.id)
    assert node.id in ids(agent, "device") and "f" in ids(agent, "folder")
    node.add_device(agent.id)
    node.set_folder("f", lab.path("real-f"), [agent.id])
    agent.start()
    agent.wait_connected(node.id)
    agent.stop()
    agent.run("device", "rename", node.id, "renamed")
    agent.run("folder", "pause", "f")
    agent.start()
    status = agent.status()
    assert [d["name"] for d in status["devices"]] == ["renamed"]
    assert [f["state"] for f in status["folders"]] == ["paused"]
    agent.stop()
    agent.run("folder", "remove", "f", "--yes")
    agent.run("device", "remove", "renamed", "--yes")
    agent.start()
    status = agent.status()
    assert status["devices"] == [] and status["folders"] == []
    assert os.path.isdir(lab.path("f")), "removing a folder from the settings leaves its files"


def test_settings_of_a_running_agent_take_effect_at_once_and_stay(lab):
    agent, node = lab.agent(), lab.syncthing()
    node.add_device(agent.id)
    agent.add_device(node.id, "real", node.address)
    agent.wait_connected(node.id)
    with open(os.path.join(lab.directory("real-f"), "file"), "w") as file:
        file.write("content\n")
    node.set_folder("f", lab.path("real-f"), [agent.id])
    node.wait_scanned("f", 1)
    agent.add_folder("f", lab.path("f"), node.id)
    agent.wait_global("f", 1)
    agent.run("folder", "pause", "f")
    assert agent.folder("f")["state"] == "paused"
    agent.run("folder", "resume", "f")
    wait_until(lambda: agent.try_run("cat", "f:file").stdout == b"content\n", 20, "readable after resume")
    agent.run("device", "rename", "real", "other name")
    assert agent.status()["devices"][0]["name"] == "other name"
    agent.kill()
    agent.start()
    assert agent.status()["devices"][0]["name"] == "other name"
    agent.wait_connected(node.id)
    agent.run("folder", "remove", "f", "--yes")
    assert agent.status()["folders"] == []
    assert agent.try_run("ls", "f:").returncode == cli.NO_SUCH


@pytest.mark.parametrize("running", [True, False])
def test_removing_asks(lab, running):
    agent = lab.agent(start=False)
    other = lab.agent("other", start=False)
    agent.add_device(other.id, "other", other.address)
    agent.add_folder("f", lab.path("f"), other.id)
    if running:
        agent.start()
    for kind, name, words in (("device", "other", b"Remove device other (%s), which shares f?" % other.id[:7].encode()),
                              ("device", other.id, b"Remove device other"),
                              ("folder", "f", b"Remove folder f, shared with 1 device?")):
        refused = agent.try_run(kind, "remove", name)
        assert refused.returncode == cli.NEEDS_YES
        assert words in refused.stderr and b"--yes" in refused.stderr and b"iles are kept" in refused.stderr
        assert agent.try_run(kind, "remove", "no-such").returncode == cli.NO_SUCH
    assert ids(agent, "device") == {other.id} and ids(agent, "folder") == {"f"}
    assert agent.run("folder", "remove", "f", "--yes").stdout == b"Removed folder f. Its files are kept.\n"
    removed = agent.run("device", "remove", "other", "--yes").stdout
    assert removed.startswith(b"Removed device other. Files are kept.\n") and b"device add %s" % other.id.encode() in removed
    assert ids(agent, "device") == ids(agent, "folder") == set()


def test_a_configuration_that_was_emptied_drops_nothing_unasked(lab):
    agent, node = lab.agent(start=False), lab.syncthing()
    lab.introduce(agent, node)
    agent.start()
    lab.share(agent, "f", node)
    agent.wait_connected(node.id)
    config = agent.file("config.toml")
    with open(config) as file:
        text = file.read()
    with open(config, "w"):
        pass
    refused = agent.try_run("reload")
    assert refused.returncode == cli.NEEDS_YES
    assert b"no devices and no folders any more. Remove the 1 device and 1 folder that there are?" in refused.stderr
    # Nor do commands that edit the file, and they leave it as it is.
    for command in (["device", "rename", node.id, "other"], ["folder", "pause", "f"], ["folder", "mode", "f", "full"]):
        result = agent.try_run(*command)
        assert result.returncode == cli.FAILED, command
        assert b"names no devices and no folders any more, and nothing was changed" in result.stderr, command
        assert os.path.getsize(config) == 0
    assert ids(agent, "device") == {node.id} and ids(agent, "folder") == {"f"}
    assert agent.is_connected(node.id)
    # Restored, it is as if nothing had been.
    with open(config, "w") as file:
        file.write(text)
    agent.run("reload")
    agent.run("folder", "pause", "f")
    with open(config, "w"):
        pass
    agent.run("reload", "--yes")
    assert ids(agent, "device") == ids(agent, "folder") == set()


def test_what_is_removed_while_no_agent_runs_leaves_the_index(lab):
    agent, other = lab.agent(start=False), lab.agent("other", start=False)
    agent.add_device(other.id, "other", other.address)
    for number in range(20):
        write(lab.path("f", f"{number}"), b"content %d" % number)
        if number < 8:
            write(lab.path("copy", f"{number}"), b"content %d" % number)
    agent.add_folder("f", lab.path("f"), other.id, mode="full")
    agent.start()
    agent.wait_global("f", 20)
    agent.stop()
    # The only folder and the only device: none are left in the file, which is not an accident here.
    agent.run("folder", "remove", "f", "--yes")
    agent.run("device", "remove", "other", "--yes")
    agent.start()
    agent.stop()
    with contextlib.closing(sqlite3.connect(agent.file("index.sqlite"))) as index:
        for table in ("folder", "device"):
            assert index.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table
    # Added again with some of its files elsewhere, the others were not deleted.
    agent.start()
    agent.add_folder("f", lab.path("copy"), mode="full")
    agent.wait_global("f", 8)

    def rows():
        with contextlib.closing(sqlite3.connect(agent.file("index.sqlite"))) as index:
            tables = ("own", "entry", "announcer", "removal")
            return [index.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables]
    wait_until(lambda: rows() == [8, 9, 0, 0], 20, "the index has the new folder alone")


@pytest.mark.parametrize("running", [True, False])
@pytest.mark.parametrize("command", [
    ["device", "add", "not-an-id"], ["device", "add", "{own}"], ["folder", "add", "x", "/proc/nowhere/at/all"],
    ["folder", "add", "f", "{root}/elsewhere"], ["folder", "add", "g", "{root}/g", "--device", "not-an-id"],
    ["device", "add", "{other}", "--address", "nonsense://x"],
])
def test_refused_settings_change_nothing(module_agents, command, running):
    lab, agent = module_agents(running)
    def settings():
        with open(agent.file("config.toml")) as file:
            return ids(agent, "device"), {each["id"]: each["path"] for each in agent.records("folder", "list")}, file.read()
    before = settings()
    words = {"own": agent.id, "root": lab.root, "other": bep.device_id_text(bytes(range(32)))}
    result = agent.try_run(*[word.format(**words) for word in command])
    assert result.returncode != cli.DONE and result.stderr
    assert settings() == before


@pytest.fixture(scope="module")
def module_agents(module_lab):
    agents = {}

    def get(running):
        if running not in agents:
            agents[running] = module_lab.agent(f"running-{running}", start=running)
            agents[running].add_folder("f", module_lab.path(f"f-{running}"))
            if running:
                # What it says of the folder while it begins is not what it says a moment later.
                def rests():
                    folder = agents[running].folder("f")
                    return folder["state"] == "idle" and "lastScan" in folder and folder["watch"]["state"] == "watching"
                wait_until(rests, 60, "the folder rests")
        return module_lab, agents[running]
    return get


def test_broken_settings_name_file_and_line(lab):
    agent = lab.agent(start=False)
    path = agent.file("config.toml")
    with open(path) as file:
        good = file.read()
    with open(path, "w") as file:
        file.write(good + "\nthis is = = no toml\n")
    line = good.count("\n") + 2
    result = agent.try_run("agent", "run", timeout=20)
    assert result.returncode == cli.UNUSABLE_CONFIGURATION
    assert path.encode() in result.stderr and str(line).encode() in result.stderr
    with open(path) as file:
        assert file.read() == good + "\nthis is = = no toml\n", "it is left as it is"
    with open(path, "w") as file:
        file.write(good)
    agent.start()


def test_two_agents_with_homes_of_their_own(lab):
    one, two = lab.agent("one"), lab.agent("two")
    assert one.id != two.id and one.status()["device"] == one.id and two.status()["device"] == two.id


def test_home_from_the_environment(lab):
    agent = lab.agent()
    environment = {**agent.environment, "SYNCTRAIN_HOME": agent.home}
    result = subprocess.run([agent.program, "status", "--json"], env=environment, capture_output=True, timeout=20)
    assert json.loads(result.stdout)["device"] == agent.id


def test_port_in_use_is_said(lab):
    agent = lab.agent("first")
    second = lab.agent("second", start=False, init=False)
    second.address = agent.address
    second.init()
    second.launch()
    wait_until(lambda: not second.is_running or second.is_ready, 20, "it gives up or goes on without")
    assert str(agent.port) in second.log_tail(), "the log names the port"


def test_import_of_a_syncthing_home(lab):
    node, peer = lab.syncthing("old"), lab.syncthing("peer")
    node.add_device(peer.id, peer.address, "the peer")
    node.set_folder("f", lab.path("old-f"), [peer.id], label="Label & <Co>")
    node.set_folder("kept", lab.path("old-kept"), [peer.id], ignoreDelete=True, ignorePerms=True, maxConflicts=3,
                    rescanIntervalS=600)
    peer.set_folder("f", lab.path("peer-f"), [])
    peer.add_device(node.id)
    peer.set_folder("f", lab.path("peer-f"), [node.id])
    with open(lab.path("peer-f/file"), "w") as file:
        file.write("content\n")
    peer.scan("f")
    node.stop()
    agent = lab.agent("new", start=False, init=False)
    agent.init("--import-syncthing", node.home)
    assert agent.id == node.id
    devices = {d["id"]: d for d in agent.records("device", "list")}
    assert devices[peer.id]["name"] == "the peer" and peer.address in json.dumps(devices[peer.id])
    folders = {f["id"]: f for f in agent.records("folder", "list")}
    assert folders["f"]["path"].rstrip("/") == lab.path("old-f") and folders["f"]["label"] == "Label & <Co>"
    [kept] = [block for block in read(agent.file("config.toml")).decode().split("[[folder]]") if 'id = "kept"' in block]
    for line in ("paused = true", "ignore-permissions = true", "max-conflicts = 3", "rescan-interval = 600"):
        assert line in kept
    agent.start()
    agent.wait_connected(peer.id)
    agent.wait_global("f", 1)
    assert agent.run("cat", "f:file").stdout == b"content\n"


def test_import_of_what_is_no_syncthing_home(lab):
    agent = lab.agent(start=False, init=False)
    result = agent.try_run("init", "--import-syncthing", lab.directory("empty"))
    assert result.returncode not in (cli.DONE,) and result.stderr


def test_help_and_completions_come_from_the_parser(lab):
    agent = lab.agent(start=False)
    help = agent.run("--help").stdout.decode()
    for verb in ("agent", "device", "folder", "fetch", "ls", "status"):
        assert verb in help
    for shell in ("bash", "zsh", "fish"):
        assert b"synctrain" in agent.run("completions", shell).stdout
