"""What goes wrong is told with its true cause and what to do: permissions, a device that is not set up, paths in the home
directory, names that are in each other's way, an index that cannot be stored."""

import json
import os
import pwd
import shutil
import subprocess
import time

import agent as cli
import harness
import pytest
from harness import read, write
from page import Page
from process import wait_until

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


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, for a directory of somebody else")
def test_a_directory_that_this_user_may_not_write_to_is_named(plain):
    lab, agent, folder, announce = plain
    theirs = lab.directory("plain-f", "theirs")
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
    after = os.stat(out)
    assert (after.st_mode, after.st_ctime_ns) == (before.st_mode, before.st_ctime_ns)
    os.chmod(out, 0o755)
    agent.run("fetch", "f:wanted", "-o", out)
    assert read(os.path.join(out, "wanted")) == b"wanted"


def test_a_missing_directory_is_named(plain):
    lab, agent, folder, announce = plain
    folder.add("big", b"0123456789")
    announce()
    agent.wait_entry("f:big", lambda entry: entry)
    missing = lab.path("nope")
    for options in ([], ["--range", "0-3"]):
        result = agent.try_run("fetch", "f:big", "-o", missing + "/x", *options)
        assert result.returncode == cli.NO_SUCH, result
        assert result.stderr.decode().strip() == f"synctrain: {missing}: no such directory; create it first"
    assert not os.path.exists(missing)


@pytest.mark.parametrize("is_running", [True, False], ids=["agent", "offline"])
def test_a_folder_moves_only_to_where_its_files_are(lab, is_running):
    agent = lab.agent(start=is_running)
    old, new = lab.path("old"), lab.path("new")
    agent.run("folder", "add", "f", old, "--mode", "full")
    before = read(agent.file("config.toml"))
    for path, words in ((new, "this directory does not exist; move " + old), (lab.directory("bare"), "has no .stfolder")):
        result = agent.try_run("folder", "set", "f", f"path={path}")
        assert result.returncode == cli.USAGE and words in result.stderr.decode(), result
    assert read(agent.file("config.toml")) == before
    os.rename(old, new)
    assert f"path: {new} (was {old})" in agent.run("folder", "set", "f", f"path={new}").stdout.decode()
    if is_running:
        agent.wait_state("f", "idle")


def test_stopping_what_does_not_run(lab):
    agent = lab.agent(start=False)
    result = agent.try_run("agent", "stop")
    assert (result.returncode, result.stdout) == (cli.NO_AGENT, b"")
    assert result.stderr == b"synctrain: The agent is not running, so there is nothing to stop.\n"


# MARK: a device that is not set up, and paths in the home directory

def test_before_init_the_next_step_is_named(lab):
    agent = lab.agent(start=False, init=False)
    said = f"This device is not set up. Run `synctrain --home {agent.home} init` first."
    for command, code in ((["agent", "start"], cli.FAILED), (["agent", "run"], cli.UNUSABLE_CONFIGURATION), (["status"], cli.NO_AGENT),
                          (["ls", "f:"], cli.NO_AGENT), (["fetch"], cli.NO_AGENT), (["wait"], cli.NO_AGENT),
                          (["ui"], cli.NO_AGENT), (["device", "list"], cli.FAILED), (["folder", "list"], cli.FAILED),
                          (["folder", "add", "f", "/f"], cli.FAILED), (["id"], cli.FAILED)):
        result = agent.try_run(*command)
        assert (result.returncode, result.stdout) == (code, b""), command
        assert result.stderr.decode() == f"synctrain: {said}\n", command
    error = json.loads(agent.try_run("status", "--json").stderr)
    assert (error["code"], error["message"]) == ("no-agent", said)
    assert not os.path.exists(agent.home), "nothing was made"
    agent.init()
    agent.run("agent", "start")
    agent.run("agent", "stop")


@pytest.mark.parametrize("home", ["set", "unset"])
def test_a_path_in_the_home_directory(lab, home):
    """As the page sends it: nothing but the agent knows where that is."""
    agent, node = lab.agent(start=False), lab.syncthing()
    if home == "unset":
        agent.variables = {"HOME": ""}
        expected = os.path.expanduser("~" + pwd.getpwuid(os.getuid()).pw_name)
    else:
        expected = agent.home
    lab.introduce(agent, node)
    agent.start()
    page = Page(agent)
    name = os.path.basename(lab.root)
    try:
        settings = {"id": "f", "path": f"~/{name}", "mode": "full", "type": "sendreceive", "devices": [node.id],
                    "paused": False}
        page.send("POST", "/v1/folders", settings)
        assert agent.folder("f")["path"] == f"{expected}/{name}"
        assert os.path.isdir(f"{expected}/{name}/.stfolder")
        answer, body = page.ask("POST", "/v1/folders", {**settings, "id": "g", "path": "Library"})
        assert answer.status == 400 and b"`Library` is not absolute; enter a full path" in body
        assert b"HOME" not in body
    finally:
        shutil.rmtree(f"{expected}/{name}", ignore_errors=True)


# MARK: the log

def test_stopping_notes_when_a_device_was_seen(lab):
    agent, peer = lab.agent(), lab.peer()
    lab.introduce(agent, peer)
    peer.dial_until(agent.address)
    agent.wait_connected(peer.id)
    last = int(time.time())
    agent.stop()
    with open(agent.log_path) as log:
        assert "cannot record" not in log.read()
    agent.start()
    device = next(device for device in agent.status()["devices"] if device["id"] == peer.id)
    assert not device["connected"] and harness.unix_time(device["lastSeen"]) >= last


# MARK: names in each other's way

def test_a_file_where_a_directory_is_needed(lab):
    agent, peer = lab.agent(), lab.peer()
    lab.introduce(agent, peer)
    here = lab.share(agent, "f", peer, mode="full")
    session, folder = peer.dial_until(agent.address), peer.folders["f"]
    folder.add("x", b"a file of theirs")
    session.send_index("f")
    wait_until(lambda: read(os.path.join(here, "x")) == b"a file of theirs", what="the file is here")
    # Theirs too, and they may be about to say that it is deleted: nobody here can settle that.
    folder.add("x/in/deep", b"theirs")
    folder.add("other", b"comes")
    session.send_index("f")
    message = agent.wait_problem("f", "x/in/deep")
    assert message == ("“f:x” is not a directory here, but “x/in/deep” needs one; rename, move or delete “x”, "
                       "then the file is downloaded")
    wait_until(lambda: read(os.path.join(here, "other")) == b"comes", what="the rest comes")
    # It stays said while nothing is done about it, whatever is looked at meanwhile.
    for scan in (["scan", "f"], ["scan", "f:x"], ["scan", "f:x/in"]):
        agent.run(*scan)
        assert "x/in/deep" in agent.problems("f")
    assert agent.folder("f")["errors"] == 1
    fetched = agent.try_run("fetch")
    assert fetched.returncode == cli.SOME_FAILED and b"\xe2\x80\x9cf:x\xe2\x80\x9d is not a directory here" in fetched.stderr
    assert b"as soon as one does" not in fetched.stderr
    named = agent.try_run("fetch", "f:x/in/deep")
    assert named.returncode != 0 and b"\xe2\x80\x9cf:x\xe2\x80\x9d is not a directory here" in named.stderr
    assert read(os.path.join(here, "x")) == b"a file of theirs"
    os.rename(os.path.join(here, "x"), os.path.join(here, "y"))
    wait_until(lambda: read(os.path.join(here, "x/in/deep")) == b"theirs", what="it comes once there is room")
    wait_until(lambda: agent.problems("f") == {}, what="the problem is over")


@pytest.mark.parametrize("name", ["pipe", "name", "decomposed"])
def test_a_deleted_directory_with_names_that_cannot_be_synced(lab, name):
    agent, peer = lab.agent(), lab.peer()
    lab.introduce(agent, peer)
    here = lab.share(agent, "f", peer, mode="full")
    session, folder = peer.dial_until(agent.address), peer.folders["f"]
    for directory in ("d", "d/e"):
        folder.add_directory(directory)
    folder.add("d/e/file", b"theirs")
    session.send_index("f")
    wait_until(lambda: read(os.path.join(here, "d/e/file")) == b"theirs", what="it comes")
    odd = os.path.join(os.fsencode(here), b"d", b"e", {"pipe": b"pipe", "name": b"not \xff UTF-8",
                                                      "decomposed": "e\u0301".encode()}[name])
    if name == "pipe":
        os.mkfifo(odd)
    else:
        os.mkdir(odd)
        with open(os.path.join(odd, b"inside"), "wb"):
            pass
    assert agent.try_run("scan", "f").returncode == cli.SOME_FAILED
    for entry in ("d/e/file", "d/e", "d"):
        folder.delete(entry)
    session.send_index("f")
    message = agent.wait_problem("f", "d/e")
    assert message.startswith("deleted by another device, but it contains names that cannot be synced (d/e/")
    for scan in (["scan", "f"], ["scan", "f:d"], ["scan", "f:d/e"]):
        agent.try_run(*scan)
        assert agent.problems("f").get("d/e") == message
    os.remove(odd) if name == "pipe" else shutil.rmtree(odd)
    agent.run("fetch")
    wait_until(lambda: not os.path.exists(os.path.join(here, "d")), what="it goes once they are gone")
    wait_until(lambda: agent.problems("f") == {}, what="the problem is over")


# MARK: an index that cannot be stored

@pytest.fixture
def small_home(lab):
    """An agent whose index is on a file system of 3 MiB."""
    home = lab.directory("small")
    try:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", home], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("nothing can be mounted here")
    try:
        yield lab.agent("small", start=False)
    finally:
        subprocess.run(["umount", "-l", home], check=False)


def test_an_index_that_cannot_be_stored(lab, small_home):
    agent, peer = small_home, lab.peer()
    folder = peer.share("f", [agent.id])
    for number in range(20_000):
        folder.add(f"a name of some length in a directory/and a file of some length, too, number {number}", b"")
    address = peer.listen([agent.certificate])
    agent.add_device(peer.id, peer.name, address)
    agent.start()
    agent.add_folder("f", lab.path("f"), peer.id)

    def links(seconds):
        """How many links came in that time; each brings the index, as far as the agent asks for it."""
        first = len(peer.sessions)
        time.sleep(seconds)
        return len(peer.sessions) - first

    status = agent.wait_state("f", "error")
    assert status["incomplete"] is True and status["global"]["files"] < 20_000
    assert status["message"].startswith(f"no space left for the index {agent.home}/")
    assert "free some space on that disk" in status["message"]
    assert b"(incomplete)" in agent.run("status").stdout and b"free some space on that disk" in agent.run("status").stdout
    for waiting in (["wait"], ["wait", "f"], ["wait", "f:"], ["fetch"]):
        result = agent.try_run(*waiting, *(["--timeout", "5"] if waiting[0] == "wait" else []))
        assert result.returncode == cli.FAILED and b"free some space on that disk" in result.stderr, waiting
    # Not a link a second.
    assert links(15) <= 5
    assert agent.folder("f")["state"] == "error"
    subprocess.run(["mount", "-o", "remount,size=60m", agent.home], check=True, capture_output=True)
    agent.try_run("fetch")
    wait_until(lambda: agent.folder("f")["global"]["files"] == 20_000, 90, "the whole index is stored", child=agent)
    status = agent.wait_state("f", "idle")
    assert status["incomplete"] is False and status["global"]["files"] == 20_000
    agent.run("wait", "f")
