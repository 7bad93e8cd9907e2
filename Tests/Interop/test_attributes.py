"""Extended attributes, access control lists and ownership between agents, and with a peer that sends what Syncthing sends."""

import errno
import os
import pwd

import pytest
import wire
from harness import read, write
from process import wait_until

USER = 65534
SETTINGS = "sync-xattrs = true\nsync-ownership = true\n"


def configure(agent, folder, lines):
    """Adds settings to the folder's block and has the agent read them."""
    path = agent.file("config.toml")
    text = read(path).decode()
    block = f'id = "{folder}"\n'
    assert text.count(block) == 1
    write(path, text.replace(block, block + lines).encode())
    if agent.is_running:
        agent.run("reload")


def attributes(path):
    while True:
        try:
            return {name: os.getxattr(path, name) for name in sorted(os.listxattr(path))}
        except OSError as error:
            # One is removed, or the file replaced, after they were listed.
            if error.errno != errno.ENODATA:
                raise


class Two:
    """Two agents with one folder; both sync attributes."""

    def __init__(self, lab, settings=(SETTINGS, SETTINGS)):
        self.lab, self.one, self.two = lab, lab.agent("one"), lab.agent("two")
        lab.introduce(self.one, self.two)
        self.here = lab.share(self.one, "f", self.two, mode="full")
        self.there = lab.folder_path(self.two, "f")
        for agent, lines in zip((self.one, self.two), settings):
            if lines:
                configure(agent, "f", lines)
        self.one.wait_connected(self.two.id)

    def write(self, name, data=b"content", **extended):
        path = os.path.join(self.here, name)
        write(path, data)
        for key, value in extended.items():
            os.setxattr(path, f"user.{key}", value)
        return path, os.path.join(self.there, name)

    def settle(self):
        for agent in (self.one, self.two):
            agent.wait_state("f", "idle", timeout=40)


@pytest.fixture
def two(lab):
    return Two(lab)


def test_attributes_come_change_and_go_without_the_content(two):
    here, there = two.write("a", b"x" * 300_000, one=b"1", two=b"\x00\xff")
    wait_until(lambda: os.path.exists(there) and attributes(there) == attributes(here), what="the file comes with them")
    inode, modified = os.stat(there).st_ino, os.stat(there).st_mtime_ns
    os.setxattr(here, "user.one", b"other")
    wait_until(lambda: attributes(there) == attributes(here), what="one is changed")
    os.removexattr(here, "user.one")
    os.removexattr(here, "user.two")
    wait_until(lambda: attributes(there) == {}, what="all are removed")
    assert (os.stat(there).st_ino, os.stat(there).st_mtime_ns) == (inode, modified)
    # And back.
    os.setxattr(there, "user.back", b"2")
    wait_until(lambda: attributes(here) == {"user.back": b"2"}, what="it comes back")
    assert [name for name in os.listdir(two.here) if "sync-conflict" in name] == []


def test_directories_and_access_control_lists(two):
    acl = (b"\x02\0\0\0" + b"\x01\0\x07\0\xff\xff\xff\xff" + b"\x02\0\x05\0\xe8\x03\0\0" + b"\x04\0\x05\0\xff\xff\xff\xff"
           + b"\x10\0\x05\0\xff\xff\xff\xff" + b"\x20\0\0\0\xff\xff\xff\xff")
    here, there = os.path.join(two.here, "d"), os.path.join(two.there, "d")
    os.mkdir(here, 0o750)
    os.setxattr(here, "user.colour", b"red")
    wait_until(lambda: os.path.isdir(there) and attributes(there) == {"user.colour": b"red"}, what="the directory comes")
    os.setxattr(here, "system.posix_acl_access", acl)
    os.setxattr(here, "system.posix_acl_default", acl)
    wait_until(lambda: attributes(there) == attributes(here), what="its access control lists come")
    assert os.stat(there).st_mode == os.stat(here).st_mode
    two.settle()


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to give a file to somebody else")
def test_an_owner_is_set_by_name(two):
    here, there = two.write("a")
    wait_until(lambda: os.path.exists(there), what="the file comes")
    user = pwd.getpwnam("daemon")
    os.chown(here, user.pw_uid, user.pw_gid)
    wait_until(lambda: os.stat(there).st_uid == user.pw_uid and os.stat(there).st_gid == user.pw_gid,
               what="the owner is changed")
    write(here, b"more")
    wait_until(lambda: read(there) == b"more", what="new content comes")
    assert os.stat(there).st_uid == user.pw_uid


def test_a_rename_keeps_them(two):
    here, there = two.write("a", b"y" * 200_000, one=b"1")
    wait_until(lambda: os.path.exists(there) and attributes(there) == {"user.one": b"1"}, what="the file comes")
    os.rename(here, os.path.join(two.here, "b"))
    renamed = os.path.join(two.there, "b")
    wait_until(lambda: os.path.exists(renamed) and not os.path.exists(there), what="the file is renamed")
    wait_until(lambda: attributes(renamed) == {"user.one": b"1"}, what="it has its attributes")
    two.settle()
    assert attributes(os.path.join(two.here, "b")) == {"user.one": b"1"}


def test_where_the_folder_does_not_sync_them_they_stay_and_are_not_removed_elsewhere(lab):
    two = Two(lab, settings=(SETTINGS, None))
    here, there = two.write("a", one=b"1")
    wait_until(lambda: os.path.exists(there), what="the file comes")
    assert attributes(there) == {}
    # Edited by who does not sync them: they stay with who does.
    write(there, b"edited")
    wait_until(lambda: read(here) == b"edited", what="the edit comes back")
    assert attributes(here) == {"user.one": b"1"}
    # Switched on there, it takes them over instead of announcing that they are gone.
    configure(two.two, "f", SETTINGS)
    wait_until(lambda: attributes(there) == {"user.one": b"1"}, what="they come once they are synced")
    two.settle()
    assert attributes(here) == {"user.one": b"1"}


def test_the_filter_and_the_limits(lab):
    two = Two(lab, settings=(
        'sync-xattrs = true\nxattr-filter = ["!user.private.*", "user.*"]\nxattr-max-entry-size = 100\n', "sync-xattrs = true\n"))
    here, there = two.write("a")
    os.setxattr(here, "user.private.x", b"secret")
    os.setxattr(here, "user.long", b"z" * 200)
    os.setxattr(here, "user.ok", b"1")
    wait_until(lambda: os.path.exists(there) and attributes(there) == {"user.ok": b"1"}, what="only what is permitted comes")
    # What the other may sync and this one may not is neither removed nor taken.
    os.setxattr(there, "user.private.y", b"theirs")
    os.setxattr(there, "user.ok", b"2")
    wait_until(lambda: attributes(here).get("user.ok") == b"2", what="the change comes")
    assert attributes(here) == {"user.ok": b"2", "user.private.x": b"secret", "user.long": b"z" * 200}
    os.setxattr(here, "user.ok", b"3")
    wait_until(lambda: attributes(there).get("user.ok") == b"3", what="the next change goes")
    assert attributes(there) == {"user.ok": b"3", "user.private.y": b"theirs"}


def test_an_archived_version_has_its_attributes_when_it_comes_back(lab):
    two = Two(lab, settings=(SETTINGS, SETTINGS + 'versions = "simple"\n'))
    here, there = two.write("a", b"old", one=b"old")
    wait_until(lambda: os.path.exists(there) and attributes(there) == {"user.one": b"old"}, what="the file comes")
    write(here, b"newer")
    os.setxattr(here, "user.one", b"new")
    wait_until(lambda: read(there) == b"newer" and attributes(there) == {"user.one": b"new"}, what="the new version comes")
    two.settle()
    two.two.run("versions", "restore", "f:a", "--yes")
    assert read(there) == b"old" and attributes(there) == {"user.one": b"old"}
    wait_until(lambda: read(here) == b"old" and attributes(here) == {"user.one": b"old"}, what="it goes to the other")


def test_the_loser_of_a_conflict_keeps_its_own(two):
    here, there = two.write("a", b"base", one=b"base")
    wait_until(lambda: os.path.exists(there), what="the file comes")
    two.settle()
    two.two.stop()
    write(there, b"theirs")
    os.setxattr(there, "user.one", b"theirs")
    write(here, b"ours, later")
    os.setxattr(here, "user.one", b"ours")
    os.utime(here, (2_000_000_000, 2_000_000_000))
    two.one.run("scan", "f")
    two.two.start()

    def copies(root):
        return [os.path.join(root, name) for name in os.listdir(root) if "sync-conflict" in name]
    wait_until(lambda: copies(two.here) and copies(two.there), what="both have the copy")
    for root, path in ((two.here, here), (two.there, there)):
        wait_until(lambda: attributes(path) == {"user.one": b"ours"}, what="the winner has its own")
        wait_until(lambda: attributes(copies(root)[0]) == {"user.one": b"theirs"}, what="the loser has its own")


def test_files_of_a_group_come_with_theirs(lab):
    two = Two(lab, settings=(SETTINGS, SETTINGS + 'groups = ["*.{jpg,txt}"]\n'))
    paths = [two.write(name, name.encode(), one=name.encode()) for name in ("a.jpg", "a.txt")]
    for here, there in paths:
        wait_until(lambda: os.path.exists(there) and attributes(there) == attributes(here), what="it comes with them")
    for here, _ in paths:
        write(here, b"new")
        os.setxattr(here, "user.one", b"new")
    for here, there in paths:
        wait_until(lambda: read(there) == b"new" and attributes(there) == {"user.one": b"new"}, what="both are updated")


def test_a_file_that_was_freed_comes_back_with_them(lab):
    two = Two(lab, settings=(SETTINGS, None))
    two.two.run("folder", "mode", "f", "selective", "--yes")
    configure(two.two, "f", SETTINGS)
    here, there = two.write("a", b"content", one=b"1")
    two.two.wait_global("f", 1)
    two.two.run("select", "f:a")
    wait_until(lambda: os.path.exists(there) and attributes(there) == {"user.one": b"1"}, what="it is selected")
    two.settle()
    two.two.run("deselect", "f:a")
    wait_until(lambda: not os.path.exists(there), what="it is freed")
    two.two.run("fetch", "f:a")
    assert read(there) == b"content" and attributes(there) == {"user.one": b"1"}
    assert attributes(here) == {"user.one": b"1"}


def give(path):
    os.chown(path, USER, USER)


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to run an agent as somebody else")
def test_a_user_who_may_not_gets_the_content_and_says_what_is_missing(lab):
    os.chmod(lab.root, 0o711)
    one, two = lab.agent("one"), lab.agent("two", start=False, init=False)
    there = lab.directory("two-f")
    give(lab.directory("two"))
    give(there)
    two.options = {"user": USER, "group": USER, "extra_groups": []}
    two.init().start()
    lab.introduce(one, two)
    here = lab.share(one, "f", two, mode="full")
    for agent in (one, two):
        configure(agent, "f", SETTINGS)
    one.wait_connected(two.id)
    write(os.path.join(here, "a"), b"content")
    os.setxattr(os.path.join(here, "a"), "user.one", b"1")
    path = os.path.join(there, "a")
    wait_until(lambda: os.path.exists(path), what="the content comes")
    message = two.wait_problem("f", "a")
    assert "root:root" in message and "CAP_CHOWN" in message and "sync-ownership" in message
    assert os.stat(path).st_uid == USER
    wait_until(lambda: attributes(path) == {"user.one": b"1"}, what="its attributes come")
    # It stays said, and neither a scan nor an edit announces the wrong owner.
    two.run("scan", "f")
    assert "a" in two.problems("f")
    write(path, b"edited")
    wait_until(lambda: read(os.path.join(here, "a")) == b"edited", what="an edit goes back")
    assert os.stat(os.path.join(here, "a")).st_uid == 0


def xattr(name, value):
    return wire.field_bytes(1, wire.field_bytes(1, name) + wire.field_bytes(2, value))


def test_the_wire_is_syncthings(lab):
    agent, peer = lab.agent(), lab.peer()
    lab.introduce(agent, peer)
    here = lab.share(agent, "f", peer, mode="full")
    configure(agent, "f", "sync-xattrs = true\nsend-ownership = true\n")
    session = peer.dial_until(agent.address)
    # Data of Windows and macOS goes on. Attributes of Linux are applied, in whichever order they come.
    windows = wire.field_bytes(2, wire.field_bytes(1, b"BUILTIN"))
    darwin = wire.field_bytes(4, xattr(b"com.apple.x", b"1"))
    linux = wire.field_bytes(3, xattr(b"user.b", b"2") + xattr(b"user.a", b"1") + xattr(b"security.evil", b"1"))
    folder = peer.folders["f"]
    folder.add("a", b"content", platform=linux + windows + darwin)
    # What no file can have says nothing.
    folder.add("bad", b"content", platform=wire.field_bytes(3, xattr(b"user.a", b"1") * 2) + b"\x0a\x7f")
    folder.add("huge", b"content", platform=wire.field_bytes(3, xattr(b"n" * 300, b"1")))
    session.send_index("f")
    names = ("a", "bad", "huge")
    wait_until(lambda: all(os.path.exists(os.path.join(here, name)) for name in names), what="the files come")
    path = os.path.join(here, "a")
    assert attributes(path) == {"user.a": b"1", "user.b": b"2"}
    assert attributes(os.path.join(here, "bad")) == attributes(os.path.join(here, "huge")) == {}
    agent.wait_state("f", "idle")
    os.removexattr(path, "user.b")
    expected = windows + wire.field_bytes(3, xattr(b"security.evil", b"1") + xattr(b"user.a", b"1")) + darwin

    def announced():
        return session.index.get("f", {}).get("a", {}).get("platform", b"")
    wait_until(lambda: announced().endswith(expected), what="the removal is announced, and the rest goes on")
    if os.getuid() == 0:
        os.chown(path, 1, 1)
        wait_until(lambda: b"daemon" in announced(),
                   what="the owner is announced")


def test_a_running_syncthing_has_the_same(lab):
    node = lab.syncthing(start=False)
    if node.version < (1, 22):
        pytest.skip("Syncthing syncs attributes since 1.22; `make soak` runs this with 1.29 and 2")
    node.start()
    agent = lab.agent()
    lab.introduce(agent, node)
    here = lab.share(agent, "f", node, mode="full")
    there = lab.folder_path(node, "f")
    configure(agent, "f", SETTINGS)
    node.call("PATCH", "/rest/config/folders/f", {"syncXattrs": True, "syncOwnership": True})
    agent.wait_connected(node.id)
    write(os.path.join(here, "ours"), b"content")
    os.setxattr(os.path.join(here, "ours"), "user.one", b"1\x00\xff")
    os.chown(os.path.join(here, "ours"), 1, 1)
    ours = os.path.join(there, "ours")
    wait_until(lambda: os.path.exists(ours) and attributes(ours) == {"user.one": b"1\x00\xff"}
               and os.stat(ours).st_uid == 1, 60, "the node has the attributes and the owner of ours")
    write(os.path.join(there, "theirs"), b"content")
    os.setxattr(os.path.join(there, "theirs"), "user.two", b"2")
    os.chown(os.path.join(there, "theirs"), 1, 1)
    # And a change of ours by the node, without content.
    os.setxattr(ours, "user.more", b"3")
    node.scan("f")
    theirs, changed = os.path.join(here, "theirs"), os.path.join(here, "ours")
    wait_until(lambda: os.path.exists(theirs) and attributes(theirs) == {"user.two": b"2"}
               and os.stat(theirs).st_uid == 1, 60, "the agent has those of the node's file")
    wait_until(lambda: attributes(changed) == {"user.more": b"3", "user.one": b"1\x00\xff"}, 60, "and the change")
    os.removexattr(changed, "user.one")
    wait_until(lambda: attributes(ours) == {"user.more": b"3"}, 60, "a removal goes to the node")
    agent.wait_state("f", "idle", timeout=40)
    wait_until(lambda: node.status("f")["needTotalItems"] == 0, 40, "the node needs nothing")
    assert [name for name in os.listdir(here) + os.listdir(there) if "sync-conflict" in name] == []
