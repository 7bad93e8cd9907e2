"""What is said of directories and of files that are on their way: how much of what is selected is here, and nothing more."""

import os
import shutil

import harness
import pytest
from harness import read, write
from process import wait_until

COUNTS = ("selectedFiles", "selectedBytes", "presentFiles", "presentBytes")
FILES = {"d/a": 300_000, "d/e/b": 700_000, "d/e/c": 1_000, "other/x": 5_000}


class Gate:
    """A peer that gives only files that were let go."""

    def __init__(self, lab):
        self.agent, self.peer = lab.agent(), lab.peer()
        lab.introduce(self.agent, self.peer)
        self.here = lab.share(self.agent, "f", self.peer)
        self.open = set()
        self.peer.serve = lambda session, request: (
            self.peer.serve_from_folder(session, request) if request["name"] in self.open else None)
        self.folder = self.peer.folders["f"]
        self.session = self.peer.dial_until(self.agent.address)

    def announce(self):
        for directory in ("d", "d/e", "other", "empty"):
            self.folder.add_directory(directory)
        for name, size in FILES.items():
            self.folder.add(name, harness.pattern(size))
        self.session.send_index("f")
        self.agent.wait_global("f", len(FILES))

    def let(self, *names):
        """Lets the peer give these; what it was asked for meanwhile is asked for again."""
        self.open.update(names)
        self.session.close()
        self.session = self.peer.dial_until(self.agent.address)

    def entry(self, path):
        return self.agent.records("stat", f"f:{path}")[0]

    def state(self, path):
        entry = self.entry(path)
        return entry["state"], *(entry[key] for key in COUNTS)


@pytest.fixture
def gate(lab):
    gate = Gate(lab)
    gate.announce()
    return gate


def test_a_directory_is_present_only_with_all_that_is_selected(gate):
    agent = gate.agent
    assert gate.state("d") == gate.state("d/e") == ("absent", 0, 0, 0, 0)
    agent.run("select", "f:d", "f:empty")
    total = 1_001_000
    wait_until(lambda: os.path.isdir(os.path.join(gate.here, "d/e")), what="the directories are made")
    wait_until(lambda: os.path.exists(os.path.join(gate.here, "d/e/.syncthing.b.tmp")), what="the files are begun")
    assert gate.state("d") == ("queued", 3, total, 0, 0)
    assert gate.state("d/e") == ("queued", 2, 701_000, 0, 0)
    assert gate.state("") == ("queued", 3, total, 0, 0)
    wait_until(lambda: gate.state("empty") == ("present", 0, 0, 0, 0), what="the empty directory is here")
    # The temporary file has the file's size and none of its bytes.
    assert os.path.getsize(os.path.join(gate.here, "d/e/.syncthing.b.tmp")) == 700_000
    assert gate.entry("d/e/b")["state"] == "queued"
    here = next(device for device in agent.document("whereis", "f:d/e/b")["devices"] if device["this"])
    assert here["has"] == "nothing"
    lines = agent.run("ls", "-l", "f:").stdout.decode().splitlines()
    assert [line.split()[0] for line in lines] == ["queued", "present", "absent"]
    assert lines[0].endswith("d/  (0 of 978 KiB here)") and not lines[1].endswith(")")
    gate.let("d/e/c", "d/a")
    wait_until(lambda: gate.state("d") == ("partial", 3, total, 2, 301_000), what="two of three are here")
    assert gate.state("d/e") == ("partial", 2, 701_000, 1, 1_000)
    assert "(294 KiB of 978 KiB here)" in agent.run("ls", "-l", "f:").stdout.decode()
    gate.let("d/e/b")
    agent.run("wait", "f")
    assert gate.state("d") == ("present", 3, total, 3, total) and gate.state("d/e")[0] == "present"
    assert gate.state("") == ("present", 3, total, 3, total)
    # What changes elsewhere is not here in its newest version until it comes.
    gate.folder.add("d/a", b"newer")
    gate.open.clear()
    gate.session.send_index("f")
    wait_until(lambda: gate.state("d") == ("partial", 3, 701_005, 2, 701_000), what="one is out of date")
    gate.let("d/a")
    wait_until(lambda: gate.state("d")[0] == "present", what="it comes")
    # What goes from this disk is not here, once that is seen; and what is not selected does not count.
    agent.run("deselect", "f:d/e", "--keep-local")
    assert gate.state("d") == ("present", 1, 5, 1, 5)
    assert gate.state("d/e") == ("extraneous", 0, 0, 0, 0)
    agent.run("select", "f:d/e")
    wait_until(lambda: gate.state("d")[0] == "present" and gate.state("d")[3] == 3, what="it is taken over again")
    # Nobody scans a paused folder: what is gone is not called present all the same.
    agent.run("pause", "f")
    shutil.rmtree(os.path.join(gate.here, "d/e"))
    assert gate.state("d/e") == ("queued", 2, 701_000, 0, 0)


def test_counts_survive_restarts_and_modes(gate):
    agent = gate.agent
    gate.let(*FILES)
    agent.run("select", "f:d/e")
    agent.run("wait", "f")
    assert gate.state("d") == ("present", 2, 701_000, 2, 701_000)
    agent.run("folder", "mode", "f", "full")
    agent.run("wait", "f")
    assert gate.state("d") == ("present", 3, 1_001_000, 3, 1_001_000)
    assert gate.state("other")[0] == gate.state("empty")[0] == "present"
    agent.kill()
    os.remove(os.path.join(gate.here, "other/x"))
    gate.open.clear()
    agent.start()
    wait_until(lambda: "other/x" not in agent.tree("f"), what="the deletion is seen")
    assert gate.state("other") == ("present", 0, 0, 0, 0)
    assert gate.state("d")[0] == "present"
    write(os.path.join(gate.here, "other/new"), b"new")
    wait_until(lambda: gate.state("other") == ("present", 1, 3, 1, 3), what="what is made here is here")
    assert read(os.path.join(gate.here, "other/new")) == b"new"


def test_notes_are_not_listed_as_the_users_own(gate):
    agent, lab = gate.agent, gate
    gate.let(*FILES)
    agent.run("select", "f:d")
    agent.run("wait", "f")
    before = agent.folder("f")
    agent.run("note", "f:d/a", "a word about it")
    assert os.path.isdir(os.path.join(gate.here, ".synctrain/notes"))
    wait_until(lambda: agent.try_run("stat", "f:.synctrain/notes").returncode == 0, what="the index has it")
    wait_until(lambda: agent.folder("f")["state"] == "idle", what="it is at rest")
    shown = {entry["path"] for entry in agent.records("ls", "-R", "f:")}
    assert shown == {"d", "d/a", "d/e", "d/e/b", "d/e/c", "other", "other/x", "empty"}
    assert {entry["path"] for entry in agent.records("ls", "f:")} == {"d", "other", "empty"}
    assert b"synctrain" not in agent.run("tree", "f:").stdout
    assert agent.try_run("search", "notes").stdout == b"" == agent.try_run("search", "json").stdout
    assert all(".synctrain" not in change["path"] for change in agent.records("log", "f"))
    root = gate.entry("")
    assert (root["files"], root["directories"], root["size"]) == (4, 4, 1_006_000)
    assert root["state"] == "present"
    after = agent.folder("f")
    assert (after["global"], after["local"], after["copy"]) == (before["global"], before["local"], before["copy"])
    # By its name it is there.
    assert {entry["path"] for entry in agent.records("ls", "f:.synctrain")} == {".synctrain/notes"}
    assert len(agent.records("search", ".synctrain/notes/")) == 1
    assert agent.records("stat", "f:.synctrain")[0]["state"] == "present"
