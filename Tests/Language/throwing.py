"""Finds functions whose doc comments do not say what they throw.

Public and package functions and initialisers, and the requirements of public and package protocols, say it in their doc
comment. A typed throw such as `throws(LinkError)` says it by itself.
"""

import re
from bisect import bisect_right

REASON = "say what it throws: a line `- Throws:` in its doc comment, or a typed throw"

OPEN = {"public", "package", "open"}
CLOSED = {"private", "fileprivate", "internal"}
MODIFIERS = r"^[ \t]*((?:@\w+(?:\([^()\n]*\))?[ \t]+|[a-z]+[ \t]+)*)"
DECLARATION = re.compile(MODIFIERS + r"(func\b[ \t]+[^\s(<]+|init\b)[?!]?", re.M)
CONTAINER = re.compile(MODIFIERS + r"(protocol|extension)\b[^{\n]*\{", re.M)
EFFECT = re.compile(r"\s*(?:async\b\s*)?(?:re)?throws\b(?P<typed>\s*\((?!\s*any Error\s*\)))?")
WORD = re.compile(r"\bThrows\b")
NOT_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|(#*)""".*?"""\1|(#+)".*?"\2|"(?:[^"\\\n]|\\\((?:[^()]|\([^()]*\))*\)|\\.)*"', re.S)


def code_of(source):
    """The source with spaces in the place of comments and literals; everything else keeps its place."""
    return NOT_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), source)


def end_of(code, start, brackets):
    """The place after the bracket that closes the one at `start`."""
    depth = 0
    for place in range(start, len(code)):
        depth += (code[place] == brackets[0]) - (code[place] == brackets[1])
        # The arrow of a function type closes nothing.
        depth += brackets == "<>" and code.startswith("->", place - 1)
        if depth == 0:
            return place + 1
    return len(code)


def containers(code):
    """(start, end, whether it is a protocol) of the bodies that make their functions public or package."""
    for match in CONTAINER.finditer(code):
        if OPEN & set(match.group(1).split()):
            yield match.end(), end_of(code, match.end() - 1, "{}"), match.group(2) == "protocol"


def is_open(code, place, modifiers, bodies):
    """Whether a declaration can be called from outside of its module."""
    if modifiers & OPEN:
        return True
    if modifiers & CLOSED:
        return False
    # What is deeper than the container's own level belongs to a function or to a type.
    return any(start <= place < end and code.count("{", start, place) == code.count("}", start, place)
               for start, end, _ in bodies)


def documentation(lines, index):
    """The doc comment above the line `index`; attributes may be in between."""
    found = []
    while index > 0 and re.match(r"\s*(///|@)", lines[index - 1]):
        index -= 1
        if lines[index].lstrip().startswith("///"):
            found.insert(0, lines[index])
    return "\n".join(found)


def undocumented(source):
    """(line, declaration) of each function that can be called from outside, throws, and does not say what."""
    code, lines = code_of(source), source.split("\n")
    starts = [0] + [match.end() for match in re.finditer("\n", code)]
    bodies = list(containers(code))
    for match in DECLARATION.finditer(code):
        if not is_open(code, match.start(), set(match.group(1).split()), bodies):
            continue
        end = match.end()
        if code.startswith("<", end):
            end = end_of(code, end, "<>")
        if not code.startswith("(", end):
            continue
        effect = EFFECT.match(code, end_of(code, end, "()"))
        line = bisect_right(starts, match.start())
        if effect and not effect.group("typed") and not WORD.search(documentation(lines, line - 1)):
            yield line, match.group(2)
