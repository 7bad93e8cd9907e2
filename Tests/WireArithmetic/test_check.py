#!/usr/bin/env python3
"""What check.py finds and what it leaves alone. Runs alone or by pytest."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import check
import paths


def found(source):
    return check.File("file.swift", source).check()


TRAPS = [
    "let end = file.size + 1",
    "let end = 1 + file.size",
    "total += block.offset",
    "total -= Int64(block.size)",
    "let twice = request.blockSize * 2",
    "let part = request.offset / own.blockSize",
    "let left = request.offset % count",
    "for index in 0..<config.maxSequence {}",
    "let isKnown = (0...device.maxSequence).contains(last)",
    "let rest = feed.sequence... ",
    "let value = bytes[request.offset]",
    "let value = bytes[..<Int(request.size)]",
    "let small = Int32(file.size)",
    "let number = UInt64(file.modifiedSeconds)",
    "let end = try reader.varint() + 1",
    "let count = buffer.readInteger(as: UInt32.self)! + 4",
    "let size = entry.size\nlet next = size + 1",
    "let length = entry.size\nlet next = length + 1",
    "let (from, count) = (entry.offset, entry.size)\nlet end = from + count",
    "func end(of size: Int64) -> Int64 { size - 1 }",
    "let most = max(file.size, other) + 1",
    "let least = min(file.size, other.size) + 1",
    "let sum = a.b[0]!.size + 1",
    "let sum = list.last?.sequence ?? 0 + entry.sequence",
    "let sum = (file.size) + 1",
    "// file.size is fine\nlet sum = file.size + 1",
    "// bounded:\nlet sum = file.size + 1",
]

SAFE = [
    "let end = file.size.addingClamped(1)",
    "let (end, overflow) = file.size.addingReportingOverflow(1)",
    "sum &+= file.size",
    "let small = Int32(clamping: file.size)",
    "let small = Int32(exactly: file.size)",
    "let small = Int32(truncatingIfNeeded: file.size)",
    "let count = Int(file.size)",
    "let least = min(file.size, 100) + 1",
    "let isLarger = file.size > other.size",
    'let text = "\\(file.size + 1)"',
    "/* file.size + 1 */",
    "// file.size + 1",
    "let sum = file.size + 1  // bounded: less than ten here",
    "// bounded: less than ten here\nlet sum = file.size + 1",
    "// bounded-names: size: of a file in memory\nlet sum = file.size + 1",
    "let size = 5\nlet sum = size + 1",
    "let waiting = ahead[sequence]",
    "let limit = 1 + 2 * count",
    "let page = 0...PageLimits.offset",
    "let low = UInt8(file.size & 7)",
    "if a { let number = file.size }\nlet number = 1\nlet sum = number + 1",
]


def test_traps_are_found():
    for source in TRAPS:
        assert len(found(source)) >= 1, source


def test_what_cannot_trap_passes():
    for source in SAFE:
        assert found(source) == [], (source, found(source))


def test_the_line_is_named():
    assert found("let a = 1\n\nlet b = file.size + 1")[0].startswith("file.swift:3: ")


def test_paths_go_by_bytes():
    for source in [
        'a.hasPrefix(b + "/")', 'a.hasSuffix("/" + b)', 'a.split(separator: "/")', 'a.lastIndex(of: "/")', 'a.firstIndex(of: "/")',
        'a.split(separator: "/", omittingEmptySubsequences: false)', "// ascii:\na.lastIndex(of: \"/\")",
    ]:
        assert len(paths.find("file.swift", source)) == 1, source
    for source in [
        "a.isBelow(b)", 'a.hasPrefix("/v1/")', 'a.utf8.lastIndex(of: UInt8(ascii: "/"))', 'a.unicodeScalars.split(separator: "/")',
        '// a.split(separator: "/")', '// ascii: a number\na.split(separator: "/")', 'a.split(separator: "/")  // ascii: a number',
    ]:
        assert paths.find("file.swift", source) == [], source


def test_each_directory_is_there():
    root = Path(__file__).resolve().parents[2]
    for directory in check.DIRECTORIES:
        assert any((root / "Sources" / directory).rglob("*.swift")), directory


if __name__ == "__main__":
    for name, test in sorted(globals().items()):
        if name.startswith("test_"):
            test()
