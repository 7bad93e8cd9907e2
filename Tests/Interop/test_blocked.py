"""A file where other devices have a directory: it gives way under the name of a conflict copy, and nothing is lost."""

import os

import pytest
from harness import read, walk, write
from process import wait_until


def contents(root):
    """What is in the folder, by path: bytes of files, None for directories."""
    found = {}
    for name, kind in walk(root).items():
        # A Syncthing keeps what it had begun to fetch for a day.
        if name.split("/")[0] in (".stfolder", ".stignore", ".stversions") or os.path.basename(name).startswith(".syncthing."):
            continue
        found[name] = read(os.path.join(root, name)) if kind == "file" else None
    return found


def settled(roots, file, below):
    """Whether all have the directory with what is below it, and the file once under another name."""
    found = [contents(root) for root in roots]
    if any(one != found[0] for one in found):
        return False
    copies = [name for name, data in found[0].items() if data == file]
    others = {name: data for name, data in found[0].items() if data is not None and data != file}
    return len(copies) == 1 and copies[0].startswith("x.sync-conflict-") and others == below


@pytest.mark.parametrize("age", [100, -100], ids=["the-file-is-older", "the-file-is-newer"])
@pytest.mark.parametrize("kind", ["agent", "syncthing"])
def test_made_apart(lab, kind, age):
    one = lab.agent("one")
    other = lab.agent("other") if kind == "agent" else lab.syncthing("other")
    lab.introduce(one, other)
    here = lab.share(one, "f", other, mode="full")
    there = lab.folder_path(other, "f")
    one.wait_connected(other.id)
    other.stop()
    write(os.path.join(here, "x"), b"the file")
    seconds = os.stat(os.path.join(here, "x")).st_mtime - age
    os.utime(os.path.join(here, "x"), (seconds, seconds))
    one.run("scan", "f")
    one.stop()
    os.makedirs(os.path.join(there, "x/deep"))
    below = {"x/in": b"below", "x/deep/er": b"further below"}
    for name, data in below.items():
        write(os.path.join(there, name), data)
    other.start()
    if kind == "agent":
        other.run("scan", "f")
    else:
        other.scan("f")
    one.start()
    wait_until(lambda: settled([here, there], b"the file", below), 60, "both survive on both",
               child=one)
    wait_until(lambda: one.problems("f") == {}, what="no problem is left")


def test_renamed_onto_a_file_made_meanwhile(lab):
    """A directory is renamed to the name of a file that another device makes meanwhile; a third has both."""
    agents = [lab.agent(name) for name in ("one", "two", "three")]
    one, two, three = agents
    lab.introduce(one, two, three)
    lab.introduce(two, three)
    here = lab.share(one, "f", two, three, mode="full")
    roots = [lab.folder_path(agent, "f") for agent in agents]
    below = {"x/in": b"below", "x/deep/er": b"further below"}
    for name, data in below.items():
        path = os.path.join(here, "old" + name[1:])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write(path, data)
    one.run("scan", "f")
    wait_until(lambda: all(contents(root) == contents(here) for root in roots), 30, "all have the directory", child=one)
    two.stop()
    os.rename(os.path.join(here, "old"), os.path.join(here, "x"))
    one.run("scan", "f")
    wait_until(lambda: contents(roots[2]) == contents(here), 30, "the third has renamed it, too", child=three)
    write(os.path.join(roots[1], "x"), b"the file")
    two.start()
    wait_until(lambda: settled(roots, b"the file", below), 60, "all have both", child=two)
    for agent in agents:
        wait_until(lambda: agent.problems("f") == {}, what=f"{agent.name} has no problem left")


def test_a_newer_file_on_a_syncthing(lab):
    """A Syncthing keeps its file, so a person has to choose: both ends say so, and it is over once one is renamed."""
    agent, real = lab.agent(), lab.syncthing()
    lab.introduce(agent, real)
    here = lab.share(agent, "f", real, mode="full")
    there = lab.folder_path(real, "f")
    agent.wait_connected(real.id)
    real.stop()
    os.makedirs(os.path.join(here, "x"))
    write(os.path.join(here, "x/in"), b"below")
    agent.run("scan", "f")
    write(os.path.join(there, "x"), b"the file")
    real.start()
    real.scan("f")
    message = agent.wait_problem("f", "x", timeout=60)
    assert message == ("a file on another device has the path of this directory, which holds needed files; rename the directory "
                       "here or the file there")
    assert contents(here) == {"x": None, "x/in": b"below"} and read(os.path.join(there, "x")) == b"the file"
    os.rename(os.path.join(here, "x"), os.path.join(here, "y"))
    wanted = {"x": b"the file", "y": None, "y/in": b"below"}
    wait_until(lambda: contents(here) == wanted and contents(there) == wanted, 60, "both have both", child=agent)
    wait_until(lambda: agent.problems("f") == {}, what="the problem is over")
