"""Three nodes that all share two folders: `ours`, a synctrain that keeps what is selected, `desk`, a synctrain that keeps
everything, and a real Syncthing. What one user does is judged on the disks of all three and by Syncthing's REST."""

import os

import agent as cli
import pytest
from harness import read, walk, write
from process import wait_until

FOLDER, OTHER = "c3", "c3b"
MIB = 1 << 20


class Three:
    def __init__(self, lab):
        self.ours, self.desk, self.real = lab.agent("ours"), lab.agent("desk"), lab.syncthing()
        self.nodes = (self.ours, self.desk, self.real)
        lab.introduce(self.ours, self.desk, self.real)
        lab.introduce(self.desk, self.real)
        self.roots = {(node, folder): lab.directory(f"{node.name}-{folder}")
                      for node in self.nodes for folder in (FOLDER, OTHER)}
        for folder in (FOLDER, OTHER):
            self.real.set_folder(folder, self.root(self.real, folder), [self.ours.id, self.desk.id], pullerPauseS=1)
            self.desk.add_folder(folder, self.root(self.desk, folder), self.ours.id, self.real.id, mode="full")
            self.ours.add_folder(folder, self.root(self.ours, folder), self.desk.id, self.real.id)
        self.ours.wait_connected(self.desk.id, self.real.id)
        self.desk.wait_connected(self.real.id)

    def root(self, node, folder=FOLDER):
        return self.roots[node, folder]

    def path(self, node, name, folder=FOLDER):
        return os.path.join(self.root(node, folder), name)

    def files(self, node, folder=FOLDER):
        """name → contents."""
        root = self.root(node, folder)
        return {name: read(os.path.join(root, name)) for name, kind in walk(root).items()
                if kind == "file" and not os.path.basename(name).startswith(".syncthing.")}

    def wait_files(self, node, expected, folder=FOLDER):
        """Until that is all there is on the node's disk."""
        found = [None]

        def same():
            found[0] = self.files(node, folder)
            return found[0] == expected
        try:
            wait_until(same, 30, f"{node.name}'s files", every=0.05, child=node)
        except TimeoutError:
            short = {name: (data or b"")[:20] for name, data in found[0].items()}
            pytest.fail(f"{node.name} has {short}, not {sorted(expected)}; its log:\n{node.log_tail(2000)}")

    def wait_all(self, everything, kept, folder=FOLDER):
        """Until desk and Syncthing have everything, `ours` what it keeps, and Syncthing says that nobody needs anything."""
        for node, expected in ((self.real, everything), (self.desk, everything), (self.ours, kept)):
            self.wait_files(node, expected, folder)
        assert self.real.wait_synced(folder)["globalFiles"] == len(everything)
        for other in (self.ours, self.desk):
            self.real.wait_completion(folder, other.id)

    def write(self, node, name, data, folder=FOLDER):
        write(self.path(node, name, folder), data)
        self.scan(node, folder)

    def scan(self, node, folder=FOLDER):
        node.scan(folder) if node is self.real else node.run("scan", folder)

    def set(self, node, old, new):
        """Changes the configuration of an agent."""
        path = node.file("config.toml")
        text = read(path).decode()
        assert text.count(old) >= 1, f"{old!r} is not in {path}"
        write(path, text.replace(old, new, 1).encode())
        node.run("reload")

    def selected(self):
        return sorted(entry["path"] for entry in self.ours.records("select", "--list", FOLDER))


@pytest.fixture(scope="module")
def three(module_lab):
    three = Three(module_lab)
    for name in FIRST:
        write(three.path(three.real, name), FIRST[name])
    three.scan(three.real)
    three.ours.wait_global(FOLDER, len(FIRST))
    three.ours.run("select", *[f"{FOLDER}:{name}" for name in ("a", "dir", "x", "y")])
    three.wait_all(FIRST, {name: FIRST[name] for name in FIRST if name != "far"})
    return three


FIRST = {name: name.encode() * 5000 for name in ("a", "dir/1", "dir/2", "x", "y", "far")}


def test_what_is_renamed_is_renamed_everywhere(three):
    real = {name: os.stat(three.path(three.real, name)).st_ino for name in FIRST}
    desk = {name: os.stat(three.path(three.desk, name)).st_ino for name in FIRST}
    # A file and a directory that are selected by name, here. One scan is to find it all: what is found in two of them may be
    # copied, not renamed.
    three.ours.run("folder", "pause", FOLDER)
    # The two others hear of it from ours alone, in whatever order: it must not forget that the old names are deleted once the
    # first has taken that over.
    three.desk.run("pause", "--device", three.real.id)
    three.real.wait_disconnected(three.desk.id)
    os.makedirs(three.path(three.ours, "new"))
    os.rename(three.path(three.ours, "a"), three.path(three.ours, "new/a"))
    os.rename(three.path(three.ours, "dir"), three.path(three.ours, "new/dir"))
    three.ours.run("folder", "resume", FOLDER)
    everything = {"new/a": FIRST["a"], "new/dir/1": FIRST["dir/1"], "new/dir/2": FIRST["dir/2"], "x": FIRST["x"],
                  "y": FIRST["y"], "far": FIRST["far"]}
    kept = {name: data for name, data in everything.items() if name != "far"}
    three.wait_files(three.desk, everything)
    three.wait_files(three.real, everything)
    three.desk.run("resume", "--device", three.real.id)
    three.desk.wait_connected(three.real.id)
    three.wait_all(everything, kept)
    wait_until(lambda: three.selected() == ["new/a", "new/dir", "x", "y"], 20, "the lines follow", child=three.ours)
    for old, new in (("a", "new/a"), ("dir/1", "new/dir/1"), ("dir/2", "new/dir/2")):
        assert os.stat(three.path(three.real, new)).st_ino == real[old], "Syncthing was sent what it had"
        assert os.stat(three.path(three.desk, new)).st_ino == desk[old], "desk was sent what it had"

    # Two files change places, on the Syncthing.
    for old, new in (("x", "between"), ("y", "x"), ("between", "y")):
        os.rename(three.path(three.real, old), three.path(three.real, new))
    three.scan(three.real)
    everything |= {"x": FIRST["y"], "y": FIRST["x"]}
    kept |= {"x": FIRST["y"], "y": FIRST["x"]}
    three.wait_all(everything, kept)
    assert three.selected() == ["new/a", "new/dir", "x", "y"]

    # Into the other folder, where nothing is selected here: it goes from the one and is known in the other.
    os.rename(three.path(three.desk, "x"), three.path(three.desk, "x", OTHER))
    three.scan(three.desk, OTHER)
    three.scan(three.desk)
    del everything["x"], kept["x"]
    three.wait_all(everything, kept)
    three.wait_all({"x": FIRST["y"]}, {}, OTHER)
    assert three.ours.run("cat", f"{OTHER}:x").stdout == FIRST["y"]


def test_what_a_reader_changes_is_refused_by_both(three):
    before = three.files(three.real)
    for node in (three.ours, three.desk):
        node.run("folder", "role", FOLDER, three.real.id, "read")
    three.write(three.real, "y", b"edited by the reader")
    os.remove(three.path(three.real, "new/dir/1"))
    three.write(three.real, "by-reader", b"new")
    refused = {"y": "changed", "new/dir/1": "deleted", "by-reader": "new"}
    for node in (three.ours, three.desk):
        wait_until(lambda: {r["path"]: r["change"] for r in node.records("refused", "list", FOLDER)} == refused, 20,
                   f"{node.name} lists it", child=node)
    assert three.files(three.desk) == before
    assert three.files(three.ours) == {name: data for name, data in before.items() if name != "far"}
    # One of the two takes it back.
    three.desk.run("refused", "revert", FOLDER, "--yes")
    for node in (three.ours, three.desk):
        wait_until(lambda: node.records("refused", "list", FOLDER) == [], 20, f"{node.name} has nothing left", child=node)
        node.run("folder", "role", FOLDER, three.real.id, "write")
    three.wait_all(before, {name: data for name, data in before.items() if name != "far"})


def test_what_is_freed_stays_on_the_others(three):
    before = three.files(three.real)
    kept = three.files(three.ours)
    # Only two others have it.
    three.set(three.ours, f'id = "{FOLDER}"', f'id = "{FOLDER}"\nmin-copies = 3')
    answer = three.ours.document("deselect", f"{FOLDER}:new/a")["folders"][0]["freeing"]
    assert answer["freedFiles"] == 0 and [s["reason"] for s in answer["staying"]] == ["too-few-copies"]
    assert three.files(three.ours) == kept
    three.set(three.ours, "min-copies = 3", "min-copies = 2")
    answer = three.ours.document("deselect", f"{FOLDER}:new/a")["folders"][0]["freeing"]
    assert answer["freed"] == ["new/a"] and answer["staying"] == []
    del kept["new/a"]
    three.wait_all(before, kept)
    assert three.ours.run("cat", f"{FOLDER}:new/a").stdout == before["new/a"]


def test_what_is_removed_everywhere_is(three):
    everything, kept = three.files(three.real), three.files(three.ours)
    assert three.ours.try_run("rm", "--everywhere", f"{FOLDER}:far").returncode == cli.NEEDS_YES
    answer = three.ours.document("rm", "--everywhere", f"{FOLDER}:far", f"{FOLDER}:new/dir", "--yes")["folders"][0]
    assert (answer["files"], answer["localFiles"], answer["staying"]) == (3, 2, [])
    assert {holder["id"] for holder in answer["holders"]} == {three.desk.id, three.real.id}
    for name in ("far", "new/dir/1", "new/dir/2"):
        everything.pop(name)
        kept.pop(name, None)
    three.wait_all(everything, kept)
    # A directory goes after its last file.
    for node in (three.desk, three.real):
        wait_until(lambda: not os.path.exists(three.path(node, "new/dir")), 20, "the directory goes", child=node)


def test_what_is_paused_rests_and_the_others_go_on(three):
    everything, kept = three.files(three.real), three.files(three.ours)
    three.ours.run("pause", FOLDER)
    three.write(three.real, "y", b"while it rests")
    three.write(three.real, "z", b"in the other", OTHER)
    everything["y"] = b"while it rests"
    three.wait_files(three.desk, everything)
    # The link is there, and carries the other folder: what came before on it would be here.
    three.ours.wait_entry(f"{OTHER}:z", lambda entry: entry is not None)
    assert three.real.is_connected(three.ours.id)
    assert three.files(three.ours) == kept
    three.ours.run("resume", FOLDER)
    three.wait_all(everything, kept | {"y": b"while it rests"})

    three.ours.run("pause", "--device", three.real.id)
    three.real.wait_disconnected(three.ours.id)
    three.write(three.real, "y", b"by way of desk")
    three.wait_files(three.ours, three.files(three.ours) | {"y": b"by way of desk"})
    assert not three.real.is_connected(three.ours.id)
    three.ours.run("resume", "--device", three.real.id)
    three.ours.wait_connected(three.real.id)


def test_a_limit_holds_blocks_and_nothing_else(three):
    # A second's worth and a block go at once; the rest would take two hours.
    three.set(three.ours, "down = 0\n", 'down = "1 KiB/s"\n')
    three.set(three.ours, "local-network = false", "local-network = true")
    before = sum(device["bytesIn"] for device in three.ours.status()["devices"])
    big = os.urandom(8 * MIB)
    three.ours.run("select", f"{FOLDER}:big")
    three.write(three.real, "big", big)
    wait_until(lambda: three.ours.folder(FOLDER)["need"]["files"] == 1, 20, "big is needed", child=three.ours)
    # What another device announces meanwhile is known, and so is that it is not needed here.
    three.wait_files(three.desk, three.files(three.desk) | {"big": big})
    three.write(three.desk, "small", b"small", OTHER)
    three.ours.wait_entry(f"{OTHER}:small", lambda entry: entry is not None)
    assert three.ours.folder(FOLDER)["need"]["files"] == 1
    assert sum(device["bytesIn"] for device in three.ours.status()["devices"]) - before < 2 * MIB
    three.set(three.ours, 'down = "1 KiB/s"\n', "down = 0\n")
    wait_until(lambda: read(three.path(three.ours, "big")) == big, 30, "big comes", child=three.ours)
