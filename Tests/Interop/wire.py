"""The bytes of BEP v1: device ids, protobuf, LZ4 blocks, frames. No input or output happens here."""

import base64
import struct

HELLO_MAGIC = 0x2EA7D90B
CLUSTER_CONFIG, INDEX, INDEX_UPDATE, REQUEST, RESPONSE, DOWNLOAD_PROGRESS, PING, CLOSE = range(8)
TYPE_NAMES = [
    "ClusterConfig", "Index", "IndexUpdate", "Request", "Response", "DownloadProgress", "Ping", "Close",
]
NO_COMPRESSION, LZ4 = 0, 1
FILE, DIRECTORY, SYMLINK = 0, 1, 4
MAX_MESSAGE = 500_000_000


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
               16: ("devices", "Device*"), 1000: ("mode", "int32")},
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
    """A dict of the fields that are present; what the schema lacks is in `_unknown`: (number, wire type, value)."""
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
