"""Dolphin with the plugins, on a mount and on a folder's own directory. `PLUGINS` is a directory of Qt's plugins that has them."""

import os
import shutil
import subprocess

import harness
import pytest
from desktop import Desktop
from process import wait_until

KEEP, FREE, SHOW = "Keep on this device", "Free space on this device", "Versions and devices…"
pytestmark = pytest.mark.skipif(not shutil.which("dolphin") or "PLUGINS" not in os.environ, reason="needs Dolphin and the plugins")


@pytest.fixture(scope="module")
def setting(module_lab):
    lab = module_lab
    agent, peer = lab.agent("laptop"), lab.peer("nas")
    lab.introduce(agent, peer)
    root = lab.share(agent, "library", peer)
    shared = peer.folders["library"]
    for name in ("Films/holiday.mp4", "Films/train.mp4", "Papers/letter.txt", "notes.txt"):
        shared.add(name, harness.pattern(300_000, len(name)))
    session = peer.dial_until(agent.address)
    session.send_index("library")
    agent.wait_global("library", 4)
    directory = lab.path("Library")
    agent.run("mount", "library", directory)
    desktop = Desktop(lab.directory("desktop"), agent.socket)
    yield lab, agent, session, root, directory, desktop
    desktop.close()
    subprocess.run(["fusermount3", "-u", "-z", directory], check=False)


@pytest.fixture
def show(setting):
    desktop = setting[5]
    yield desktop.show
    desktop.manager.kill()


def wait_menu(manager, wanted, *paths):
    """Opens menus until ours has these items: on a busy machine an answer may come too late for one."""
    def offered():
        return [label for label in manager.menu(*paths) if label in (KEEP, FREE, SHOW)]
    wait_until(lambda: offered() == wanted, 30, f"the menu has {wanted}", child=manager)


def choose(manager, label, *paths):
    wait_until(lambda: label in manager.order(files=paths, activate=label)["labels"], 30, f"{label} is chosen", child=manager)


def test_files_are_kept_and_freed_from_the_menu(setting, show):
    _, agent, session, root, directory, _ = setting
    before = len(session.requests)
    manager = show("dolphin", os.path.join(directory, "Films"))
    film, train = (os.path.join(directory, "Films", name) for name in ("holiday.mp4", "train.mp4"))
    manager.wait_emblems({film: "synctrain-absent", train: "synctrain-absent"})
    manager.settle()
    assert session.requests[before:] == [], "nothing is fetched to be shown"
    wait_menu(manager, [KEEP, SHOW], film)
    wait_menu(manager, [KEEP], film, train)
    choose(manager, KEEP, film)
    manager.wait_emblems({film: "synctrain-here", train: "synctrain-absent"})
    with open(os.path.join(root, "Films/holiday.mp4"), "rb") as file:
        assert file.read() == harness.pattern(300_000, len("Films/holiday.mp4"))
    wait_menu(manager, [FREE, SHOW], film)
    choose(manager, FREE, film)
    manager.wait_emblems({film: "synctrain-absent"})
    assert not os.path.exists(os.path.join(root, "Films/holiday.mp4"))
    assert [entry["selected"] for entry in agent.records("stat", "library:Films/holiday.mp4")] == ["no"]


def test_the_folder_itself_shows_the_same_states(setting, show):
    _, agent, _, root, _, _ = setting
    agent.run("select", "library:Papers")
    letter, own = os.path.join(root, "Papers/letter.txt"), os.path.join(root, "mine.txt")
    wait_until(lambda: os.path.exists(letter), 20, "papers come", child=agent)
    harness.write(own, b"of this device alone")
    manager = show("dolphin", root)
    manager.wait_emblems({os.path.join(root, "Papers"): "synctrain-here", own: "synctrain-problem"})
    os.remove(own)
    agent.run("deselect", "library:Papers")


def test_without_an_agent_it_is_silent_and_does_not_wait(setting, show):
    _, agent, _, root, _, _ = setting
    agent.run("select", "library:notes.txt")
    notes = os.path.join(root, "notes.txt")
    wait_until(lambda: os.path.exists(notes), 20, "the notes come", child=agent)
    manager = show("dolphin", root)
    manager.wait_emblems({notes: "synctrain-here"})
    agent.stop()
    manager.wait_emblems({notes: None})
    assert not set(manager.menu(notes)) & {KEEP, FREE, SHOW}
    agent.start()
    manager.wait_emblems({notes: "synctrain-here"}, 60)
