"""Nautilus, Nemo and Caja with the extension, on a mount and on a folder's own directory; the holder counts what it is asked for."""

import os
import shutil
import subprocess

import harness
import pytest
from desktop import COMMANDS, Desktop
from process import wait_until

PICTURES = 1000
PHOTOS = 6
KINDS = [kind for kind in COMMANDS if shutil.which(COMMANDS[kind][0])]
KEEP, FREE, SHOW = "Keep on this device", "Free space on this device", "Versions and devices…"


@pytest.fixture(scope="module")
def setting(module_lab):
    lab = module_lab
    agent, peer = lab.agent("laptop", start=False), lab.peer("nas")
    # Both are the same user's.
    agent.variables["XDG_CACHE_HOME"] = os.path.join(lab.directory("desktop"), "home/.cache")
    agent.start()
    lab.introduce(agent, peer)
    root = lab.share(agent, "library", peer)
    shared = peer.folders["library"]
    picture = picture_of(lab, "plasma:blue-green")
    for number in range(PICTURES):
        # Each is content of its own: none comes with another.
        shared.add(f"Pictures/{number:04}.jpg", picture + number.to_bytes(4, "big"))
    for name in ("Films/holiday.bin", "Films/train.bin", "Papers/letter.txt", "Papers/unknown", "notes.txt"):
        shared.add(name, harness.pattern(300_000, len(name)))
    red = picture_of(lab, "xc:red")
    for number in range(PHOTOS):
        shared.add(f"Photos/{number}.jpg", red + number.to_bytes(4, "big"))
    session = peer.dial_until(agent.address)
    session.send_index("library")
    agent.wait_global("library", PICTURES + PHOTOS + 5)
    directory = lab.path("Library")
    agent.run("mount", "library", directory)
    desktop = Desktop(lab.directory("desktop"), agent.socket)
    yield lab, agent, session, root, directory, desktop
    desktop.close()
    subprocess.run(["fusermount3", "-u", "-z", directory], check=False)


def picture_of(lab, content):
    path = lab.path("picture.jpg")
    subprocess.run(["convert", "-size", "640x480", content, path], check=True)
    with open(path, "rb") as file:
        return file.read()


@pytest.fixture
def show(setting):
    desktop = setting[5]
    yield desktop.show
    desktop.manager.kill()


@pytest.mark.parametrize("kind", KINDS)
def test_a_thousand_absent_pictures_cost_nothing(setting, show, kind, record_property):
    """But for the agent's own thumbnails, which are switched off here."""
    _, agent, session, _, directory, desktop = setting
    agent.run("config", "set", "mount.thumbnail-limit", "0")
    before = len(session.requests)
    manager = show(kind, os.path.join(directory, "Pictures"))
    # They ask for one file after the other, in an order of their own, and make thumbnails meanwhile.
    wait_until(lambda: len(manager.emblems()) > PICTURES / 10, 60, "files are looked at", child=manager)
    manager.settle(3)
    shown = {path: emblem for path, emblem in manager.emblems().items() if path.endswith(".jpg")}
    assert set(shown.values()) == {"synctrain-absent"}
    # For Benchmarks/mounting.py.
    record_property("blocks", len(session.requests[before:]))
    assert session.requests[before:] == [], "nothing is fetched"
    if kind == "nautilus":
        assert len(shown) == PICTURES
        desktop.picture(os.path.join(desktop.place, "absent.png"))


@pytest.mark.skipif("nautilus" not in KINDS, reason="needs Nautilus")
def test_absent_photos_are_shown_by_the_agents_thumbnails(setting, show):
    _, agent, session, root, directory, desktop = setting
    agent.run("config", "set", "mount.thumbnail-limit", "256 KiB")
    before = len(session.requests)
    manager = show("nautilus", os.path.join(directory, "Photos"))
    shot = os.path.join(desktop.place, "thumbnails.png")

    def red():
        """How much of the screen is."""
        desktop.picture(shot)
        share = subprocess.run(["convert", shot, "-fuzz", "10%", "-fill", "black", "+opaque", "red", "-fill", "white", "-opaque", "red",
                                "-format", "%[fx:mean]", "info:"], check=True, capture_output=True).stdout
        return float(share)
    # 640 by 480, shrunk to about 96 pixels.
    wait_until(lambda: red() > PHOTOS * 90 * 60 / (1000 * 640), 60, "the photos are seen", child=manager)
    asked = [request["name"] for request in session.requests[before:]]
    assert sorted(asked) == [f"Photos/{number}.jpg" for number in range(PHOTOS)], "each has one block"
    assert not os.path.exists(os.path.join(root, "Photos"))


@pytest.mark.parametrize("kind", KINDS)
def test_files_are_kept_and_freed_from_the_menu(setting, show, kind):
    _, agent, _, root, directory, _ = setting
    manager = show(kind, os.path.join(directory, "Films"))
    film, train = (os.path.join(directory, "Films", name) for name in ("holiday.bin", "train.bin"))
    manager.wait_emblems({film: "synctrain-absent", train: "synctrain-absent"})
    assert manager.menu(film) == [KEEP, SHOW]
    assert manager.menu(film, train) == [KEEP]
    manager.choose(KEEP, film)
    manager.wait_emblems({film: "synctrain-here", train: "synctrain-absent"})
    with open(os.path.join(root, "Films/holiday.bin"), "rb") as file:
        assert file.read() == harness.pattern(300_000, len("Films/holiday.bin"))
    assert manager.menu(film) == [FREE, SHOW]
    assert manager.menu(film, train) == [KEEP, FREE]
    manager.choose(FREE, film)
    manager.wait_emblems({film: "synctrain-absent"})
    assert not os.path.exists(os.path.join(root, "Films/holiday.bin"))
    assert [entry["selected"] for entry in agent.records("stat", "library:Films/holiday.bin")] == ["no"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_folder_itself_shows_the_same_states(setting, show, kind):
    """Without a mount: what the agent says, and nothing is written to the user's files."""
    lab, agent, _, root, _, _ = setting
    agent.run("select", "library:Papers")
    letter, unknown, own = (os.path.join(root, name) for name in ("Papers/letter.txt", "Papers/unknown", "mine.txt"))
    wait_until(lambda: os.path.exists(letter) and os.path.exists(unknown), 20, "papers come", child=agent)
    harness.write(own, b"of this device alone")
    before = os.stat(letter)
    manager = show(kind, root)
    manager.wait_emblems({os.path.join(root, "Papers"): "synctrain-here", own: "synctrain-problem"})
    manager.kill()
    manager = show(kind, os.path.join(root, "Papers"))
    manager.wait_emblems({letter: "synctrain-here", unknown: "synctrain-here"})
    after = os.stat(letter)
    assert (after.st_ctime_ns, after.st_mtime_ns, os.listxattr(letter)) == (before.st_ctime_ns, before.st_mtime_ns, [])
    manager.kill()
    elsewhere = lab.directory(f"elsewhere-{kind}")
    harness.write(os.path.join(elsewhere, "file.txt"), b"of nobody's folder")
    manager = show(kind, elsewhere)
    manager.wait_emblems({os.path.join(elsewhere, "file.txt"): None})
    assert manager.menu(os.path.join(elsewhere, "file.txt")) == []
    os.remove(own)
    agent.run("deselect", "library:Papers")


def test_versions_are_shown_by_the_page(setting, show):
    _, _, _, _, directory, desktop = setting
    manager = show(KINDS[0], os.path.join(directory, "Films"))
    film = os.path.join(directory, "Films/train.bin")
    manager.wait_emblems({film: "synctrain-absent"})
    manager.choose(SHOW, film)
    ended = manager.wait_note(lambda note: "command" in note)
    assert ended["status"] == 0, ended
    (page,) = os.listdir(desktop.opened)
    with open(os.path.join(desktop.opened, page)) as file:
        assert "#/files/library/Films/train.bin" in file.read()


def test_without_an_agent_it_is_silent_and_does_not_wait(setting, show):
    _, agent, _, root, _, _ = setting
    agent.run("select", "library:notes.txt")
    notes = os.path.join(root, "notes.txt")
    wait_until(lambda: os.path.exists(notes), 20, "the notes come", child=agent)
    manager = show(KINDS[0], root)
    manager.wait_emblems({notes: "synctrain-here"})
    # An agent that does not answer: the file manager goes on, and what is not known is not claimed.
    agent.suspend()
    manager.kill()
    manager = show(KINDS[0], root)
    manager.wait_emblems({notes: None})
    assert manager.menu(notes) == []
    agent.resume()
    manager.wait_emblems({notes: "synctrain-here"})
    agent.stop()
    manager.wait_emblems({notes: None})
    assert manager.menu(notes) == []
    agent.start()
    manager.wait_emblems({notes: "synctrain-here"}, 60)
    assert manager.menu(notes) == [FREE, SHOW]
