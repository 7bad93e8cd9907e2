"""Refuses comparisons of paths by Characters, to which a `/` with a combining mark behind it is no `/`.

`isBelow`, `isAtOrBelow`, `pathComponents` and `parentPath` (Sources/Core/Names/NamePath.swift) and views of the UTF-8 go by
bytes. What never holds a name of a file is plain where a comment on its line or the one before says so: `// ascii: REASON`.
"""

import re
from pathlib import Path

# What is below these names no files: addresses, object paths of D-Bus.
EXEMPT = ("Links", "System")
REFUSED = [
    (re.compile(r"\bhas(Prefix|Suffix)\([^()]*\+ \"/\"\)|\bhasSuffix\(\"/\" \+"), "compares a path by Characters"),
    (re.compile(r"(?<!utf8)(?<!unicodeScalars)\.split\(separator: \"/\""), "divides a path by Characters"),
    (re.compile(r"(?<!utf8)(?<!unicodeScalars)\.(first|last)Index\(of: \"/\"\)"), "looks for a slash by Characters"),
]


def find(path, source):
    lines = source.splitlines()
    found = []
    for number, line in enumerate(lines):
        if line.lstrip().startswith("//") or any(re.search(r"// ascii: \S", text) for text in lines[max(0, number - 1):number + 1]):
            continue
        found += [f"{path}:{number + 1}: {what}; write what goes by bytes" for pattern, what in REFUSED if pattern.search(line)]
    return found


def check(root):
    sources = Path(root) / "Sources"
    found = []
    for path in sorted(sources.rglob("*.swift")):
        if path.relative_to(sources).parts[0] not in EXEMPT:
            found += find(str(path.relative_to(root)), path.read_text())
    return found
