#!/usr/bin/env python3
"""Makes the seeds in Corpus/{frames,lz4,fileinfo,drop,archives} from the golden bytes of Tests/BlockExchangeTests,
Tests/GhostDropTests and Tests/ArchivesTests."""
import json
import pathlib

here = pathlib.Path(__file__).parent
vectors = json.loads((here / "../BlockExchangeTests/Vectors/golden.json").read_text())
corpus = here / "Corpus"
KINDS = {"ClusterConfig": 1, "DownloadProgress": 2, "Request": 3}


def seed(target, name, data):
    folder = corpus / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def fields(message, wanted):
    """The values of the length-delimited fields `wanted` of a protobuf message."""
    place = 0

    def varint():
        nonlocal place
        value = shift = 0
        while True:
            byte = message[place]
            place += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while place < len(message):
        key = varint()
        value = varint()
        if key & 7 == 2:
            if key >> 3 == wanted:
                yield message[place:place + value]
            place += value


hello = b"\x2e\xa7\xd9\x0b\x00\x00"
config = bytes(6)
for vector in vectors:
    data, what = bytes.fromhex(vector["hex"]), vector["what"]
    kind = what.get("type")
    if kind is None:
        hello = data
        seed("frames", vector["name"], b"\x10" + data)
        continue
    before = hello if kind == "ClusterConfig" else hello + config
    seed("frames", vector["name"], b"\x10" + before + data)
    body = data[what["headerLength"] + 6:]
    if what["compression"] == 1:
        seed("lz4", vector["name"], body)
    elif kind in KINDS:
        seed("fileinfo", vector["name"], bytes([KINDS[kind]]) + body)
    elif kind in ("Index", "IndexUpdate"):
        for number, entry in enumerate(fields(body, 2)):
            seed("fileinfo", f"{vector['name']}-{number}", b"\x00" + entry)
seed("frames", "all", b"\x40" + hello + b"".join(
    bytes.fromhex(v["hex"]) for v in vectors if v["what"].get("type") not in (None, "Close")))
# synctrain's own, types 1002 and 1003.
for name, number, body in (("reach-request", 0xEA, b"\x12\x09tcp://h:1\x12\x08tcp://:1"), ("reach-answer", 0xEB, b"\x1a\x02\x08\x01\x1a\0")):
    seed("frames", name, b"\x10" + hello + config + bytes([0, 3, 8, number, 7, 0, 0, 0, len(body)]) + body)

drop = json.loads((here / "../GhostDropTests/Vectors/ghostdrop-v1.json").read_text())
frames = [(frame["name"], bytes.fromhex(frame["hex"])) for frame in drop["frames"]]
for name, data in frames:
    seed("drop", f"frame-{name}", b"\0" + data)
seed("drop", "transfer", b"\x04" + b"".join(data for _, data in frames))
for number, vector in enumerate(drop["gatt"]):
    packets = [bytes.fromhex(packet[2:]) for packet in vector["packets"]]
    seed("drop", f"packets-{number}", b"\x01" + b"".join(bytes([len(p)]) + p for p in packets if len(p) < 256))
for name in ("advertisement", "advertisementNoPSM"):
    seed("drop", name, b"\x02" + drop[name].encode())
stream = [bytes([0, 0, 0]) + b"data", bytes([0xE0, 0, 1]) + b"end", bytes([0x40, 0, 0, 8, 0, 0]), bytes([0x60, 0, 0, 0x18, 0, 0, 5])]
seed("drop", "stream", b"\x03" + b"".join(bytes([len(p)]) + p for p in stream))

# Those that are small enough to be changed into something else; the sixteen empty sectors of an image are left out.
for vector in json.loads((here / "../ArchivesTests/Vectors/archives.json").read_text()):
    data = bytearray(vector["size"])
    for start, digits in vector["chunks"]:
        data[start:start + len(digits) // 2] = bytes.fromhex(digits)
    if vector["format"] == "iso":
        # The root's directory follows the descriptors: what comes behind is not needed.
        data = data[16 * 2048:40 * 2048]
    if vector["name"] in ("cp437", "comment", "empty", "bzip2", "encrypted", "rock-ridge", "joliet", "plain", "info-zip"):
        seed("archives", vector["name"], bytes([vector["format"] == "iso"]) + data[:60000])
