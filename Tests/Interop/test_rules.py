"""What Syncthing 2 demands of a peer, and what a peer's pause looks like. `bep.Peer` ends its link, as Syncthing 2 does, on a
request without a hash and on blocks of a directory, a link or something deleted."""

import os

import pytest
from harness import pattern, write
from process import wait_until


def test_what_is_announced_has_blocks_only_where_it_may(lab):
    agent, peer = lab.agent(), lab.peer()
    lab.introduce(agent, peer)
    here = lab.share(agent, "f", peer, mode="full")
    session = peer.dial_until(agent.address)
    write(os.path.join(here, "d/file"), pattern(300_000))
    write(os.path.join(here, "empty"))
    write(os.path.join(here, "gone/file"), b"gone")
    os.symlink("file", os.path.join(here, "d/link"))
    os.symlink("nowhere", os.path.join(here, "gone/link"))
    agent.run("scan", "f")
    names = ["d", "d/file", "d/link", "empty", "gone", "gone/file", "gone/link"]
    session.wait_index("f", names=names)
    for name in ("gone/file", "gone/link"):
        os.remove(os.path.join(here, name))
    os.rmdir(os.path.join(here, "gone"))
    # A directory in the place of a file, a file in that of a link.
    os.remove(os.path.join(here, "empty"))
    os.mkdir(os.path.join(here, "empty"))
    os.remove(os.path.join(here, "d/link"))
    write(os.path.join(here, "d/link"), b"a file")
    agent.run("scan", "f")

    def entry(name):
        return session.index["f"].get(name, {})
    wait_until(lambda: all(entry(name).get("deleted") for name in ("gone", "gone/file", "gone/link")), 20, "deletions")
    # Not the deletion, which a scan between it and the new file announces.
    wait_until(lambda: entry("empty").get("type") == 1 and not entry("empty").get("deleted")
               and entry("d/link").get("type", 0) == 0 and not entry("d/link").get("deleted"), 20, "other kinds")
    assert len(entry("d/file")["blocks"]) == 3 and len(entry("d/link")["blocks"]) == 1
    assert not any(entry(name).get("blocks") for name in names if name not in ("d/file", "d/link"))
    assert session.ended is None


def test_every_request_is_for_a_whole_block_with_its_hash(lab):
    agent, peer = lab.agent(), lab.peer()
    lab.introduce(agent, peer)
    lab.share(agent, "f", peer)
    files = {"small/1": 100, "small/2": 5000, "small/3": 131_072, "big": 1_700_000, "read": 900_000, "part": 400_000,
             "fetched": 2_000_000}
    session = peer.dial_until(agent.address)
    for name, size in files.items():
        peer.folders["f"].add(name, pattern(size, seed=size))
    session.send_index("f")
    agent.wait_global("f", len(files))
    agent.run("select", "f:small", "f:big")
    agent.run("fetch", "f:fetched")
    assert agent.run("cat", "f:read").stdout == pattern(900_000, seed=900_000)
    assert agent.run("cat", "f:part", "--range", "100000-300000").stdout == pattern(400_000, seed=400_000)[100_000:300_001]
    wait_until(lambda: agent.folder("f")["need"]["files"] == 0, 20, "what is selected is here", child=agent)
    blocks = {(entry["name"], block.get("offset", 0), block["size"]): block["hash"]
              for entry in peer.folders["f"].entries.values() for block in entry.get("blocks", [])}
    for request in session.requests:
        place = request["name"], request.get("offset", 0), request["size"]
        assert request.get("hash") == blocks[place], request
        assert not request.get("from_temporary"), request
    assert {request["name"] for request in session.requests} == set(files)
    assert session.ended is None


@pytest.mark.parametrize("kind", ["syncthing", "agent"])
def test_a_folder_that_is_paused_there_is_shown_so(lab, kind):
    agent = lab.agent("ours")
    other = lab.syncthing("other") if kind == "syncthing" else lab.agent("other")
    lab.introduce(agent, other)
    lab.share(agent, "f", other)
    agent.wait_connected(other.id)

    def reasons():
        return {wait["reason"]: wait for wait in agent.folder("f").get("waits", [])}

    def pause(is_paused):
        if kind == "agent":
            other.run("folder", "pause" if is_paused else "resume", "f")
        else:
            other.call("PATCH", "/rest/config/folders/f", {"paused": is_paused})
    wait_until(lambda: not reasons(), 30, "nothing is in the way", child=agent)
    pause(True)
    wait_until(lambda: "paused-there" in reasons(), 60, "the pause is shown", child=agent)
    assert reasons()["paused-there"]["devices"] == [other.id]
    assert "other has paused it" in reasons()["paused-there"]["message"]
    pause(False)
    wait_until(lambda: not reasons(), 60, "the end of the pause is shown", child=agent)
