#!/usr/bin/env python3
"""Refuses arithmetic that can trap on integers that other devices, disks or clients choose.

    check.py [ROOT]     lists violations as FILE:LINE: text, and ends with 1 if there are any

Swift ends the process when `+`, `-` or `*` overflows, when `/` divides by zero, when a range is upside down, a subscript
is out of bounds, or a conversion does not fit. A number from outside is one that a member or variable of a name in
`FIELDS` holds, that a function in `READERS` returns, or that a local constant takes from such an expression. It may be

- summed with the helpers of the target `Arithmetic` (`addingClamped`, `addingReportingOverflow`, `&+`),
- converted with `Type(clamping:)`, `Type(exactly:)` or `Type(truncatingIfNeeded:)`,
- used plainly where a comment on its line or the one before says why nothing can overflow: `// bounded: REASON`.

`// bounded-names: NAME NAME: REASON` says so for names in the whole file. docs/decisions/wire-integers.md has the reasons.
Paths that are compared by Characters are refused with it (paths.py).
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

import paths

# The directories below Sources that handle what comes from outside; the rest sees its own values and the user's.
DIRECTORIES = [
    "Core/BlockExchange", "Core/ControlAPI", "Core/GhostDrop", "Core/MountProtocol", "Core/Pairing", "Core/Reconciliation", "Storage/IndexStore",
    "Links", "Sync/Fetching", "Sync/FileDrop", "Sync/FolderSync", "Sync/PeerLinks", "Sync/SyncDecisions",
    "Sync/ThumbnailService", "Agent",
]
# Members and variables of messages, index entries, rows, frames and requests.
FIELDS = {
    "size", "offset", "sequence", "maxSequence", "lastSequence", "previousSequence", "localSequence", "remoteSequence",
    "blockSize", "blockIndex", "modifiedSeconds", "modifiedNanoseconds", "connectionCount", "announcedSequence",
    "byteOffset", "windowSize", "cumulative", "retryAfter",
}
# Functions that return what stands in bytes or rows.
READERS = {"readInteger", "getInteger", "varint", "int32", "int64"}
# Conversions that trap when the number does not fit. `Int` and `Int64` take every field above.
NARROW = {"Int8", "Int16", "Int32", "UInt", "UInt8", "UInt16", "UInt32", "UInt64"}
# Of types that no array takes as an index.
KEYS = {"sequence"}
OPERATORS = {"+", "-", "*", "/", "%", "+=", "-=", "*=", "/=", "%=", "...", "..<"}
# The lesser of several is as bounded as one of them.
BOUNDING = {"min"}

TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<name>`?[A-Za-z_][A-Za-z0-9_]*`?|\$[0-9]+)|(?P<number>[0-9](?:[0-9A-Za-z_]|\.(?=[0-9]))*)"
    r"|(?P<operator>[-+*/%=<>!&|^~?.]+)|(?P<other>.)"
)
OPEN, CLOSE = {"(": ")", "[": "]", "{": "}"}, {")": "(", "]": "[", "}": "{"}


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    line: int
    # Whether there is room on either side: what stands with none is a prefix or a postfix.
    before: bool
    after: bool


def blank(source):
    """The source without comments and texts, of the same length; and its comments by line."""
    out, comments, place, line = list(source), {}, 0, 1

    def erase(start, end):
        for index in range(start, end):
            if out[index] != "\n":
                out[index] = " "

    while place < len(source):
        if source.startswith("//", place):
            end = source.find("\n", place)
            end = len(source) if end < 0 else end
            comments[line] = source[place:end]
            erase(place, end)
        elif source.startswith("/*", place):
            end = source.find("*/", place)
            end = len(source) if end < 0 else end + 2
            erase(place, end)
        elif source.startswith('"""', place):
            end = source.find('"""', place + 3)
            end = len(source) if end < 0 else end + 3
            erase(place, end)
        elif source[place] == '"':
            end = place + 1
            depth = 0
            while end < len(source) and (depth or source[end] != '"') and source[end] != "\n":
                if source[end] == "\\":
                    if source.startswith("\\(", end):
                        depth += 1
                    end += 2
                    continue
                if depth and source[end] in "()":
                    depth += 1 if source[end] == "(" else -1
                end += 1
            end = min(end + 1, len(source))
            erase(place, end)
            if source[end - 1] == "\n":
                end -= 1
        else:
            end = place + 1
        line += source.count("\n", place, end)
        place = end
    return "".join(out), comments


def tokens(text):
    found, line, room = [], 1, True
    for match in TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "space":
            line += match.group().count("\n")
            room = True
            continue
        after = match.end() >= len(text) or text[match.end()].isspace()
        parts = [match.group()]
        if kind == "operator" and len(parts[0]) > 1 and parts[0] not in OPERATORS:
            # `?.` and `!.` are a postfix and a member.
            split = re.fullmatch(r"([?!]+)(\.)", parts[0])
            parts = list(split.groups()) if split else parts
        for part in parts:
            found.append(Token(kind, part, line, room, after))
        room = False
    return found


class File:
    def __init__(self, path, source):
        self.path = path
        text, self.comments = blank(source)
        self.tokens = tokens(text)
        self.partners = self._partners()
        self.bounded = set()
        for comment in self.comments.values():
            match = re.match(r"//+ bounded-names: ([^:]+): \S", comment)
            if match:
                self.bounded |= set(match.group(1).split())
        self.found = {}

    def _partners(self):
        partners, stack = {}, []
        for index, token in enumerate(self.tokens):
            if token.text in OPEN:
                stack.append(index)
            elif token.text in CLOSE and stack and self.tokens[stack[-1]].text == CLOSE[token.text]:
                start = stack.pop()
                partners[start], partners[index] = index, start
        return partners

    # MARK: expressions

    def left(self, index):
        """The range of tokens of the operand that ends before `index`."""
        end = index
        index -= 1
        while index >= 0:
            token = self.tokens[index]
            if token.text in ("?", "!") and not token.before:
                index -= 1
                continue
            if token.text in (")", "]") and index in self.partners:
                index = self.partners[index] - 1
                # A call or a subscript of what stands before it.
                if index >= 0 and (self.tokens[index].kind == "name" or self.tokens[index].text in (")", "]", "?", "!")) \
                        and not self.tokens[index + 1].before:
                    continue
                return index + 1, end
            if token.kind in ("name", "number"):
                if index > 0 and self.tokens[index - 1].text == ".":
                    index -= 2
                    continue
                return index, end
            return index + 1, end
        return 0, end

    def right(self, index):
        """The range of tokens of the operand that begins behind `index`."""
        start = index + 1
        end = start
        while end < len(self.tokens):
            token = self.tokens[end]
            if end == start and token.text in ("try", "await", "-", "~"):
                start = end = end + 1
                continue
            if token.kind in ("name", "number"):
                end += 1
            elif token.text in ("(", "[") and (end == start or not token.before) and end in self.partners:
                end = self.partners[end] + 1
            elif token.text in (".", "?", "!") and end > start and not token.before:
                end += 1
            else:
                break
            if end < len(self.tokens) and self.tokens[end].kind in ("name", "number") and self.tokens[end - 1].text != ".":
                break
        return start, end

    def is_foreign(self, start, end, names):
        """Whether the operand of these tokens is a number from outside."""
        while start < end and self.tokens[start].text in ("try", "await", "-", "let", "var"):
            start += 1
        while end > start and self.tokens[end - 1].text in ("?", "!"):
            end -= 1
        if start >= end:
            return False
        last = self.tokens[end - 1]
        if last.kind == "name":
            name = last.text.strip("`")
            if name in self.bounded:
                return False
            if end - 2 >= start and self.tokens[end - 2].text == ".":
                # A constant of a type is the program's own.
                return name in FIELDS and not (end - 3 == start and self.tokens[start].text[0].isupper())
            return names.get(name, name in FIELDS) if end - start == 1 else False
        if last.text == ")" and end - 1 in self.partners:
            opening = self.partners[end - 1]
            if opening <= start:
                return self.contains(opening + 1, end - 1, names)
            callee = self.tokens[opening - 1]
            if callee.kind != "name":
                return False
            if callee.text in READERS:
                return callee.text not in self.bounded
            if callee.text in BOUNDING:
                parts = self.arguments(opening, end - 1)
                return bool(parts) and all(self.contains(*part, names) for part in parts)
            if callee.text == "max" or callee.text in NARROW or callee.text in ("Int", "Int64"):
                # With a label the conversion is one that is meant.
                return self.contains(opening + 1, end - 1, names)
        return False

    def arguments(self, opening, closing):
        parts, start, index = [], opening + 1, opening + 1
        while index < closing:
            token = self.tokens[index]
            if token.text in OPEN and index in self.partners:
                index = self.partners[index]
            elif token.text == ",":
                parts.append((start, index))
                start = index + 1
            index += 1
        if start < closing:
            parts.append((start, closing))
        return parts

    def contains(self, start, end, names):
        """Whether an operand within an expression is a number from outside, unless an inner call bounds it."""
        index = start
        while index < end:
            token = self.tokens[index]
            # A label.
            if token.kind == "name" and index + 1 < end and self.tokens[index + 1].text == ":":
                index += 2
                continue
            if token.kind == "name" or token.text in ("(",):
                first, last = self.right(index - 1)
                last = min(last, end)
                if last > first:
                    # What is compared gives no number, and a mask bounds one.
                    if last < end and self.tokens[last].text in ("==", "!=", "<", ">", "<=", ">=", "&"):
                        return False
                    if self.is_foreign(first, last, names):
                        return True
                    index = max(last, index + 1)
                    continue
            elif token.text in OPEN and index in self.partners:
                index = self.partners[index]
            index += 1
        return False

    # MARK: the file

    def check(self):
        scopes = [{}]
        names = {}

        def visible():
            merged = {}
            for scope in scopes:
                merged.update(scope)
            return merged

        for index, token in enumerate(self.tokens):
            if token.text == "{":
                scopes.append({})
            elif token.text == "}":
                if len(scopes) > 1:
                    scopes.pop()
                names = visible()
            elif token.text in ("let", "var") and token.kind == "name":
                self.declare(index, scopes[-1], names)
                names = visible()
            elif token.text in OPERATORS and token.kind == "operator":
                self.operator(index, names)
            elif token.text == "[" and index in self.partners and not token.before and index > 0 \
                    and (self.tokens[index - 1].kind == "name" or self.tokens[index - 1].text in (")", "]")):
                if self.contains(index + 1, self.partners[index], names) and not self.is_key(index, names):
                    self.refuse(token, "subscript")
            elif token.text in NARROW and index + 1 < len(self.tokens) and self.tokens[index + 1].text == "(" \
                    and index + 1 in self.partners:
                start, end = index + 2, self.partners[index + 1]
                labelled = start + 1 < end and self.tokens[start + 1].text == ":"
                if not labelled and self.contains(start, end, names):
                    self.refuse(token, "conversion")
        return [f"{self.path}:{line}: {text}" for line, text in sorted(self.found.items())]

    def is_key(self, index, names):
        """A number that is no `Int` is a key of a dictionary, and so is what has a default."""
        if self.partners[index] == index + 2 and self.tokens[index + 1].text in KEYS:
            return True
        return any(token.text == "default" for token in self.tokens[index:self.partners[index]])

    def declare(self, index, scope, names):
        """Notes whether the names that a `let` or `var` declares hold numbers from outside."""
        start = index + 1
        if start >= len(self.tokens):
            return
        if self.tokens[start].text == "(" and start in self.partners:
            patterns = self.arguments(start, self.partners[start])
            after = self.partners[start] + 1
        else:
            patterns, after = [(start, start + 1)], start + 1
        names_ = [self.tokens[end - 1].text.strip("`") for _, end in patterns]
        if after < len(self.tokens) and self.tokens[after].text == ":":
            while after < len(self.tokens) and self.tokens[after].text not in ("=", "{", ",", ")") \
                    and self.tokens[after].line == self.tokens[index].line:
                after += 1
        if after + 1 >= len(self.tokens) or self.tokens[after].text != "=":
            # `guard let size` is the size that was; a stored property has the name's meaning.
            return
        values = None
        if self.tokens[after + 1].text == "(" and len(patterns) > 1 and after + 1 in self.partners:
            values = self.arguments(after + 1, self.partners[after + 1])
        for number, name in enumerate(names_):
            if values and number < len(values):
                scope[name] = self.contains(*values[number], names)
            else:
                scope[name] = self.contains(after + 1, self.end_of_expression(after + 1), names)

    def end_of_expression(self, index):
        line = self.tokens[index].line if index < len(self.tokens) else 0
        while index < len(self.tokens):
            token = self.tokens[index]
            if token.text in ("{", "}", ",", ";", ")", "]", "else", "?") and not (token.text == "?" and not token.before):
                return index
            if token.text in ("(", "[") and index in self.partners:
                index = self.partners[index] + 1
                line = self.tokens[index - 1].line
                continue
            if token.line != line and token.kind != "operator" and self.tokens[index - 1].kind != "operator":
                return index
            line = token.line
            index += 1
        return index

    def operator(self, index, names):
        token = self.tokens[index]
        is_range = token.text in ("...", "..<")
        # With room on one side only it is a prefix or a postfix.
        if not is_range and not (token.before and token.after):
            return
        if self.is_foreign(*self.left(index), names) or self.is_foreign(*self.right(index), names):
            self.refuse(token, f"`{token.text}`")

    def refuse(self, token, what):
        for line in (token.line, token.line - 1):
            if re.match(r"//+ bounded: \S", self.comments.get(line, "")):
                return
        self.found.setdefault(token.line, f"plain {what} on a number from outside")


def check(root):
    found = []
    for directory in DIRECTORIES:
        for path in sorted((Path(root) / "Sources" / directory).rglob("*.swift")):
            found += File(str(path.relative_to(root)), path.read_text()).check()
    return found


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
    found, compared = check(root), paths.check(root)
    for line in found + compared:
        print(line)
    if found:
        print(f"{len(found)} places; docs/decisions/wire-integers.md says what to write instead.", file=sys.stderr)
    return 1 if found or compared else 0


if __name__ == "__main__":
    sys.exit(main())
