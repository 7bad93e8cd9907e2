"""Files and ranges on demand from a real node, and what the commands exit with."""

import hashlib
import json
import os
import shutil

import agent as cli
import harness
import pytest
from harness import read, write
from process import wait_until


@pytest.fixture(scope="module")
def setting(nodes, documents):
    lab, node, agent = nodes
    root = lab.folder_path(node, "docs")
    shutil.copytree(documents, root, symlinks=True)
    local = lab.share(agent, "docs", node)
    files = sum(kind == "file" for kind in harness.walk(root).values())
    node.wait_scanned("docs", files)
    agent.wait_global("docs", files)
    return lab, node, agent, root, local


def test_fetch_of_every_file_to_a_directory(setting):
    lab, _, agent, root, local = setting
    out = lab.directory("out")
    result = agent.run("fetch", "docs:", "-o", out, "--json", timeout=120)
    events = cli.records(result.stdout)
    wanted = harness.regular_files(root)
    assert harness.regular_files(out) == wanted
    assert events[0]["type"] == "plan" and events[-1]["type"] == "done"
    links = sum(kind == "symlink" for kind in harness.walk(root).values())
    assert events[0]["files"] == events[-1]["files"] == len(wanted) + links and events[-1]["failed"] == 0
    assert harness.walk(local) == {}, "with -o nothing lands in the folder"


def test_two_of_one_name_are_not_fetched_into_one_directory(setting):
    lab, node, agent, root, _ = setting
    for name in ("twins/a/x.txt", "twins/b/x.txt"):
        harness.write(os.path.join(root, name), name.encode())
    node.scan("docs")
    agent.wait_entry("docs:twins/b/x.txt", lambda entry: entry is not None)
    out = lab.path("twins")
    result = agent.try_run("fetch", "docs:twins/a/x.txt", "docs:twins/b/x.txt", "-o", out)
    assert result.returncode != 0 and not os.path.exists(out), "nothing is made before"
    assert b"docs:twins/a/x.txt and docs:twins/b/x.txt" in result.stderr
    agent.run("fetch", "docs:twins/a/x.txt", "docs:odd/300-KiB", "docs:twins/a/x.txt", "-o", out)
    assert set(os.listdir(out)) == {"x.txt", "300-KiB"} and harness.read(os.path.join(out, "x.txt")) == b"twins/a/x.txt"


def test_fetch_in_place(setting):
    _, node, agent, root, local = setting
    agent.run("fetch", "docs:odd", timeout=60)
    wanted = harness.regular_files(os.path.join(root, "odd"))
    assert harness.regular_files(os.path.join(local, "odd")) == wanted
    for path in wanted:
        here, there = (os.lstat(os.path.join(base, "odd", path)) for base in (local, root))
        assert here.st_mtime_ns == there.st_mtime_ns, path
        assert here.st_mode & 0o777 == there.st_mode & 0o777, path
    assert agent.records("stat", "docs:odd/executable")[0]["state"] != "absent"
    # Fetching is no change: the real node still has nothing to do.
    assert node.status("docs")["needTotalItems"] == 0
    # Again: all are there.
    again = cli.records(agent.run("fetch", "docs:odd", "--json").stdout)
    assert all(event["wasPresent"] for event in again if event["type"] == "file")


def test_fetch_to_a_file_and_to_standard_output(setting):
    lab, _, agent, root, _ = setting
    wanted = harness.pattern(300 << 10)
    out = lab.path("a new name")
    agent.run("fetch", "docs:odd/300-KiB", "-o", out)
    with open(out, "rb") as file:
        assert file.read() == wanted
    assert agent.run("fetch", "docs:odd/300-KiB", "--stdout").stdout == wanted
    assert agent.run("cat", "docs:odd/300-KiB").stdout == wanted
    assert agent.run("cat", "docs:odd/empty-file").stdout == b""
    assert agent.run("fetch", "docs:odd/300-KiB", "--range", "5-9", "--stdout").stdout == wanted[5:10]


KIB = 1 << 10


@pytest.mark.parametrize("first, last", [
    (0, 0), (0, 9), (1, 131070), (0, 131071), (131071, 131071), (131071, 131072), (131072, 131072),
    (131072, 262143), (262143, 262144), (100, 262200), (0, 307199), (307199, 307199),
    # An end beyond the file is cut.
    (307190, 400000), (0, 10**15),
])
def test_ranges(setting, first, last):
    _, _, agent, _, _ = setting
    wanted = harness.pattern(300 << 10)
    assert agent.run("cat", "docs:odd/300-KiB", "--range", f"{first}-{last}").stdout == wanted[first:last + 1]


@pytest.mark.parametrize("name", ["one-block", "two-blocks"])
def test_ranges_at_the_end_of_whole_blocks(setting, name):
    _, _, agent, root, _ = setting
    with open(os.path.join(root, "odd", name), "rb") as file:
        wanted = file.read()
    for first, last in ((len(wanted) - 1, len(wanted) - 1), (len(wanted) - 1, len(wanted)), (0, len(wanted))):
        assert agent.run("cat", f"docs:odd/{name}", "--range", f"{first}-{last}").stdout == wanted[first:last + 1]


@pytest.mark.parametrize("path, range", [("300-KiB", "307200-307210"), ("empty-file", "0-0")])
def test_range_beyond_the_end(setting, path, range):
    _, _, agent, _, _ = setting
    result = agent.try_run("cat", f"docs:odd/{path}", "--range", range)
    assert result.returncode == cli.FAILED and result.stdout == b""


@pytest.mark.parametrize("range", ["9-5", "a-b", "-", "5", "", "1-2-3", "99999999999999999999-99999999999999999999"])
def test_range_that_is_none(setting, range):
    _, _, agent, _, _ = setting
    result = agent.try_run("cat", "docs:odd/300-KiB", f"--range={range}")
    assert result.returncode in (cli.USAGE, cli.FAILED) and result.stdout == b""


def test_existing_file_is_kept_unless_forced(setting):
    lab, _, agent, root, local = setting
    wanted = harness.pattern(300 << 10)
    out = lab.path("existing")
    for path, target in ((["-o", out], out), ([], os.path.join(local, "odd/300-KiB"))):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(b"precious")
        result = agent.try_run("fetch", "docs:odd/300-KiB", *path)
        assert result.returncode in (cli.FAILED, cli.SOME_FAILED)
        assert b"--force" in result.stderr
        with open(target, "rb") as file:
            assert file.read() == b"precious"
        agent.run("fetch", "docs:odd/300-KiB", "--force", *path)
        with open(target, "rb") as file:
            assert file.read() == wanted


def test_target_that_cannot_be_written(setting):
    lab, _, agent, _, _ = setting
    with open(lab.path("plain-file"), "w"):
        pass
    result = agent.try_run("fetch", "docs:odd/300-KiB", "-o", lab.path("plain-file/below"))
    assert result.returncode in (cli.FAILED, cli.SOME_FAILED) and result.stderr


def test_nothing_is_left_beside_fetched_files(setting):
    lab, _, agent, root, _ = setting
    out = lab.directory("clean")
    agent.run("fetch", "docs:odd/directories", "-o", out)
    assert set(harness.regular_files(out).values()) == \
        set(harness.regular_files(os.path.join(root, "odd/directories")).values())
    assert not [path for path in harness.walk(out) if ".tmp" in path or ".part" in path]


@pytest.mark.parametrize("command", [
    ["cat", "docs:no/such"], ["fetch", "docs:no/such"], ["ls", "docs:no/such"], ["stat", "docs:no/such"],
    ["whereis", "docs:no/such"], ["ls", "nofolder:"], ["cat", "nofolder:x"], ["device", "remove", "no-such-device"],
    ["folder", "remove", "nofolder"],
])
def test_no_such_path_folder_or_device(setting, command):
    _, _, agent, _, _ = setting
    assert agent.try_run(*command).returncode == cli.NO_SUCH


@pytest.mark.parametrize("command", [
    ["frobnicate"], ["ls", "--no-such-option", "docs:"], ["cat"], ["device", "add"],
    ["device", "add", "XYZ"], ["folder", "add", "only-an-id"],
])
def test_usage(setting, command):
    _, _, agent, _, _ = setting
    result = agent.try_run(*command)
    assert result.returncode == cli.USAGE and result.stderr


def test_errors_as_json(setting):
    _, _, agent, _, _ = setting
    result = agent.try_run("cat", "docs:no/such", "--json")
    text = (result.stdout or result.stderr).decode().strip().split("\n")[-1]
    error = json.loads(text)
    assert error["type"] == "error" and error["code"] == "no-such-path" and error["message"]
    assert error["retryable"] is False


def test_300_mib_file_and_its_256_kib_blocks(setting):
    lab, node, agent, _, _ = setting
    lab.share(agent, "big", node)
    path = os.path.join(lab.folder_path(node, "big"), "big.bin")
    digest = hashlib.sha256()
    # Syncthing would keep the block size of what it found half written.
    unfinished = lab.path("big.bin")
    with open(unfinished, "wb") as file:
        for number in range(300):
            part = os.urandom(1 << 20)
            digest.update(part)
            file.write(part)
    os.rename(unfinished, path)
    node.scan("big")
    agent.wait_global("big", 1)
    entry = agent.records("stat", "big:big.bin")[0]
    assert entry["size"] == 300 << 20 and entry["details"]["blockSize"] == 256 << 10
    out = lab.path("big-out.bin")
    agent.run("fetch", "big:big.bin", "-o", out, timeout=60)
    assert harness.sha256_of(out) == digest.hexdigest()
    with open(path, "rb") as file:
        file.seek(200 << 20)
        assert agent.run("cat", "big:big.bin", "--range", f"{200 << 20}-{(200 << 20) + 999999}").stdout == \
            file.read(1_000_000)
    os.remove(out)


def test_no_holder_and_no_agent(setting):
    """Runs last in this module: it stops the node, then the agent."""
    lab, node, agent, root, _ = setting
    for name in ("read before", "never read"):
        with open(os.path.join(root, name), "wb") as file:
            file.write(os.urandom(300 << 10))
    node.scan("docs")
    agent.wait_entry("docs:never read", lambda entry: entry is not None)
    read = agent.run("cat", "docs:read before").stdout
    node.kill()
    agent.wait_disconnected(node.id)
    # What was read before comes from the cache, the rest has no holder.
    assert agent.run("cat", "docs:read before").stdout == read
    out = lab.path("never")
    for command in (["cat", "docs:never read"], ["cat", "docs:never read", "--range", "200000-200001"],
                    ["fetch", "docs:never read", "-o", out]):
        result = agent.try_run(*command)
        assert result.returncode == cli.NO_HOLDER and result.stdout == b"" and result.stderr
    assert not os.path.exists(out)
    assert agent.records("ls", "docs:odd"), "the index is there without any peer"
    holders = agent.document("whereis", "docs:never read")["holders"]
    assert [h["id"] for h in holders] == [node.id] and not holders[0]["connected"]
    agent.stop()
    for command in (["ls", "docs:"], ["cat", "docs:odd/one-block"], ["fetch", "docs:odd"], ["status"]):
        result = agent.try_run(*command)
        assert result.returncode == cli.NO_AGENT and b"agent" in result.stderr


def test_a_file_that_is_being_downloaded_is_waited_for(lab):
    sender, agent = lab.agent("sender"), lab.agent()
    lab.introduce(agent, sender)
    here = lab.share(agent, "f", sender, mode="full")
    agent.run("folder", "mode", "f", "selective")
    agent.run("config", "set", "limits.down", "250KiB/s")
    agent.run("config", "set", "limits.local-network", "true")
    content = harness.pattern(1_500_000)
    write(lab.path("sender-f", "file"), content)
    agent.wait_entry("f:file", lambda entry: entry is not None)
    agent.run("select", "f:file")
    wait_until(lambda: os.path.exists(os.path.join(here, ".syncthing.file.tmp")), what="the download begins")
    fetches = [agent.begin("fetch", "f:file") for _ in range(2)]
    assert [fetch.process.wait(60) for fetch in fetches] == [0, 0]
    assert read(os.path.join(here, "file")) == content
