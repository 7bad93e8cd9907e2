"""Players at a link: a film lies only on a node whose network is slow, and is played and sought in all the same."""

import http.client
import os
import subprocess
import urllib.parse

import bep
import pytest

MIB = 1 << 20
FILM_SECONDS = 120


def bytes_in(agent, device):
    return next(d["bytesIn"] for d in agent.status()["devices"] if d["id"] == device)


def link(agent, path):
    return agent.run("url", path).stdout.decode().strip()


@pytest.fixture(scope="module")
def films(module_lab):
    """Two minutes of 6 Mbit/s at a node that sends 2 MiB/s, which is less than a player could take."""
    lab = module_lab
    node, agent = lab.syncthing(options={"limitBandwidthInLan": "true", "maxSendKbps": "2048"}), lab.agent()
    lab.introduce(agent, node)
    root = lab.folder_path(node, "films")
    os.makedirs(root)
    made = os.path.join(root, "film.mkv")
    subprocess.run(
        ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=12,noise=alls=60:allf=t", "-f", "lavfi",
         "-i", "sine=frequency=440", "-t", str(FILM_SECONDS), "-c:v", "mpeg4", "-b:v", "6000k", "-g", "24", "-c:a", "mp2",
         "-b:a", "64k", made], check=True)
    # The table of an mp4 comes at its end, unless somebody asks for it at the start.
    subprocess.run(["ffmpeg", "-v", "error", "-i", made, "-c", "copy", os.path.join(root, "film.mp4")], check=True)
    subprocess.run(
        ["ffmpeg", "-v", "error", "-i", made, "-t", "8", "-c", "copy", os.path.join(root, "short.mp4")], check=True)
    lab.share(agent, "films", node)
    node.wait_scanned("films", 3)
    agent.wait_global("films", 3)
    return node, agent, root


def frame(source, at=None, player="ffmpeg"):
    """A picture's bytes, decoded."""
    seek = [] if at is None else ["-ss", str(at)]
    return subprocess.run(
        [player, "-v", "error", *seek, "-i", source, "-map", "0:v", "-frames:v", "1", "-f", "rawvideo", "-"], check=True,
        capture_output=True, timeout=120).stdout


@pytest.mark.parametrize("name", ["film.mp4", "film.mkv"])
def test_a_film_starts_and_is_sought_in_without_being_fetched(films, name):
    node, agent, root = films
    path = os.path.join(root, name)
    size = os.path.getsize(path)
    assert size > 50 * MIB
    url = link(agent, f"films:{name}")
    before = bytes_in(agent, node.id)
    for at in (None, FILM_SECONDS * 0.8, FILM_SECONDS * 0.3):
        seen = frame(url, at)
        assert len(seen) == 320 * 180 * 3 // 2 and seen == frame(path, at)
    cost = bytes_in(agent, node.id) - before
    print(f"{name}: three pictures of {size / MIB:.1f} MiB for {cost / MIB:.1f} MiB")
    # ffmpeg reads on where it would have to seek a few MiB only, and longer where the machine is busy.
    assert cost < size / 2


def test_mpv_plays_and_seeks(films):
    node, agent, root = films
    before = bytes_in(agent, node.id)
    result = subprocess.run(
        ["mpv", "--no-config", "--vo=null", "--ao=null", "--untimed", "--cache=no", "--start=90", "--length=2",
         "--term-playing-msg=playing at ${=time-pos} of ${=duration}", link(agent, "films:film.mp4")],
        stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    said = (result.stdout + result.stderr).decode()
    assert result.returncode == 0, said
    assert "playing at 90.0" in said and "of 120." in said, said
    assert bytes_in(agent, node.id) - before < os.path.getsize(os.path.join(root, "film.mp4")) / 3


def test_a_film_is_played_to_its_end(films):
    """All of it, over the slow network, as it is."""
    _, agent, root = films
    url = link(agent, "films:short.mp4")
    hashes = [
        subprocess.run(["ffmpeg", "-v", "error", "-i", source, "-map", "0:v", "-f", "md5", "-"], check=True,
                       capture_output=True, timeout=300).stdout
        for source in (url, os.path.join(root, "short.mp4"))]
    assert hashes[0] == hashes[1]


def test_what_a_seek_in_two_gibibytes_costs(lab):
    """Requests for blocks, counted by who answers them."""
    agent, peer = lab.agent(), lab.peer()
    lab.introduce(agent, peer)
    block, size = 2 * MIB, 2 << 30
    places = {number: os.urandom(block) for number in (0, 500, 900, size // block - 1)}
    empty = bytes(block)
    zero = bep.blocks_of(empty, block)[0]
    blocks = []
    for number in range(size // block):
        one = bep.blocks_of(places[number], block)[0] if number in places else zero
        blocks.append({**one, "offset": number * block})
    folder = peer.share("films", [agent.id])
    info = bep.file_info("film.mp4", b"", peer.identity.short_id, 0, block_size=block)
    folder.put({**info, "size": size, "block_size": block, "blocks": blocks},
               lambda offset, count: places.get(offset // block, empty)[:count])
    asked = []

    def serve(session, request):
        asked.append(request.get("offset", 0) // block)
        return peer.serve_from_folder(session, request)
    peer.serve = serve
    lab.share(agent, "films", peer)
    peer.dial_until(agent.address)
    agent.wait_global("films", 1)
    parts = urllib.parse.urlsplit(link(agent, "films:film.mp4"))

    def ask(range):
        connection = http.client.HTTPConnection(parts.netloc, timeout=60)
        connection.request("GET", f"{parts.path}?{parts.query}", headers={"Range": f"bytes={range}"})
        answer = connection.getresponse()
        assert answer.status == 206
        begin = answer.read(1000)
        connection.close()
        return begin

    # As a player begins: the head, the tail, and somewhere in the middle.
    assert ask("0-999") == places[0][:1000] and asked == [0]
    assert ask("-1000") == places[size // block - 1][-1000:] and asked == [0, size // block - 1]
    place = 500 * block + 12345
    assert ask(f"{place}-{place + 999}") == places[500][12345:13345] and asked[2:] == [500]
    # Again: it is still in memory.
    assert ask(f"{place}-{place + 999}") == places[500][12345:13345] and len(asked) == 3
    # To the end of the file, and left after a little: the block, and what was asked for ahead before that was seen.
    place = 900 * block
    assert ask(f"{place}-") == places[900][:1000]
    assert asked[3] == 900 and len(asked) <= 3 + 8
