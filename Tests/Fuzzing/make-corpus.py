#!/usr/bin/env python3
"""Makes the seeds in Corpus/{frames,lz4,fileinfo} from the golden bytes of Tests/BlockExchangeTests."""
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
