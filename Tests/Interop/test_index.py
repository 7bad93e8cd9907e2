"""The index of a real tree, and how it is kept up to date over changes and restarts."""

import os
import shutil

import bep
import harness
import pytest
from process import wait_until


@pytest.fixture(scope="module")
def setting(nodes, documents):
    """A real node with the documents, a selective agent with their index."""
    lab, node, agent = nodes
    root = lab.folder_path(node, "docs")
    shutil.copytree(documents, root, symlinks=True)
    local = lab.share(agent, "docs", node)
    expected = harness.walk(root)
    node.wait_scanned("docs", sum(kind == "file" for kind in expected.values()))
    agent.wait_global("docs", sum(kind == "file" for kind in expected.values()))
    return lab, node, agent, root, local


def expected_entries(root):
    """path → (type, size of a file, whole seconds of a file's mtime), from the disk."""
    entries = {}
    for path, kind in harness.walk(root).items():
        status = os.lstat(os.path.join(root, path))
        entries[path] = (kind, status.st_size, int(status.st_mtime)) if kind == "file" else (kind, None, None)
    return entries


def listed_entries(agent, folder="docs"):
    return {path: (e["type"], e["size"], harness.unix_time(e["modified"])) if e["type"] == "file" else
            (e["type"], None, None) for path, e in agent.tree(folder).items()}


def differences(got, wanted):
    return {path: (got.get(path), wanted.get(path)) for path in got.keys() | wanted.keys()
            if got.get(path) != wanted.get(path)}


def test_listing_is_the_tree_on_the_real_nodes_disk(setting):
    _, _, agent, root, _ = setting
    wanted = expected_entries(root)
    # A minimal Debian has some 2,300 of them.
    assert len(wanted) > 2000
    assert not differences(listed_entries(agent), wanted)


def test_states_selection_and_holders(setting):
    _, node, agent, root, _ = setting
    for path, entry in agent.tree("docs").items():
        assert entry["selected"] == "no", path
        if entry["type"] == "file":
            assert entry["state"] == "absent" and entry["holders"] == [node.id], path


def test_totals(setting):
    _, _, agent, root, _ = setting
    wanted = expected_entries(root)
    status = agent.folder("docs")
    assert status["global"] == {
        "files": sum(e[0] != "directory" for e in wanted.values()),
        "symlinks": sum(e[0] == "symlink" for e in wanted.values()),
        "directories": sum(e[0] == "directory" for e in wanted.values()),
        "bytes": sum(e[1] for e in wanted.values() if e[0] == "file")}
    assert status["local"]["files"] == 0 and status["need"]["files"] == 0 and status["mode"] == "selective"
    # A directory knows what is below it.
    below = [e for path, e in wanted.items() if path.startswith("odd/directories/")]
    odd = agent.records("stat", "docs:odd/directories")[0]
    assert odd["files"] == sum(e[0] == "file" for e in below)
    assert odd["directories"] == sum(e[0] == "directory" for e in below)
    assert odd["size"] == sum(e[1] for e in below if e[0] == "file")


def test_directory_listing_is_one_level(setting):
    _, _, agent, root, _ = setting
    for directory in ("", "odd", "odd/directories", "odd/empty directory"):
        listed = [entry["path"] for entry in agent.records("ls", f"docs:{directory}")]
        on_disk = [os.path.normpath(os.path.join(directory, name)) for name in os.listdir(os.path.join(root, directory))
                   if name != ".stfolder"]
        assert sorted(listed) == sorted(on_disk)


def test_odd_names_can_be_named(setting):
    _, _, agent, root, local = setting
    for name in map(bep.nfc, harness.ODD_NAMES):
        with open(os.path.join(root, "odd", name), "rb") as file:
            assert agent.run("cat", f"docs:odd/{name}").stdout == file.read(), name
    # An absolute path below the folder's root, and one relative to the current directory.
    wanted = harness.pattern(300 << 10)
    assert agent.run("cat", os.path.join(local, "odd/300-KiB")).stdout == wanted
    assert agent.run("cat", "odd/300-KiB", cwd=local).stdout == wanted


def test_search_and_whereis(setting):
    _, node, agent, root, _ = setting
    wanted = {path for path in harness.walk(root) if "COPYRIGHT" in os.path.basename(path).upper()}
    assert len(wanted) > 100
    assert {entry["path"] for entry in agent.records("search", "copyright")} == wanted
    holders = agent.document("whereis", "docs:odd/300-KiB")["holders"]
    assert [holder["id"] for holder in holders] == [node.id] and holders[0]["connected"]


def test_real_node_sees_a_complete_device_that_keeps_nothing(setting):
    _, node, agent, _, local = setting
    completion = node.wait_completion("docs", agent.id)
    assert completion["needBytes"] == 0 and completion["needDeletes"] == 0
    assert harness.walk(local) == {}, "a selective folder keeps no file"
    assert node.status("docs")["needTotalItems"] == 0


def change_tree(root):
    """A change, a rename, a rename of a directory, deletions, a new file, a file in a directory's place."""
    with open(os.path.join(root, "odd/executable"), "a") as file:
        file.write("exit 0\n")
    os.rename(os.path.join(root, "odd/300-KiB"), os.path.join(root, "odd/renamed"))
    os.rename(os.path.join(root, "odd/directories/日本語"), os.path.join(root, "odd/directories/moved"))
    os.remove(os.path.join(root, "odd/-leading-dash"))
    shutil.rmtree(os.path.join(root, "odd/directories/#hash"))
    with open(os.path.join(root, "odd/directories/#hash"), "w") as file:
        file.write("a file now\n")
    with open(os.path.join(root, "odd/new"), "w") as file:
        file.write("new\n")
    os.remove(os.path.join(root, "odd/link"))
    os.symlink("renamed", os.path.join(root, "odd/link"))


def test_changes_arrive_while_connected_and_while_away(setting):
    """Runs last in this module: it changes the tree."""
    _, node, agent, root, local = setting
    change_tree(root)
    node.scan("docs")
    agent.wait_entry("docs:odd/new", lambda entry: entry is not None)
    wait_until(lambda: not differences(listed_entries(agent), expected_entries(root)), 10, "the changed tree")

    # The agent is away while more changes.
    agent.stop()
    with open(os.path.join(root, "odd/new"), "a") as file:
        file.write("changed while the agent was away\n")
    os.remove(os.path.join(root, "odd/renamed"))
    node.scan("docs")
    before = node.connections()["total"]["outBytesTotal"]
    agent.start()
    agent.wait_connected(node.id)
    wait_until(lambda: not differences(listed_entries(agent), expected_entries(root)), 10, "the tree after a restart")
    sent = node.connections()["total"]["outBytesTotal"] - before
    assert sent < 20_000, f"{sent} bytes for three entries: the whole index came again"

    # The node restarts with changes made meanwhile.
    node.stop()
    with open(os.path.join(root, "odd/after-restart"), "w") as file:
        file.write("made while the node was down\n")
    node.start()
    node.wait_scanned("docs")
    agent.wait_entry("docs:odd/after-restart", lambda entry: entry is not None, timeout=30)
    wait_until(lambda: not differences(listed_entries(agent), expected_entries(root)), 10, "the tree after the node's")
    connection = node.connections()["connections"][agent.id]
    assert connection["outBytesTotal"] < 20_000, "the whole index came again"
    node.wait_completion("docs", agent.id)
    assert harness.walk(local) == {}
    assert agent.run("cat", "docs:odd/new").stdout.endswith(b"away\n")


# With the probe: what goes over the wire, and when.

def with_probe(lab, folder="f", **files):
    agent, peer = lab.agent(), lab.peer()
    lab.introduce(agent, peer)
    lab.share(agent, folder, peer)
    for name, data in files.items():
        peer.folders[folder].add(name, data)
    return agent, peer, peer.folders[folder]


def test_restart_asks_for_what_is_newer_only(lab):
    agent, peer, folder = with_probe(lab, a=b"a", b=b"b", c=b"c")
    session = peer.dial_until(agent.address)
    assert session.asked["f"][1] == 0, "nothing is known of us yet"
    agent.wait_global("f", 3)
    own = session.wait_index("f", 3)
    entry = own_entry(session, "f")
    agent.stop()
    session.wait_end()
    folder.add("d", b"d")
    # We now say what we hold of the agent's index, so it has nothing to send.
    peer.known["f", session.device] = (entry["index_id"], max(e["sequence"] for e in own.values()))
    agent.start()
    session = peer.dial_until(agent.address)
    assert session.asked["f"] == (folder.index_id, 3), "the agent says what it holds"
    agent.wait_global("f", 4)
    session.wait_index("f", names=["d"])
    assert own_entry(session, "f")["index_id"] == entry["index_id"], "an index id outlives a restart"
    assert [m[0] for m in session.index_messages] == ["IndexUpdate"] * len(session.index_messages)
    assert sum(m[2] for m in session.index_messages) == 1, "only the new entry is announced"


def own_entry(session, folder_id):
    config = next(f for f in session.cluster_configs[-1]["folders"] if f["id"] == folder_id)
    return next(d for d in config["devices"] if d["id"] == session.device)


def test_agent_announces_what_it_does_not_keep_as_invalid(lab):
    agent, peer, folder = with_probe(lab, a=b"a", b=b"b")
    folder.add_directory("dir")
    session = peer.dial_until(agent.address)
    announced = session.wait_index("f", names=["a", "b", "dir"])
    for name in ("a", "b", "dir"):
        assert announced[name].get("invalid") and not announced[name].get("blocks")
        assert announced[name]["version"] == folder.entries[name]["version"], "the same version, or it is a new one"
        assert announced[name].get("type", 0) == folder.entries[name].get("type", 0)


def test_full_index_replaces_and_a_new_index_id_forgets(lab):
    agent, peer, folder = with_probe(lab, a=b"a", b=b"b", c=b"c")
    session = peer.dial_until(agent.address)
    agent.wait_global("f", 3)
    # A message named Index replaces what was known.
    session.send(bep.INDEX, {"folder": "f", "files": [folder.entries["b"]]})
    wait_until(lambda: set(agent.tree("f")) == {"b"}, what="only b is left")
    session.close()
    # Another index id: the other side's database is new.
    other = bep.Folder("f", peer.identity.short_id, [agent.id])
    other.add("x", b"x")
    peer.folders["f"] = other
    session = peer.dial_until(agent.address)
    wait_until(lambda: set(agent.tree("f")) == {"x"}, what="only x is known")


def test_global_version_is_the_newest_and_only_its_holders_count(lab):
    agent, old, new = lab.agent(), lab.peer("old"), lab.peer("new")
    lab.introduce(agent, old, new)
    lab.share(agent, "f", old, new)
    for peer in (old, new):
        peer.folders["f"].add("same", b"both have it", version={"counters": [{"id": 1, "value": 1}]})
    old.folders["f"].add("file", b"old", version={"counters": [{"id": 1, "value": 1}]})
    new.folders["f"].add("file", b"newer", version={"counters": [{"id": 1, "value": 2}]})
    old.folders["f"].add("gone", b"gone", version={"counters": [{"id": 1, "value": 1}]})
    new.folders["f"].put({"name": "gone", "deleted": True, "version": {"counters": [{"id": 1, "value": 2}]}})
    old.folders["f"].add("held", b"held by old", version={"counters": [{"id": 7, "value": 3}]})
    new.folders["f"].put({"name": "held", "invalid": True, "version": {"counters": [{"id": 7, "value": 3}]}})
    first = old.dial_until(agent.address)
    agent.wait_global("f", 4)
    assert agent.records("stat", "f:file")[0]["size"] == 3
    new.dial_until(agent.address)
    agent.wait_entry("f:file", lambda entry: entry["size"] == 5)
    tree = agent.tree("f")
    assert set(tree) == {"same", "file", "held"}
    assert tree["file"]["holders"] == [new.id]
    assert sorted(tree["same"]["holders"]) == sorted([old.id, new.id])
    assert tree["held"]["holders"] == [old.id], "an invalid entry vouches for nothing"
    assert agent.run("cat", "f:file").stdout == b"newer"
    # The index stays when nobody is there.
    first.close()
    new.close()
    agent.wait_disconnected(new.id)
    assert set(agent.tree("f")) == {"same", "file", "held"}


def test_large_index_in_many_messages_and_lz4(lab):
    agent, peer, folder = with_probe(lab)
    for number in range(5000):
        folder.add(f"file {number:05}", b"%d" % number)
    session = peer.dial(agent.address, start=False)
    session.send_index = lambda id: bep.Session.send_index(session, id, batch=700, compression=bep.LZ4)
    session.start()
    agent.wait_global("f", 5000)
    assert set(agent.tree("f")) == set(folder.entries)


def test_reset_index_gets_it_anew_and_touches_no_file(lab):
    agent, peer, folder = with_probe(lab, a=b"a", b=b"b")
    session = peer.dial_until(agent.address)
    agent.wait_global("f", 2)
    agent.run("fetch", "f:a")
    local = lab.path("agent-f")
    assert harness.walk(local) == {"a": "file"}
    agent.run("reset", "index", "f", "--yes")
    if session.ended is None:
        wait_until(lambda: session.ended or len(session.cluster_configs) > 1, what="asked anew")
    session = peer.live()[-1] if peer.live() else peer.dial_until(agent.address)
    assert session.asked["f"][1] == 0
    agent.wait_global("f", 2)
    assert harness.walk(local) == {"a": "file"}
