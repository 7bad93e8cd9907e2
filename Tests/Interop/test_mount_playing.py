"""Players at a mount: a film that lies only on a node, played and sought in as a file; the node says how many bytes it sent."""

import os
import subprocess

import pytest
from test_mount import pytestmark  # noqa: F401 (skips where nothing can be mounted)
from test_playing import FILM_SECONDS, MIB, frame


@pytest.fixture(scope="module")
def films(module_lab):
    """Two minutes of 6 Mbit/s, with the index at the end, at the front and, as Matroska, in clusters."""
    lab = module_lab
    node, agent = lab.syncthing(), lab.agent()
    lab.introduce(agent, node)
    root = lab.folder_path(node, "films")
    os.makedirs(root)
    made = os.path.join(root, "clusters.mkv")
    subprocess.run(
        ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=12,noise=alls=60:allf=t", "-f", "lavfi",
         "-i", "sine=frequency=440", "-t", str(FILM_SECONDS), "-c:v", "mpeg4", "-b:v", "6000k", "-g", "24", "-c:a", "mp2",
         "-b:a", "64k", made], check=True)
    for name, options in (("end.mp4", []), ("front.mp4", ["-movflags", "+faststart"]), ("short.mp4", ["-t", "8"])):
        subprocess.run(["ffmpeg", "-v", "error", "-i", made, *options, "-c", "copy", os.path.join(root, name)], check=True)
    lab.share(agent, "films", node)
    node.wait_scanned("films", 4)
    agent.wait_global("films", 4)
    directory = lab.path("mount")
    agent.run("mount", "films", directory)
    yield node, agent, root, directory
    subprocess.run(["fusermount3", "-u", "-z", directory], check=False)


class Sent:
    """What the node has sent the agent since this was made."""

    def __init__(self, films):
        self.node, self.agent = films[0], films[1]
        self.before = self.total()

    def total(self):
        return self.node.get("/rest/system/connections")["connections"][self.agent.id]["outBytesTotal"]

    @property
    def count(self):
        return self.total() - self.before


@pytest.mark.parametrize("name", ["end.mp4", "front.mp4", "clusters.mkv"])
def test_a_film_is_probed_and_sought_in_without_being_fetched(films, name):
    _, _, root, directory = films
    path, shown = os.path.join(root, name), os.path.join(directory, name)
    size, sent = os.path.getsize(path), Sent(films)
    assert size > 50 * MIB
    said = subprocess.run(["ffprobe", "-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", shown],
                          check=True, capture_output=True).stdout
    probed = sent.count
    assert abs(float(said) - FILM_SECONDS) < 1
    for at in (None, FILM_SECONDS * 0.8, FILM_SECONDS * 0.3):
        seen = frame(shown, at)
        assert len(seen) == 320 * 180 * 3 // 2 and seen == frame(path, at)
    print(f"{name}: probed for {probed / MIB:.1f} MiB, three pictures for {sent.count / MIB:.1f} MiB of {size / MIB:.1f} MiB")
    # Both ends, and what is read ahead of them.
    assert probed < 4 * MIB
    assert sent.count < size / 4


def test_mpv_starts_in_the_middle_and_seeks(films):
    _, _, root, directory = films
    sent, size = Sent(films), os.path.getsize(os.path.join(root, "front.mp4"))
    for start in (50, 90, 10):
        result = subprocess.run(
            ["mpv", "--no-config", "--vo=null", "--ao=null", "--untimed", "--cache=no", f"--start={start}%", "--frames=5",
             "--term-playing-msg=playing at ${=time-pos} of ${=duration}", os.path.join(directory, "front.mp4")],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
        said = (result.stdout + result.stderr).decode()
        assert result.returncode == 0 and f"playing at {FILM_SECONDS * start // 100}." in said, said
    print(f"mpv: three places for {sent.count / MIB:.1f} MiB of {size / MIB:.1f} MiB")
    assert sent.count < size / 3


def test_a_film_is_played_to_its_end(films):
    _, _, root, directory = films
    sent = Sent(films)
    hashes = [subprocess.run(["ffmpeg", "-v", "error", "-i", os.path.join(place, "short.mp4"), "-map", "0:v", "-f", "md5", "-"],
                             check=True, capture_output=True, timeout=300).stdout for place in (directory, root)]
    assert hashes[0] == hashes[1]
    assert sent.count < 1.2 * os.path.getsize(os.path.join(root, "short.mp4"))
