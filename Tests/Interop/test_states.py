"""What is said of directories and of files that are on their way: how much of what is selected is here, and nothing more."""

import json
import os
import shutil

import agent as cli
import harness
import pytest
from harness import read, write
from page import Page
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
    wait_until(lambda: gate.state("d") == ("downloading", 3, total, 2, 301_000), what="two of three are here")
    assert gate.state("d/e") == ("downloading", 2, 701_000, 1, 1_000)
    assert "(294 KiB of 978 KiB here)" in agent.run("ls", "-l", "f:").stdout.decode()
    gate.let("d/e/b")
    agent.run("wait", "f")
    assert gate.state("d") == ("present", 3, total, 3, total) and gate.state("d/e")[0] == "present"
    assert gate.state("") == ("present", 3, total, 3, total)
    # What changes elsewhere is not here in its newest version until it comes.
    gate.folder.add("d/a", b"newer")
    gate.open.clear()
    gate.session.send_index("f")
    wait_until(lambda: gate.state("d") == ("downloading", 3, 701_005, 2, 701_000), what="one is out of date")
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
    completion, = agent.document("completion", "f")["folders"]
    assert completion["global"] == after["global"]
    # By its name it is there.
    assert {entry["path"] for entry in agent.records("ls", "f:.synctrain")} == {".synctrain/notes"}
    assert len(agent.records("search", ".synctrain/notes/")) == 1
    assert agent.records("stat", "f:.synctrain")[0]["state"] == "present"


def test_links_count_as_files_everywhere(lab):
    """One number of files, whoever is asked: files and symbolic links together."""
    agent, node = lab.agent(), lab.syncthing()
    lab.introduce(agent, node)
    there = lab.folder_path(node, "f")
    here = lab.share(agent, "f", node)
    for name in ("docs/a", "docs/b", "docs/deep/c", "other/x"):
        write(os.path.join(there, name), b"12345")
    for name in ("docs/to a", "docs/deep/to nowhere", "only links/one", "only links/two", "at the top"):
        os.makedirs(os.path.dirname(os.path.join(there, name)), exist_ok=True)
        os.symlink("docs/a", os.path.join(there, name))
    node.scan("f")
    agent.wait_connected(node.id)
    agent.wait_global("f", 4)
    agent.run("select", "f:docs", "f:only links")
    agent.run("wait", "f")

    def all_counts():
        folder = agent.folder("f")
        root = agent.records("stat", "f:")[0]
        listed = agent.records("ls", "f:")
        every = agent.records("ls", "-R", "f:")
        ready, = agent.document("ready", "f")["folders"]
        completion, = agent.document("completion", "f")["folders"]
        own = next(device for device in completion["devices"] if device["this"])
        where = next(device for device in agent.document("whereis", "f:")["devices"] if not device["this"])
        page = Page(agent).get("/v1/status")["folders"][0]

        def under(key):
            return sum(entry[key] if entry["type"] == "directory" else int(key == "files" or entry["state"] == "present")
                       for entry in listed)
        return {
            "global": {folder["global"]["files"], root["files"], under("files"), completion["global"]["files"],
                       page["global"]["files"], where["files"], len([e for e in every if e["type"] != "directory"])},
            "links": {folder["global"]["symlinks"], completion["global"]["symlinks"], page["global"]["symlinks"],
                      len([e for e in every if e["type"] == "symlink"])},
            "selected": {root["selectedFiles"], ready["selectedFiles"], under("selectedFiles")},
            "here": {folder["local"]["files"], root["presentFiles"], ready["presentFiles"], under("presentFiles"),
                     own["held"]["files"], page["local"]["files"], len([e for e in every if e["type"] != "directory" and e["state"] == "present"])},
            "links here": {folder["local"].get("symlinks"), own["held"].get("symlinks")}}
    assert all_counts() == {"global": {9}, "links": {5}, "selected": {7}, "here": {7}, "links here": {4}}
    # Syncthing tells links apart.
    status = node.status("f")
    assert (status["globalFiles"], status["globalSymlinks"]) == (4, 5)
    assert agent.folder("f")["copy"] == "selected"
    # A link that is missing is missing; a folder that lacks nothing else is not a full copy without it.
    agent.run("select", "f:other")
    agent.run("wait", "f")
    assert agent.folder("f")["local"]["files"] == 8 and agent.folder("f")["copy"] == "selected"
    agent.run("select", "f:at the top")
    agent.run("wait", "f")
    assert all_counts() == {"global": {9}, "links": {5}, "selected": {9}, "here": {9}, "links here": {5}}
    assert agent.folder("f")["copy"] == "complete"
    # It goes again.
    os.remove(os.path.join(here, "only links/one"))
    agent.run("scan", "f")
    assert all_counts() == {"global": {8}, "links": {4}, "selected": {8}, "here": {8}, "links here": {4}}


def test_fetch_counts_links(lab):
    agent, node = lab.agent(), lab.syncthing()
    lab.introduce(agent, node)
    there = lab.folder_path(node, "f")
    lab.share(agent, "f", node)
    write(os.path.join(there, "docs/a"), b"12345")
    os.symlink("a", os.path.join(there, "docs/b"))
    node.scan("f")
    agent.wait_connected(node.id)
    agent.wait_global("f", 1)
    events = agent.records("fetch", "f:docs", "-o", lab.path("out"))
    plan, done = (next(event for event in events if event["type"] == kind) for kind in ("plan", "done"))
    assert (plan["files"], plan["bytes"]) == (done["files"], done["bytes"]) == (2, 5)
    assert os.readlink(lab.path("out", "b")) == "a"


def test_nothing_is_complete_while_nothing_is_known(lab):
    agent, peer = lab.agent(), lab.peer("nas")
    lab.introduce(agent, peer)
    lab.share(agent, "f", peer)
    agent.run("select", "f:trip")
    for command in (["wait", "f"], ["wait"], ["wait", "f:"], ["wait", "f:trip"]):
        result = agent.try_run(*command, "--timeout", "1")
        assert result.returncode == cli.TIMED_OUT, command
        assert b"has not sent its index yet" in result.stderr, command
    for command in (["fetch", "f:"], ["fetch", "f:trip"]):
        result = agent.try_run(*command)
        assert result.returncode == cli.NO_HOLDER and b"has not sent its index yet" in result.stderr, command
    # What is shared with nobody is all there is.
    lab.share(agent, "own")
    agent.run("wait", "own", "--timeout", "10")
    agent.run("fetch", "own:")
    peer.folders["f"].add("trip/a", b"a")
    peer.dial_until(agent.address)
    agent.run("wait", "f", "f:trip", "--timeout", "20")
    assert read(os.path.join(lab.path("agent-f"), "trip/a")) == b"a"


def test_an_empty_directory_is_available_from_who_has_it(lab):
    agent, node = lab.agent(), lab.syncthing()
    lab.introduce(agent, node)
    there = lab.folder_path(node, "f")
    lab.share(agent, "f", node)
    os.makedirs(os.path.join(there, "empty"))
    os.makedirs(os.path.join(there, "nested/deep"))
    node.scan("f")
    agent.wait_connected(node.id)
    wait_until(lambda: agent.folder("f")["global"]["directories"] == 3, what="the index is here")
    for path in ("f:empty", "f:nested"):
        where = agent.document("whereis", path)
        assert {device["this"]: device["has"] for device in where["devices"]} == {True: "nothing", False: "complete"}
        assert [holder["id"] for holder in where["holders"]] == [node.id]

    def entries():
        return {entry["path"]: (entry["state"], entry.get("available")) for entry in agent.records("ls", "f:")}
    assert entries() == {"empty": ("absent", True), "nested": ("absent", True)}
    node.stop()
    wait_until(lambda: set(entries().values()) == {("absent", False)}, what="nobody who has them is connected")


def test_what_was_fetched_is_found_here(gate):
    agent = gate.agent
    gate.let(*FILES)
    agent.run("fetch", "f:d")

    def here(path):
        device = next(device for device in agent.document("whereis", path)["devices"] if device["this"])
        return device["has"], device.get("files"), device.get("bytes")
    assert here("f:d") == ("complete", 3, 1_001_000) and here("f:d/e") == ("complete", 2, 701_000)
    assert here("f:") == ("partly", 3, 1_001_000) and here("f:d/a") == ("complete", None, None)
    assert {entry["path"] for entry in agent.records("search", "--device", "here")} == {"d/a", "d/e/b", "d/e/c"}
    # Another version elsewhere is not the one here.
    gate.folder.add("d/a", b"newer")
    gate.session.send_index("f")
    wait_until(lambda: here("f:d") == ("partly", 2, 701_000), what="one is out of date")
    assert {entry["path"] for entry in agent.records("search", "--device", "here")} == {"d/e/b", "d/e/c"}
    wait_until(lambda: here("f:d/a")[0] in ("older", "other"), what="its own version is told")


def test_what_was_fetched_on_purpose_is_not_extraneous(gate):
    agent = gate.agent
    gate.let(*FILES)
    agent.run("fetch", "f:other/x")
    assert gate.entry("other/x")["state"] == gate.entry("other")["state"] == "downloaded"
    agent.run("scan", "f")
    assert agent.folder("f")["extraneous"] == 0 and agent.records("extraneous", "list", "f") == []
    line = agent.run("ls", "-l", "f:other").stdout.decode()
    assert line.startswith("downloaded ") and line.endswith("x  (not selected)\n")
    # Another file there, and the directory is not what was fetched.
    write(os.path.join(gate.here, "other/mine"), b"mine")
    assert gate.entry("other")["state"] == "extraneous" and gate.entry("other/x")["state"] == "downloaded"
    os.remove(os.path.join(gate.here, "other/mine"))
    assert gate.entry("other")["state"] == "downloaded"
    agent.kill()
    agent.start()
    assert gate.entry("other/x")["state"] == "downloaded"
    page = Page(agent)

    def extraneous():
        return page.get("/v1/entries", path="f:other", limit=9, filter="extraneous")["total"]
    assert extraneous() == 0
    # A change of it is a file that nobody has asked for.
    write(os.path.join(gate.here, "other/x"), b"mine")
    assert gate.entry("other/x")["state"] == "extraneous"
    agent.run("scan", "f")
    assert gate.entry("other/x")["state"] == "extraneous"
    assert agent.folder("f")["extraneous"] == 1 and extraneous() == 1
    listed = {entry["path"] for entry in agent.records("extraneous", "list", "f") if entry["type"] == "file"}
    assert listed == {"other/x"}


def test_a_fetched_file_of_which_others_have_another_version_is_extraneous(gate):
    agent, here = gate.agent, os.path.join(gate.here, "other/x")
    gate.let(*FILES)
    agent.run("fetch", "f:other/x")
    gate.folder.add("other/x", b"newer")
    gate.session.send_index("f")
    wait_until(lambda: gate.entry("other/x")["state"] == "extraneous", what="it is a former version")
    assert gate.entry("other")["state"] == "extraneous"
    listed = [entry for entry in agent.records("extraneous", "list", "f") if entry["type"] == "file"]
    assert [(entry["path"], entry["other"]["size"]) for entry in listed] == [("other/x", 5)]
    assert agent.folder("f")["extraneous"] == 1
    assert read(here) == harness.pattern(FILES["other/x"])
    agent.run("extraneous", "resolve", "f:other/x", "--delete", "--yes")
    assert not os.path.exists(here) and gate.entry("other/x")["state"] == "absent"


def test_what_is_extraneous_is_counted_without_being_asked_for(gate):
    agent = gate.agent
    os.makedirs(os.path.join(gate.here, "loose/deep"))
    for name in ("loose/one", "loose/deep/two"):
        write(os.path.join(gate.here, name), b"mine")
    agent.run("scan", "f")
    assert agent.folder("f")["extraneous"] == 2
    os.remove(os.path.join(gate.here, "loose/one"))
    agent.run("scan", "f")
    assert agent.folder("f")["extraneous"] == 1
    # Where the root is watched, nobody has to ask, however deep it is.
    write(os.path.join(gate.here, "loose/deep/three"), b"mine")
    wait_until(lambda: agent.folder("f")["extraneous"] == 2, 60, "it is seen")


def test_not_here_tells_whether_somebody_has_it(gate):
    agent = gate.agent
    assert gate.entry("d/a")["available"] and gate.entry("d")["available"]
    agent.run("select", "f:d/e")
    gate.session.close()
    wait_until(lambda: not any(device["connected"] for device in agent.status()["devices"]), what="the peer is gone")
    file, directory, other = gate.entry("d/e/b"), gate.entry("d/e"), gate.entry("other")
    assert not file["available"] and not directory["available"] and not other["available"]
    for entry in (file, directory):
        assert (entry["state"], entry["waitsFor"]) == ("queued", "device")
        assert entry["waiting"] == "no device that has it is connected"
    assert "waitsFor" not in other and other["state"] == "absent"
    gate.let("d/e/b", "d/e/c")
    agent.run("wait", "f")
    assert "available" not in gate.entry("d/e/b") and "waitsFor" not in gate.entry("d/e")


def test_what_does_not_fit_is_said_before_and_after(gate):
    agent = gate.agent
    config = agent.file("config.toml")
    text = read(config).decode()
    write(config, text.replace('id = "f"', 'id = "f"\nminimum-free = "100 %"').encode())
    agent.run("reload")
    plan = agent.document("select", "--dry-run", "f:d")["folders"][0]
    assert plan["short"] == 1_001_000 and plan["cost"]["fetchBytes"] == 1_001_000
    assert b"does not fit: 978 KiB short" in agent.run("select", "f:d").stdout
    entry = wait_until(lambda: (entry := gate.entry("d")).get("waitsFor") == "space" and entry, what="it does not fit")
    assert (entry["state"], entry["short"], entry["waiting"]) == ("queued", 1_001_000, "does not fit: 978 KiB short")
    assert gate.entry("d/e/c")["short"] == 1_000
    ready = agent.try_run("ready", "--json")
    folder = json.loads(ready.stdout)["folders"][0]
    assert ready.returncode == 1 and not folder["ready"] and folder["short"] == 1_001_000
    # With a lower floor it comes at once.
    gate.let(*FILES)
    write(config, text.encode())
    agent.run("reload")
    agent.run("wait", "f")
    assert gate.entry("d")["state"] == "present" and agent.run("ready").returncode == 0


def test_ready_says_what_is_missing(gate):
    agent = gate.agent
    agent.run("select", "f:d")
    wait_until(lambda: agent.folder("f")["need"]["files"] == 3, what="it is needed")
    answer = agent.try_run("ready", "--by", "08:00", "--json")
    assert answer.returncode == 1
    document = json.loads(answer.stdout)
    folder = document["folders"][0]
    assert document["schema"] == 1 and folder["id"] == "f" and folder["ready"] is False
    assert folder["selectedBytes"] == 1_001_000 and folder["presentBytes"] == 0
    assert folder["missing"] == {"files": 3, "bytes": 1_001_000} and folder["short"] == 0
    assert folder["etaSeconds"] is None and "inTime" not in folder
    assert b"0 % here (0 B of 978 KiB), time left unknown" in agent.try_run("ready").stdout
    gate.session.close()
    wait_until(lambda: b"3 of the needed files are on probe, not connected" in agent.try_run("ready").stdout,
               what="it waits for the device, by name")
    gate.let(*FILES)
    agent.run("wait", "f")
    answer = agent.run("ready", "f", "--by", "08:00", "--json")
    folder = json.loads(answer.stdout)["folders"][0]
    assert folder["ready"] is True and folder["presentBytes"] == folder["selectedBytes"] == 1_001_000
    assert folder["missing"] == {"files": 0, "bytes": 0} and folder["etaSeconds"] == 0 and folder["inTime"] is True
    assert folder["missingNames"] == [] and "completeUntil" not in folder
    assert agent.run("ready").stdout == b"f: ready, 3 files, 978 KiB\n"
    assert agent.try_run("ready", "nope").returncode == 4 and agent.try_run("ready", "--by", "noon").returncode == 64
    # Another device announces one more file, and gives no block of it.
    gate.folder.add("d/new", harness.pattern(2_000))
    gate.session.send_index("f")

    def no_longer_complete():
        return next((f for f in json.loads(agent.try_run("ready", "--json").stdout)["folders"] if "completeUntil" in f), None)
    folder = wait_until(no_longer_complete, what="it was complete until now")
    assert not folder["ready"] and folder["missingNames"] == ["d/new"] and folder["missing"] == {"files": 1, "bytes": 2_000}
    assert b"; missing since then: d/new\n" in agent.try_run("ready").stdout
    until = folder["completeUntil"]
    agent.stop()
    agent.start()
    folder = wait_until(no_longer_complete, what="a new process knows it as well")
    assert folder["completeUntil"] == until and folder["missingNames"] == ["d/new"]
