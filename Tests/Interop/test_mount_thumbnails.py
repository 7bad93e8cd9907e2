"""Thumbnails in file managers of photos that are not here: the program that makes them is refused the photo, and the desktop has the
agent's thumbnail by then. What `gio` says is what file managers show."""

import hashlib
import os
import shutil
import subprocess

import harness
import pytest
from process import wait_until
from test_thumbnails import BLOCK, bytes_in, ffmpeg, is_red, pixels, with_preview

pytestmark = pytest.mark.skipif(
    not os.access("/dev/fuse", os.R_OK | os.W_OK) or not shutil.which("fusermount3"),
    reason="mounting needs /dev/fuse and fusermount3")

# More than 256 bytes when escaped, and letters that are.
ODD = "größe 100% & mehr; so [1] " + "ü" * 40 + ".jpg"


@pytest.fixture(scope="module")
def setting(module_lab):
    lab = module_lab
    node, agent = lab.syncthing(), lab.agent(start=False)
    agent.variables["XDG_CACHE_HOME"] = lab.directory("cache")
    agent.start()
    lab.introduce(agent, node)
    root = lab.directory(f"{node.name}-photos")
    # Blue, with a red preview: which of them is shown tells what was read.
    ffmpeg("-f", "lavfi", "-i", "color=blue:s=3000x2000", "-vf", "noise=alls=90:allf=t", "-frames:v", 1, "-q:v", 1,
           os.path.join(root, "plain.jpg"))
    ffmpeg("-f", "lavfi", "-i", "color=red:s=160x120", "-frames:v", 1, lab.path("preview.jpg"))
    photo, preview = harness.read(os.path.join(root, "plain.jpg")), harness.read(lab.path("preview.jpg"))
    assert len(photo) > 8 * BLOCK
    for number, name in enumerate(("photo.jpg", "other.jpg", "third.jpg", ODD)):
        # A comment in its first block, so that none has a block of another.
        commented = photo[:2] + b"\xff\xfe\0\x03" + bytes([number]) + photo[2:]
        harness.write(os.path.join(root, name), with_preview(commented, preview))
    harness.write(os.path.join(root, "text.pdf"), b"%PDF-1.4 is all that there is")
    lab.share(agent, "photos", node)
    node.wait_scanned("photos", 6)
    agent.wait_global("photos", 6)
    mount = lab.path("mount")
    agent.run("mount", mount, "--folder", "photos")
    thumbnailer = lab.path("gdk-pixbuf-thumbnailer")
    shutil.copy("/usr/bin/head", thumbnailer)
    yield lab, node, agent, mount, thumbnailer
    subprocess.run(["fusermount3", "-u", "-z", mount], check=False)


def refused(thumbnailer, path):
    result = subprocess.run([thumbnailer, "-c", "10", path], capture_output=True, check=False, timeout=60)
    assert result.returncode != 0 and b"No data available" in result.stderr


def shown(agent, path):
    """The thumbnail that the desktop has of a file, None if it has none."""
    result = subprocess.run(["gio", "info", "-a", "thumbnail::*", path], capture_output=True, check=True, timeout=60,
                            env=agent.environment | {"LC_ALL": "C.UTF-8"})
    facts = dict(line.strip().split(": ", 1) for line in result.stdout.decode().splitlines() if ": " in line)
    return facts["thumbnail::path"] if facts.get("thumbnail::is-valid") == "TRUE" else None


def cost(setting, path, is_made=lambda: True):
    """How many blocks come for a thumbnail that a file manager wants, once it is made: the program is refused after a while without."""
    _, node, agent, _, thumbnailer = setting
    before = bytes_in(agent, node.id)
    refused(thumbnailer, path)
    wait_until(lambda: is_made() and not agent.status()["transfers"], what="nothing is under way")
    return round((bytes_in(agent, node.id) - before) / BLOCK)


@pytest.mark.parametrize("name", ["photo.jpg", ODD])
def test_a_photo_has_a_thumbnail_once_its_program_was_refused(setting, name):
    _, _, agent, mount, thumbnailer = setting
    path = os.path.join(mount, name)
    assert shown(agent, path) is None
    assert cost(setting, path, lambda: shown(agent, path)) == 1, "the block with the preview"
    thumbnail = shown(agent, path)
    assert os.path.dirname(thumbnail) == os.path.join(agent.environment["XDG_CACHE_HOME"], "thumbnails/large")
    assert os.stat(thumbnail).st_mode & 0o77 == 0
    jpeg = subprocess.run(["vips", "copy", thumbnail, ".jpg"], capture_output=True, check=True).stdout
    width, height, color = pixels(jpeg)
    assert max(width, height) <= 255 and is_red(color)
    assert cost(setting, path) == 0
    assert agent.records("stat", f"photos:{name}")[0]["state"] == "absent"


def test_a_photo_that_costs_more_than_the_limit_has_none(setting):
    _, _, agent, mount, _ = setting
    path = os.path.join(mount, "plain.jpg")
    assert cost(setting, path) <= 1
    assert shown(agent, path) is None
    # It can be had all the same by whoever wants it.
    assert agent.run("thumbnail", "photos:plain.jpg").stdout


def test_a_file_manager_asks_again_for_what_it_got_no_thumbnail_of(setting):
    _, _, agent, mount, thumbnailer = setting
    path = os.path.join(mount, "text.pdf")
    refused(thumbnailer, path)
    # As a file manager notes it, after it was refused.
    name = hashlib.md5(f"file://{path}".encode()).hexdigest() + ".png"
    note = os.path.join(agent.environment["XDG_CACHE_HOME"], "thumbnails/fail/gnome-thumbnail-factory", name)
    harness.write(note, b"a note")
    wait_until(lambda: not os.path.exists(note), what="the note is gone")


def test_none_is_made_where_the_limit_is_zero(setting):
    _, _, agent, mount, _ = setting
    agent.run("config", "set", "mount.thumbnail-limit", "0")
    try:
        path = os.path.join(mount, "other.jpg")
        assert cost(setting, path) == 0
        assert shown(agent, path) is None
    finally:
        agent.run("config", "set", "mount.thumbnail-limit", "256 KiB")


def test_nobody_waits_long_while_the_holder_is_away(setting):
    _, node, agent, mount, thumbnailer = setting
    path = os.path.join(mount, "third.jpg")
    node.stop()
    try:
        agent.wait_disconnected(node.id)
        refused(thumbnailer, path)
        assert shown(agent, path) is None
    finally:
        node.start()
    agent.wait_connected(node.id)
    refused(thumbnailer, path)
    wait_until(lambda: shown(agent, path), what="the thumbnail")
