"""An independent BEP v1 peer: what the interop tests and the benchmarks put at the other end of the wire.

Shares no code with synctrain or Syncthing: its own protobuf, LZ4 and framing, TLS from Python's ssl module, certificates
from the openssl program. It deliberately lets a test send wrong things.

    me = Peer("probe", Identity.create(directory))
    folder = me.share("f", [real_device_id])
    folder.add("a.txt", b"content")
    session = me.dial("tcp://127.0.0.1:22000")          # Hello, ClusterConfig and Index go by themselves
    session.wait_index("f", count=10)                    # entries of the other side, by name
    data, code = session.request("f", session.index["f"]["x.bin"], 0)
    session.close()

    address = me.listen(trust=[certificate_of_the_dialler])   # or let the other side dial
"""

import base64
import hashlib
import os
import random
import select
import socket
import ssl
import struct
import subprocess
import tempfile
import threading
import time
import unicodedata
import zlib

HELLO_MAGIC = 0x2EA7D90B
CLUSTER_CONFIG, INDEX, INDEX_UPDATE, REQUEST, RESPONSE, DOWNLOAD_PROGRESS, PING, CLOSE = range(8)
TYPE_NAMES = [
    "ClusterConfig", "Index", "IndexUpdate", "Request", "Response", "DownloadProgress", "Ping", "Close",
]
NO_COMPRESSION, LZ4 = 0, 1
FILE, DIRECTORY, SYMLINK = 0, 1, 4
MAX_MESSAGE = 500_000_000
MIN_BLOCK, MAX_BLOCK = 128 << 10, 16 << 20
DEADLINE = 20.0
"""Seconds that any single wait may take unless the caller says otherwise."""


class LinkClosed(Exception):
    """The other side ended the link (or TLS did)."""


class ProtocolError(Exception):
    """The other side sent bytes that are no BEP."""


# MARK: device ids

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


def _check_character(text):
    total, factor = 0, 1
    for character in text:
        addend = factor * _ALPHABET.index(character)
        total += addend // 32 + addend % 32
        factor = 3 - factor
    return _ALPHABET[-total % 32]


def device_id_text(raw):
    """The 56-character form of a 32-byte device id."""
    plain = base64.b32encode(raw).decode().rstrip("=")
    checked = "".join(plain[i:i + 13] + _check_character(plain[i:i + 13]) for i in range(0, 52, 13))
    return "-".join(checked[i:i + 7] for i in range(0, 56, 7))


def device_id_raw(text):
    """The 32 bytes of a device id's text; ValueError if a check character is wrong."""
    checked = text.replace("-", "").upper()
    parts = [checked[i:i + 14] for i in range(0, 56, 14)]
    if len(checked) != 56 or any(_check_character(part[:13]) != part[13] for part in parts):
        raise ValueError(f"not a device id: {text}")
    return base64.b32decode("".join(part[:13] for part in parts) + "====")


class Identity:
    """A self-signed certificate with its key in files, as the ssl module wants them."""

    KEYS = {
        "p256": ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
        "p384": ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384"],
        "ed25519": ["-newkey", "ed25519"],
        "rsa": ["-newkey", "rsa:3072"],
    }

    def __init__(self, certificate, key):
        self.certificate, self.key = certificate, key
        with open(certificate) as file:
            der = ssl.PEM_cert_to_DER_cert(file.read())
        self.raw_id = hashlib.sha256(der).digest()
        self.id = device_id_text(self.raw_id)
        self.short_id = int.from_bytes(self.raw_id[:8], "big")

    @classmethod
    def create(cls, directory, kind="p384", name="syncthing"):
        """Makes (or reuses) `directory`/cert.pem and key.pem."""
        os.makedirs(directory, mode=0o700, exist_ok=True)
        certificate, key = os.path.join(directory, "cert.pem"), os.path.join(directory, "key.pem")
        if not os.path.exists(certificate):
            subprocess.run(
                ["openssl", "req", "-x509", *cls.KEYS[kind], "-nodes", "-subj", f"/CN={name}", "-days", "7300",
                 "-keyout", key, "-out", certificate],
                check=True, capture_output=True)
            os.chmod(key, 0o600)
        return cls(certificate, key)


# MARK: protobuf

def varint(value):
    """A base-128 varint; negative numbers as their 64-bit two's complement."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field_bytes(number, data):
    """A length-delimited field."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def field_varint(number, value):
    return varint(number << 3) + varint(value)


SCHEMAS = {
    "Hello": {1: ("device_name", "string"), 2: ("client_name", "string"), 3: ("client_version", "string"),
              4: ("num_connections", "int32"), 5: ("timestamp", "int64")},
    "Header": {1: ("type", "int32"), 2: ("compression", "int32")},
    "ClusterConfig": {1: ("folders", "Folder*"), 2: ("secondary", "bool")},
    "Folder": {1: ("id", "string"), 2: ("label", "string"), 3: ("type", "int32"), 4: ("ignore_permissions", "bool"),
               5: ("ignore_delete", "bool"), 6: ("disable_temp_indexes", "bool"), 7: ("stop_reason", "int32"),
               16: ("devices", "Device*")},
    "Device": {1: ("id", "bytes"), 2: ("name", "string"), 3: ("addresses", "string*"), 4: ("compression", "int32"),
               5: ("cert_name", "string"), 6: ("max_sequence", "int64"), 7: ("introducer", "bool"),
               8: ("index_id", "uint64"), 9: ("skip_introduction_removals", "bool"),
               10: ("encryption_password_token", "bytes")},
    "Index": {1: ("folder", "string"), 2: ("files", "FileInfo*"), 3: ("last_sequence", "int64")},
    "IndexUpdate": {1: ("folder", "string"), 2: ("files", "FileInfo*"), 3: ("last_sequence", "int64"),
                    4: ("prev_sequence", "int64")},
    "FileInfo": {1: ("name", "string"), 2: ("type", "int32"), 3: ("size", "int64"), 4: ("permissions", "uint32"),
                 5: ("modified_s", "int64"), 6: ("deleted", "bool"), 7: ("invalid", "bool"),
                 8: ("no_permissions", "bool"), 9: ("version", "Vector"), 10: ("sequence", "int64"),
                 11: ("modified_ns", "int32"), 12: ("modified_by", "uint64"), 13: ("block_size", "int32"),
                 14: ("platform", "bytes"), 16: ("blocks", "BlockInfo*"), 17: ("symlink_target", "string"),
                 18: ("blocks_hash", "bytes"), 19: ("encrypted", "bytes"), 20: ("previous_blocks_hash", "bytes")},
    "Vector": {1: ("counters", "Counter*")},
    "Counter": {1: ("id", "uint64"), 2: ("value", "uint64")},
    "BlockInfo": {1: ("offset", "int64"), 2: ("size", "int32"), 3: ("hash", "bytes"), 4: ("weak_hash", "uint32")},
    "Request": {1: ("id", "int32"), 2: ("folder", "string"), 3: ("name", "string"), 4: ("offset", "int64"),
                5: ("size", "int32"), 6: ("hash", "bytes"), 7: ("from_temporary", "bool"), 8: ("weak_hash", "uint32"),
                9: ("block_no", "int32")},
    "Response": {1: ("id", "int32"), 2: ("data", "bytes"), 3: ("code", "int32")},
    "DownloadProgress": {1: ("folder", "string"), 2: ("updates", "FileDownloadProgressUpdate*")},
    "FileDownloadProgressUpdate": {1: ("update_type", "int32"), 2: ("name", "string"), 3: ("version", "Vector"),
                                   4: ("block_indexes", "int32*"), 5: ("block_size", "int32")},
    "Ping": {},
    "Close": {1: ("reason", "string")},
}
_SCALARS = {"string", "bytes", "bool", "int32", "int64", "uint32", "uint64"}
_NUMBERS = {name: {field: number for number, (field, _) in schema.items()} for name, schema in SCHEMAS.items()}


def encode(schema, message):
    """A message from a dict; zero values are left out as proto3 does, keys of no field are an error."""
    out = bytearray()
    for number, (field, kind) in sorted(SCHEMAS[schema].items()):
        value = message.get(field)
        if not value:
            continue
        for item in value if kind.endswith("*") else [value]:
            out += _encode_field(number, kind.rstrip("*"), item)
    unknown = set(message) - set(_NUMBERS[schema]) - {"_unknown"}
    if unknown:
        raise KeyError(f"{schema} has no {unknown}")
    return bytes(out)


def _encode_field(number, kind, value):
    if kind == "string":
        return field_bytes(number, value.encode("utf-8", "surrogateescape"))
    if kind == "bytes":
        return field_bytes(number, value)
    if kind in _SCALARS:
        return field_varint(number, int(value))
    return field_bytes(number, encode(kind, value))


def _read_varint(data, position):
    result = shift = 0
    while True:
        if position >= len(data) or shift > 63:
            raise ProtocolError("bad varint")
        byte = data[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result & (1 << 64) - 1, position
        shift += 7


def _number(kind, raw):
    if kind == "bool":
        return raw != 0
    if kind == "uint32":
        return raw & 0xFFFFFFFF
    if kind == "int32":
        raw &= 0xFFFFFFFF
        return raw - (1 << 32) if raw >> 31 else raw
    if kind == "int64":
        return raw - (1 << 64) if raw >> 63 else raw
    return raw


def decode(schema, data):
    """A dict of the fields that are present; those the schema has not under `_unknown` as (number, wire type, value)."""
    message, position, fields = {}, 0, SCHEMAS[schema]
    data = bytes(data)
    while position < len(data):
        tag, position = _read_varint(data, position)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            raw, position = _read_varint(data, position)
        elif wire in (1, 5):
            length = 8 if wire == 1 else 4
            raw, position = data[position:position + length], position + length
        elif wire == 2:
            length, position = _read_varint(data, position)
            raw, position = data[position:position + length], position + length
        else:
            raise ProtocolError(f"{schema}: wire type {wire}")
        if position > len(data):
            raise ProtocolError(f"{schema}: field {number} is cut off")
        field, kind = fields.get(number, (None, None))
        if field is None:
            message.setdefault("_unknown", []).append((number, wire, raw))
        elif kind.endswith("*"):
            message.setdefault(field, []).extend(_decode_items(kind[:-1], wire, raw))
        else:
            message[field] = _decode_items(kind, wire, raw)[-1]
    return message


def _decode_items(kind, wire, raw):
    if kind in _SCALARS - {"string", "bytes"}:
        if wire == 0:
            return [_number(kind, raw)]
        if wire != 2:
            raise ProtocolError(f"{kind} with wire type {wire}")
        items, position = [], 0
        while position < len(raw):
            value, position = _read_varint(raw, position)
            items.append(_number(kind, value))
        return items
    if wire != 2:
        raise ProtocolError(f"{kind} with wire type {wire}")
    if kind == "bytes":
        return [raw]
    if kind == "string":
        return [raw.decode("utf-8", "surrogateescape")]
    return [decode(kind, raw)]


# MARK: LZ4 blocks

def lz4_literals(data):
    """One LZ4 block that holds the data as literals only: valid, and larger than the data."""
    length = len(data)
    if length < 15:
        return bytes([length << 4]) + data
    out, rest = bytearray([0xF0]), length - 15
    out += b"\xff" * (rest // 255)
    out.append(rest % 255)
    return bytes(out) + data


def lz4_decode(block, size):
    """The bytes of one LZ4 block; ProtocolError unless they are exactly `size`."""
    out, position = bytearray(), 0
    try:
        while position < len(block):
            token = block[position]
            position += 1
            count = token >> 4
            if count == 15:
                count, position = _lz4_length(block, position, count)
            if position + count > len(block):
                raise ProtocolError("LZ4: literals are cut off")
            out += block[position:position + count]
            position += count
            if position == len(block):
                break
            offset = block[position] | block[position + 1] << 8
            position += 2
            count = token & 15
            if count == 15:
                count, position = _lz4_length(block, position, count)
            count += 4
            if offset == 0 or offset > len(out) or len(out) + count > size:
                raise ProtocolError("LZ4: match out of bounds")
            start = len(out) - offset
            if offset >= count:
                out += out[start:start + count]
            else:
                pattern = bytes(out[start:])
                out += (pattern * (count // offset + 1))[:count]
    except IndexError:
        raise ProtocolError("LZ4: block is cut off") from None
    if len(out) != size:
        raise ProtocolError(f"LZ4: {len(out)} bytes instead of {size}")
    return bytes(out)


def _lz4_length(block, position, count):
    while True:
        byte = block[position]
        position += 1
        count += byte
        if byte != 255:
            return count, position


# MARK: frames

def frame_bytes(type, body, compression=NO_COMPRESSION):
    """A frame around an encoded message; with LZ4 as a literal-only block."""
    if compression == LZ4:
        body = struct.pack(">I", len(body)) + lz4_literals(body)
    header = encode("Header", {"type": type, "compression": compression})
    return struct.pack(">H", len(header)) + header + struct.pack(">I", len(body)) + body


def hello_bytes(hello):
    body = encode("Hello", hello)
    return struct.pack(">IH", HELLO_MAGIC, len(body)) + body


class Frame:
    """One received frame: `raw` as it came, `body` uncompressed, `message` decoded."""

    def __init__(self, raw):
        self.raw = raw
        length = struct.unpack_from(">H", raw)[0]
        header = decode("Header", raw[2:2 + length])
        self.type, self.compression = header.get("type", 0), header.get("compression", 0)
        self.header_length = length
        body = raw[6 + length:]
        if self.compression == LZ4:
            body = lz4_decode(body[4:], struct.unpack_from(">I", body)[0])
        self.body = body
        self.message = decode(TYPE_NAMES[self.type], body) if self.type < len(TYPE_NAMES) else {}

    @property
    def name(self):
        return TYPE_NAMES[self.type] if self.type < len(TYPE_NAMES) else f"type {self.type}"

    def __repr__(self):
        return f"<{self.name} {len(self.raw)} bytes>"


# MARK: the link

def tls_context(identity, server_side, trust=()):
    """TLS 1.3 with one certificate each way. A server must be told the certificates (PEM files) it will meet, since the
    ssl module cannot accept a client certificate that it cannot verify."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server_side else ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols(["bep/1.0"])
    context.load_cert_chain(identity.certificate, identity.key)
    if server_side:
        context.num_tickets = 0
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
        for certificate in trust:
            context.load_verify_locations(certificate)
    else:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def split_address(address):
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    return host, int(port)


class Link:
    """TLS over a socket; one thread may read while others write.

    The ssl module's own sockets cannot do that in Python 3.11 (two threads inside one OpenSSL object), so the records
    go through memory and a lock keeps OpenSSL to one thread at a time.
    """

    def __init__(self, sock, context, server_side=False, timeout=DEADLINE):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(timeout)
        self.socket = sock
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=server_side)
        self._tls_lock, self._send_lock = threading.Lock(), threading.Lock()
        self._buffer = bytearray()
        self.bytes_in = self.bytes_out = 0
        self._handshake()
        certificate = self._tls.getpeercert(binary_form=True)
        self.peer_raw_id = hashlib.sha256(certificate).digest() if certificate else None

    @classmethod
    def dial(cls, address, identity, timeout=DEADLINE):
        sock = socket.create_connection(split_address(address), timeout)
        try:
            return cls(sock, tls_context(identity, False), timeout=timeout)
        except BaseException:
            sock.close()
            raise

    @property
    def peer_id(self):
        return device_id_text(self.peer_raw_id) if self.peer_raw_id else None

    @property
    def alpn(self):
        return self._tls.selected_alpn_protocol()

    def _handshake(self):
        while True:
            try:
                self._tls.do_handshake()
                self._flush()
                return
            except ssl.SSLWantReadError:
                self._flush()
                self._receive_records()
            except ssl.SSLError as error:
                self._flush()
                raise LinkClosed(f"TLS: {error}") from error

    def _flush(self):
        with self._send_lock:
            with self._tls_lock:
                data = self._outgoing.read()
            if data:
                self._send_all(data)

    def _send_all(self, data):
        try:
            self.socket.sendall(data)
        except OSError as error:
            raise LinkClosed(f"send: {error}") from error
        self.bytes_out += len(data)

    def _receive_records(self):
        try:
            data = self.socket.recv(1 << 18)
        except TimeoutError:
            raise
        except OSError as error:
            raise LinkClosed(f"receive: {error}") from error
        if not data:
            raise LinkClosed("end of stream")
        self.bytes_in += len(data)
        with self._tls_lock:
            self._incoming.write(data)

    def send_raw(self, data):
        """Sends bytes as they are (inside TLS)."""
        view = memoryview(data)
        with self._send_lock:
            for start in range(0, len(view), 1 << 20):
                with self._tls_lock:
                    try:
                        self._tls.write(view[start:start + (1 << 20)])
                    except ssl.SSLError as error:
                        raise LinkClosed(f"TLS: {error}") from error
                    records = self._outgoing.read()
                self._send_all(records)

    def receive_some(self):
        """At least one byte; LinkClosed at the end, TimeoutError if the socket's timeout passes first."""
        while True:
            with self._tls_lock:
                try:
                    data = self._tls.read(1 << 16)
                except ssl.SSLWantReadError:
                    data = None
                except ssl.SSLError as error:
                    raise LinkClosed(f"TLS: {error}") from error
                answer = self._outgoing.pending
            if answer:
                self._flush()
            if data:
                return data
            if data is not None:
                raise LinkClosed("end of stream")
            self._receive_records()

    def _take(self, count):
        while len(self._buffer) < count:
            self._buffer += self.receive_some()
        data = bytes(self._buffer[:count])
        del self._buffer[:count]
        return data

    def send_hello(self, **hello):
        self.send_raw(hello_bytes(hello))

    def receive_hello(self):
        """(raw bytes, decoded message)"""
        head = self._take(6)
        magic, length = struct.unpack(">IH", head)
        if magic != HELLO_MAGIC:
            raise ProtocolError(f"magic {magic:08x}")
        body = self._take(length)
        return head + body, decode("Hello", body)

    def send(self, type, message=None, compression=NO_COMPRESSION):
        self.send_raw(frame_bytes(type, encode(TYPE_NAMES[type], message or {}), compression))

    def receive(self):
        """The next frame."""
        head = self._take(2)
        length = struct.unpack(">H", head)[0]
        head += self._take(length + 4)
        size = struct.unpack(">I", head[-4:])[0]
        if size > MAX_MESSAGE:
            raise ProtocolError(f"message of {size} bytes")
        return Frame(head + self._take(size))

    def close(self):
        """Ends the link without a word."""
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()


# MARK: index entries

def block_size_for(size):
    block = MIN_BLOCK
    while block < MAX_BLOCK and size >= 2000 * block:
        block *= 2
    return block


def blocks_of(data, block_size=None):
    """BlockInfo dicts of some content; an empty file has one empty block."""
    block_size = block_size or block_size_for(len(data))
    blocks = []
    for offset in range(0, max(1, len(data)), block_size):
        part = data[offset:offset + block_size]
        blocks.append({"offset": offset, "size": len(part), "hash": hashlib.sha256(part).digest(),
                       "weak_hash": zlib.adler32(part)})
    return blocks


def file_info(name, data, short_id, sequence, **other):
    """The FileInfo of a live file with this content."""
    info = {
        "name": name, "size": len(data), "permissions": 0o644, "modified_s": int(time.time()), "modified_ns": 1,
        "version": {"counters": [{"id": short_id, "value": int(time.time())}]}, "modified_by": short_id,
        "sequence": sequence, "block_size": other.pop("block_size", None) or block_size_for(len(data)),
    }
    info["blocks"] = blocks_of(data, info["block_size"])
    info.update(other)
    return info


def nfc(name):
    return unicodedata.normalize("NFC", name)


class Folder:
    """A folder we share: its entries in order of sequence and the content we serve."""

    def __init__(self, id, short_id, devices, label=None):
        self.id, self.label, self.short_id = id, label or id, short_id
        self.devices = list(devices)
        self.index_id = random.getrandbits(64) | 1
        self.sequence = 0
        self.entries, self.contents = {}, {}

    def add(self, name, data=b"", **other):
        """Adds or changes a file. `data` is its content; with `content`, a function (offset, size) → bytes serves it."""
        content = other.pop("content", None)
        if name in self.entries and "version" not in other:
            other["version"] = self._next_version(name)
        return self.put(file_info(name, data, self.short_id, 0, **other), content or data)

    def _next_version(self, name):
        counters = {c["id"]: c["value"] for c in self.entries[name]["version"]["counters"]}
        counters[self.short_id] = max(counters.get(self.short_id, 0) + 1, int(time.time()))
        return {"counters": [{"id": id, "value": value} for id, value in sorted(counters.items())]}

    def put(self, info, content=None):
        """Adds an entry as it is; only its sequence is ours."""
        self.sequence += 1
        info = dict(info, sequence=self.sequence)
        self.entries.pop(info["name"], None)
        self.entries[info["name"]] = info
        if content is not None:
            self.contents[info["name"]] = content
        return info

    def add_directory(self, name):
        return self.put({"name": name, "type": DIRECTORY, "permissions": 0o755, "modified_s": int(time.time()),
                         "version": {"counters": [{"id": self.short_id, "value": 1}]}, "modified_by": self.short_id})

    def add_symlink(self, name, target):
        return self.put({"name": name, "type": SYMLINK, "symlink_target": target, "no_permissions": True,
                         "permissions": 0o666, "modified_s": int(time.time()),
                         "version": {"counters": [{"id": self.short_id, "value": 1}]}, "modified_by": self.short_id})

    def delete(self, name):
        old = self.entries[name]
        version = self._next_version(name)
        self.contents.pop(name, None)
        return self.put({"name": name, "type": old.get("type", 0), "deleted": True, "modified_s": int(time.time()),
                         "version": version, "modified_by": self.short_id})

    def since(self, sequence):
        return sorted((e for e in self.entries.values() if e["sequence"] > sequence), key=lambda e: e["sequence"])

    def read(self, name, offset, size):
        """Bytes to answer a request with, or None."""
        content = self.contents.get(name)
        if content is None:
            return None
        if callable(content):
            return content(offset, size)
        return content[offset:offset + size]


# MARK: the peer

class Peer:
    """A device of ours: an identity, folders it shares, sessions with others.

    `serve(session, request)` answers requests: bytes, an error code, or None for no answer at all. Replace it to be a
    bad, slow or silent holder. It runs on the session's reading thread unless `serving_threads` is more than 0.
    """

    def __init__(self, name, identity):
        self.name, self.identity = name, identity
        self.folders = {}
        self.serve = self.serve_from_folder
        self.sessions = []
        self.known = {}
        """What we already hold of others' indexes: (folder, raw device id) → (index id, max sequence)."""
        self._listener = None
        self._arrived = threading.Condition()

    @property
    def id(self):
        return self.identity.id

    def share(self, folder_id, devices, label=None):
        folder = self.folders[folder_id] = Folder(folder_id, self.identity.short_id, devices, label)
        return folder

    @staticmethod
    def serve_from_folder(session, request):
        folder = session.peer.folders.get(request["folder"])
        if folder is None:
            return 1
        data = folder.read(request["name"], request.get("offset", 0), request.get("size", 0))
        return 2 if data is None else data

    def hello(self):
        return {"device_name": self.name, "client_name": "synctrain-interop", "client_version": "v1.0.0"}

    def cluster_config(self, device):
        """What we tell the device (its raw id): all folders shared with it."""
        folders = []
        for folder in self.folders.values():
            if device_id_text(device) not in folder.devices:
                continue
            index_id, sequence = self.known.get((folder.id, device), (0, 0))
            folders.append({
                "id": folder.id, "label": folder.label, "devices": [
                    {"id": self.identity.raw_id, "name": self.name, "addresses": ["dynamic"],
                     "max_sequence": folder.sequence, "index_id": folder.index_id},
                    {"id": device, "name": "other", "addresses": ["dynamic"],
                     "max_sequence": sequence, "index_id": index_id},
                ]})
        return {"folders": folders}

    def dial(self, address, start=True, timeout=DEADLINE):
        """A session with the device at `address`; with `start` false only the TLS link is there."""
        link = Link.dial(address, self.identity, timeout)
        return self._begin(link, start)

    def dial_until(self, address, timeout=DEADLINE):
        """Like `dial`, but tries again while the other side refuses or drops us (it may still hold an old link)."""
        end = time.monotonic() + timeout
        while True:
            try:
                session = self.dial(address)
                if session.wait_ready(max(0.1, end - time.monotonic())):
                    return session
            except (OSError, LinkClosed):
                pass
            if time.monotonic() > end:
                raise TimeoutError(f"{address} does not take our link")
            time.sleep(0.1)

    def _begin(self, link, start):
        session = Session(self, link)
        with self._arrived:
            self.sessions.append(session)
            self._arrived.notify_all()
        if start:
            session.start()
        return session

    def listen(self, trust, start=True, port=0, timeout=DEADLINE):
        """Takes links from devices whose certificate files are in `trust`; returns the address."""
        self._listener = socket.create_server(("127.0.0.1", port))
        context = tls_context(self.identity, True, trust)

        def accept(listener):
            while True:
                try:
                    sock, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=take, args=(sock,), daemon=True).start()

        def take(sock):
            try:
                self._begin(Link(sock, context, True, timeout), start)
            except (LinkClosed, OSError, ProtocolError):
                sock.close()

        threading.Thread(target=accept, args=(self._listener,), daemon=True).start()
        return "tcp://127.0.0.1:%d" % self._listener.getsockname()[1]

    def wait_session(self, timeout=DEADLINE, after=0):
        """The newest session beyond the first `after` ones that has exchanged cluster configs and lives."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            with self._arrived:
                if not self._arrived.wait_for(lambda: len(self.sessions) > after, end - time.monotonic()):
                    break
                candidates = self.sessions[after:]
            for session in reversed(candidates):
                if session.wait_ready(0.05):
                    return session
        raise TimeoutError(f"{self.name}: no session came")

    def live(self):
        return [s for s in self.sessions if s.is_ready and not s.ended]

    def close(self):
        if self._listener:
            self._listener.close()
        for session in list(self.sessions):
            session.close()


class Session:
    """A link with the protocol running on it: a thread reads, answers requests and keeps what came."""

    def __init__(self, peer, link):
        self.peer, self.link = peer, link
        self.device = link.peer_raw_id
        self.hello = None
        self.cluster_configs = []
        self.index = {}
        """Folder id → name → the other side's entry."""
        self.index_messages = []
        """(message name, folder, number of entries, first sequence, last sequence) in order of arrival."""
        self.requests = []
        """Requests of the other side, in order."""
        self.progress = []
        self.asked = {}
        """Folder id → (index id, max sequence) that the other side says it holds of us."""
        self.close_reason = None
        self.ended = None
        """Why the link is no more: text, or None while it lives."""
        self._responses = {}
        self._next_request = 0
        self._changed = threading.Condition()
        self._sent_sequence = {}
        self._thread = None

    def start(self):
        self.link.send_hello(**self.peer.hello())
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        self.link.socket.settimeout(None)
        try:
            _, hello = self.link.receive_hello()
            with self._changed:
                self.hello = hello
                self._changed.notify_all()
            self.send_cluster_config()
            while True:
                self._take(self.link.receive())
        except (LinkClosed, ProtocolError, OSError, ValueError) as error:
            with self._changed:
                self.ended = f"{type(error).__name__}: {error}"
                self._changed.notify_all()
            self.link.close()

    def _take(self, frame):
        message = frame.message
        if frame.type == REQUEST:
            with self._changed:
                self.requests.append(message)
                self._changed.notify_all()
            self._answer(message)
            return
        with self._changed:
            if frame.type == CLUSTER_CONFIG:
                self.cluster_configs.append(message)
                self._read_cluster_config(message)
            elif frame.type in (INDEX, INDEX_UPDATE):
                self._read_index(frame.type, message)
            elif frame.type == RESPONSE:
                self._responses[message.get("id", 0)] = (message.get("data", b""), message.get("code", 0))
            elif frame.type == DOWNLOAD_PROGRESS:
                self.progress.append(message)
            elif frame.type == CLOSE:
                self.close_reason = message.get("reason", "")
            self._changed.notify_all()
        if frame.type == CLUSTER_CONFIG:
            for folder_id in self.asked:
                self.send_index(folder_id)

    def _read_cluster_config(self, message):
        self.asked = {}
        for folder in message.get("folders", []):
            if folder["id"] not in self.peer.folders:
                continue
            mine = [d for d in folder.get("devices", []) if d.get("id") == self.peer.identity.raw_id]
            if mine:
                self.asked[folder["id"]] = (mine[0].get("index_id", 0), mine[0].get("max_sequence", 0))

    def _read_index(self, type, message):
        folder, files = message.get("folder", ""), message.get("files", [])
        if type == INDEX:
            self.index[folder] = {}
        entries = self.index.setdefault(folder, {})
        for info in files:
            entries[info["name"]] = info
        sequences = [info.get("sequence", 0) for info in files] or [0]
        self.index_messages.append((TYPE_NAMES[type], folder, len(files), sequences[0], sequences[-1]))

    def _answer(self, request):
        answer = self.peer.serve(self, request)
        if answer is not None:
            self.respond(request, answer)

    def respond(self, request, answer):
        """Answers with bytes, or with an error code."""
        body = {"id": request.get("id", 0)}
        body["code" if isinstance(answer, int) else "data"] = answer
        self.link.send(RESPONSE, body)

    # what we send

    def send(self, type, message=None, compression=NO_COMPRESSION):
        self.link.send(type, message, compression)

    def send_raw(self, data):
        self.link.send_raw(data)

    def send_cluster_config(self):
        self.send(CLUSTER_CONFIG, self.peer.cluster_config(self.device))

    def send_index(self, folder_id, batch=1000, compression=NO_COMPRESSION):
        """Brings the other side up to date: all of it, or what is newer than it says it has."""
        folder = self.peer.folders[folder_id]
        index_id, sequence = self.asked.get(folder_id, (0, 0))
        sent = self._sent_sequence.get(folder_id)
        if sent is None:
            sent = sequence if index_id == folder.index_id and 0 < sequence <= folder.sequence else 0
        type = INDEX_UPDATE if sent else INDEX
        entries = folder.since(sent)
        for start in range(0, len(entries), batch):
            part = entries[start:start + batch]
            self.send(type, {"folder": folder_id, "files": part, "last_sequence": part[-1]["sequence"]}, compression)
            type = INDEX_UPDATE
        self._sent_sequence[folder_id] = folder.sequence

    def request_later(self, folder, name, block, block_no=0, **other):
        """Sends a request for a block (a BlockInfo dict) and returns its id."""
        with self._changed:
            id = self._next_request
            self._next_request += 1
        message = {"id": id, "folder": folder, "name": name, "offset": block.get("offset", 0),
                   "size": block.get("size", 0), "hash": block.get("hash"), "block_no": block_no}
        message.update(other)
        self.send(REQUEST, message)
        return id

    def response(self, id, timeout=DEADLINE):
        """(data, code) of a request sent before."""
        self.wait(lambda: id in self._responses, timeout, f"response {id}")
        return self._responses.pop(id)

    def request(self, folder, info, block_no=0, timeout=DEADLINE, **other):
        """(data, code) for one block of an entry."""
        block = info["blocks"][block_no]
        return self.response(self.request_later(folder, info["name"], block, block_no, **other), timeout)

    # waiting

    @property
    def is_ready(self):
        return bool(self.cluster_configs)

    def wait(self, condition, timeout=DEADLINE, what="condition"):
        """Until the condition holds; LinkClosed if the link ends first, TimeoutError if time does."""
        with self._changed:
            self._changed.wait_for(lambda: condition() or self.ended, timeout)
            if condition():
                return
            if self.ended:
                raise LinkClosed(f"waiting for {what}: {self.ended} (close: {self.close_reason})")
            raise TimeoutError(f"waiting for {what}")

    def wait_ready(self, timeout=DEADLINE):
        with self._changed:
            self._changed.wait_for(lambda: self.is_ready or self.ended, timeout)
            return self.is_ready and not self.ended

    def wait_index(self, folder, count=None, names=None, timeout=DEADLINE):
        """Until that many names (or these) of the other side's index are here; returns name → entry."""
        def complete():
            entries = self.index.get(folder, {})
            return (count is None or len(entries) >= count) and all(n in entries for n in names or [])
        self.wait(complete, timeout, f"index of {folder}")
        return self.index.get(folder, {})

    def wait_end(self, timeout=DEADLINE):
        """Until the other side has ended the link; returns the Close message's reason, or None if there was none."""
        with self._changed:
            if not self._changed.wait_for(lambda: self.ended, timeout):
                raise TimeoutError("the link still lives")
        return self.close_reason

    def close(self):
        """Ends the link without a Close and waits for the reading thread."""
        try:
            self.link.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        if self._thread and self._thread is not threading.current_thread():
            self._thread.join(5)
        self.link.socket.close()
