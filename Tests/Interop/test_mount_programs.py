"""Programs on a mount whose files are all elsewhere at first, and what the other device is told meanwhile."""

import contextlib
import importlib.util
import os
import pty
import select
import shutil
import subprocess
import sys
import time

import harness
import pytest
from process import wait_until
from test_mount import cached
from test_mount_writing import Mounted, wait_equal

pytestmark = pytest.mark.skipif(
    not os.access("/dev/fuse", os.R_OK | os.W_OK) or not shutil.which("fusermount3"),
    reason="mounting needs /dev/fuse and fusermount3")

MIB = 1 << 20
GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "safe.directory=*")


def run(*words, **options):
    return subprocess.run(words, check=True, capture_output=True, timeout=120, **options).stdout


@pytest.fixture(scope="module")
def elsewhere(nodes):
    """A node's folder of which nothing is on the agent's disk, mounted there: a repository, a database, texts, sparse files."""
    lab, _, _ = nodes
    made = lab.directory("made")
    repository = os.path.join(made, "repository")
    run("git", "init", "-q", repository)
    for number in range(12):
        harness.write(os.path.join(repository, f"d{number % 3}", f"f{number}"), harness.pattern(2000 * number, number))
    run(*GIT, "-C", repository, "add", ".")
    run(*GIT, "-C", repository, "commit", "-qm", "first")
    run("sqlite3", os.path.join(made, "base.db"),
        "CREATE TABLE t(a, b); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<4000) "
        "INSERT INTO t SELECT i, hex(randomblob(200)) FROM n;")
    contents = {os.path.relpath(os.path.join(base, name), made): harness.read(os.path.join(base, name))
                for base, _, names in os.walk(made) for name in names}
    contents["here/kept"] = b"kept"
    contents["texts/note.txt"] = b"a note\n" * 100
    contents["texts/other.txt"] = b"another\n" * 100
    for name in ("saved", "backed-up", "linked", "changed"):
        contents[f"gtk/{name}.txt"] = b"a note\n" * 100
    # Zeros at both ends and in between, as a disk image has them.
    contents["sparse/zeros.bin"] = bytes(MIB)
    contents["sparse/holes.bin"] = bytes(MIB) + harness.pattern(300_000, 5) + bytes(2 * MIB) + b"end" + bytes(5000)
    contents["sparse/data.bin"] = harness.pattern(MIB, 6)
    for number in range(30):
        contents[f"tree/{number % 4}/{number}.bin"] = harness.pattern(10_000 * number + 1, number)
    mounted = Mounted(*nodes, "elsewhere", contents)
    yield mounted
    mounted.end()


def state(mounted, name):
    return mounted.agent.records("stat", f"{mounted.folder}:{name}")[0]["state"]


def test_programs_that_save_holes_copy_every_byte(elsewhere):
    """What takes no space on a disk is a hole for them, and would be copied as zeros."""
    wanted = harness.regular_files(elsewhere.there("sparse"))
    copy = elsewhere.lab.directory("rsync")
    run("rsync", "-aS", elsewhere.path("sparse") + "/", copy + "/")
    assert harness.regular_files(copy) == wanted
    assert run("rsync", "-acni", elsewhere.path("sparse") + "/", copy + "/") == b"", "rsync itself sees no difference"
    out = elsewhere.lab.directory("untarred")
    archive = elsewhere.lab.path("sparse.tar")
    run("tar", "-S", "-cf", archive, "-C", elsewhere.directory, "sparse")
    run("tar", "-xf", archive, "-C", out)
    assert harness.regular_files(os.path.join(out, "sparse")) == wanted
    run("cp", "--sparse=always", elsewhere.path("sparse/holes.bin"), elsewhere.lab.path("holes"))
    assert harness.sha256_of(elsewhere.lab.path("holes")) == harness.sha256_of(elsewhere.there("sparse/holes.bin"))
    assert state(elsewhere, "sparse/holes.bin") == "absent", "reading keeps nothing in the folder"


def test_a_repository_that_was_elsewhere(elsewhere):
    repository = elsewhere.path("repository")
    assert run(*GIT, "-C", repository, "status", "--porcelain") == b""
    assert run(*GIT, "-C", repository, "log", "--format=%s") == b"first\n"
    with open(os.path.join(repository, "d1/f1"), "ab") as file:
        file.write(b"more\n")
    os.remove(os.path.join(repository, "d2/f5"))
    harness.write(os.path.join(repository, "new/file"), b"new\n")
    run(*GIT, "-C", repository, "add", "-A")
    run(*GIT, "-C", repository, "commit", "-qm", "second")
    run(*GIT, "-C", repository, "gc", "-q")
    run(*GIT, "-C", repository, "fsck", "--strict")
    elsewhere.wait_same("repository")
    there = elsewhere.there("repository")
    run(*GIT, "-C", there, "fsck", "--strict")
    assert run(*GIT, "-C", there, "log", "--format=%s") == b"second\nfirst\n"
    assert run(*GIT, "-C", there, "status", "--porcelain") == b""
    assert elsewhere.conflicts() == []


def test_a_database_that_was_elsewhere(elsewhere):
    base = elsewhere.path("base.db")
    assert run("sqlite3", "-readonly", base, "SELECT count(*), sum(a) FROM t;") == b"4000|8002000\n"
    assert state(elsewhere, "base.db") == "absent"
    assert run("sqlite3", base, "PRAGMA journal_mode=WAL; UPDATE t SET a = a + 1 WHERE a <= 10; DELETE FROM t WHERE a > 3990;") \
        == b"wal\n"
    assert run("sqlite3", base, "PRAGMA integrity_check; SELECT count(*) FROM t; PRAGMA journal_mode=DELETE;") == \
        b"ok\n3990\ndelete\n"
    assert run("sqlite3", base, "BEGIN; DELETE FROM t; ROLLBACK; SELECT count(*) FROM t;") == b"3990\n"
    elsewhere.wait_there("base.db", harness.read(base))
    assert run("sqlite3", elsewhere.there("base.db"), "PRAGMA integrity_check; SELECT count(*) FROM t;") == b"ok\n3990\n"
    assert elsewhere.conflicts() == []


def edit_with_nano(path, text):
    """nano as a person uses it: on a terminal, with the keys that it shows."""
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe("nano", ["nano", "--ignorercfiles", path], dict(os.environ, TERM="xterm", LC_ALL="C.UTF-8"))
    seen = b""

    def until(words):
        nonlocal seen
        end = time.monotonic() + 30
        while words not in seen:
            ready, _, _ = select.select([terminal], [], [], max(0, end - time.monotonic()))
            assert ready, (words, seen)
            seen += os.read(terminal, 65536)
        seen = b""
    try:
        until(b"Exit")
        os.write(terminal, text + b"\x0f")
        until(b"Write")
        os.write(terminal, b"\r")
        until(b"Wrote")
        os.write(terminal, b"\x18")
        # The terminal ends with the program.
        with contextlib.suppress(OSError):
            while os.read(terminal, 65536):
                pass
    finally:
        os.close(terminal)
        _, status = os.waitpid(child, 0)
    return status


def told_names(node, since):
    """What the node has begun to fetch or delete since an event, by its own record."""
    events = node.get(f"/rest/events?events=ItemStarted&since={since}&timeout=1")
    return [event["data"]["item"] for event in events]


def test_what_editors_write_beside_a_file_is_told_to_nobody(elsewhere):
    """vim: a swap file, a backup and 4913; nano, and a program that saves by renaming: names of their own."""
    node, local = elsewhere.node, elsewhere.local
    # The first question has the node record them.
    begun = max([event["id"] for event in node.get("/rest/events?events=ItemStarted&timeout=1")], default=0)
    note, other = elsewhere.path("texts/note.txt"), elsewhere.path("texts/other.txt")
    mode = os.stat(note).st_mode
    # As an editor that is open: the file is there when the folder is scanned.
    swap = elsewhere.path("texts/.note.txt.swp")
    harness.write(swap, b"b0VIM")
    elsewhere.agent.run("scan", elsewhere.folder)
    assert os.path.exists(os.path.join(local, "texts/.note.txt.swp")), "it is in the folder"
    os.remove(swap)
    run("vim", "-u", "NONE", "-es", "--cmd", "set nocp swapfile updatecount=1 writebackup", "-c", "normal Goadded", "-c", "wq", note)
    elsewhere.wait_there("texts/note.txt", b"a note\n" * 100 + b"added\n")
    assert edit_with_nano(other, b"typed ") == 0
    elsewhere.wait_there("texts/other.txt", b"typed " + b"another\n" * 100)
    # As many programs save: a temporary file that takes the name.
    for name in ("x.tmp", ".goutputstream-ABC123", ".~lock.other.txt#"):
        harness.write(elsewhere.path("texts", name), b"saved by renaming\n")
    os.rename(elsewhere.path("texts/x.tmp"), other)
    for name in (".goutputstream-ABC123", ".~lock.other.txt#"):
        os.remove(elsewhere.path("texts", name))
    elsewhere.wait_there("texts/other.txt", b"saved by renaming\n")
    # The node names each thing that it is told of when it begins with it.
    told = {name for name in told_names(node, begun) if name.startswith("texts/")}
    assert told == {"texts/note.txt", "texts/other.txt"}
    assert os.stat(note).st_mode == mode and elsewhere.conflicts() == []


# How gedit and all other programs of GTK load and save a text: the entity tag says whether the file is still what was loaded.
GTK_EDITOR = """
import sys
from gi.repository import Gio, GLib
path, text, hasBackup = sys.argv[1], sys.argv[2].encode(), sys.argv[3] == "backup"
file = Gio.File.new_for_path(path)
_, old, tag = file.load_contents(None)
print("loaded", flush=True)
sys.stdin.readline()
try:
    file.replace_contents(old + text, tag, hasBackup, Gio.FileCreateFlags.NONE, None)
except GLib.Error as error:
    sys.exit(error.message)
"""


@contextlib.contextmanager
def gtk_editor(path, text, backup=False):
    """A program that has loaded the file. Saves `text` behind it when it is left, and gives what it says of that in `said`."""
    said = []
    with subprocess.Popen([sys.executable, "-c", GTK_EDITOR, path, text, "backup" if backup else ""],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout.readline() == "loaded\n", program.stderr.read()
            yield said
            said.append(program.communicate("\n", timeout=60)[1].strip())
        finally:
            program.kill()


@pytest.mark.skipif(not importlib.util.find_spec("gi"), reason="needs python3-gi")
def test_gtk_editors_save_what_was_elsewhere(elsewhere):
    """They write `.goutputstream-…` and rename it; with a backup the file itself is renamed before; through a link it is
    written in its place."""
    node, old = elsewhere.node, b"a note\n" * 100
    begun = max([event["id"] for event in node.get("/rest/events?events=ItemStarted&timeout=1")], default=0)
    os.symlink("linked.txt", elsewhere.path("gtk/link"))
    modes = {}
    for name, path, hasBackup in (("saved", "saved.txt", False), ("backed-up", "backed-up.txt", True), ("linked", "link", False)):
        modes[name] = os.stat(elsewhere.path("gtk", path)).st_mode
        with gtk_editor(elsewhere.path("gtk", path), name, hasBackup) as said:
            assert state(elsewhere, f"gtk/{name}.txt") == "absent", "loading keeps nothing in the folder"
        assert said == [""]
    for name, mode in modes.items():
        elsewhere.wait_there(f"gtk/{name}.txt", old + name.encode())
        assert os.stat(elsewhere.path(f"gtk/{name}.txt")).st_mode == mode == os.stat(elsewhere.there(f"gtk/{name}.txt")).st_mode
    assert harness.read(elsewhere.path("gtk/backed-up.txt~")) == old
    wait_until(lambda: os.path.islink(elsewhere.there("gtk/link")), 20, "the link arrives", child=elsewhere.agent)
    # A backup stays, and is told after a while.
    told = {name for name in told_names(node, begun) if name.startswith("gtk/")} - {"gtk/backed-up.txt~"}
    assert told == {"gtk/saved.txt", "gtk/backed-up.txt", "gtk/linked.txt", "gtk/link"}
    # What another device has changed since it was loaded is not overwritten.
    with gtk_editor(elsewhere.path("gtk/changed.txt"), "ours") as said:
        harness.write(elsewhere.there("gtk/changed.txt"), b"theirs\n")
        node.scan(elsewhere.folder, "gtk/changed.txt")
        wait_until(lambda: harness.read(elsewhere.path("gtk/changed.txt")) == b"theirs\n", 20, "the change is seen",
                   child=elsewhere.agent)
    assert "modified" in said[0], said
    assert harness.read(elsewhere.path("gtk/changed.txt")) == b"theirs\n" and elsewhere.conflicts() == []


def test_a_change_elsewhere_is_seen_within_a_second(elsewhere):
    """From the moment at which the agent knows of it. Of several changes one at least: the machine may be busy."""
    path = elsewhere.path("texts/seen.txt")
    pauses = []
    for number in range(1, 6):
        harness.write(elsewhere.there("texts/seen.txt"), b"x" * number)
        os.path.exists(path)
        elsewhere.node.scan(elsewhere.folder, "texts/seen.txt")
        elsewhere.agent.wait_entry(f"{elsewhere.folder}:texts/seen.txt", lambda entry: entry and entry["size"] == number)
        known = time.monotonic()
        wait_until(lambda: os.path.exists(path) and os.stat(path).st_size == number, 20, "the change is seen")
        pauses.append(time.monotonic() - known)
    assert min(pauses) < 1, pauses


@pytest.mark.skipif(not shutil.which("gio"), reason="needs gio")
def test_nothing_is_put_into_a_trash_that_all_devices_would_keep(elsewhere):
    """File managers offer to delete then. A copy by gio is whole."""
    wanted = harness.read(elsewhere.there("sparse/data.bin"))
    copy = elsewhere.lab.path("by-gio")
    run("gio", "copy", elsewhere.path("sparse/data.bin"), copy)
    assert harness.read(copy) == wanted
    assert f"standard::size: {len(wanted)}".encode() in run("gio", "info", elsewhere.path("sparse/data.bin"))
    harness.write(elsewhere.path("here/trashed"), b"trashed")
    for name in ("sparse/data.bin", "here/trashed"):
        result = subprocess.run(["gio", "trash", elsewhere.path(name)], capture_output=True, check=False, timeout=60)
        assert result.returncode != 0 and os.path.exists(elsewhere.path(name)), result.stderr
    assert state(elsewhere, "sparse/data.bin") == "absent"
    assert not [name for name in os.listdir(elsewhere.directory) if name.startswith(".Trash")]
    run("gio", "remove", elsewhere.path("sparse/data.bin"))
    elsewhere.wait_gone_there("sparse/data.bin")


def test_a_tree_that_was_read_once_is_read_again_without_any_device(elsewhere):
    """What asks for names and sizes fetches nothing: tar does not read what it writes to /dev/null."""
    node, agent, tree, archive = elsewhere.node, elsewhere.agent, elsewhere.path("tree"), elsewhere.lab.path("tree.tar")
    before, wanted = cached(agent), harness.regular_files(elsewhere.there("tree"))
    run("tar", "-cf", "/dev/null", "-C", elsewhere.directory, "tree")
    sizes = {path: size for size, path in (line.split(b"\t") for line in run("du", "-ab", tree).splitlines())}
    assert sizes[os.fsencode(os.path.join(tree, "1/29.bin"))] == b"290001"
    assert len(run("find", tree, "-type", "f", "-size", "+0").splitlines()) == len(wanted)
    assert cached(agent) == before
    run("tar", "-cf", archive, "-C", elsewhere.directory, "tree")
    assert cached(agent) > before
    node.change_device(agent.id, paused=True)
    agent.wait_disconnected(node.id)
    try:
        run("tar", "-df", archive, "-C", elsewhere.directory)
        run("grep", "-rc", "", tree)
        packed = elsewhere.lab.path("tree.zip")
        run("zip", "-qr", packed, "tree", cwd=elsewhere.directory)
    finally:
        node.change_device(agent.id, paused=False)
    out = elsewhere.lab.directory("unpacked")
    run("unzip", "-q", packed, "-d", out)
    assert harness.regular_files(os.path.join(out, "tree")) == wanted
    agent.wait_connected(node.id)
    assert elsewhere.agent.records("stat", f"{elsewhere.folder}:tree/1/29.bin")[0]["state"] == "absent"
