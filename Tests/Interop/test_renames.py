"""The selection follows what is renamed, and a real Syncthing renames with it."""

import os

import agent as cli
import harness
import pytest
from harness import Pair, read, write
from process import wait_until


@pytest.fixture(scope="module")
def pair(module_lab):
    pair = Pair(module_lab, "ren", mode="selective")
    for name in ("a.txt", "b.txt", "c.txt", "d.txt", "photos/1", "photos/2", "photos/raw/3", "kept/x", "kept/y", "kept/z",
                 "far/1", "far/2"):
        write(os.path.join(pair.there, name), name.encode() * 3000)
    write(os.path.join(pair.there, "other/unselected"), b"stays out")
    pair.scan_there()
    pair.agent.wait_global("ren", 13)
    # At once, so that nothing of what is left out comes.
    pair.agent.run("folder", "pause", "ren")
    pair.agent.run("select", *[f"ren:{path}" for path in
                               ("a.txt", "b.txt", "c.txt", "d.txt", "photos", "kept", "far")])
    pair.agent.run("deselect", "ren:photos/raw")
    pair.agent.run("folder", "resume", "ren")
    pair.agent.run("wait", "ren", "--timeout", 20)
    return pair


def lines(pair):
    return sorted(entry["path"] for entry in pair.agent.records("select", "--list", "ren"))


def files(root):
    return sorted(path for path, kind in harness.walk(root).items() if kind == "file")


def inode(root, name):
    return os.stat(os.path.join(root, name)).st_ino


def move(root, old, new):
    os.makedirs(os.path.dirname(os.path.join(root, new)), exist_ok=True)
    os.rename(os.path.join(root, old), os.path.join(root, new))


def wait_lines(pair, gone, come):
    def followed():
        now = lines(pair)
        return not set(gone) & set(now) and set(come) <= set(now)
    wait_until(followed, what=f"the lines {gone} become {come}: {lines(pair)}", child=pair.agent)


def wait_renamed(pair, root, old, new, number):
    """Until the other side has renamed, too: the same file, under its new name."""
    wait_until(lambda: os.path.exists(os.path.join(root, new)) and not os.path.lexists(os.path.join(root, old)),
               what=f"{old} becomes {new}", child=pair.agent)
    assert inode(root, new) == number, "the node renamed what it had, and was sent nothing"


def test_a_file_renamed_here_keeps_its_line(pair):
    number = inode(pair.there, "a.txt")
    move(pair.here, "a.txt", "new/renamed.txt")
    wait_renamed(pair, pair.there, "a.txt", "new/renamed.txt", number)
    wait_lines(pair, ["a.txt"], ["new/renamed.txt"])
    pair.wait_at_rest()
    assert pair.status["errors"] == 0
    wait_until(lambda: pair.status["extraneous"] == 0, what="nothing is counted that is not selected")
    # It is selected as before: what the node writes there comes.
    write(os.path.join(pair.there, "new/renamed.txt"), b"changed there")
    pair.scan_there("new")
    wait_until(lambda: read(os.path.join(pair.here, "new/renamed.txt")) == b"changed there", what="the change comes")


def test_a_directory_renamed_while_the_agent_is_down_keeps_its_lines(pair):
    number = inode(pair.there, "photos/1")
    left_out = inode(pair.there, "photos/raw/3")
    pair.agent.stop()
    move(pair.here, "photos", "pictures")
    move(pair.here, "b.txt", "B.txt")
    write(os.path.join(pair.here, "B.txt"), b"and edited")
    pair.agent.start()
    pair.connect()
    wait_renamed(pair, pair.there, "photos/1", "pictures/1", number)
    wait_until(lambda: read(os.path.join(pair.there, "B.txt")) == b"and edited", what="the renamed and edited file")
    # The node deletes after it has downloaded.
    wait_until(lambda: not os.path.lexists(os.path.join(pair.there, "b.txt")), what="its old name goes")
    wait_lines(pair, ["photos", "b.txt"], ["pictures", "B.txt"])
    text = (read(os.path.join(pair.here, ".stignore")) or b"").decode().splitlines()
    assert text.index("/pictures/raw") < text.index("!/pictures"), "what was left out of it is"
    # That was not selected, so nobody heard of a deletion of it.
    assert inode(pair.there, "photos/raw/3") == left_out
    assert pair.status["errors"] == 0


@pytest.mark.parametrize("name, answer", [("kept/x", "--select"), ("kept/y", "--delete")])
def test_what_is_moved_out_is_asked_about(pair, name, answer):
    there = os.path.join(pair.there, name)
    before = read(there)
    moved = f"elsewhere/{os.path.basename(name)}"
    move(pair.here, name, moved)
    problem = pair.agent.wait_problem("ren", name)
    pair.barrier("kept")
    assert read(there) == before, "the node keeps it until somebody says what is meant"
    assert f"synctrain extraneous resolve ren:{moved}" in problem
    if answer != "--select":
        asked = pair.agent.try_run("extraneous", "resolve", f"ren:{moved}", answer)
        assert asked.returncode == cli.NEEDS_YES and f"ren:{name}  is deleted on all devices" in asked.stderr.decode()
    pair.agent.run("extraneous", "resolve", f"ren:{moved}", answer, "--yes")
    wait_until(lambda: not os.path.lexists(there), what="the answer is the node's too", child=pair.agent)
    if answer == "--select":
        wait_until(lambda: read(os.path.join(pair.there, moved)) == before, what="the new name")
    pair.wait_at_rest()
    assert pair.status["errors"] == 0


def test_what_is_moved_out_and_deselected_stays_elsewhere(pair):
    there = os.path.join(pair.there, "kept/z")
    before = read(there)
    move(pair.here, "kept/z", "elsewhere/z")
    pair.agent.wait_problem("ren", "kept/z")
    pair.agent.run("deselect", "ren:kept/z")
    pair.agent.run("extraneous", "resolve", "ren:elsewhere/z", "--delete", "--yes")
    pair.barrier("kept")
    pair.wait_at_rest()
    assert read(there) == before and not os.path.lexists(os.path.join(pair.here, "elsewhere/z"))
    assert pair.status["errors"] == 0


def test_onto_a_name_that_others_have_is_asked_about(pair):
    move(pair.here, "c.txt", "other/unselected")
    pair.agent.wait_problem("ren", "c.txt")
    pair.barrier("kept")
    assert read(os.path.join(pair.there, "c.txt")) == b"c.txt" * 3000
    assert read(os.path.join(pair.there, "other/unselected")) == b"stays out"
    move(pair.here, "other/unselected", "c.txt")
    pair.agent.run("scan", "ren")
    assert pair.status["errors"] == 0 and "c.txt" in lines(pair)


def test_what_the_node_renames_is_renamed_here_and_stays_selected(pair):
    numbers = [inode(pair.here, name) for name in ("d.txt", "far/1", "far/2")]
    move(pair.there, "d.txt", "deep/er/renamed.txt")
    move(pair.there, "far", "farther")
    pair.scan_there()
    for old, new, number in zip(("d.txt", "far/1", "far/2"), ("deep/er/renamed.txt", "farther/1", "farther/2"), numbers):
        wait_renamed(pair, pair.here, old, new, number)
    wait_lines(pair, ["d.txt", "far"], ["deep/er/renamed.txt", "farther"])
    assert files(os.path.join(pair.here, "farther")) == ["1", "2"]
    pair.wait_at_rest()


def test_two_names_that_are_swapped_keep_their_lines(pair):
    names = ("swap/1", "swap/2")
    for name in names:
        write(os.path.join(pair.there, name), name.encode() * 3000)
    pair.scan_there("swap")
    pair.agent.run("select", *[f"ren:{name}" for name in names])
    for name in names:
        wait_until(lambda: read(os.path.join(pair.here, name)), what=name, child=pair.agent)
    move(pair.here, "swap/1", "swap/between")
    move(pair.here, "swap/2", "swap/1")
    move(pair.here, "swap/between", "swap/2")
    for name, other in (names, names[::-1]):
        wait_until(lambda: read(os.path.join(pair.there, name)) == other.encode() * 3000, what=f"{name} there", child=pair.agent)
    pair.wait_at_rest()
    assert set(names) <= set(lines(pair)) and "swap/between" not in lines(pair)
    assert sorted(os.listdir(os.path.join(pair.there, "swap"))) == ["1", "2"]
    assert pair.status["errors"] == 0
    wait_until(lambda: pair.status["extraneous"] == 0, what="nothing is counted that is not selected")


def test_what_is_moved_to_another_folder_is_asked_about_there(pair, module_lab):
    """Gone from one folder, and a new name in the other, which has selected nothing."""
    other = module_lab.path("other-folder")
    pair.agent.add_folder("other", other, mode="selective")
    write(os.path.join(pair.there, "across/f"), b"from one to the other")
    pair.scan_there("across")
    pair.agent.run("select", "ren:across/f")
    wait_until(lambda: read(os.path.join(pair.here, "across/f")), what="across/f", child=pair.agent)
    os.rename(os.path.join(pair.here, "across/f"), os.path.join(other, "f"))
    wait_until(lambda: not os.path.lexists(os.path.join(pair.there, "across/f")), what="it is gone there", child=pair.agent)
    listed = [entry["path"] for entry in pair.agent.records("extraneous", "list", "other")]
    assert listed == ["f"]
    assert read(os.path.join(other, "f")) == b"from one to the other"
    pair.agent.run("extraneous", "resolve", "other:f", "--select", "--yes")
    assert pair.agent.records("extraneous", "list", "other") == []
    assert read(os.path.join(other, "f")) == b"from one to the other" and pair.status["errors"] == 0
