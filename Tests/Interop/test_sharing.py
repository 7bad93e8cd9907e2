"""Folders shared one after the other over a link that is open, as people do."""

import os

from harness import write
from process import wait_until


def test_each_folder_that_is_added_is_known(lab):
    """A Syncthing that is told of a folder before it has it may send its index before it says which index that is."""
    node, agent = lab.syncthing(), lab.agent()
    lab.introduce(agent, node)
    for number in range(12):
        folder = f"f{number}"
        there = lab.folder_path(node, folder)
        os.makedirs(there)
        with open(os.path.join(there, "a"), "w") as file:
            file.write(folder)
        lab.share(agent, folder, node)
        node.wait_scanned(folder, 1)
        agent.wait_global(folder, 1)
        assert agent.run("cat", f"{folder}:a").stdout == folder.encode()


def test_a_device_that_knows_a_hash_does_not_get_the_content(lab):
    """The bytes are in a folder that is not shared with it: the agent asks for them instead of taking them from there."""
    agent, alice, mallory = lab.agent(), lab.peer("alice"), lab.peer("mallory")
    lab.introduce(agent, alice, mallory)
    secret = os.urandom(5000)
    write(os.path.join(lab.share(agent, "private", alice, mode="full"), "secret"), secret)
    agent.run("scan", "private")
    lab.share(agent, "f", mallory, mode="full")
    # Only hashes go over the link with the index.
    mallory.folders["f"].add("stolen", secret)
    mallory.folders["f"].add("own", b"own content")
    mallory.serve = lambda session, request: 2 if request["name"] == "stolen" else mallory.serve_from_folder(session, request)
    session = mallory.dial_until(agent.address)
    wait_until(lambda: "own" in session.index.get("f", {}), 20, "what mallory has is here")
    wait_until(lambda: any(r["name"] == "stolen" for r in session.requests), 20, "the agent asked for the file")
    assert "stolen" not in session.index["f"]
