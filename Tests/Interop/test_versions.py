"""What a real Syncthing replaces and deletes is kept, and what is decided about a conflict is its answer too."""

import os
import re

import harness
import pytest
from harness import Pair, read, write
from process import wait_until


@pytest.fixture(scope="module")
def pair(module_lab):
    pair = Pair(module_lab)
    pair.agent.stop()
    path = pair.agent.file("config.toml")
    with open(path) as file:
        head, _, tail = file.read().partition(f'id = "{pair.id}"\n')
    write(path, f'{head}id = "{pair.id}"\nversions = "simple"\n{tail}'.encode())
    pair.agent.start()
    pair.connect()
    return pair


def archived(pair, base):
    """Contents by the names without their times, which have Syncthing's form."""
    found = {}
    for name in sorted(os.listdir(os.path.join(pair.here, ".stversions", base))):
        match = re.fullmatch(r"(.*)~\d{8}-\d{6}(\.[^.]*)?", name)
        assert match, name
        key = match[1] + (match[2] or "")
        found.setdefault(key, []).append(read(os.path.join(pair.here, ".stversions", base, name)))
    return found


def test_what_the_node_replaces_and_deletes_is_kept_and_comes_back(pair):
    for name, data in (("a.txt", b"one"), ("b", b"two"), ("c.txt", b"three")):
        write(os.path.join(pair.there, "v", name), data)
    pair.scan_there("v")
    pair.wait_same("v")
    write(os.path.join(pair.there, "v", "a.txt"), b"one, changed")
    os.remove(os.path.join(pair.there, "v", "b"))
    pair.scan_there("v")
    pair.wait_same("v")
    assert archived(pair, "v") == {"a.txt": [b"one"], "b": [b"two"]}
    # What the user of this side does is not.
    os.remove(os.path.join(pair.here, "v", "c.txt"))
    pair.wait_same("v")
    assert "c.txt" not in archived(pair, "v")
    lines = pair.agent.records("versions", "list", f"{pair.id}:v")
    assert [(line["path"], line["size"]) for line in lines] == [("v/a.txt", 3), ("v/b", 3)]
    pair.agent.run("versions", "restore", f"{pair.id}:v/b")
    assert pair.agent.try_run("versions", "restore", f"{pair.id}:v/a.txt").returncode == 6
    pair.agent.run("versions", "restore", f"{pair.id}:v/a.txt", "--yes")
    pair.wait_same("v")
    assert read(os.path.join(pair.there, "v", "a.txt")) == b"one"
    assert read(os.path.join(pair.there, "v", "b")) == b"two"
    assert sorted(archived(pair, "v")["a.txt"]) == [b"one", b"one, changed"]
    # The archive is nobody's business.
    assert not os.path.exists(os.path.join(pair.there, ".stversions"))


@pytest.mark.parametrize("keep", ["mine", "theirs", "both"])
def test_a_resolution_is_the_nodes_answer_too(pair, keep):
    base = f"conflict {keep}"
    write(os.path.join(pair.there, base, "report.txt"), b"in the beginning")
    pair.scan_there(base)
    pair.wait_same(base)
    pair.disconnect()
    for root, data, time in ((pair.here, b"from here", 1_700_000_000), (pair.there, b"from there", 1_700_000_900)):
        write(os.path.join(root, base, "report.txt"), data)
        os.utime(os.path.join(root, base, "report.txt"), (time, time))
    pair.scan_there(base)
    pair.agent.run("scan", f"{pair.id}:{base}")
    pair.connect()
    wait_until(lambda: len(os.listdir(os.path.join(pair.there, base))) == 2, what="the copy is there")
    pair.wait_same(base)
    [conflict] = [line for line in pair.agent.records("conflicts", "list") if line["path"].startswith(base)]
    assert conflict["mine"]["path"] == conflict["copy"] and conflict["mine"]["device"] == pair.agent.id
    assert conflict["theirs"]["device"] == pair.node.id
    shown = pair.agent.run("conflicts", "show", f"{pair.id}:{base}/report.txt").stdout
    assert b"-from there" in shown and b"+from here" in shown
    wait_until(lambda: pair.status["conflicts"] == 1, what="it is counted")
    pair.agent.run("conflicts", "resolve", f"{pair.id}:{base}/report.txt", "--keep", keep)
    assert pair.status["conflicts"] == 0
    wait_until(lambda: not any(".sync-conflict-" in name for name in os.listdir(os.path.join(pair.there, base))),
               what="no copy is left there")
    pair.wait_same(base)
    found = {name: read(os.path.join(pair.there, base, name)) for name in os.listdir(os.path.join(pair.there, base))}
    main = found.pop("report.txt")
    if keep == "both":
        assert main == b"from there" and list(found.values()) == [b"from here"]
    else:
        assert main == (b"from here" if keep == "mine" else b"from there") and not found
        lost = b"from there" if keep == "mine" else b"from here"
        assert any(lost in contents for contents in archived(pair, base).values())
