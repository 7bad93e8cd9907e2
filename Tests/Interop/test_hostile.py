"""Peers that mean harm. Whatever mallory sends, at most mallory's link ends, with a reason; the agent lives, alice's
link carries on, and memory stays bounded."""

import os
import random
import socket
import ssl
import struct
import time

import bep
import harness
import pytest
from process import MIB, wait_until

# AddressSanitizer keeps what was freed for a while.
RSS_LIMIT = (2000 if "SYNCTRAIN_TEST_SANITIZED" in os.environ else 200) * MIB
"""Of the agent's whole life in this module: several times what it needs, far below what the bombs would take."""


class Scene:
    def __init__(self, lab):
        self.lab, self.agent = lab, lab.agent()
        self.alice, self.mallory = lab.peer("alice"), lab.peer("mallory")
        lab.introduce(self.agent, self.alice, self.mallory)
        lab.share(self.agent, "f", self.alice, self.mallory)
        lab.share(self.agent, "private", self.alice)
        self.alice.folders["private"].add("secret", b"secret")
        self.alice.folders["f"].add("file", harness.pattern(1000))
        self.alice_session = self.alice.dial_until(self.agent.address)
        self.agent.wait_global("f", 1)
        self.agent.wait_global("private", 1)
        self.agent.run("fetch", "f:file")
        self.marks = 0

    def mallory_dials(self):
        self.mallory.folders["f"] = bep.Folder("f", self.mallory.identity.short_id, [self.agent.id])
        return self.mallory.dial_until(self.agent.address)

    def raw_link(self):
        """As mallory, TLS done and not a byte sent yet."""
        end = time.monotonic() + 10
        while True:
            try:
                return bep.Link.dial(self.agent.address, self.mallory.identity)
            except (bep.LinkClosed, OSError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)

    def check_health(self):
        """The agent lives, alice's first link still carries news, memory is bounded."""
        assert self.agent.is_running, self.agent.log_tail()
        assert self.alice_session.ended is None, f"alice's link: {self.alice_session.ended}"
        self.marks += 1
        self.alice.folders["f"].entries.pop(f"mark {self.marks - 1}", None)
        self.alice.folders["f"].add(f"mark {self.marks}", b"mark")
        self.alice_session.send_index("f")
        self.agent.wait_entry(f"f:mark {self.marks}", lambda entry: entry is not None, timeout=10)
        assert self.agent.peak_rss() < RSS_LIMIT, f"{self.agent.peak_rss() >> 20} MiB"


@pytest.fixture(scope="module")
def scene(module_lab):
    return Scene(module_lab)


@pytest.fixture(autouse=True)
def health(request):
    yield
    if "scene" in request.fixturenames:
        for session in request.getfixturevalue("scene").mallory.sessions:
            session.close()
        request.getfixturevalue("scene").mallory.sessions.clear()
        request.getfixturevalue("scene").check_health()


def expect_end(link, seconds=10):
    """The other side ends the link; returns the frames that came before."""
    link.socket.settimeout(seconds)
    frames = []
    try:
        while True:
            frames.append(link.receive())
    except bep.LinkClosed:
        return frames


# MARK: before the protocol

NO_TLS = {"nothing": b"", "HTTP": b"GET / HTTP/1.1\r\n\r\n", "zeros": b"\0" * 100_000,
          "long record": b"\x16\x03\x01\xff\xff" + b"\x01" * 70_000}


@pytest.mark.parametrize("name", NO_TLS)
def test_no_tls(scene, name):
    data = NO_TLS[name]
    with socket.create_connection(("127.0.0.1", scene.agent.port), 10) as sock:
        try:
            sock.sendall(data)
            if data:
                sock.settimeout(15)
                while sock.recv(65536):
                    pass
        except ConnectionError:
            pass


def test_no_client_certificate(scene):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", scene.agent.port), 10) as sock:
        try:
            with context.wrap_socket(sock) as tls:
                said = tls.recv(1)
        except OSError:
            said = b""
        assert said == b"", "without a certificate not even Hello is said"


def test_tls_1_2_is_refused(scene):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(scene.mallory.identity.certificate, scene.mallory.identity.key)
    with socket.create_connection(("127.0.0.1", scene.agent.port), 10) as sock, pytest.raises(ssl.SSLError):
        context.wrap_socket(sock)


def test_many_idle_connections(scene):
    """Hundreds that say nothing keep nobody out."""
    idle = [socket.create_connection(("127.0.0.1", scene.agent.port), 10) for _ in range(300)]
    try:
        session = scene.mallory_dials()
        assert session.wait_ready()
    finally:
        for sock in idle:
            sock.close()


BAD_HELLOS = {
    "old magic": b"\x9f\x79\xbc\x40\x00\x00", "zeros": b"\0" * 64, "ones": b"\xff" * 64,
    "length 65535": struct.pack(">IH", bep.HELLO_MAGIC, 65535) + b"x" * 65535,
    "length 32768": struct.pack(">IH", bep.HELLO_MAGIC, 32768) + b"x" * 32768,
    "string beyond the end": struct.pack(">IH", bep.HELLO_MAGIC, 5) + b"\x0a\xff\xff\xff\x7f",
    "wire type 7": struct.pack(">IH", bep.HELLO_MAGIC, 3) + b"\x0f\x0f\x0f",
}


@pytest.mark.parametrize("name", BAD_HELLOS)
def test_bad_hello(scene, name):
    data = BAD_HELLOS[name]
    link = scene.raw_link()
    link.receive_hello()
    link.send_raw(data)
    expect_end(link)


def test_cut_off_hello(scene):
    link = scene.raw_link()
    link.send_raw(struct.pack(">IH", bep.HELLO_MAGIC, 100) + b"\x0a")
    link.close()


# MARK: frames

def frame(header, body, length=None):
    return struct.pack(">H", len(header)) + header + struct.pack(">I", len(body) if length is None else length) + body


LZ4_INDEX = bep.encode("Header", {"type": bep.INDEX, "compression": bep.LZ4})


def lz4_run(pattern, size):
    """An LZ4 block that is `pattern` repeated up to `size`: about size / 255 bytes."""
    count = size - len(pattern) - 5
    head = bytes([len(pattern) << 4 | 15]) + pattern + struct.pack("<H", len(pattern))
    rest = count - 4 - 15
    tail = bytes([5 << 4]) + (pattern * 8)[(size - 5) % len(pattern):][:5]
    return head + b"\xff" * (rest // 255) + bytes([rest % 255]) + tail


def bomb(pattern, size):
    return frame(LZ4_INDEX, struct.pack(">I", size) + lz4_run(pattern, size))


def test_the_bombs_are_valid():
    for pattern in (b"\0", b"\x12\x00", b"abc"):
        for size in (60_000, 70_000, 70_001):
            assert bep.lz4_decode(lz4_run(pattern, size), size) == (pattern * size)[:size]


BAD_FRAMES = {
    "header length 65535": struct.pack(">H", 65535) + b"\x08" * 65535,
    "header length 32768": struct.pack(">H", 32768) + b"\x08" * 32768,
    "message length 2^32-1": frame(b"\x08\x01", b"", 0xFFFFFFFF),
    "message length 2^31": frame(b"\x08\x01", b"", 0x80000000),
    "message length 500,000,001": frame(b"\x08\x01", b"x" * 1000, 500_000_001),
    "header is no protobuf": frame(b"\x08\xff", b""),
    "header with wire type 7": frame(b"\x0f\x01", b""),
    "unknown compression": frame(b"\x08\x01\x10\x07", b""),
    "LZ4 without a size": frame(LZ4_INDEX, b"\0\0"),
    "LZ4 declares 500 MB": frame(LZ4_INDEX, struct.pack(">I", 500_000_000) + b"\x10x"),
    "LZ4 declares 4 GB": frame(LZ4_INDEX, struct.pack(">I", 0xFFFFFFFF) + b"\x10x"),
    "LZ4 declares 2 GB": frame(LZ4_INDEX, struct.pack(">I", 0x80000000) + b"\x10x"),
    "LZ4 of 490 MB of zeros": bomb(b"\0", 490_000_000),
    "LZ4 of 490 MB of empty files": bomb(b"\x12\x00", 490_000_000),
    "LZ4 of 40 MB of empty files": bomb(b"\x12\x00", 40_000_000),
    "LZ4 holds more than declared": frame(LZ4_INDEX, struct.pack(">I", 10) + bep.lz4_literals(b"x" * 100)),
    "LZ4 holds less than declared": frame(LZ4_INDEX, struct.pack(">I", 1000) + bep.lz4_literals(b"x" * 100)),
    "LZ4 match before the start": frame(LZ4_INDEX, struct.pack(">I", 100) + b"\x1fx\xff\xff\x50" + b"y" * 60),
    "LZ4 match offset 0": frame(LZ4_INDEX, struct.pack(">I", 100) + b"\x1fx\x00\x00\x50" + b"y" * 60),
    "LZ4 literals cut off": frame(LZ4_INDEX, struct.pack(">I", 100) + b"\xf0\xff\xff"),
}


@pytest.mark.parametrize("name", BAD_FRAMES)
def test_bad_frame(scene, name):
    session = scene.mallory_dials()
    try:
        session.send_raw(BAD_FRAMES[name])
    except bep.LinkClosed:
        pass  # it need not read to the end of what it does not like
    session.wait_end()


@pytest.mark.parametrize("keep", [0, 1, 2, 3, 5, 8, 40])
def test_truncated_frame(scene, keep):
    session = scene.mallory_dials()
    info = bep.file_info("cut", b"data", 1, 1)
    data = bep.frame_bytes(bep.INDEX, bep.encode("Index", {"folder": "f", "files": [info]}))
    session.send_raw(data[:keep])
    session.close()
    assert "cut" not in scene.agent.tree("f")


def test_frame_in_single_bytes(scene):
    """Not hostile, only slow."""
    session = scene.mallory_dials()
    info = bep.file_info("bytewise", b"data", scene.mallory.identity.short_id, 1)
    for byte in bep.frame_bytes(bep.INDEX, bep.encode("Index", {"folder": "f", "files": [info]})):
        session.send_raw(bytes([byte]))
    scene.agent.wait_entry("f:bytewise", lambda entry: entry is not None)


def test_huge_message_is_not_kept_in_memory(scene):
    """499 MB announced, 128 MiB sent: either the link ends or the bytes go nowhere."""
    session = scene.mallory_dials()
    try:
        session.send_raw(struct.pack(">H", 2) + b"\x08\x01" + struct.pack(">I", 499_000_000))
        field = bep.field_bytes(99, b"\0" * MIB)
        for _ in range(128):
            session.send_raw(field)
    except (bep.LinkClosed, TimeoutError):
        pass


# MARK: order

@pytest.mark.parametrize("type, message", [
    (bep.PING, {}), (bep.INDEX, {"folder": "f"}), (bep.INDEX_UPDATE, {"folder": "f"}),
    (bep.REQUEST, {"id": 1, "folder": "f", "name": "file", "size": 1000}), (bep.RESPONSE, {"id": 1}),
    (bep.DOWNLOAD_PROGRESS, {"folder": "f"}),
])
def test_before_the_cluster_config(scene, type, message):
    link = scene.raw_link()
    link.send_hello(device_name="mallory", client_name="x", client_version="v1")
    link.receive_hello()
    link.send(type, message)
    frames = expect_end(link)
    assert bep.RESPONSE not in [f.type for f in frames]
    close = [f for f in frames if f.type == bep.CLOSE]
    assert close and close[0].message["reason"], "a Close says why"


def test_responses_nobody_asked_for(scene):
    session = scene.mallory_dials()
    try:
        for id in (0, 1, -1, 2**31 - 1):
            session.send(bep.RESPONSE, {"id": id, "data": b"x" * 1000})
    except bep.LinkClosed:
        pass


def test_cluster_config_again_and_again(scene):
    session = scene.mallory_dials()
    try:
        for _ in range(50):
            session.send_cluster_config()
    except bep.LinkClosed:
        pass


def test_a_device_that_says_what_it_shares_in_a_circle(lab):
    """It is paused until it is resumed, also by the next agent, and everything says why; alice goes on."""
    scene = Scene(lab)
    session = scene.mallory_dials()
    try:
        for _ in range(1000):
            session.send_cluster_config()
    except bep.LinkClosed:
        pass
    session.wait_end()

    def mallory():
        return next(d for d in scene.agent.status()["devices"] if d["id"] == scene.mallory.id)

    wait_until(lambda: 'paused-reason = "sharing"' in open(scene.agent.file("config.toml")).read(), 10, "mallory is paused")
    reason = "it changes what it shares more than 120 times a minute"

    def check_pause():
        scene.mallory.dial(scene.agent.address).wait_end()
        device = mallory()
        assert not device["connected"] and device["paused"]
        assert (device["pauseReason"], device["pauseMessage"]) == ("sharing", reason)
        remedy = f"`synctrain resume --device {device['name'] or device['id']}` resumes it"
        assert [p for p in scene.agent.status()["problems"] if reason in p and remedy in p]
        for command in ("status",), ("device", "list"):
            assert f"paused: {reason}; {remedy}" in scene.agent.run(*command).stdout.decode().replace("\n", " ")

    check_pause()
    scene.check_health()
    scene.agent.stop()
    scene.agent.start()
    check_pause()
    scene.alice_session = scene.alice.dial_until(scene.agent.address)
    scene.check_health()
    scene.agent.run("resume", "--device", scene.mallory.id)
    assert not mallory()["paused"] and "pauseReason" not in mallory() and scene.agent.status()["problems"] == []
    scene.mallory.sessions.clear()
    session = scene.mallory_dials()
    for _ in range(100):
        session.send_cluster_config()
    scene.mallory.folders["f"].add("theirs", b"theirs")
    session.send_index("f")
    scene.agent.wait_entry("f:theirs", lambda entry: entry is not None, timeout=10)


@pytest.mark.parametrize("sequence", [-2**63, -1, 10**6, 2**63 - 1])
def test_a_sequence_of_ours_that_cannot_be(scene, sequence):
    """Whoever claims to hold more or less of our index than there is gets all of it."""
    agent, told = scene.alice_session.device, scene.alice_session.cluster_configs[-1]["folders"]
    ours = next(d for f in told if f["id"] == "f" for d in f["devices"] if d["id"] == agent)
    scene.mallory.known["f", agent] = ours["index_id"], sequence
    session = scene.mallory_dials()
    scene.mallory.known.clear()
    session.wait(lambda: ("Index", "f") in [m[:2] for m in session.index_messages], what="the whole index")


# MARK: protobuf

BAD_INDEXES = {
    "varint without an end": b"\x0a" + b"\xff" * 20,
    "varint of 11 bytes": b"\x18" + b"\xff" * 10 + b"\x01",
    "field number 0": b"\x02\x01x",
    "wire type 3": b"\x13\x14",
    "wire type 4": b"\x14",
    "wire type 6": b"\x16",
    "string beyond the end": b"\x0a\x7fx",
    "string of 2^63 bytes": b"\x0a" + bep.varint(1 << 63),
    "entry beyond the end": bep.field_bytes(1, b"f") + b"\x12\x10\x0a\x01",
    "blocks beyond the end": bep.field_bytes(1, b"f") + bep.field_bytes(2, bep.field_bytes(1, b"x") + b"\x82\x01\x7f"),
    "folder is a varint": b"\x08\x01",
    "name is no UTF-8": bep.field_bytes(1, b"f") + bep.field_bytes(2, bep.field_bytes(1, b"\xff\xfe")),
    "100 deep groups": b"\x1b" * 100,
}


@pytest.mark.parametrize("name", BAD_INDEXES)
def test_bad_protobuf(scene, name):
    session = scene.mallory_dials()
    session.send_raw(bep.frame_bytes(bep.INDEX, BAD_INDEXES[name]))
    session.wait_end()


@pytest.mark.parametrize("seed", range(20))
def test_flipped_bytes(scene, seed):
    """A good Index with one byte in each hundred changed; taken or refused, never harmful."""
    rnd = random.Random(seed)
    session = scene.mallory_dials()
    files = [bep.file_info(f"flipped {n}", b"data", 1, n + 1) for n in range(5)]
    data = bytearray(bep.frame_bytes(bep.INDEX, bep.encode("Index", {"folder": "f", "files": files})))
    for _ in range(max(1, len(data) // 100)):
        data[rnd.randrange(len(data))] = rnd.randrange(256)
    try:
        session.send_raw(data)
        session.send(bep.PING)
    except bep.LinkClosed:
        pass


# MARK: entries

def entry(**fields):
    info = bep.file_info("entry", b"data", 1, 1)
    info.update(fields)
    return info


BLOCK = bep.blocks_of(b"data")
BAD_ENTRIES = {
    **{f"name {name[:12]!r}{'…' if len(name) > 12 else ''} of {len(name)}": entry(name=name) for name in (
        "", ".", "..", "/", "/x", "../x", "a/../b", "a/..", "a//b", "a/", "./a", "a/./b", "a\0b", "\0",
        "../../etc/passwd", "x" * 5000, "a/" + "x" * 5000, "a/" * 100_000 + "a", "x" * 1_000_000)},
    "deleted with blocks": entry(deleted=True, size=0),
    "directory with blocks": entry(type=bep.DIRECTORY, size=0),
    "directory with a size": entry(type=bep.DIRECTORY, size=5000, blocks=[]),
    "symlink with blocks": entry(type=bep.SYMLINK, size=0, symlink_target="x"),
    "file without blocks": entry(blocks=[]),
    "negative size": entry(size=-1),
    "size and blocks disagree": entry(size=10**15),
    "negative block": entry(blocks=[{**BLOCK[0], "size": -5}]),
    "negative offset": entry(blocks=[{**BLOCK[0], "offset": -5}]),
    "hash of 5 bytes": entry(blocks=[{**BLOCK[0], "hash": b"12345"}]),
    "hash of 1 MiB": entry(blocks=[{**BLOCK[0], "hash": b"x" * MIB}]),
    "block size 3": entry(block_size=3),
    "block size 2^31-1": entry(block_size=2**31 - 1),
    "unknown type": entry(type=77),
    "100,000 counters": entry(version={"counters": [{"id": n, "value": 1} for n in range(100_000)]}),
}
FATAL = ("name", "deleted", "directory with b", "symlink", "file ")
MUST_CLOSE = [name for name in BAD_ENTRIES if name.startswith(FATAL)]


@pytest.mark.parametrize("name", MUST_CLOSE)
def test_entry_against_the_rules_closes_with_a_reason(scene, name):
    session = scene.mallory_dials()
    session.send(bep.INDEX, {"folder": "f", "files": [BAD_ENTRIES[name]]})
    assert session.wait_end(), "a Close says why"
    assert "entry" not in scene.agent.tree("f")


@pytest.mark.parametrize("name", [name for name in BAD_ENTRIES if name not in MUST_CLOSE])
def test_odd_entry_does_no_harm(scene, name):
    """It may be refused or be listed, but fetching it ends and gives no byte that was not asked for."""
    session = scene.mallory_dials()
    session.send(bep.INDEX, {"folder": "f", "files": [BAD_ENTRIES[name]]})
    wait_until(lambda: session.ended or "entry" in scene.agent.tree("f"), 10, "refused or listed")
    if not session.ended:
        result = scene.agent.try_run("cat", "f:entry", timeout=30)
        assert result.returncode != 0 or result.stdout == b""


@pytest.mark.parametrize("counters", [
    [(5, 1), (5, 2), (5, 3)], [(9, 1), (3, 1), (5, 1)], [(2**64 - 1, 2**64 - 1)], [(0, 0)], [],
])
def test_odd_version_vectors(scene, counters):
    session = scene.mallory_dials()
    version = {"counters": [{"id": id, "value": value} for id, value in counters]}
    session.send(bep.INDEX, {"folder": "f", "files": [entry(version=version), entry(name="after", sequence=2)]})
    wait_until(lambda: session.ended or "after" in scene.agent.tree("f"), 10, "refused or listed")


@pytest.mark.parametrize("count, item", [
    (2_000_000, bep.field_bytes(16, b"")), (20_000_000, bep.field_bytes(16, b"")),
    (2_000_000, bep.field_bytes(9, bep.field_bytes(1, b""))),
], ids=["2,000,000 blocks", "20,000,000 blocks", "2,000,000 versions"])
def test_huge_counts_inside_one_entry(scene, count, item):
    """Millions of empty blocks, or of versions, in a few MB: small on the wire, gigabytes if believed."""
    session = scene.mallory_dials()
    info = bep.encode("FileInfo", {"name": "entry", "size": 4, "sequence": 1}) + item * count
    try:
        session.send_raw(bep.frame_bytes(bep.INDEX, bep.field_bytes(1, b"f") + bep.field_bytes(2, info)))
    except bep.LinkClosed:
        pass
    wait_until(lambda: session.ended or "entry" in scene.agent.tree("f"), 20, "refused or listed")


@pytest.mark.parametrize("body", [
    bep.field_bytes(1, b"f") + bep.field_bytes(2, b"") * 20_000_000,
    bep.field_bytes(1, b"f" * 10_000_000),
    bep.field_bytes(99, b"x" * 50_000_000) + bep.field_bytes(1, b"f"),
], ids=["20,000,000 empty entries", "folder id of 10 MB", "unknown field of 50 MB"])
def test_huge_index(scene, body):
    session = scene.mallory_dials()
    try:
        session.send_raw(bep.frame_bytes(bep.INDEX, body))
        session.send(bep.PING)
        session.wait_end(3)
    except (bep.LinkClosed, TimeoutError):
        pass


# MARK: what is legal and unusual

@pytest.mark.parametrize("type", [8, 100, 2**31 - 1])
def test_unknown_message_types_are_skipped(scene, type):
    session = scene.mallory_dials()
    session.send_raw(bep.frame_bytes(type, b"whatever this is"))
    session.send_raw(bep.frame_bytes(type, b""))
    session.send(bep.INDEX, {"folder": "f", "files": [entry(name=f"after {type}")]})
    scene.agent.wait_entry(f"f:after {type}", lambda found: found is not None)
    assert session.ended is None


def test_unknown_fields_are_skipped(scene):
    session = scene.mallory_dials()
    extra = bep.field_bytes(500, b"new") + bep.field_varint(501, 7) + bep.varint(502 << 3 | 1) + b"8 bytes." + \
        bep.varint(503 << 3 | 5) + b"4 by"
    info = bep.encode("FileInfo", entry(name="with extras")) + extra
    session.send_raw(bep.frame_bytes(bep.INDEX, extra + bep.field_bytes(1, b"f") + bep.field_bytes(2, info)))
    scene.agent.wait_entry("f:with extras", lambda found: found is not None)
    assert session.ended is None


@pytest.mark.parametrize("folder", ["private", "unknown", "", "../f", "x" * 100_000], ids=lambda id: id[:10] or "empty")
def test_index_of_a_folder_that_is_not_shared(scene, folder):
    session = scene.mallory_dials()
    version = {"counters": [{"id": 1, "value": 2**62}]}
    session.send(bep.INDEX, {"folder": folder, "files": [entry(name="secret", version=version)]})
    try:
        session.send(bep.INDEX_UPDATE, {"folder": "f", "files": [entry(name="later")]})
        wait_until(lambda: session.ended or "later" in scene.agent.tree("f"), 10, "closed or ignored")
    except bep.LinkClosed:
        pass
    assert scene.agent.run("cat", "private:secret").stdout == b"secret"


def test_cluster_config_that_claims_a_folder(scene):
    """To list a folder is not to be given it."""
    scene.mallory.share("private", [scene.agent.id])
    try:
        session = scene.mallory.dial_until(scene.agent.address)
        assert "private" not in {f["id"] for c in session.cluster_configs for f in c.get("folders", [])}
        scene.agent.records("ls", "f:")  # one round through the agent, by which an Index would have been sent
        assert "private" not in session.index
        data, code = session.response(session.request_later("private", "secret", bep.blocks_of(b"secret")[0]))
        assert data == b"" and code != 0
    except bep.LinkClosed:
        pass
    finally:
        del scene.mallory.folders["private"]


@pytest.mark.parametrize("request_", [
    {"folder": "f", "name": "../../etc/passwd", "size": 100}, {"folder": "f", "name": "/etc/passwd", "size": 100},
    {"folder": "f", "name": "a/../../../etc/passwd", "size": 100}, {"folder": "f", "name": ".stignore", "size": 100},
    {"folder": "f", "name": ".stfolder/x", "size": 100}, {"folder": "f", "name": "", "size": 100},
    {"folder": "f", "name": ".", "size": 100}, {"folder": "f", "name": "file\0", "size": 100},
    {"folder": "f", "name": "x" * 100_000, "size": 100}, {"folder": "private", "name": "secret", "size": 6},
    {"folder": "unknown", "name": "file", "size": 6}, {"folder": "f", "name": "absent", "size": 6},
    {"folder": "f", "name": "file", "size": -1}, {"folder": "f", "name": "file", "size": 2**31 - 1},
    {"folder": "f", "name": "file", "offset": -1, "size": 10},
    {"folder": "f", "name": "file", "offset": 2**62, "size": 10},
    {"folder": "f", "name": "file", "offset": 2**63 - 1, "size": 2**31 - 1},
], ids=lambda r: f"{r['folder']}:{r['name'][:24]!r} {r.get('offset', 0)}+{r['size']}")
def test_request_for_what_is_not_to_be_had(scene, request_):
    session = scene.mallory_dials()
    session.send(bep.REQUEST, {"id": 4711, "hash": b"x" * 32, **request_})
    try:
        data, code = session.response(4711, 10)
        assert code != 0 and data == b""
    except bep.LinkClosed:
        pass  # closing is an answer too


def test_flood_of_requests_without_reading(scene):
    """A peer that asks and never reads: the answers must not pile up in memory."""
    link = scene.raw_link()
    link.send_hello(device_name="mallory", client_name="x", client_version="v1")
    scene.mallory.folders["f"] = bep.Folder("f", scene.mallory.identity.short_id, [scene.agent.id])
    link.send(bep.CLUSTER_CONFIG, scene.mallory.cluster_config(link.peer_raw_id))
    block = bep.blocks_of(harness.pattern(1000))[0]
    request = bep.frame_bytes(bep.REQUEST, bep.encode("Request", {
        "id": 1, "folder": "f", "name": "file", "size": 1000, "hash": block["hash"]}))
    link.socket.settimeout(3)
    try:
        for _ in range(300):
            link.send_raw(request * 1000)
    except (TimeoutError, bep.LinkClosed):
        pass  # it stopped reading: exactly so
    scene.check_health()
    link.close()


# MARK: cluster configs

def config_of(scene, folders):
    return bep.encode("ClusterConfig", {"folders": folders})


@pytest.mark.parametrize("name", ["10,000 folders", "1,000,000 empty folders", "10,000 devices", "folder ids of 1 MB",
                                  "same folder twice", "device ids of other lengths", "not listed", "LZ4 bomb"])
def test_odd_cluster_config(scene, name):
    link = scene.raw_link()
    link.send_hello(device_name="mallory", client_name="x", client_version="v1")
    link.receive_hello()
    me, you = {"id": scene.mallory.identity.raw_id}, {"id": link.peer_raw_id}
    folder = {"id": "f", "devices": [me, you]}
    many = [{"id": f"folder {n}", "label": "x" * 100, "devices": [me, you]} for n in range(10_000)]
    body = {
        "10,000 folders": lambda: config_of(scene, many),
        "1,000,000 empty folders": lambda: bep.field_bytes(1, b"") * 1_000_000,
        "10,000 devices": lambda: config_of(scene, [{"id": "f", "devices": [me, you] + [
            {"id": n.to_bytes(32, "big"), "name": "x" * 100} for n in range(10_000)]}]),
        "folder ids of 1 MB": lambda: config_of(scene, [{"id": f"{n}" + "x" * MIB, "devices": [me, you]}
                                                        for n in range(10)]),
        "same folder twice": lambda: config_of(scene, [folder, folder]),
        "device ids of other lengths": lambda: config_of(scene, [{"id": "f", "devices": [
            {"id": b""}, {"id": b"x"}, {"id": b"x" * 33}, {"id": b"x" * 100_000}]}]),
        "not listed": lambda: config_of(scene, [{"id": "f"}]),
        "LZ4 bomb": lambda: None,
    }[name]()
    try:
        if body is None:
            link.send_raw(frame(b"\x10\x01", struct.pack(">I", 490_000_000) + lz4_run(b"\x0a\x00", 490_000_000)))
        else:
            link.send_raw(bep.frame_bytes(bep.CLUSTER_CONFIG, body))
        link.send(bep.PING)
        if name in ("not listed", "LZ4 bomb"):
            expect_end(link)
    except bep.LinkClosed:
        pass
    scene.check_health()
    pending = scene.agent.records("folder", "list", "--pending")
    assert len(pending) <= 1000, "what a peer may offer is bounded"
    link.close()


def test_long_names_in_hello(scene):
    link = scene.raw_link()
    link.send_hello(device_name="\x1b[31m" + "x" * 30_000, client_name="y" * 1000, client_version="z" * 1000)
    link.send(bep.CLUSTER_CONFIG, {})
    scene.check_health()
    link.close()


def test_reconnecting_in_a_loop(scene):
    for _ in range(50):
        try:
            link = scene.raw_link()
            link.send_hello(device_name="mallory", client_name="x", client_version="v1")
            link.close()
        except bep.LinkClosed:
            pass


def test_unknown_devices_in_numbers(scene):
    """Pending devices are bounded."""
    for number in range(30):
        stranger = scene.lab.peer(f"stranger {number}", "ed25519")
        try:
            stranger.dial(scene.agent.address).wait_end()
        except (bep.LinkClosed, OSError):
            pass
    assert len(scene.agent.records("device", "list", "--pending")) <= 1000
