"""`scrub` finds what a disk has lost, tells it from edits, and repairs it with blocks of other devices."""

import json
import os
import sqlite3

from harness import Pair, pattern, read, write
from process import wait_until

BLOCK = 128 << 10
FILM = pattern(9 * BLOCK + 1000, seed=1)


def index_row(agent, path):
    """The index's row of a name in the top directory of the agent's only folder: entry, time of change."""
    with sqlite3.connect(agent.file("index.sqlite")) as index:
        return index.execute(
            "SELECT local.entry, changed, changedNanoseconds FROM local JOIN entry ON entry.id = local.entry "
            "WHERE entry.name = ?", (path,)).fetchone()


def decay(agent, root, name, *offsets):
    """Has the disk of a stopped agent lose bytes of a file: no time shows it, as the index is given the time of change."""
    path = os.path.join(root, name)
    before = os.stat(path)
    with open(path, "r+b") as file:
        for offset in offsets:
            byte = os.pread(file.fileno(), 1, offset)
            os.pwrite(file.fileno(), bytes([byte[0] ^ 0x10]), offset)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = os.stat(path)
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (before.st_size, before.st_mtime_ns, before.st_ino)
    entry = index_row(agent, name)[0]
    with sqlite3.connect(agent.file("index.sqlite")) as index:
        index.execute("UPDATE local SET changed = ?, changedNanoseconds = ? WHERE entry = ?",
                      (after.st_ctime_ns // 10**9, after.st_ctime_ns % 10**9, entry))
    index.close()


def two_with(lab, files, mode="full", settings=""):
    """Two connected agents that have the files; the second one's are settled, so that a change would show."""
    one, two = lab.agent("one"), lab.agent("two")
    lab.introduce(one, two)
    lab.share(one, "f", two, mode=mode)
    one.wait_connected(two.id)
    if mode == "selective":
        for agent in (one, two):
            agent.run("select", "f:film")
    for name, data in files.items():
        write(os.path.join(lab.path("one-f"), name), data)
    one.run("scan", "f")
    root = lab.path("two-f")
    wait_until(lambda: all(os.path.exists(os.path.join(root, name)) for name in files), 30, "two has them", child=two)
    two.run("wait", "f")

    settle(two, files)
    if settings:
        two.stop()
        path = two.file("config.toml")
        write(path, read(path).decode().replace('id = "f"', f'id = "f"\n{settings}', 1).encode())
        two.start()
    return one, two, root


def settle(agent, names):
    """Until a change of the files would show: not right after they were written."""
    def settled():
        agent.run("scan", "f")
        return all(index_row(agent, name)[1] != 0 for name in names)

    wait_until(settled, 20, "a change of the files would show", child=agent)


def scrub(agent, *arguments):
    """Exit code, and the events but for progress."""
    result = agent.try_run("scrub", "--json", *arguments)
    events = [json.loads(line) for line in result.stdout.decode().splitlines()]
    return result.returncode, [event for event in events if event["type"] != "progress"]


def test_one_lost_block_is_found_and_fetched(lab):
    one, two, root = two_with(lab, {"film": FILM, "note": b"short"}, settings='versions = "simple"')
    assert scrub(two)[0] == 0
    assert "all as they were written" in two.run("scrub").stdout.decode()
    two.stop()
    decay(two, root, "film", 3 * BLOCK + 7)
    lost = read(os.path.join(root, "film"))
    assert lost != FILM
    two.start()
    two.wait_connected(one.id)
    two.run("wait", "f")
    seen = one.tree("f")["film"]

    code, events = scrub(two, "f")
    assert code == 2
    assert [event["type"] for event in events] == ["plan", "damaged", "done"]
    damaged, done = events[1:]
    assert (damaged["path"], damaged["wrongBlocks"], damaged["blocks"]) == ("film", 1, 10)
    assert damaged["holders"] == [{"device": one.id, "name": "one", "connected": True}]
    assert (done["files"], done["bytes"], done["damaged"]) == (2, len(FILM) + 5, 1)
    assert "1 of its 10 blocks" in two.problems("f")["film"]
    text = two.try_run("scrub")
    assert text.returncode == 2 and "f:film: damaged, 1 of 10 blocks; available from one" in text.stdout.decode()
    # Nor is it present anywhere that says what is.
    ready = json.loads(two.try_run("ready", "--json").stdout)["folders"][0]
    assert (ready["ready"], ready["missing"]["files"], ready["missingNames"]) == (False, 1, ["film"])
    assert two.tree("f")["film"]["state"] == "partial" and two.folder("f")["copy"] == "partial"

    # It is no new version, not for a scan either, and outlasts a restart.
    two.run("scan", "f")
    two.stop()
    two.start()
    two.wait_connected(one.id)
    two.run("wait", "f")
    assert list(two.problems("f")) == ["film"]
    assert read(os.path.join(root, "film")) == lost
    assert read(os.path.join(lab.path("one-f"), "film")) == FILM
    assert one.tree("f")["film"] == seen

    code, events = scrub(two, "f:film", "--repair")
    assert code == 0, events
    assert [event["type"] for event in events] == ["plan", "damaged", "repaired", "done"]
    assert events[2]["bytes"] == BLOCK, "only the lost block is fetched"
    assert read(os.path.join(root, "film")) == FILM
    before, after = (os.stat(os.path.join(lab.path(f"{name}-f"), "film")) for name in ("one", "two"))
    assert (before.st_mtime_ns, before.st_mode) == (after.st_mtime_ns, after.st_mode)
    assert two.problems("f") == {}
    archived = two.records("versions", "list", "f:film")
    assert [read(entry["file"]) for entry in archived] == [lost]
    assert scrub(two)[0] == 0
    assert two.folder("f")["copy"] == "complete"
    assert one.tree("f")["film"] == seen and two.tree("f")["film"]["modified"] == seen["modified"]
    status = two.folder("f")["scrub"]
    assert (status["files"], status["bytes"], status["damaged"]) == (2, len(FILM) + 5, 0)


def test_a_syncthing_sees_no_new_version_and_gives_the_block(lab):
    pair = Pair(lab)
    write(os.path.join(pair.there, "film"), FILM)
    pair.scan_there()
    pair.wait_same()
    settle(pair.agent, ["film"])
    pair.wait_at_rest()
    versions = pair.node.get("/rest/db/file", folder="f", file="film")
    pair.agent.stop()
    decay(pair.agent, pair.here, "film", 5, 9 * BLOCK)
    pair.agent.start()
    pair.connect()
    pair.wait_at_rest()
    code, events = scrub(pair.agent)
    assert code == 2 and (events[1]["path"], events[1]["wrongBlocks"]) == ("film", 2)
    pair.agent.run("scan", "f")
    pair.barrier()
    assert read(os.path.join(pair.there, "film")) == FILM
    code, events = scrub(pair.agent, "--repair")
    assert code == 0 and events[2]["bytes"] == BLOCK + 1000
    assert read(os.path.join(pair.here, "film")) == FILM
    pair.barrier()
    pair.wait_at_rest()
    after = pair.node.get("/rest/db/file", folder="f", file="film")
    for side in ("local", "global"):
        assert after[side]["version"] == versions[side]["version"]
    assert pair.agent.problems("f") == {}


def test_a_damaged_file_is_no_copy_and_not_served(lab):
    one, two, root = two_with(lab, {"film": FILM}, mode="selective")
    two.stop()
    decay(two, root, "film", 0)
    two.start()
    one.wait_connected(two.id)
    two.run("wait", "f")
    assert scrub(two)[0] == 2
    freed = one.document("deselect", "f:film")["folders"][0]["freeing"]
    assert freed["freedFiles"] == 0 and {s["reason"] for s in freed["staying"]} == {"uncertain-copies"}
    assert read(os.path.join(lab.path("one-f"), "film")) == FILM

    # Nobody has the block: the file stays as it is, and says so.
    os.remove(os.path.join(lab.path("one-f"), "film"))
    one.stop()
    lost = read(os.path.join(root, "film"))
    code, events = scrub(two, "--repair")
    assert code == 2 and [event["type"] for event in events] == ["plan", "damaged", "failed", "done"]
    assert events[2]["error"]["code"] == "no-holder"
    assert read(os.path.join(root, "film")) == lost
    assert list(two.problems("f")) == ["film"]
    # An edit ends it.
    write(os.path.join(root, "film"), b"edited")
    two.run("scan", "f")
    assert two.problems("f") == {} and scrub(two)[0] == 0


def test_an_edit_is_no_damage(lab):
    one, two, root = two_with(lab, {"film": FILM}, settings="watch = false\nrescan-interval = 0")
    two.wait_connected(one.id)
    edited = FILM[:100] + b"edited" + FILM[106:]
    write(os.path.join(root, "film"), edited)
    code, events = scrub(two)
    assert code == 0 and events[-1]["changed"] == 1 and events[-1]["damaged"] == 0
    wait_until(lambda: read(os.path.join(lab.path("one-f"), "film")) == edited, 20, "the edit arrives", child=two)


def test_a_folder_is_scrubbed_by_itself(lab):
    one, two, root = two_with(lab, {"film": FILM})
    two.stop()
    decay(two, root, "film", len(FILM) - 1)
    path = two.file("config.toml")
    write(path, read(path).decode().replace('id = "f"', 'id = "f"\nscrub-every = "30d"', 1).encode())
    two.start()
    assert "1 of its 10 blocks" in two.wait_problem("f", "film", 40)
    wait_until(lambda: two.folder("f").get("scrub", {}).get("ended"), 20, "it ended", child=two)
    assert two.folder("f")["scrub"]["damaged"] == 1
    assert "1 damaged file" in two.run("status").stdout.decode()
    # Done for the next 30 days.
    ended = two.folder("f")["scrub"]["ended"]
    two.stop()
    two.start()
    two.run("scan", "f")
    assert two.folder("f")["scrub"]["ended"] == ended
