#!/usr/bin/env python3
"""Makes Vectors/archives.json: small archives by zipfile, zip and genisoimage, with what is in them.

    Tests/ArchivesTests/make-vectors.py      (needs the Debian packages zip and genisoimage)

An archive is a list of [offset, hex] of what is not zero in it. Made anew it differs in times alone.
"""
import hashlib
import io
import json
import os
import pathlib
import subprocess
import tempfile
import zipfile

TEXT = b"".join(b"line %d of a text that packs well\n" % number for number in range(120))
NOISE = b"".join(hashlib.sha256(b"%d" % number).digest() for number in range(60))
TIME = (2021, 2, 3, 4, 5, 6)
SECONDS = 1612325106


def sparse(data):
    chunks, place = [], 0
    for start in range(0, len(data), 64):
        part = data[start:start + 64]
        if part.strip(b"\0"):
            if chunks and chunks[-1][0] + len(chunks[-1][1]) // 2 == start:
                chunks[-1][1] += part.hex()
            else:
                chunks.append([start, part.hex()])
    return chunks


def member(path, content=None, kind="file", modified=SECONDS, **more):
    fact = {"path": path, "kind": kind, "modified": modified, **more}
    if content is not None:
        fact.setdefault("size", len(content))
        fact["sha256"] = hashlib.sha256(content).hexdigest()
    return {key: value for key, value in fact.items() if value is not None}


class Unseekable(io.RawIOBase):
    def __init__(self):
        self.data = bytearray()

    def writable(self):
        return True

    def write(self, data):
        self.data += data
        return len(data)


class OldInfo(zipfile.ZipInfo):
    """A name as programs of DOS wrote it."""

    def _encodeFilenameFlags(self):
        return self.filename.encode("cp437"), self.flag_bits


def info(name, method=zipfile.ZIP_DEFLATED, kind=zipfile.ZipInfo):
    entry = kind(name, TIME)
    entry.compress_type, entry.create_system, entry.external_attr = method, 0, 0
    return entry


def python_zip(target, entries, **options):
    with zipfile.ZipFile(target, "w") as archive:
        for entry, data in entries:
            with archive.open(entry, "w", **options) as file:
                file.write(data)


def zips():
    entries = [
        (info("plain.txt"), TEXT), (info("dir/", zipfile.ZIP_STORED), b""),
        (info("dir/noise", zipfile.ZIP_STORED), NOISE), (info("dir/ümläut – ☃.txt"), TEXT),
        (info("empty", zipfile.ZIP_STORED), b""), (info("empty-packed"), b""), (info("../up"), b"up"), (info("/abs"), b"abs"),
    ]
    facts = [member(e.filename.rstrip("/"), None if e.filename.endswith("/") else d,
                    "directory" if e.filename.endswith("/") else "file") for e, d in entries]
    for name, options in (("python", {}), ("python-zip64", {"force_zip64": True})):
        buffer = io.BytesIO()
        python_zip(buffer, entries, **options)
        yield name, buffer.getvalue(), facts
    yield "prefixed", b"#!/bin/sh\n" * 30 + buffer.getvalue(), facts
    stream = Unseekable()
    python_zip(stream, entries)
    yield "descriptors", bytes(stream.data), facts
    buffer = io.BytesIO()
    python_zip(buffer, [(info("Gr\u00fc\u00dfe/\u00bd \u2248.txt", kind=OldInfo), TEXT)])
    yield "cp437", buffer.getvalue(), [member("Gr\u00fc\u00dfe/\u00bd \u2248.txt", TEXT)]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(info("twice"), b"first")
        archive.comment = b"PK\x05\x06 a comment that looks like an end" + b"." * 3000
    yield "comment", buffer.getvalue(), [member("twice", b"first")]
    yield "empty", b"PK\x05\x06" + bytes(18), []
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr(info("odd", zipfile.ZIP_BZIP2), TEXT)
    yield "bzip2", buffer.getvalue(), [member("odd", size=len(TEXT), refused="unsupported")]
    with tempfile.TemporaryDirectory() as root:
        tree(root)
        def zip_tool(name, *options, stdin=None):
            path = os.path.join(root, name)
            subprocess.run(["zip", "-q", *options], cwd=os.path.join(root, "tree"), check=True, input=stdin,
                           stdout=open(path, "wb") if options[-2:] == ("-", ".") else None)
            return pathlib.Path(path).read_bytes()
        expected = [
            member("dir", kind="directory"), member("dir/deep.txt", TEXT), member("ümlaut ☃", NOISE),
            member("link", kind="symlink", size=12),
        ]
        yield "info-zip", zip_tool("a.zip", "-r", "-y", "../a.zip", "."), expected
        yield "info-zip-streamed", zip_tool("b.zip", "-r", "-y", "-fz", "-", "."), expected
        secret = zip_tool("c.zip", "-P", "secret", "../c.zip", "dir/deep.txt")
        yield "encrypted", secret, [member("dir/deep.txt", size=len(TEXT), encrypted=True, refused="encrypted")]


# Of short names: genisoimage breaks those that it has to divide.
FAR = "/abs/../" + "/".join(letter * 40 for letter in "abcdef")
LONG = "a long name that no field of its own holds, " * 5 + "end"


def tree(root, deep=False):
    top = os.path.join(root, "tree")
    os.makedirs(os.path.join(top, "dir"))
    files = {"dir/deep.txt": TEXT, "ümlaut ☃": NOISE}
    if deep:
        files |= {"1/2/3/4/5/6/7/8/9/bottom": b"bottom", LONG: b"long", "empty": b""}
    for name, data in files.items():
        os.makedirs(os.path.dirname(os.path.join(top, name)), exist_ok=True)
        pathlib.Path(top, name).write_bytes(data)
    os.symlink("dir/deep.txt", os.path.join(top, "link"))
    if deep:
        os.symlink(FAR, os.path.join(top, "far"))
    for directory, directories, names in os.walk(top, topdown=False):
        for name in directories + names:
            os.utime(os.path.join(directory, name), (SECONDS, SECONDS), follow_symlinks=False)
    os.utime(top, (SECONDS, SECONDS))


def images():
    def image(root, *options):
        path = os.path.join(root, "image.iso")
        subprocess.run(["genisoimage", "-quiet", "-no-pad", "-input-charset", "utf-8", *options, "-o", path,
                        os.path.join(root, "tree")], check=True, stderr=subprocess.DEVNULL)
        return pathlib.Path(path).read_bytes()
    with tempfile.TemporaryDirectory() as root:
        tree(root, deep=True)
        numbers = [member("/".join(map(str, range(1, n + 1))), kind="directory") for n in range(1, 10)]
        rest = [member("dir", kind="directory"), member("dir/deep.txt", TEXT)]
        rock = rest + numbers + [
            member("1/2/3/4/5/6/7/8/9/bottom", b"bottom"), member("ümlaut ☃", NOISE), member(LONG, b"long"),
            member("empty", b""), member("link", kind="symlink", target="dir/deep.txt"),
            member("far", kind="symlink", target=FAR),
        ]
        # Where directories are moved to, genisoimage shows the place.
        rock.append(member("rr_moved", kind="directory", modified=None))
        yield "rock-ridge", image(root, "-R"), rock
        yield "rock-ridge-joliet", image(root, "-R", "-J", "-joliet-long"), rock
    with tempfile.TemporaryDirectory() as root:
        tree(root)
        os.remove(os.path.join(root, "tree/link"))
        yield "joliet", image(root, "-J"), rest + [member("ümlaut ☃", NOISE)]
        os.rename(os.path.join(root, "tree/ümlaut ☃"), os.path.join(root, "tree/noise"))
        yield "plain", image(root), [
            member("DIR", kind="directory"), member("DIR/DEEP.TXT", TEXT), member("NOISE", NOISE)]


vectors = [
    {"name": name, "format": form, "size": len(data), "chunks": sparse(data), "members": facts}
    for form, made in (("zip", zips()), ("iso", images())) for name, data, facts in made]
path = pathlib.Path(__file__).parent / "Vectors/archives.json"
path.write_text("[\n" + ",\n".join(json.dumps(vector, ensure_ascii=False) for vector in vectors) + "\n]\n")
print(path.stat().st_size, [v["name"] for v in vectors])
