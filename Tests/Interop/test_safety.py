"""Nothing that somebody wrote is lost: conflicts, races, folders that vanish, disks that fill, and peers that mean harm."""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import threading

import agent as cli
import bep
import harness
import pytest
from harness import Pair, read, write
from process import MIB, wait_until

CONFLICT = re.compile(r"\.sync-conflict-\d{8}-\d{6}-[A-Z2-7]{7}")


@pytest.fixture(scope="module")
def pair(nodes):
    lab, node, agent = nodes
    return Pair(lab, "f", node=node, agent=agent)


@pytest.fixture
def own(nodes, request):
    """A folder of this test's own, shared by the same two."""
    lab, node, agent = nodes
    folder = re.sub(r"\W+", "-", request.node.name)[:40]
    pair = Pair(lab, folder, node=node, agent=agent)
    yield pair
    agent.try_run("folder", "remove", folder, "--yes")
    node.call("DELETE", f"/rest/config/folders/{folder}")


@contextlib.contextmanager
def at_once(pair):
    """What is done in the agent's copy it sees all at once: a scan in the middle would announce the first deletions alone."""
    pair.agent.suspend()
    try:
        yield
    finally:
        pair.agent.resume()


def contents(directory):
    try:
        return {name: read(os.path.join(directory, name)) for name in sorted(os.listdir(directory))}
    except FileNotFoundError:
        return {}


def apart(pair, base, here, there):
    """Lets both sides do something to a directory `base` that both have while no link joins them."""
    pair.disconnect()
    here(os.path.join(pair.here, base))
    there(os.path.join(pair.there, base))
    pair.scan_there(base)
    pair.agent.run("scan", f"{pair.id}:{base}")
    pair.connect()


def edit(name, data, time=None):
    def change(directory):
        write(os.path.join(directory, name), data)
        if time:
            os.utime(os.path.join(directory, name), (time, time))
    return change


# MARK: conflicts

@pytest.mark.parametrize("winner", ["here", "there"])
def test_edits_on_both_sides_are_both_kept(pair, winner):
    base = f"conflict won {winner}"
    write(os.path.join(pair.there, base, "report.txt"), b"in the beginning")
    pair.scan_there(base)
    pair.wait_same(base)
    times = {"here": 1_700_000_000, "there": 1_700_000_000, winner: 1_700_000_900}
    apart(pair, base, edit("report.txt", b"from here", times["here"]),
          edit("report.txt", b"from there", times["there"]))
    wait_until(lambda: len(os.listdir(os.path.join(pair.here, base))) == 2
               and len(os.listdir(os.path.join(pair.there, base))) == 2, what="both have both")
    pair.wait_same(base)
    found = contents(os.path.join(pair.here, base))
    assert found.pop("report.txt") == f"from {winner}".encode()
    [(name, loser)] = found.items()
    assert loser == (b"from there" if winner == "here" else b"from here")
    assert CONFLICT.sub("", name) == "report.txt" and name.endswith(".txt")
    # The name tells who made the version that won.
    assert (pair.agent.id if winner == "here" else pair.node.id)[:7] in name
    pair.agent.run("scan", f"{pair.id}:")
    assert pair.status["conflicts"] >= 1
    assert pair.agent.records("stat", f"{pair.id}:{base}/{name}")[0]["state"] == "conflict"


def test_new_files_of_one_name_are_both_kept(pair):
    base = "both create"
    os.makedirs(os.path.join(pair.here, base))
    pair.wait_same(base)
    apart(pair, base, edit("new", b"from here", 1_700_000_000), edit("new", b"from there", 1_700_000_900))
    wait_until(lambda: len(os.listdir(os.path.join(pair.there, base))) == 2, what="both are kept")
    pair.wait_same(base)
    assert sorted(contents(os.path.join(pair.here, base)).values()) == [b"from here", b"from there"]


def test_new_files_of_one_content_are_no_conflict(pair):
    base, body = "both create the same", harness.pattern(3 * MIB)
    os.makedirs(os.path.join(pair.here, base))
    pair.wait_same(base)
    apart(pair, base, edit("new", body, 1_700_000_000), edit("new", body, 1_700_000_900))
    pair.wait_same(base)
    pair.barrier(base)
    assert [name for name in os.listdir(os.path.join(pair.here, base)) if "barrier" not in name] == ["new"]
    link = pair.device
    assert link["bytesIn"] + link["bytesOut"] < MIB, "nothing was sent that both had"
    pair.wait_at_rest()


@pytest.mark.parametrize("editor", ["here", "there"])
def test_an_edit_survives_a_deletion_of_the_same_file(pair, editor):
    base = f"edited {editor}"
    write(os.path.join(pair.there, base, "file"), b"in the beginning")
    pair.scan_there(base)
    pair.wait_same(base)

    def delete(directory):
        os.remove(os.path.join(directory, "file"))
    sides = {"here": delete, "there": delete, editor: edit("file", b"edited")}
    apart(pair, base, sides["here"], sides["there"])
    wait_until(lambda: b"edited" in contents(os.path.join(pair.here, base)).values()
               and b"edited" in contents(os.path.join(pair.there, base)).values(), what="the edit is on both sides")
    pair.wait_same(base)


def test_a_deletion_that_an_edit_here_wins_over_is_answered(lab):
    """Syncthing 2 lets the later one win: it stays with its deletion until the edit is announced in a version that has seen
    it. The deletion alone has to make the agent say so: by its own rule nothing has changed."""
    agent, peer = lab.agent(), lab.peer()
    agent.add_device(peer.id, "peer")
    folder = peer.share("f", [agent.id])
    folder.add("file", b"in the beginning")
    path = lab.path("agent-f")
    agent.add_folder("f", path, peer.id, mode="full")
    # The watcher's report of the edit would have the agent look at the name again.
    with open(agent.file("config.toml"), "a") as file:
        file.write("watch = false\n")
    agent.run("reload")
    session = peer.dial_until(agent.address)
    wait_until(lambda: read(os.path.join(path, "file")) == b"in the beginning", what="the file is here")
    agent.run("wait", "f", "--timeout", "20")
    write(os.path.join(path, "file"), b"edited")
    agent.run("scan", "f:file")
    session.wait(lambda: session.index.get("f", {}).get("file", {}).get("size") == 6, what="the edit is announced")
    deletion = folder.delete("file")
    deletion["modified_s"] += 10
    session.send_index("f")
    counter = deletion["version"]["counters"][0]
    session.wait(lambda: counter in session.index["f"]["file"]["version"]["counters"], what="the deletion is answered")
    assert not session.index["f"]["file"].get("deleted") and read(os.path.join(path, "file")) == b"edited"


@pytest.mark.parametrize("deleter", ["here", "there"])
def test_a_new_file_survives_the_deletion_of_its_directory(pair, deleter):
    base = f"tree deleted {deleter}"
    for name in ("tree/one", "tree/deep/two"):
        write(os.path.join(pair.there, base, name), name.encode())
    pair.scan_there(base)
    pair.wait_same(base)

    def delete(directory):
        shutil.rmtree(os.path.join(directory, "tree"))
    sides = {"here": edit("tree/deep/new", b"new"), "there": edit("tree/deep/new", b"new"), deleter: delete}
    apart(pair, base, sides["here"], sides["there"])
    wait_until(lambda: read(os.path.join(pair.here, base, "tree/deep/new")) == b"new"
               and read(os.path.join(pair.there, base, "tree/deep/new")) == b"new", what="the new file is on both sides")
    found = pair.wait_same(base)
    assert sorted(found) == ["tree", "tree/deep", "tree/deep/new"]
    pair.wait_at_rest()


def test_a_rename_here_and_an_edit_there(pair):
    base = "rename and edit"
    write(os.path.join(pair.there, base, "old"), b"in the beginning")
    pair.scan_there(base)
    pair.wait_same(base)
    apart(pair, base, lambda directory: os.rename(os.path.join(directory, "old"), os.path.join(directory, "new")),
          edit("old", b"edited"))
    wait_until(lambda: b"edited" in contents(os.path.join(pair.here, base)).values(), what="the edit is here")
    pair.wait_same(base)
    assert set(contents(os.path.join(pair.here, base)).values()) == {b"edited", b"in the beginning"}


def test_directory_here_and_file_there_of_one_name(pair):
    """As among Syncthing nodes, this waits for somebody: nothing is lost, and the status says what is in the way."""
    base = "kinds"
    os.makedirs(os.path.join(pair.here, base))
    pair.wait_same(base)
    apart(pair, base, edit("thing/inside", b"from here"), edit("thing", b"from there"))
    pair.agent.wait_problem(pair.id, f"{base}/thing")
    assert read(os.path.join(pair.here, base, "thing/inside")) == b"from here"
    assert read(os.path.join(pair.there, base, "thing")) == b"from there"
    assert pair.agent.try_run("wait", pair.id, "--timeout", 1).returncode == cli.TIMED_OUT
    os.rename(os.path.join(pair.here, base, "thing"), os.path.join(pair.here, base, "moved away"))
    found = pair.wait_same(base)
    assert sorted(found) == ["moved away", "moved away/inside", "thing"]
    assert read(os.path.join(pair.here, base, "thing")) == b"from there"


# MARK: changes while files are replaced

def test_a_local_change_while_a_new_version_is_fetched(lab):
    """The peer holds its answer back until the file was changed here; whichever wins, neither content is lost."""
    agent, peer = lab.agent(), lab.peer()
    lab.introduce(agent, peer)
    here = lab.share(agent, "f", peer, mode="full")
    peer.folders["f"].add("file", b"first")
    session = peer.dial_until(agent.address)
    wait_until(lambda: read(os.path.join(here, "file")) == b"first", what="the first version")
    asked, go = threading.Event(), threading.Event()

    def slowly(session, request):
        asked.set()
        go.wait(20)
        return peer.serve_from_folder(session, request)
    peer.serve = slowly
    peer.folders["f"].add("file", b"second")
    session.send_index("f")
    assert asked.wait(20)
    write(os.path.join(here, "file"), b"written meanwhile")
    go.set()
    wait_until(lambda: {b"second", b"written meanwhile"} <= set(contents(here).values())
               or read(os.path.join(here, "file")) == b"written meanwhile", what="both are kept")
    agent.run("wait", "f", "--timeout", 20)
    assert b"written meanwhile" in contents(here).values()
    # What was fetched in vain stays beside it for the next try, as Syncthing leaves it.
    session.wait_index("f", names=[name for name in contents(here) if not name.startswith((".st", ".syncthing."))])


def test_what_a_program_has_open_is_neither_replaced_nor_deleted(lab):
    agent, peer = lab.agent(), lab.peer()
    lab.introduce(agent, peer)
    here = lab.share(agent, "f", peer, mode="full")
    names = ["app.log", "old.log"]
    for name in names:
        peer.folders["f"].add(name, b"line 0\n")
    session = peer.dial_until(agent.address)
    paths = [os.path.join(here, name) for name in names]
    wait_until(lambda: all(os.path.exists(path) for path in paths), what="the files are here")
    agent.run("wait", "f", "--timeout", "20")
    logs = [open(path, "ab", buffering=0) for path in paths]
    try:
        peer.folders["f"].add("app.log", b"shortened\n")
        peer.folders["f"].delete("old.log")
        session.send_index("f")
        wait_until(lambda: sorted(agent.problems("f")) == names, what="the status names both")
        assert all("a program has it open" in text for text in agent.problems("f").values())
        for log in logs:
            log.write(b"line 1\n")
    finally:
        for log in logs:
            log.close()
    wait_until(lambda: {b"shortened\n", b"line 0\nline 1\n"} <= set(contents(here).values()), what="both are kept")
    wait_until(lambda: not agent.problems("f"), what="nothing is wrong any more")
    assert read(os.path.join(here, "old.log")) == b"line 0\nline 1\n"


def test_a_file_that_was_replaced_by_a_directory_while_it_was_fetched(lab):
    agent, peer = lab.agent(), lab.peer()
    lab.introduce(agent, peer)
    here = lab.share(agent, "f", peer, mode="full")
    asked, go = threading.Event(), threading.Event()

    def slowly(session, request):
        asked.set()
        go.wait(20)
        return peer.serve_from_folder(session, request)
    peer.serve = slowly
    peer.folders["f"].add("file", b"theirs")
    session = peer.dial_until(agent.address)
    assert asked.wait(20)
    write(os.path.join(here, "file", "inside"), b"mine")
    go.set()

    # Which of the two wins is decided by their times; what is here stays in any case, and is announced.
    session.wait_index("f", names=["file", "file/inside"])
    wait_until(lambda: agent.try_run("wait", "f", "--timeout", 0).returncode == 0 or agent.problems("f"),
               what="it is settled, or the status says what is in the way")
    assert read(os.path.join(here, "file", "inside")) == b"mine"


# MARK: peers that mean harm

HOSTILE = [".stignore", ".stfolder", ".stfolder/inside", ".stversions/old", ".stignore/inside", ".syncthing.x.tmp",
           "sub/.syncthing.y.tmp"]


def test_names_of_our_own_are_not_written(lab):
    agent, peer = lab.agent(), lab.peer()
    lab.introduce(agent, peer)
    here = lab.share(agent, "f", peer, mode="full")
    before, marker = read(os.path.join(here, ".stignore")), os.listdir(os.path.join(here, ".stfolder"))
    folder = peer.folders["f"]
    for name in HOSTILE:
        folder.add(name, b"*\n")
    folder.add_symlink("link", "/etc")
    folder.add("link/passwd", b"overwritten")
    folder.add_symlink("up", "../..")
    folder.add("up/escaped", b"escaped")
    folder.add("setuid", b"#!/bin/sh\n", permissions=0o6755)
    folder.put(dict(bep.file_info("~syncthing~z.tmp", b"temp", folder.short_id, 0)), b"temp")
    folder.add("good", b"good")
    session = peer.dial_until(agent.address)
    wait_until(lambda: read(os.path.join(here, "good")) == b"good", what="the good file")
    wait_until(lambda: os.path.exists(os.path.join(here, "setuid")), what="the other file that may come")
    agent.try_run("wait", "f", "--timeout", 3)
    assert read(os.path.join(here, ".stignore")) == before
    assert os.listdir(os.path.join(here, ".stfolder")) == marker
    assert not os.path.exists(os.path.join(here, ".stversions"))
    assert not os.path.exists("/etc/escaped") and not os.path.exists(lab.path("..", "escaped"))
    assert read("/etc/passwd") != b"overwritten"
    assert os.stat(os.path.join(here, "setuid")).st_mode & 0o7777 == 0o755
    found = os.listdir(here)
    assert not any(name.startswith((".syncthing.", "~syncthing~")) for name in found), found
    asked = {request["name"] for request in session.requests}
    assert not asked & set(HOSTILE)
    # A deletion of them is not followed either.
    folder.put({"name": ".stfolder", "type": bep.DIRECTORY, "deleted": True, "modified_s": 1,
                "version": {"counters": [{"id": folder.short_id, "value": 1 << 40}]}})
    folder.put({"name": ".stignore", "deleted": True, "modified_s": 1,
                "version": {"counters": [{"id": folder.short_id, "value": 1 << 40}]}})
    folder.add("good", b"better")
    session.send_index("f")
    wait_until(lambda: read(os.path.join(here, "good")) == b"better", what="the better file")
    assert os.path.isdir(os.path.join(here, ".stfolder")) and read(os.path.join(here, ".stignore")) == before


# MARK: folders that vanish

def filled(pair, count=5):
    for number in range(count):
        write(os.path.join(pair.there, "d" if number % 2 else "", f"{number}"), f"{number}".encode())
    pair.scan_there()
    pair.wait_same()
    # What is on the disk and not in the index yet would come back, and not count as deleted.
    pair.wait_at_rest()
    return harness.regular_files(pair.there)


def test_the_marker_is_gone(own):
    files = filled(own)
    marker = harness.regular_files(os.path.join(own.here, ".stfolder"))
    assert [name.startswith("syncthing-folder-") for name in marker] == [True]
    shutil.rmtree(os.path.join(own.here, ".stfolder"))
    state = own.agent.wait_state(own.id, "halted-marker-missing")
    assert f"synctrain folder repair {own.id}" in state["message"]
    os.remove(os.path.join(own.here, "0"))
    write(os.path.join(own.here, "unseen"), b"unseen")
    write(os.path.join(own.there, "unseen there"), b"unseen there")
    own.scan_there()
    assert own.agent.try_run("scan", f"{own.id}:").returncode == cli.FAILED
    assert own.agent.try_run("wait", own.id, "--timeout", 5).returncode == cli.FAILED
    assert harness.regular_files(own.there).keys() == files.keys() | {"unseen there"}
    assert not os.path.exists(os.path.join(own.here, "unseen there"))
    own.agent.run("folder", "repair", own.id)
    assert harness.regular_files(os.path.join(own.here, ".stfolder")) == marker, "it says again what it is"
    found = own.wait_same()
    assert found.keys() >= files.keys() | {"unseen", "unseen there"}, "nothing was deleted on either side"


def test_the_marker_comes_back(own):
    filled(own)
    os.rename(os.path.join(own.here, ".stfolder"), os.path.join(own.here, "aside"))
    own.agent.wait_state(own.id, "halted-marker-missing")
    os.rename(os.path.join(own.here, "aside"), os.path.join(own.here, ".stfolder"))
    write(os.path.join(own.here, "after"), b"after")
    wait_until(lambda: read(os.path.join(own.there, "after")) == b"after", what="it goes on by itself")


def test_the_root_is_gone(own):
    files = filled(own)
    with at_once(own):
        shutil.rmtree(own.here)
    state = own.agent.wait_state(own.id, "halted-root-missing")
    assert f"synctrain folder repair {own.id}" in state["message"]
    assert not os.path.exists(own.here), "the root is not made by itself"
    assert harness.regular_files(own.there) == files
    own.agent.run("folder", "repair", own.id)
    own.wait_same()
    assert harness.regular_files(own.here) == files


def test_the_root_is_elsewhere_for_a_while(own):
    files = filled(own)
    os.rename(own.here, own.here + "-elsewhere")
    own.agent.wait_state(own.id, "halted-root-missing")
    os.rename(own.here + "-elsewhere", own.here)
    write(os.path.join(own.here, "after"), b"after")
    wait_until(lambda: read(os.path.join(own.there, "after")) == b"after", what="it goes on by itself")
    assert harness.regular_files(own.there).keys() == files.keys() | {"after"}


def empty(directory):
    for name in os.listdir(directory):
        path = os.path.join(directory, name)
        if name in (".stfolder", ".stignore"):
            continue
        shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)


def emptied_while_stopped(pair):
    pair.agent.stop()
    empty(pair.here)
    pair.agent.start()
    pair.connect()
    return pair.agent.wait_state(pair.id, "halted-root-emptied")


def test_the_root_is_emptied_and_repaired(own):
    files = filled(own)
    state = emptied_while_stopped(own)
    assert f"synctrain folder confirm {own.id}" in state["message"]
    assert f"synctrain folder repair {own.id}" in state["message"]
    assert harness.regular_files(own.there) == files
    dry = own.agent.document("folder", "repair", own.id, "--dry-run")
    assert dry["files"] == len(files) and harness.regular_files(own.here) == {}
    own.agent.run("folder", "repair", own.id)
    own.wait_same()
    assert harness.regular_files(own.here) == files
    own.wait_at_rest()


def test_what_is_put_into_an_emptied_root_confirms_nothing(own):
    files = filled(own)
    emptied_while_stopped(own)
    write(os.path.join(own.here, "new"), b"new")
    own.agent.try_run("scan", f"{own.id}:")
    assert own.status["state"] == "halted-mass-delete"
    # By their number alone the next process would let them go out.
    own.agent.stop()
    own.agent.start()
    own.connect()
    own.agent.try_run("scan", f"{own.id}:")
    assert own.status["state"] == "halted-mass-delete"
    assert harness.regular_files(own.there) == files
    own.agent.run("folder", "repair", own.id)
    own.wait_same()
    assert harness.regular_files(own.here).keys() == files.keys() | {"new"}


def test_the_root_is_emptied_on_purpose(own):
    files = filled(own)
    with at_once(own):
        empty(own.here)
    own.agent.wait_state(own.id, "halted-root-emptied")
    dry = own.agent.document("folder", "confirm", own.id, "--dry-run")
    assert dry["deletions"] >= len(files)
    assert own.agent.try_run("folder", "confirm", own.id).returncode == cli.NEEDS_YES
    assert harness.regular_files(own.there) == files
    own.agent.run("folder", "confirm", own.id, "--yes")
    wait_until(lambda: harness.walk(own.there) == {}, what="the node deletes them too")
    own.wait_at_rest()
    # It was for this once.
    filled(own)
    with at_once(own):
        empty(own.here)
    own.agent.wait_state(own.id, "halted-root-emptied")


def test_most_of_a_large_folder_is_deleted(own):
    files = filled(own, 240)
    with at_once(own):
        shutil.rmtree(os.path.join(own.here, "d"))
        for number in range(0, 60, 2):
            os.remove(os.path.join(own.here, str(number)))
    state = own.agent.wait_state(own.id, "halted-mass-delete")
    assert "confirm" in state["message"]
    own.agent.try_run("scan", f"{own.id}:")
    assert own.status["state"] == "halted-mass-delete"
    assert harness.regular_files(own.there) == files
    own.agent.run("folder", "repair", own.id)
    own.wait_same(timeout=30)
    assert harness.regular_files(own.here) == files
    assert own.agent.try_run("folder", "confirm", own.id, "--yes").returncode == cli.USAGE, "nothing to confirm"


def test_a_hundred_of_many_may_go(own):
    filled(own, 300)
    for number in range(0, 240, 2):
        os.remove(os.path.join(own.here, str(number)))
    wait_until(lambda: len(os.listdir(own.there)) == 30 + 2, timeout=30, what="the node deletes them too")
    assert len(own.wait_same()) == 180 + 1


def test_other_devices_delete_most_of_a_folder(own):
    files = filled(own, 260)
    shutil.rmtree(os.path.join(own.there, "d"))
    for number in range(0, 100, 2):
        os.remove(os.path.join(own.there, str(number)))
    write(os.path.join(own.there, "new"), b"new")
    own.scan_there()

    def confirmable(status):
        return next((p["message"] for p in status["problems"] if "folder confirm" in p["message"]), None)

    def problem():
        return confirmable(own.status)
    wait_until(lambda: problem() and os.path.exists(os.path.join(own.here, "new")), 60, "the deletions are held")
    # One answer: how many files are here changes as the new one is announced.
    status = own.status
    held, message = status["heldDeletions"], confirmable(status)
    assert f"{own.node.name} deleted 180 of the" in message, message
    assert {key: held[key] for key in ("names", "here", "message")} == {"names": 180, "here": True, "message": message}
    assert "{2} of the {3} files here" in held["text"]["template"], held
    own.agent.run("scan", f"{own.id}:")
    # Changes go on both ways, and nothing is deleted by them.
    own.barrier()
    assert set(files) <= set(harness.regular_files(own.here))
    wait_until(lambda: own.status["state"] == "idle", what="the pull has ended")
    assert own.status["need"]["deletions"] >= 180
    dry = own.agent.document("folder", "confirm", own.id, "--dry-run")
    # The directory is one more name.
    assert dry["deletions"] == 181 and dry["here"]
    assert own.agent.try_run("folder", "confirm", own.id).returncode == cli.NEEDS_YES
    assert set(files) <= set(harness.regular_files(own.here))
    own.agent.run("folder", "confirm", own.id, "--yes")
    own.wait_same(timeout=30)
    assert not os.path.exists(os.path.join(own.here, "d"))
    own.wait_at_rest()
    assert "heldDeletions" not in own.status
    assert own.agent.try_run("folder", "confirm", own.id, "--yes").returncode == cli.USAGE, "it was for this once"
    # The node goes back to what it was, and deletes again: that is another decision.
    filled(own, 260)
    empty(own.there)
    own.scan_there()
    wait_until(problem, 60, "the deletions are held again")
    assert len(harness.regular_files(own.here)) >= 260
    # What is restored there is not to be confirmed any more.
    filled(own, 260)
    wait_until(lambda: problem() is None and "heldDeletions" not in own.status, 60, "nothing is held any more")


@pytest.fixture
def disk(own):
    """A disk with a life of its own, and how it is mounted at and taken from a directory of the agent's copy."""
    store, place = own.lab.directory(f"{own.id}-disk"), os.path.join(own.here, "disk")

    def mount():
        subprocess.run(["mount", "--bind", store, place], check=True, capture_output=True)

    def unmount():
        subprocess.run(["umount", "-l", place], check=False, capture_output=True)
    try:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", store], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("nothing can be mounted here")
    os.makedirs(place)
    mount()
    yield place, mount, unmount
    unmount()
    subprocess.run(["umount", "-l", store], check=False, capture_output=True)


def test_a_disk_below_the_root_is_missing(own, disk):
    place, mount, unmount = disk
    for number in range(5):
        write(os.path.join(place, f"{number}"), f"{number}".encode())
    write(os.path.join(own.here, "beside"), b"beside")
    own.agent.run("scan", f"{own.id}:")
    own.wait_same()
    files = harness.regular_files(own.there)
    assert len(files) == 6

    def problem(status=None):
        return next((p["message"] for p in (status or own.status)["problems"] if p["path"] == "disk"), "")
    # Also if the agent did not run when it went.
    own.agent.stop()
    unmount()
    own.agent.start()
    own.connect()
    wait_until(lambda: "mount it" in problem(), what="the missing disk is named")
    status = own.status
    held, message = status["heldDeletions"], problem(status)
    assert f"synctrain folder confirm {own.id}" in message
    assert held["names"] == 5 and not held["here"] and held["message"].startswith("disk: ") and message in held["message"]
    write(os.path.join(own.there, "disk", "new"), b"new")
    os.remove(os.path.join(own.here, "beside"))
    own.scan_there()
    own.agent.run("scan", f"{own.id}:")
    wait_until(lambda: not os.path.exists(os.path.join(own.there, "beside")), what="the rest goes on")
    own.agent.try_run("scan", f"{own.id}:")
    assert own.status["heldDeletions"]["names"] == 5, "a look at a part counts all"
    assert os.listdir(place) == [], "nothing is put below the place of the disk"
    assert len(os.listdir(os.path.join(own.there, "disk"))) == 6, "nothing is deleted there"
    mount()
    own.agent.run("scan", f"{own.id}:")
    own.agent.try_run("fetch", f"{own.id}:")
    assert len(own.wait_same()) == 1 + 6
    assert not problem()
    # What is watched is the disk, and not the directory below it.
    write(os.path.join(place, "watched"), b"watched")
    wait_until(lambda: os.path.exists(os.path.join(own.there, "disk", "watched")), what="what is written on the disk is seen")
    own.wait_at_rest()
    unmount()
    own.agent.run("scan", f"{own.id}:")
    assert problem() and len(os.listdir(os.path.join(own.there, "disk"))) == 7
    own.agent.run("folder", "confirm", own.id, "--yes")
    wait_until(lambda: not os.listdir(os.path.join(own.there, "disk")), what="it is gone for good")
    own.agent.run("scan", f"{own.id}:")
    assert not problem()


# MARK: what cannot be synced

def test_what_cannot_be_synced_is_listed_and_the_rest_goes_on(own):
    os.mkfifo(os.path.join(own.here, "pipe"))
    with socket.socket(socket.AF_UNIX) as server:
        # A path of a socket is short.
        directory = os.open(own.here, os.O_DIRECTORY)
        server.bind(f"/proc/self/fd/{directory}/socket")
        os.close(directory)
    with open(os.path.join(os.fsencode(own.here), b"not \xff utf-8"), "wb") as file:
        file.write(b"x")
    write(os.path.join(own.here, "not NFC: cafe\u0301"), b"x")
    write(os.path.join(own.here, "good"), b"good")
    wait_until(lambda: read(os.path.join(own.there, "good")) == b"good", what="the good file arrives")
    own.agent.try_run("scan", f"{own.id}:")
    # What the watcher reported may be scanned once more.
    status = wait_until(lambda: (status := own.status)["state"] in ("idle", "syncing") and status, what="the scan has ended")
    assert status["errors"] >= 4 and len(status["problems"]) >= 4, status
    text = " ".join(f"{problem['path']}: {problem['message']}" for problem in status["problems"])
    for name in ("pipe", "socket", "utf-8", "caf"):
        assert name in text, text
    assert sorted(os.listdir(own.there)) == [".stfolder", "good"]
    result = own.agent.try_run("scan", f"{own.id}:", "--json")
    assert result.returncode == cli.SOME_FAILED
    os.remove(os.path.join(own.here, "pipe"))
    own.agent.try_run("scan", f"{own.id}:")
    assert "pipe" not in own.agent.problems(own.id)


def test_a_pipe_in_the_place_of_a_file_of_the_node(own):
    os.mkfifo(os.path.join(own.here, "thing"))
    write(os.path.join(own.there, "thing"), b"theirs")
    write(os.path.join(own.there, "good"), b"good")
    own.scan_there()
    wait_until(lambda: read(os.path.join(own.here, "good")) == b"good", what="the good file arrives")
    own.agent.wait_problem(own.id, "thing")
    assert own.agent.try_run("wait", own.id, "--timeout", 1).returncode == cli.TIMED_OUT
    assert [entry["path"] for entry in own.agent.records("need", own.id)] == ["thing"]
    os.remove(os.path.join(own.here, "thing"))
    wait_until(lambda: read(os.path.join(own.here, "thing")) == b"theirs", what="the file arrives")
    assert own.agent.run("wait", own.id, "--timeout", 10).returncode == 0
    assert own.agent.records("need", own.id) == []


def test_a_deleted_directory_that_holds_what_is_ignored_here(own):
    """What a (?d) line ignores goes with its directory; anything else that only this disk has keeps it."""
    write(os.path.join(own.here, ".stignore"), b"(?d)*.tmp\n*.keep\n")
    for directory in ("cache", "mine"):
        write(os.path.join(own.there, directory, "file"), b"file")
    own.scan_there()
    wait_until(lambda: all(read(os.path.join(own.here, directory, "file")) for directory in ("cache", "mine")), what="the files come")
    write(os.path.join(own.here, "cache", "x.tmp"), b"x")
    write(os.path.join(own.here, "mine", "y.keep"), b"y")
    for directory in ("cache", "mine"):
        shutil.rmtree(os.path.join(own.there, directory))
    own.scan_there()
    wait_until(lambda: not os.path.exists(os.path.join(own.here, "cache")), what="the directory goes")
    wait_until(lambda: not os.path.exists(os.path.join(own.here, "mine", "file")), what="the file goes")
    assert "y.keep" in own.agent.wait_problem(own.id, "mine")
    assert read(os.path.join(own.here, "mine", "y.keep")) == b"y"
    assert not os.path.exists(os.path.join(own.there, "mine"))
    os.remove(os.path.join(own.here, "mine", "y.keep"))
    own.agent.run("fetch")
    wait_until(lambda: not os.path.exists(os.path.join(own.here, "mine")), what="the directory goes too")


# MARK: disks

@pytest.fixture
def small_disk(nodes, request):
    """A folder on a file system of 20 MiB."""
    lab, node, agent = nodes
    folder = re.sub(r"\W+", "-", request.node.name)[:40]
    mount = lab.directory(f"{agent.name}-{folder}")
    try:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", mount], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("nothing can be mounted here")
    try:
        yield Pair(lab, folder, node=node, agent=agent)
    finally:
        agent.try_run("folder", "remove", folder, "--yes")
        node.call("DELETE", f"/rest/config/folders/{folder}")
        subprocess.run(["umount", "-l", mount], check=False)


def remount(pair, options):
    subprocess.run(["mount", "-o", f"remount,{options}", pair.here], check=True, capture_output=True)


def test_a_full_disk(small_disk):
    pair = small_disk
    small, large = b"small", harness.pattern(30 * MIB)
    write(os.path.join(pair.there, "large"), large)
    for number in range(10):
        write(os.path.join(pair.there, f"small {number}"), small)
    pair.scan_there()
    wait_until(lambda: all(read(os.path.join(pair.here, f"small {number}")) == small for number in range(10)),
               what="what has room comes")
    state = pair.agent.wait_state(pair.id, "low-space")
    assert state["message"] and state["need"]["files"] == 1
    assert "large" in pair.agent.problems(pair.id)
    assert not os.path.exists(os.path.join(pair.here, "large"))
    # Changes made here go out meanwhile.
    write(os.path.join(pair.here, "mine"), b"mine")
    wait_until(lambda: read(os.path.join(pair.there, "mine")) == b"mine", what="the change goes out")
    assert read(os.path.join(pair.there, "large")) == large
    remount(pair, "size=60m")
    pair.agent.run("fetch")
    pair.wait_same()
    pair.agent.wait_state(pair.id, "idle")
    assert pair.agent.problems(pair.id) == {}


@pytest.mark.parametrize("count, size", [(12, 3_000_000), (300, 200_000)])
def test_what_must_stay_free_stays_free(small_disk, count, size):
    pair = small_disk
    pair.agent.run("folder", "set", pair.id, "minimum-free=5 MiB")
    for number in range(count):
        write(os.path.join(pair.there, f"{number}"), harness.pattern(size, number))
    pair.scan_there()
    pair.agent.wait_state(pair.id, "low-space")
    disk = os.statvfs(pair.here)
    assert disk.f_bavail * disk.f_frsize >= 5 * MIB
    wait_until(lambda: not [name for name in os.listdir(pair.here) if name.startswith(".syncthing.")],
               what="no part of a file takes space")
    assert any(name.isdigit() for name in os.listdir(pair.here)), "what has room comes"
    remount(pair, "size=100m")
    pair.agent.run("fetch")
    pair.wait_same()


def test_a_disk_that_fills_while_a_file_is_written(small_disk):
    pair = small_disk
    filler = os.path.join(pair.lab.path(), "filler")
    body = harness.pattern(12 * MIB)
    os.makedirs(os.path.join(pair.here, "ignored"), exist_ok=True)
    write(os.path.join(pair.here, ".stignore"), b"/ignored\n")
    write(os.path.join(pair.here, "ignored", "filler"), bytes(12 * MIB))
    write(os.path.join(pair.there, "file"), body)
    write(os.path.join(pair.there, "tiny"), b"tiny")
    pair.scan_there()
    wait_until(lambda: read(os.path.join(pair.here, "tiny")) == b"tiny", what="what has room comes")
    pair.agent.wait_state(pair.id, "low-space")
    os.remove(os.path.join(pair.here, "ignored", "filler"))
    wait_until(lambda: read(os.path.join(pair.here, "file")) == body, timeout=40, what="it goes on by itself")
    assert not os.path.exists(filler)


def test_the_floor_of_free_space(small_disk):
    pair = small_disk
    write(os.path.join(pair.there, "file"), harness.pattern(10 * MIB))
    path = pair.agent.file("config.toml")
    pair.agent.stop()
    with open(path) as file:
        text = file.read()
    head, _, tail = text.partition(f'id = "{pair.id}"\n')
    write(path, f'{head}id = "{pair.id}"\nminimum-free = "15 MiB"\n{tail}'.encode())
    pair.agent.start()
    pair.connect()
    pair.scan_there()
    pair.agent.wait_state(pair.id, "low-space")
    assert not os.path.exists(os.path.join(pair.here, "file"))
    remount(pair, "size=40m")
    pair.agent.run("fetch")
    pair.wait_same()


def test_a_disk_that_becomes_read_only(small_disk):
    pair = small_disk
    write(os.path.join(pair.there, "before"), b"before")
    pair.scan_there()
    pair.wait_same()
    # Nothing is open for writing any more.
    pair.wait_at_rest()
    remount(pair, "ro")
    write(os.path.join(pair.there, "before"), b"changed")
    write(os.path.join(pair.there, "new"), b"new")
    pair.scan_there()
    status = wait_until(lambda: (status := pair.status)["errors"] > 0 and status, what="the status says so")
    assert status["problems"] or status["message"]
    assert read(os.path.join(pair.here, "before")) == b"before"
    assert read(os.path.join(pair.there, "before")) == b"changed"
    remount(pair, "rw")
    pair.agent.run("fetch")
    pair.wait_same()
    wait_until(lambda: pair.status["errors"] == 0, what="the errors are over")


# MARK: order and exit codes

def test_what_is_fetched_first(lab):
    """One file at a time would be easiest to see; with several at once the requests still begin in that order."""
    agent, peer = lab.agent(start=False), lab.peer()
    agent.start()
    lab.introduce(agent, peer)
    path = lab.path("agent-f")
    agent.add_folder("f", path, peer.id, mode="full")
    peer.share("f", [agent.id])
    agent.stop()
    config = agent.file("config.toml")
    with open(config) as file:
        text = file.read()
    write(config, text.replace('id = "f"\n', 'id = "f"\npriority = ["*.md", "/notes"]\n').encode())
    agent.start()
    folder = peer.folders["f"]
    for number in range(40):
        folder.add(f"{number:02}.bin", harness.pattern(1000 + 100 * number, number))
    folder.add("read.md", harness.pattern(90_000))
    folder.add("notes/long", harness.pattern(100_000))
    session = peer.dial_until(agent.address)
    wait_until(lambda: len(session.requests) >= 42, what="all is asked for")
    names = [request["name"] for request in session.requests]
    assert set(names[:32]) >= {"read.md", "notes/long"}, names
    assert names.index("39.bin") > names.index("00.bin")


def test_exit_codes(pair):
    agent = pair.agent
    assert agent.try_run("wait", "nowhere").returncode == cli.NO_SUCH
    assert agent.try_run("need", "nowhere").returncode == cli.NO_SUCH
    assert agent.try_run("folder", "confirm", pair.id, "--yes").returncode == cli.USAGE
    assert agent.try_run("folder", "repair", pair.id).returncode == cli.USAGE
    assert agent.run("wait", pair.id, "--timeout", 20).returncode == 0
    pair.disconnect()
    write(os.path.join(pair.there, "exit codes"), b"x")
    pair.scan_there()
    assert agent.run("wait", pair.id, "--timeout", 5).returncode == 0, "it knows of nothing to get"
    pair.connect()
    pair.wait_same()
    agent.run("folder", "pause", pair.id)
    assert agent.try_run("wait", pair.id, "--timeout", 5).returncode == cli.FAILED
    agent.run("folder", "resume", pair.id)
    assert agent.run("wait", pair.id, "--timeout", 20).returncode == 0


def test_a_build_that_is_cleaned_again_and_again(own):
    """The same 98 names of 150, made and deleted three times within a minute, are no mass deletion."""
    files = filled(own, 52)
    for _ in range(3):
        for number in range(98):
            write(os.path.join(own.here, "build", str(number)), b"object %d" % number)
        own.agent.run("scan", own.id)
        shutil.rmtree(os.path.join(own.here, "build"))
        own.agent.run("scan", own.id)
        assert own.status["state"] != "halted-mass-delete"
    # The node may not have heard of the last ones yet.
    own.barrier()
    own.wait_same(timeout=30)
    found = harness.regular_files(own.there)
    assert {name: found[name] for name in found if not name.startswith("barrier ")} == files


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become somebody else")
def test_another_user_cannot_stop_a_folder_by_locking_it(lab):
    agent = lab.agent()
    root = lab.directory("root")
    write(os.path.join(root, "a"), b"a")
    place = os.open(root, os.O_RDONLY)
    lock = "import fcntl, sys; fcntl.flock(int(sys.argv[1]), fcntl.LOCK_EX); print('locked', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", lock, str(place)], user=65534, group=65534, extra_groups=[], pass_fds=[place],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        os.close(place)
        assert other.stdout.readline() == b"locked\n"
        agent.add_folder("f", root, mode="full")
        agent.wait_state("f", "idle")
        agent.wait_global("f", 1)
        other.stdin.close()


def test_two_agents_do_not_work_in_one_root(lab):
    one, two = lab.agent("one"), lab.agent("two")
    root = lab.path("both")
    one.add_folder("f", root, mode="full")
    one.wait_state("f", "idle")
    two.add_folder("f", root, mode="full")
    state = two.wait_state("f", "error")
    assert f"another synctrain agent (process {one.process.pid}) works in {root}" in state["message"]
    write(os.path.join(root, "a"), b"a")
    one.wait_global("f", 1)
    assert two.records("ls", "--json", "f:") == [], "the other reads nothing"
    # Once the first has stopped the other goes on: within a minute by itself, at once when it is told to look.
    one.stop()
    two.try_run("scan", "f")
    two.wait_state("f", "idle")
    two.wait_global("f", 1)
