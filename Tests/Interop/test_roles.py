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
