"""A device that may only read, as a real Syncthing, which knows nothing of it: what it changes is refused here and shown,
and can be accepted or taken back."""

import os

import agent as cli
from harness import Pair, read, write
from process import wait_until


def refused(pair):
    return {record["path"]: record["change"] for record in pair.agent.records("refused", "list", pair.id)}


def test_a_reader_changes_nothing_here(lab):
    pair = Pair(lab, "shared")
    for name in ("edited", "deleted", "kept", "sub/deep"):
        write(os.path.join(pair.here, name), name.encode())
    pair.wait_same()
    pair.agent.run("folder", "role", "shared", pair.node.id, "read")
    assert pair.status["roles"] == {pair.node.id: "read"}

    write(os.path.join(pair.there, "edited"), b"edited there")
    write(os.path.join(pair.there, "new/added"), b"added there")
    os.remove(os.path.join(pair.there, "deleted"))
    pair.scan_there()
    everything = {"edited": "changed", "deleted": "deleted", "new": "new", "new/added": "new"}
    wait_until(lambda: refused(pair) == everything, what="the changes are listed")
    assert pair.status["refused"] == 4
    # Nothing of it is followed, and what is changed here still goes its way.
    write(os.path.join(pair.here, "kept"), b"changed here")
    wait_until(lambda: read(os.path.join(pair.there, "kept")) == b"changed here", what="the change arrives")
    assert read(os.path.join(pair.here, "edited")) == b"edited" and read(os.path.join(pair.here, "deleted")) == b"deleted"
    assert not os.path.exists(os.path.join(pair.here, "new"))
    assert pair.agent.try_run("stat", "shared:new/added").returncode == cli.NO_SUCH

    # The refusal outlives the agent.
    pair.agent.stop()
    pair.agent.start()
    pair.connect()
    assert refused(pair) == everything

    pair.agent.run("refused", "accept", "shared:new")
    wait_until(
        lambda: os.path.exists(os.path.join(pair.here, "new/added")), what="what was accepted arrives")
    assert read(os.path.join(pair.here, "new/added")) == b"added there"
    assert refused(pair) == {"edited": "changed", "deleted": "deleted"}

    assert pair.agent.try_run("refused", "revert", "shared").returncode == cli.NEEDS_YES
    pair.agent.run("refused", "revert", "shared", "--yes")
    pair.wait_same()
    assert refused(pair) == {} and pair.status["refused"] == 0
    assert read(os.path.join(pair.there, "edited")) == b"edited"
    assert read(os.path.join(pair.there, "deleted")) == b"deleted"

    # A writer again: what was refused last counts.
    write(os.path.join(pair.there, "edited"), b"edited again")
    pair.scan_there()
    wait_until(lambda: refused(pair) == {"edited": "changed"}, what="the change is listed")
    pair.agent.run("folder", "role", "shared", pair.node.id, "write")
    wait_until(lambda: read(os.path.join(pair.here, "edited")) == b"edited again", what="the change arrives")
    assert not [name for name in os.listdir(pair.here) if "sync-conflict" in name]


def test_an_admin_brings_devices_and_folders(lab):
    """A real Syncthing as admin: it names a third device in the shared folder, and offers another folder."""
    node, agent = lab.syncthing(), lab.agent(start=False)
    place = lab.directory("offered")
    config = agent.file("config.toml")
    text = read(config).decode()
    write(config, (f'offered-folders = "{place}"\n' + text).encode())
    agent.start()
    lab.introduce(agent, node)
    pair = Pair(lab, "shared", node=node, agent=agent)
    third = lab.peer("third")
    node.add_device(third.id, name="third")
    agent.run("folder", "role", "shared", node.id, "admin")
    node.set_folder("shared", pair.there, [agent.id, third.id])
    node.set_folder("more", lab.path("real-more"), [agent.id], label="More")
    write(os.path.join(lab.path("real-more"), "big"), b"there")
    node.scan("more")

    def devices():
        return {device["id"] for device in agent.status()["devices"]}
    wait_until(lambda: third.id in devices(), what="the device that the admin names is known")
    assert set(agent.folder("shared")["devices"]) == {node.id, third.id}
    wait_until(lambda: agent.folder("more").get("path") == os.path.join(place, "More"), what="the offer is taken")
    agent.wait_entry("more:big", lambda entry: entry is not None)
    assert agent.folder("more")["mode"] == "selective" and not os.path.exists(os.path.join(place, "More", "big"))

    # What the user removes does not come back, and what the admin names no longer goes.
    agent.run("folder", "remove", "more", "--yes")
    node.set_folder("shared", pair.there, [agent.id])
    wait_until(lambda: devices() == {node.id}, what="the device goes again")
    assert agent.folder("more") == {} and agent.folder("shared")["devices"] == [node.id]
