#!/usr/bin/env python3
"""Captures decrypted bytes from a real Syncthing node into Tests/BlockExchangeTests/Vectors/golden.json.

    capture_golden.py [--ping] [OUT]      # --ping waits up to two minutes for a Ping

Each entry: `name`, `source`, `hex` (the bytes as they came, for a frame from its header length on), `what` (the decoded
facts: bytes as hex, numbers of more than 53 bits as strings). The facts are checked here against the files on disk.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import tempfile
import time

import bep
from syncthing import Syncthing

OUT = os.path.join(os.path.dirname(__file__), "../BlockExchangeTests/Vectors/golden.json")
FOLDER = "golden"


class Capture:
    def __init__(self, source):
        self.source, self.vectors = source, []

    def add(self, name, raw, what):
        assert len(raw) <= 20_000, (name, len(raw))
        self.vectors.append({"name": name, "source": self.source, "hex": raw.hex(), "what": facts(what)})
        print(f"{name:36} {len(raw):6} bytes")

    def add_frame(self, name, frame):
        self.add(name, frame.raw, {
            "type": frame.name, "headerLength": frame.header_length, "compression": frame.compression,
            "bodyLength": len(frame.body), "bodySHA256": hashlib.sha256(frame.body).hexdigest(),
            "message": frame.message})


def facts(value):
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {key: facts(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [facts(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 1 << 53:
        return str(value)
    return value


def make_tree(root):
    def write(name, data):
        with open(os.path.join(root, name), "wb") as file:
            file.write(data)

    os.makedirs(os.path.join(root, "dir/sub"))
    write("hello.txt", b"hello, world\n")
    write("empty.txt", b"")
    write("dir/three-blocks.bin", bytes(i * 7 & 255 for i in range(300 << 10)))
    write("dir/sub/naïve café.txt", "naïve\n".encode())
    write("日本語 🚆.txt", b"train\n")
    write("-leading dash 'quotes\" and\nnewline", b"odd\n")
    write("executable.sh", b"#!/bin/sh\n")
    write("repetitive.txt", b"all work and no play\n" * 100)
    write("gone.txt", b"soon deleted\n")
    os.chmod(os.path.join(root, "executable.sh"), 0o755)
    os.symlink("hello.txt", os.path.join(root, "link"))
    os.symlink("../nowhere/ünïcode", os.path.join(root, "dir/dangling"))


def check_index(files, root):
    """The decoder's answer against the disk."""
    live = {f["name"]: f for f in files if not f.get("deleted")}
    on_disk = set()
    for directory, directories, names in os.walk(root):
        for name in directories + names:
            path = os.path.relpath(os.path.join(directory, name), root)
            if not path.startswith(".stfolder"):
                on_disk.add(path)
    assert set(live) == on_disk, set(live) ^ on_disk
    for name, info in live.items():
        path = os.path.join(root, name)
        if os.path.islink(path):
            assert info["type"] == bep.SYMLINK and info["symlink_target"] == os.readlink(path)
        elif os.path.isfile(path):
            with open(path, "rb") as file:
                data = file.read()
            assert [b["hash"] for b in info["blocks"]] == [b["hash"] for b in bep.blocks_of(data)], name
            weak = [b["weak_hash"] for b in bep.blocks_of(data)] if data else [0]
            assert [b.get("weak_hash", 0) for b in info["blocks"]] == weak, name
            assert info.get("size", 0) == len(data)


class Probe:
    """A link at frame level, with the cluster config sent as it is wanted."""

    def __init__(self, node, identity, index_id=0, sequence=0, known=(0, 0), folder=FOLDER):
        end = time.monotonic() + 20
        while True:
            try:
                self.link = bep.Link.dial(node.address, identity)
                self.link.send_hello(device_name="probe", client_name="synctrain-interop", client_version="v1.0.0")
                self.raw_hello, self.hello = self.link.receive_hello()
                self.config = self.link.receive()
                break
            except (bep.LinkClosed, OSError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)
        assert self.config.type == bep.CLUSTER_CONFIG
        if folder:
            self.link.send(bep.CLUSTER_CONFIG, {"folders": [{"id": folder, "devices": [
                {"id": identity.raw_id, "index_id": index_id, "max_sequence": sequence},
                {"id": self.link.peer_raw_id, "index_id": known[0], "max_sequence": known[1]}]}]})

    def receive(self, *types):
        while True:
            frame = self.link.receive()
            if frame.type in types:
                return frame

    def index(self):
        """(first frame of the Index, all its entries)"""
        first = frame = self.receive(bep.INDEX, bep.INDEX_UPDATE)
        files = list(frame.message.get("files", []))
        highest = own_entry(self.config.message, self.link.peer_raw_id)["max_sequence"]
        while max(f["sequence"] for f in files) < highest:
            files += self.receive(bep.INDEX_UPDATE).message["files"]
        return first, files

    def close(self):
        self.link.close()


def own_entry(config, raw_id):
    folder = next(f for f in config["folders"] if f["id"] == FOLDER)
    return next(d for d in folder["devices"] if d["id"] == raw_id)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--ping", action="store_true")
    arguments.add_argument("out", nargs="?", default=OUT)
    arguments = arguments.parse_args()
    work = tempfile.mkdtemp(prefix="golden-")
    node = None
    try:
        node = Syncthing("real", os.path.join(work, "node"), {"progressUpdateIntervalS": "1"})
        node.start()
        version = re.match(r"v([0-9.]+)", node.get("/rest/system/version")["version"]).group(1)
        capture = Capture(f"syncthing {version}")
        identity = bep.Identity.create(os.path.join(work, "probe"))
        root = os.path.join(work, "tree")
        make_tree(root)
        node.add_device(identity.id, compression="never")
        node.set_folder(FOLDER, root, [identity.id])
        node.wait_scanned(FOLDER, 9)
        os.remove(os.path.join(root, "gone.txt"))
        node.scan(FOLDER)
        capture_index(capture, node, identity, root)
        capture_transfers(capture, node, identity, root)
        capture_closes(capture, node, identity)
        if arguments.ping:
            probe = Probe(node, identity)
            probe.link.socket.settimeout(120)
            capture.add_frame("ping", probe.receive(bep.PING))
            probe.close()
        with open(arguments.out, "w") as file:
            json.dump(capture.vectors, file, indent=1, ensure_ascii=False)
            file.write("\n")
    except BaseException:
        print(node.log_tail() if node else "")
        raise
    finally:
        if node:
            node.stop()
        shutil.rmtree(work, ignore_errors=True)


def capture_index(capture, node, identity, root):
    probe = Probe(node, identity)
    capture.add("hello", probe.raw_hello, probe.hello)
    capture.add_frame("cluster-config", probe.config)
    entry = own_entry(probe.config.message, identity.raw_id)
    assert "index_id" not in entry and "max_sequence" not in entry
    frame, files = probe.index()
    check_index(files, root)
    assert frame.type == bep.INDEX and frame.compression == bep.NO_COMPRESSION
    assert [f["name"] for f in files if f.get("deleted")] == ["gone.txt"]
    capture.add_frame("index-uncompressed", frame)
    known = own_entry(probe.config.message, probe.link.peer_raw_id)
    known = (known["index_id"], known["max_sequence"])
    with open(os.path.join(root, "hello.txt"), "ab") as file:
        file.write(b"and a change\n")
    os.rename(os.path.join(root, "executable.sh"), os.path.join(root, "dir/renamed.sh"))
    node.scan(FOLDER)
    frame = probe.receive(bep.INDEX_UPDATE)
    assert {"hello.txt", "dir/renamed.sh", "executable.sh"} == {f["name"] for f in frame.message["files"]}
    capture.add_frame("index-update-after-change-and-rename", frame)
    probe.close()

    # Delta: with the index id and sequence of before, only what came since.
    probe = Probe(node, identity, known=known)
    frame = probe.receive(bep.INDEX, bep.INDEX_UPDATE)
    assert frame.type == bep.INDEX_UPDATE
    capture.add_frame("index-update-delta-on-connect", frame)
    probe.close()

    # Three folders: enough repetition for the cluster config to be worth compressing.
    for name in ("golden-2", "golden-3"):
        node.set_folder(name, os.path.join(root, "..", name), [identity.id])
        node.wait_scanned(name)
    for setting in ("metadata", "always"):
        node.change_device(identity.id, compression=setting)
        probe = Probe(node, identity)
        frame, files = probe.index()
        check_index(files, root)
        assert frame.compression == bep.LZ4 and probe.config.compression == bep.LZ4
        if setting == "metadata":
            capture.add_frame("cluster-config-lz4", probe.config)
        capture.add_frame(f"index-lz4-{setting}", frame)
        if setting == "always":
            info = next(f for f in files if f["name"] == "repetitive.txt")
            probe.link.send(bep.REQUEST, {"id": 7, "folder": FOLDER, "name": info["name"], "size": info["size"],
                                          "hash": info["blocks"][0]["hash"]})
            frame = probe.receive(bep.RESPONSE)
            assert frame.compression == bep.LZ4 and hashlib.sha256(frame.message["data"]).digest() == \
                info["blocks"][0]["hash"]
            capture.add_frame("response-lz4", frame)
        probe.close()
    for name in ("golden-2", "golden-3"):
        node.call("DELETE", f"/rest/config/folders/{name}")
    node.change_device(identity.id, compression="metadata")


def capture_transfers(capture, node, identity, root):
    """We hold files that the node wants: it asks, we ask it, and it tells of its progress."""
    short, index_id = identity.short_id, 0xFEDCBA9876543210
    probe = Probe(node, identity, index_id, 2)
    _, files = probe.index()
    small = bytes(range(100))
    large = b"".join(hashlib.sha256(bytes([i])).digest() * (128 << 5) for i in range(12))
    probe.link.send(bep.INDEX, {"folder": FOLDER, "files": [
        bep.file_info("from-us.txt", small, short, 1), bep.file_info("twelve-blocks.bin", large, short, 2)]})
    contents = {"from-us.txt": small, "twelve-blocks.bin": large}
    captured, withheld = {}, []
    while "progress" not in captured:
        frame = probe.link.receive()
        if frame.type == bep.DOWNLOAD_PROGRESS and frame.message.get("updates"):
            captured["progress"] = frame
        if frame.type == bep.REQUEST:
            request = frame.message
            captured.setdefault("first" if "id" not in request else "later", frame)
            if request["name"] == "twelve-blocks.bin" and request.get("block_no", 0) == 11:
                withheld.append(request)
                continue
            answer(probe, request, contents)
    capture.add_frame("request-id-0", captured["first"])
    capture.add_frame("request", captured["later"])
    capture.add_frame("download-progress-append", captured["progress"])
    for request in withheld:
        answer(probe, request, contents)
    forget = probe.receive(bep.DOWNLOAD_PROGRESS, bep.INDEX_UPDATE)
    while forget.type != bep.DOWNLOAD_PROGRESS:
        forget = probe.receive(bep.DOWNLOAD_PROGRESS)
    capture.add_frame("download-progress-forget", forget)
    node.wait_synced(FOLDER)

    info = next(f for f in files if f["name"] == "hello.txt")
    block = info["blocks"][0]
    asked = {
        "response": {"id": 0, "name": "hello.txt", "size": block["size"], "hash": block["hash"]},
        "response-no-such-file": {"id": 1, "name": "missing.txt", "size": 10, "hash": block["hash"]},
        "response-invalid": {"id": 2, "name": ".stignore", "size": 10, "hash": block["hash"]},
        "response-generic-error": {"id": 300, "folder": "unknown", "name": "hello.txt", "size": 10,
                                   "hash": block["hash"]},
    }
    for name, request in asked.items():
        probe.link.send(bep.REQUEST, {"folder": FOLDER, **request})
        frame = probe.receive(bep.RESPONSE)
        assert frame.message.get("id", 0) == request["id"]
        capture.add_frame(name, frame)
    probe.close()

    # Its cluster config now says what it holds of our index.
    probe = Probe(node, identity, index_id, 2)
    entry = own_entry(probe.config.message, identity.raw_id)
    assert entry["index_id"] == index_id and entry["max_sequence"] == 2
    capture.add_frame("cluster-config-known-index", probe.config)
    probe.close()

    node.change_device(identity.id, compression="never")
    # Selective: what it does not want is announced as invalid.
    node.set_ignores(FOLDER, ["!/dir", "*"])
    node.scan(FOLDER)
    probe = Probe(node, identity, index_id, 2)
    frame, files = probe.index()
    assert {f["name"] for f in files if not f.get("invalid") and not f.get("deleted")} >= {"dir"}
    assert any(f.get("invalid") for f in files)
    capture.add_frame("index-with-ignored", frame)
    probe.close()


def answer(probe, request, contents):
    offset = request.get("offset", 0)
    probe.link.send(bep.RESPONSE, {"id": request.get("id", 0),
                                   "data": contents[request["name"]][offset:offset + request["size"]]})


def capture_closes(capture, node, identity):
    probe = Probe(node, identity, folder=None)
    probe.link.send(bep.PING)
    capture.add_frame("close-ping-before-cluster-config", probe.receive(bep.CLOSE))
    probe.close()
    probe = Probe(node, identity, 5, 1)
    probe.link.send(bep.INDEX, {"folder": FOLDER, "files": [
        {"name": "bad.bin", "size": 5, "sequence": 1, "version": {"counters": [{"id": 1, "value": 1}]}}]})
    capture.add_frame("close-file-without-blocks", probe.receive(bep.CLOSE))
    probe.close()


if __name__ == "__main__":
    main()
