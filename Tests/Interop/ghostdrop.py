"""A GhostDrop v1 device on the virtual radio, written from docs/bluetooth-wire.md and the public facts about v1 alone: no
line of it is shared with the program that it tests. It does what a v1 app does, its weaknesses included."""

import base64
import collections
import hashlib
import json
import secrets
import select
import socket
import struct
import time
import uuid

from p256gcm import GCM, PrivateKey, hkdf

KINDS = ["hello", "helloAck", "verify", "verifyAck", "metadata", "dataPayload", "ack", "resume", "complete", "cancel",
         "ping", "encrypted"]
CHUNK, WINDOW = 180, 32


class DropEnded(Exception):
    """The other side cancelled; its reason."""


class LinkGone(Exception):
    """The link ended before the transfer did."""


# MARK: frames

def b64(data):
    return base64.b64encode(data).decode()


def unb64(text):
    return base64.b64decode(text, validate=True)


def encode_frame(name, body):
    text = json.dumps({name: body}).encode()
    return b"GHST" + bytes([1, KINDS.index(name) + 1]) + struct.pack(">I", len(text)) + text


def decode_frame(data):
    """(name, body, rest); None if there is no whole frame."""
    if len(data) < 10:
        return None
    magic, version, kind, length = struct.unpack(">4sBBI", data[:10])
    assert (magic, version) == (b"GHST", 1), data[:10]
    if len(data) < 10 + length:
        return None
    body = json.loads(data[10:10 + length])
    assert list(body) == [KINDS[kind - 1]]
    return KINDS[kind - 1], body[KINDS[kind - 1]], data[10 + length:]


# MARK: links

class StreamLink:
    """Frames back to back, on L2CAP."""

    kind = "l2cap"

    def __init__(self, sock, rest=b""):
        self.socket, self._buffer = sock, rest

    def send(self, name, body):
        self.send_bytes(encode_frame(name, body))

    def send_bytes(self, data):
        try:
            self.socket.sendall(data)
        except OSError as error:
            raise LinkGone(str(error)) from error

    def _read(self, deadline):
        """Some bytes; b"" at the deadline."""
        wait = max(0, deadline - time.monotonic())
        if self.socket.fileno() < 0:
            raise LinkGone("closed here")
        if not select.select([self.socket], [], [], wait)[0]:
            return b""
        try:
            data = self.socket.recv(1 << 16)
        except OSError as error:
            raise LinkGone(str(error)) from error
        if not data:
            raise LinkGone("end of stream")
        return data

    def receive(self, timeout=20):
        """(name, body); None when nothing came in time."""
        deadline = time.monotonic() + timeout
        while True:
            if frame := decode_frame(self._buffer):
                self._buffer = frame[2]
                return frame[:2]
            data = self._read(deadline)
            if not data:
                return None
            self._buffer += data

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()


class GATTLink(StreamLink):
    """Frames cut to packets, each a value of a characteristic: `D` or `C`, length, value on the radio's socket."""

    kind = "gatt"

    def __init__(self, sock, limit, is_central, rest=b""):
        super().__init__(sock)
        self._limit, self._is_central = limit, is_central
        self._records, self._frames, self._ready = rest, {}, collections.deque()
        self._next = 1
        self.packets = 0

    def send(self, name, body):
        self._cut(encode_frame(name, body), is_bulk=name == "dataPayload")

    def send_bytes(self, data):
        self._cut(data, is_bulk=False)

    def _cut(self, data, is_bulk):
        room = self._limit - 11
        count = max(1, -(-len(data) // room))
        records = b""
        for index in range(count):
            part = data[index * room:(index + 1) * room]
            packet = struct.pack(">2sIHHB", b"GD", self._next, index, count, 0 if is_bulk else 1) + part
            characteristic = b"D" if is_bulk or not self._is_central else b"C"
            records += characteristic + struct.pack(">H", len(packet)) + packet
            self.packets += 1
        self._next = self._next % 0xFFFFFFFF + 1
        super().send_bytes(records)

    def receive(self, timeout=20):
        deadline = time.monotonic() + timeout
        while not self._ready:
            self._take_records()
            if self._ready:
                break
            data = self._read(deadline)
            if not data:
                return None
            self._records += data
        return self._ready.popleft()

    def _take_records(self):
        while len(self._records) >= 3:
            length = struct.unpack(">H", self._records[1:3])[0]
            if len(self._records) < 3 + length:
                return
            packet, self._records = self._records[3:3 + length], self._records[3 + length:]
            if packet[:2] != b"GD" or len(packet) < 11:
                continue
            number, index, count = struct.unpack(">IHH", packet[2:10])
            parts = self._frames.setdefault(number, {})
            parts[index] = packet[11:]
            if len(parts) == count:
                del self._frames[number]
                name, body, rest = decode_frame(b"".join(parts[i] for i in range(count)))
                assert not rest
                self._ready.append((name, body))


def _line(sock):
    """A line from the air, byte by byte: what follows it is the link's."""
    line = b""
    while not line.endswith(b"\n"):
        byte = sock.recv(1)
        if not byte:
            raise LinkGone("the air hung up")
        line += byte
    return line.decode().rstrip("\n")


def _connect(radio, request, timeout=20):
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(timeout)
    sock.connect(radio.path)
    sock.sendall(request.encode() + b"\n")
    return sock


def _link(sock, is_central):
    words = _line(sock).split(" ")
    if words[0] != "linked":
        raise LinkGone(" ".join(words))
    if words[1] == "l2cap":
        return StreamLink(sock)
    assert words[1] == "values", words
    return GATTLink(sock, int(words[3]), is_central)


def dial(radio, target, modes="l2cap,values", name="phone"):
    return _link(_connect(radio, f"dial {target} {name} {modes}"), True)


class Advertiser:
    """A device that can be dialled: `link` gives the next link."""

    def __init__(self, radio, name="phone", modes="l2cap,values", chunk=CHUNK, window=WINDOW):
        self.radio, self.name = radio, name
        capabilities = {"capabilities": {"supportsL2CAP": "l2cap" in modes, "maxChunk": chunk, "maxWindow": window,
                                         "protocolVersion": 1}}
        if "l2cap" in modes:
            capabilities["psm"] = 0xC1
        text = json.dumps(capabilities, separators=(",", ":"))
        self._control = _connect(radio, f"advertise {name} {modes} {text}")
        assert _line(self._control) == "done"

    def link(self, timeout=30):
        self._control.settimeout(timeout)
        word, token = _line(self._control).split(" ")
        assert word == "offered"
        return _link(_connect(self.radio, f"accept {token}"), False)

    def close(self):
        self._control.close()


# MARK: sessions

class Session:
    """Keys, codes and sealed frames of either end."""

    def __init__(self, link, role):
        self.link, self.role = link, role
        self.key, self.nonce = PrivateKey(), secrets.token_bytes(16)
        self.code = self.transcript_hash = None
        self._sealed = 0

    def agree(self, session_id, peer_key, peer_nonce):
        own, peer = (self.key.public, self.nonce), (peer_key, peer_nonce)
        first, second = (own, peer) if self.key.public < peer_key else (peer, own)
        transcript = b"GhostDrop-v1" + session_id.bytes + first[0] + first[1] + second[0] + second[1]
        self.transcript_hash = hashlib.sha256(transcript).digest()
        self.code = f"{int.from_bytes(self.transcript_hash[:4], 'big') % 1_000_000:06}"
        secret = hkdf(self.key.shared(peer_key), self.transcript_hash, b"GhostDrop Session Keys", 64)
        self._directions = {}
        for role in ("sender", "receiver"):
            key = hkdf(secret[:32], b"ghostdrop-directional", role.encode(), 32)
            self._directions[role] = GCM(key), hashlib.sha256(f"ghostdrop-{role}".encode()).digest()[:4]

    def seal(self, sequence, text):
        number = sequence.to_bytes(8, "big")
        cipher, prefix = self._directions[self.role]
        return prefix + number + cipher.seal(prefix + number, text, number)

    def open(self, sequence, combined):
        number = sequence.to_bytes(8, "big")
        cipher, prefix = self._directions["receiver" if self.role == "sender" else "sender"]
        assert combined[:12] == prefix + number
        return cipher.open(prefix + number, combined[12:], number)

    def send_sealed(self, name, body):
        sealed = self.seal(self._sealed, encode_frame(name, body))
        self.link.send("encrypted", {"sequence": self._sealed, "combined": b64(sealed)})
        self._sealed += 1

    def receive(self, timeout=20):
        """(name, body) with what was sealed opened; None when nothing came in time. A cancel raises."""
        frame = self.link.receive(timeout)
        if frame is None:
            return None
        name, body = frame
        if name == "encrypted":
            name, body, rest = decode_frame(self.open(body["sequence"], unb64(body["combined"])))
            assert not rest
        if name == "cancel":
            raise DropEnded(body["reason"])
        return name, body

    def expect(self, name, timeout=20):
        frame = self.receive(timeout)
        assert frame is not None and frame[0] == name, (name, frame)
        return frame[1]

    def wait_verified(self):
        assert self.expect("verifyAck")["accepted"] is True


class Sender(Session):
    """Sends one file as a v1 app does: the whole file in memory, a window of pieces, repeats after two seconds."""

    def __init__(self, link, name, content, size=None, digest=None, transfer_id=None, chunk=CHUNK, window=WINDOW):
        super().__init__(link, "sender")
        self.name, self.content = name, content
        self.size = len(content) if size is None else size
        self.digest = digest or hashlib.sha256(content).digest()
        self.transfer_id = transfer_id or uuid.uuid4()
        self.chunk, self.window = chunk, window
        self.resumed = None
        self.sent = []

    def greet(self):
        """Until there is a code."""
        session_id = uuid.uuid4()
        self.link.send("hello", {
            "sessionID": str(session_id).upper(), "deviceID": {"rawValue": str(uuid.uuid4()).upper()},
            "ephemeralPublicKey": b64(self.key.public), "nonce": b64(self.nonce),
            "capabilities": {"supportsL2CAP": True, "maxChunk": self.chunk, "maxWindow": self.window,
                             "protocolVersion": 1}})
        answer = self.expect("helloAck")
        self.agree(session_id, unb64(answer["ephemeralPublicKey"]), unb64(answer["nonce"]))
        self.link.send("verify", {"transcriptHash": b64(self.transcript_hash), "sasCode": self.code})
        return self.code

    def confirm(self, accepted=True):
        self.link.send("verifyAck", {"accepted": accepted})

    def announce(self):
        self.send_sealed("metadata", {
            "transferID": str(self.transfer_id).upper(), "filename": self.name, "size": self.size,
            "mimeType": "application/octet-stream", "sha256": b64(self.digest), "chunkSize": self.chunk})

    def send_piece(self, sequence):
        piece = self.content[sequence * self.chunk:(sequence + 1) * self.chunk]
        self.link.send("dataPayload", {"sequence": sequence, "payload": b64(self.seal(sequence, piece))})
        self.sent.append(sequence)

    def transfer(self, stop_after=None, timeout=60, resume_within=1.5):
        """All pieces and the end; with `stop_after` it hangs up after so many are acknowledged. An app begins from the first
        piece if it is not told within a second and a half which one the other side has."""
        count = -(-len(self.content) // self.chunk)
        first, start = self._resume(resume_within), time.monotonic()
        flying, following, confirmed = {}, first, first
        while confirmed < count:
            assert time.monotonic() - start < timeout, "no progress"
            while following < count and len(flying) < self.window:
                self.send_piece(following)
                flying[following] = time.monotonic()
                following += 1
            frame = self.receive(0.2)
            if frame and frame[0] == "ack":
                cumulative, missing = frame[1]["cumulativeSequence"], frame[1]["nackBitmap"]
                confirmed = max(confirmed, cumulative + 1)
                flying = {s: t for s, t in flying.items() if s > cumulative}
                for bit in range(64):
                    if missing >> bit & 1 and cumulative + 1 + bit in flying:
                        self.send_piece(cumulative + 1 + bit)
            if stop_after is not None and confirmed >= stop_after:
                return self.link.close()
            for sequence, sent in list(flying.items()):
                if time.monotonic() - sent >= 2:
                    self.send_piece(sequence)
                    flying[sequence] = time.monotonic()
        self.complete()

    def _resume(self, timeout):
        frame = self.receive(timeout)
        if frame and frame[0] == "resume":
            self.resumed = frame[1]["lastConfirmedSequence"]
            return self.resumed + 1
        return 0

    def complete(self):
        self.send_sealed("complete", {"transferID": str(self.transfer_id).upper(), "sha256": b64(self.digest)})


class Receiver(Session):
    """Receives one file as a v1 app does: takes what comes, counts the last piece that it saw, says `resume` with 0 when
    it has nothing."""

    def __init__(self, link, kept=None):
        super().__init__(link, "receiver")
        # By transfer: what an earlier session has got.
        self.kept = {} if kept is None else kept
        self.metadata = None
        self.pieces = {}

    def greet(self):
        hello = self.expect("hello")
        assert hello["capabilities"]["protocolVersion"] == 1
        session_id = uuid.UUID(hello["sessionID"])
        self.agree(session_id, unb64(hello["ephemeralPublicKey"]), unb64(hello["nonce"]))
        self.link.send("helloAck", {"sessionID": str(session_id).upper(), "ephemeralPublicKey": b64(self.key.public),
                                    "nonce": b64(self.nonce)})
        verify = self.expect("verify")
        assert unb64(verify["transcriptHash"]) == self.transcript_hash and verify["sasCode"] == self.code
        return self.code

    def confirm(self, accepted=True):
        self.link.send("verifyAck", {"accepted": accepted})

    def accept(self):
        self.metadata = self.expect("metadata")
        self.pieces = self.kept.setdefault(self.metadata["transferID"], {})
        self.link.send("resume", {"transferID": self.metadata["transferID"],
                                  "lastConfirmedSequence": max(self.pieces, default=0)})
        return self.metadata

    def take(self, stop_after=None, timeout=60, drop_first=0):
        """Until the end; with `stop_after` it hangs up after so many pieces. `drop_first`: pieces that it takes no notice of,
        as an app whose user has not accepted yet."""
        start, top = time.monotonic(), max(self.pieces, default=-1)
        while True:
            assert time.monotonic() - start < timeout, "no progress"
            frame = self.receive(timeout)
            assert frame is not None, "nothing comes"
            name, body = frame
            if name == "dataPayload":
                if drop_first > 0:
                    drop_first -= 1
                    continue
                self.pieces[body["sequence"]] = self.open(body["sequence"], unb64(body["payload"]))
                top = max(top, body["sequence"])
                # What lies in a gap before it is said to be missing by nothing else.
                self.link.send("ack", {"cumulativeSequence": top, "nackBitmap": 0})
                if stop_after is not None and len(self.pieces) >= stop_after:
                    return self.link.close()
            elif name == "complete":
                content = b"".join(self.pieces[i] for i in sorted(self.pieces))
                assert unb64(body["sha256"]) == hashlib.sha256(content).digest()
                return content

    def receive_file(self, **options):
        self.accept()
        return self.take(**options)
