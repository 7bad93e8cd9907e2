"""The probe itself against real Syncthing: what the other tests prove rests on this peer being right."""

import ctypes
import hashlib
import os

import bep
import harness
import pytest
import syncthing


def with_probe(lab, key="p256", **settings):
    node, peer = lab.syncthing(), lab.peer(key=key)
    node.add_device(peer.id, **settings)
    return node, peer


def test_device_ids():
    vectors = {bytes(range(32)): "AAAQEAY-EAUDAOB-CAJBIFQ-YDIOB4B-IBCEQTC-QKRMFYX-YDENBWH-A5DYPQG",
               b"\xff" * 32: "7777777-777777N-7777777-777777N-7777777-777777N-7777777-77777Q4"}
    for raw, text in vectors.items():
        assert bep.device_id_text(raw) == text and bep.device_id_raw(text) == raw
    with pytest.raises(ValueError):
        bep.device_id_raw("A" + vectors[b"\xff" * 32][1:])


@pytest.mark.parametrize("text, version, options", [
    ('syncthing v1.19.2-ds1 "Fermium Flea" (go1.19.8 linux-amd64) debian@debian', (1, 19), ["--no-default-folder"]),
    ('syncthing v1.29.5 "Gold Grasshopper" (go1.24.2 linux-amd64)', (1, 29), ["--no-default-folder"]),
    ('syncthing v2.1.3 "Hafnium Hornet" (go1.26 linux-amd64)', (2, 1), []),
    ('syncthing v2.1.4-rc.1+3-gd7df27a "Hafnium Hornet" (go1.26 linux-amd64)', (2, 1), []),
])
def test_options_by_version(text, version, options):
    assert syncthing.parse_version(text) == version
    assert syncthing.folder_options(version) == options


@pytest.mark.parametrize("text", ["", "syncthing unknown-dev", "rsync version 3.2.7"])
def test_a_program_that_is_no_syncthing_is_named(text):
    with pytest.raises(ValueError, match="--version"):
        syncthing.parse_version(text)


def test_lz4_decoder_against_liblz4():
    library = ctypes.CDLL("liblz4.so.1")
    buffer = ctypes.create_string_buffer(1 << 20)
    for data in (b"", b"a", b"abc" * 10_000, harness.pattern(70_000), b"\0" * 500_000, b"ab" * 7 + b"x"):
        count = library.LZ4_compress_default(data, buffer, len(data), len(buffer))
        assert bep.lz4_decode(buffer.raw[:count], len(data)) == data
        assert bep.lz4_decode(bep.lz4_literals(data), len(data)) == data


@pytest.mark.parametrize("key", ["p256", "p384", "rsa", "ed25519"])
@pytest.mark.parametrize("compression", ["never", "always"])
def test_index_and_blocks_of_a_real_node(lab, key, compression):
    node, peer = with_probe(lab, key, compression=compression)
    root = lab.directory("tree")
    harness.make_odd_tree(root)
    expected = harness.walk(root)
    node.set_folder("f", root, [peer.id])
    node.wait_scanned("f", 10)
    peer.share("f", [node.id])
    session = peer.dial(node.address)
    index = session.wait_index("f", len(expected))
    assert set(index) == set(expected)
    for path, kind in expected.items():
        assert ["file", "directory", None, None, "symlink"][index[path].get("type", 0)] == kind
        if kind == "file":
            asked = [session.request_later("f", path, block, number)
                     for number, block in enumerate(index[path]["blocks"]) if block.get("size")]
            data = b"".join(session.response(id)[0] for id in asked)
            assert hashlib.sha256(data).hexdigest() == harness.sha256_of(os.path.join(root, path)), path


@pytest.mark.parametrize("compression", [bep.NO_COMPRESSION, bep.LZ4])
def test_real_node_pulls_from_the_probe(lab, compression):
    node, peer = with_probe(lab)
    root = lab.directory("tree")
    node.set_folder("f", root, [peer.id])
    folder = peer.share("f", [node.id])
    contents = {"empty": b"", "small": b"hello", "ünï/three blocks": harness.pattern(300 << 10)}
    folder.add_directory("ünï")
    for name, data in contents.items():
        folder.add(name, data)
    folder.add_symlink("link", "small")
    session = peer.dial(node.address, start=False)
    session.send_index = lambda id: bep.Session.send_index(session, id, compression=compression)
    session.start()
    node.wait_synced("f", len(contents))
    assert harness.regular_files(root) == {n: hashlib.sha256(d).hexdigest() for n, d in contents.items()}
    assert os.readlink(os.path.join(root, "link")) == "small"
    node.wait_completion("f", peer.id)

    # A second link: the node says what it holds, so only the news goes over.
    session.close()
    folder.delete("small")
    folder.add("new", b"news")
    second = peer.dial_until(node.address)
    assert second.asked["f"] == (folder.index_id, folder.sequence - 2)
    harness.wait_until(lambda: not os.path.exists(os.path.join(root, "small")), what="deleted at the node")
    harness.wait_until(lambda: os.path.exists(os.path.join(root, "new")), what="new at the node")


def test_real_node_deletes_directories_at_once(lab):
    """What other tests wait seconds for: in random order a node of 2.x keeps some for a minute."""
    node, peer = with_probe(lab)
    root = lab.directory("tree")
    node.set_folder("f", root, [peer.id])
    folder = peer.share("f", [node.id])
    directories = ["/".join(["nest", *"abcdefgh"[:depth]]) for depth in range(9)]
    for directory in directories:
        folder.add_directory(directory)
        folder.add(f"{directory}/file", b"x")
    peer.dial(node.address)
    node.wait_synced("f", len(directories))
    peer.sessions[0].close()
    for directory in directories:
        folder.delete(f"{directory}/file")
        folder.delete(directory)
    peer.dial_until(node.address)
    harness.wait_until(lambda: not harness.walk(root), 20, "all directories are deleted", child=node)


def test_probe_listens(lab):
    node, peer = with_probe(lab)
    address = peer.listen([node.certificate])
    node.change_device(peer.id, addresses=[address])
    session = peer.wait_session()
    assert session.link.peer_id == node.id and session.link.alpn == "bep/1.0"
    assert session.hello["client_name"] == "syncthing"


def test_real_node_closes_with_a_reason(lab):
    node, peer = with_probe(lab)
    node.set_folder("f", lab.directory("tree"), [peer.id])
    peer.share("f", [node.id])
    session = peer.dial_until(node.address)
    session.send(bep.INDEX, {"folder": "f", "files": [{"name": "../x", "sequence": 1}]})
    assert "../x" in session.wait_end()
