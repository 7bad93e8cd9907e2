"""Homes that older programs have written open in this one, and sync: nothing is asked, lost or transferred again.

The archives in `homes` were made by make_old_homes.py on the day that their names say.
"""

import glob
import json
import os
import tarfile

import pytest

from agent import Agent, find_program
from harness import read, snapshot, write
from make_old_homes import HOMES, ROOT
from process import wait_until

ARCHIVES = sorted(glob.glob(os.path.join(HOMES, "*.tar.xz")))


@pytest.fixture(params=ARCHIVES, ids=[os.path.basename(path)[:-len(".tar.xz")] for path in ARCHIVES])
def old(request, lab):
    """The two agents of an archive, not started, below the directory of this test and at ports of their own."""
    with tarfile.open(request.param) as archive:
        archive.extractall(lab.root)
    agents = [Agent(find_program(), name, lab.path(name)) for name in ("desktop", "laptop")]
    ports = dict(zip(read(lab.path("ports")).decode().split(), (str(agent.port) for agent in agents)))
    for agent in agents:
        lab._nodes.append(agent)
        path = os.path.join(agent.home, "config.toml")
        text = read(path).decode().replace(ROOT, lab.root)
        for before, now in ports.items():
            text = text.replace(f"127.0.0.1:{before}", f"127.0.0.1:{now}")
        write(path, text.encode())
    return agents


def states(agent):
    return {entry["path"]: entry["state"] for entry in agent.tree("library").values() if entry["type"] == "file"}


def contents(agent, lab):
    return snapshot(lab.path(f"{agent.name}-library"))


def test_there_is_one():
    assert ARCHIVES


def test_all_that_it_knew_is_there(old, lab):
    """One device alone: what others have is known from its own index."""
    desktop, laptop = old
    before, configuration = contents(laptop, lab), read(os.path.join(laptop.home, "config.toml"))
    laptop.start()
    laptop.run("scan", "library:")
    laptop.wait_state("library", "idle")
    status = laptop.status()
    folder = status["folders"][0]
    assert (folder["id"], folder["state"], folder["mode"], folder["errors"], folder["conflicts"]) == ("library", "idle", "selective", 0, 0)
    assert folder["global"]["files"] == 6, "what was deleted does not count"
    assert folder["need"]["files"] == folder["need"]["bytes"] == 0 and not status["problems"]
    assert [(device["id"], device["name"]) for device in status["devices"]] == [(desktop.id, "desktop")]
    found = states(laptop)
    assert found["letters/to nobody.txt"] == found["letters/draft.md"] == found["films/The Bridge.bin"] == "present"
    assert found["films/train.bin"] == found["zürich/straße.txt"] == "absent"
    assert "top.txt" not in found and "films/bridge.bin" not in found
    holders = {entry["path"]: entry["holders"] for entry in laptop.records("ls", "library:films")}
    assert desktop.id in holders["films/train.bin"]
    selected = laptop.run("select", "--list").stdout.decode().splitlines()
    assert sorted(selected) == ["library:.synctrain/", "library:films/The Bridge.bin", "library:letters/"]
    assert laptop.document("config", "get", "limits.up")["value"] == "20 MiB/s"
    assert laptop.document("folder", "get", "library", "max-conflicts")["value"] == "5"
    assert {note["key"]: note["value"] for note in laptop.document("note", "library:letters/draft.md")["notes"]} == {"rating": "5"}
    changes = laptop.records("log")
    assert any(change["path"] == "films/The Bridge.bin" for change in changes), changes
    # Opening is not a change.
    assert contents(laptop, lab) == before
    assert read(os.path.join(laptop.home, "config.toml")) == configuration


def test_what_only_the_other_has(old, lab):
    desktop, laptop = old
    desktop.start()
    # The index did not count links on the disk when it was written.
    folder = desktop.folder("library")
    assert folder["local"] == folder["global"] and folder["local"]["symlinks"] == 1
    versions = desktop.records("versions", "list")
    assert [version["path"] for version in versions] == ["letters/to nobody.txt"]
    desktop.run("versions", "restore", "library:letters/to nobody.txt", "--yes")
    assert read(lab.path("desktop-library", "letters", "to nobody.txt")) == b"a letter\n"
    invitations = desktop.document("invite", "--list")["invitations"]
    assert [(one["number"], one["folder"], one["role"]) for one in invitations] == [(1, "library", "write")]
    ignored = json.loads(desktop.run("device", "ignored", "--json").stdout)
    assert len(ignored["devices"]) == 1
    assert desktop.document("folder", "get", "library", "versions")["value"] == "simple"


def test_both_sync_on(old, lab):
    desktop, laptop = old
    desktop.start()
    laptop.start()
    laptop.wait_connected(desktop.id)
    there, here = lab.path("desktop-library"), lab.path("laptop-library")
    for agent in old:
        agent.run("wait", "library", "--timeout", "60")
    assert read(os.path.join(here, "letters/to nobody.txt")) == read(os.path.join(there, "letters/to nobody.txt")) == b"a longer letter\n"
    # Both ways, and on demand.
    write(os.path.join(there, "letters/new.txt"), b"from the desktop\n")
    write(os.path.join(here, "letters/draft.md"), b"# Draft\n\nthird\n")
    desktop.run("scan", "library:")
    laptop.run("scan", "library:")
    wait_until(lambda: os.path.exists(os.path.join(here, "letters/new.txt")), 30, "the new letter", child=laptop)
    wait_until(lambda: read(os.path.join(there, "letters/draft.md")) == b"# Draft\n\nthird\n", 30, "the draft", child=desktop)
    laptop.run("fetch", "library:films/train.bin", "-o", lab.path("train.bin"))
    assert read(lab.path("train.bin")) == read(os.path.join(there, "films/train.bin"))
    laptop.run("deselect", "library:films/The Bridge.bin")
    assert not os.path.exists(os.path.join(here, "films/The Bridge.bin"))
    assert os.path.exists(os.path.join(there, "films/The Bridge.bin"))
    # The first index after the update was no new one: nothing is a conflict, and nothing came back.
    for root in (there, here):
        names = [name for _, _, files in os.walk(root) for name in files]
        assert not [name for name in names if "sync-conflict" in name or name in ("top.txt", "bridge.bin")], names
