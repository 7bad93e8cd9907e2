#!/usr/bin/env python3
"""Checks the texts that people read: help, messages, the page and the documents.

    check.py [ROOT]     lists violations as FILE:LINE: rule: text, and ends with 1 if there are any

A rule is a pattern with the reason for it and the kinds of text that it applies to. Names in code spans and code
blocks are not prose and are not checked. Of doc comments it checks that they say what their functions throw (throwing.py).
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

import throwing

HELP, MESSAGE, PAGE, GUIDE, DECISION = "help", "message", "page", "guide", "decision"
USER = {HELP, MESSAGE, PAGE, GUIDE}
ALL = USER | {DECISION}


@dataclass(frozen=True)
class Text:
    """A text with its place. `role` is `abstract`, `help` or `discussion` for help, else empty."""

    path: str
    line: int
    kind: str
    words: str
    role: str = ""


@dataclass(frozen=True)
class Rule:
    name: str
    pattern: str
    reason: str
    kinds: frozenset = frozenset(ALL)

    def find(self, text):
        return re.search(self.pattern, text.words, re.IGNORECASE) if text.kind in self.kinds else None


def rule(name, pattern, reason, kinds=ALL):
    return Rule(name, pattern, reason, frozenset(kinds))


# One term for one thing; no archaisms and no turns translated from another language.
RULES = [
    rule("nearby", r"\bnear-by\b", "write nearby"),
    rule("anew", r"\banew\b", "write again, or a verb with re-: recreate, rebuild, restart"),
    rule("whoever", r"\bwhoever\b", "write anyone who"),
    rule("thereof", r"\b(thereof|therein|whereof|hereby)\b", "archaic"),
    rule("once more", r"\bonce more\b", "write again"),
    rule("in vain", r"\bin vain\b", "say what failed"),
    rule("be had", r"\b(be had|to be had)\b", "say who can get it: available from"),
    rule("left over", r"\bleft over\b", "write remaining"),
    rule("knocked", r"\bknock(s|ed|ing)?\b", "an unknown device that tried to connect is pending"),
    rule("let in", r"\blets? (it|them|him|one device|strangers)? ?in(to)?\b|\bbe let in\b", "a device is pending, added or refused"),
    rule("let go", r"\b(lets?|letting) (go|[a-z]+ go)\b", "write free (space), deselect or stop"),
    rule("left out", r"\b(leaves?|left|leaving) [a-z ]{0,12}out\b", "a pattern excludes, a setting is omitted"),
    rule("redeem", r"\bredeem(s|ed)?\b(?!`)", "an invitation is used or has expired", USER),
    rule("set aside", r"\bset(s)? (it|them|both )?aside\b", "write suspend", USER),
    rule("given up", r"\b(given|gives) up\b", "write delete, or say what stopped", {HELP, MESSAGE, PAGE}),
    rule("time over", r"\b(time|date) is over\b", "write timed out or expired"),
    rule("rest", r"\b(lets?|letting) [^.;]{0,30}\brest\b|\bend the rest\b|\b(folder|device)s? (that )?rests?\b", "write pause and resume"),
    rule("no noun", r"(?<!there )\b(is|are) no (?!longer|more|such|need|way|agent|less|other|network|help|reason)[a-z]+\b", "no negated nouns: X is a directory, not X is no file", USER),
    rule("none that", r"\bis none (that|of|to)\b", "no negated nouns", USER),
    rule("lies", r"\b(lies|lie|lay|lying) (in|on|at|beside|below|there|here|one|beyond|over)\b", "write is in, is on", USER),
    rule("has not its", r"\b(has|have) not (its|a|the|what)\b", "write does not have"),
    rule("pass on", r"\bpass(es|ed)? on\b", "write propagate", USER),
    rule("believed", r"\bbeliev(e|es|ed|ing)\b", "write verify or trust"),
    rule("told of", r"\b(is|are|be) told (of|that|nothing)\b", "say who reports what to whom", USER),
    rule("hear of", r"\bhears? of\b", "write receives the change", USER),
    rule("come by itself", r"\b(comes?|goes?|tried again|ends?) by (itself|themselves)\b", "write automatically", USER),
    rule("try again", r"\bis tried again\b", "write the agent retries", USER),
    rule("move away", r"\bmove (it|them|that|that file) away\b", "write move elsewhere", USER),
    rule("all the same", r"\ball the same\b", "write anyway", USER),
    rule("nobody can be asked", r"\bnobody (can be asked|has told|has said|gives)\b", "say what is missing", USER),
    rule("one waits", r"\bone waits\b", "name the value and its bounds", USER),
    rule("so many", r"\bso (many|much|long)\b", "name the value: for 120 s, N files", {HELP, MESSAGE, PAGE}),
    rule("said", r"\bmust be said\b|\bis said\b", "write shown or reported", USER),
    rule("holders", r"\bholders?\b", "write devices that have it, or available from", {HELP, MESSAGE, PAGE}),
    rule("first person", r"\b(we|our|ours|us|I|my)\b", "the program does not speak of itself", {HELP, MESSAGE, PAGE, GUIDE}),
    rule("double hyphen", r"[a-z] -- [a-z]", "write a colon or a full stop"),
    rule("please", r"\bplease\b", "say what to do", {HELP, MESSAGE, PAGE}),
]

# (rule, words of the text, reason)
ALLOWED = [
    ("please", "Error: The value", "recognises a text of ArgumentParser"),
    ("length", "announcer, sequence, flags", "names of columns"),
    ("length", "files, symlinks, directories, bytes", "names of columns"),
    ("full stop", "limit must be", "begins with the name of a parameter"),
    ("full stop", "bluetoothd is not running.", "begins with the name of a program"),
    ("full stop", "tablet: found laptop", "begins with the name of a device"),
]

ABSTRACT_LIMIT, HELP_LIMIT, FIRST_LIMIT = 80, 100, 100
NOT_PROSE = re.compile(r"`[^`]*`|\\\((?:[^()]|\([^()]*\))*\)|https?://\S+")


def prose(words):
    """The words without code spans, interpolations and addresses."""
    return NOT_PROSE.sub("…", words)


def swift_texts(source):
    """(line, role, words) of each literal; literals joined by + and lines of triple-quoted ones are one text."""
    literal = re.compile(r'"""(.*?)"""|"((?:[^"\\\n]|\\\((?:[^()]|\([^()]*\))*\)|\\.)*)"', re.S)
    source = re.sub(r"^[ \t]*//[^\n]*", "", source, flags=re.M)
    found = []
    end = None
    for match in literal.finditer(source):
        words = match.group(2)
        if words is None:
            words = re.sub(r"\\\n\s*", "", match.group(1))
            words = "\n".join(line.strip() for line in words.strip().split("\n"))
        between = source[end:match.start()] if end is not None else "x"
        if found and re.fullmatch(r"\s*\+\s*", between):
            found[-1][2] += words
        else:
            before = source[max(0, match.start() - 80):match.start()]
            role = re.search(r"(abstract|discussion|help|ArgumentHelp)\s*[:(]\s*(?:ArgumentHelp\(\s*)?(?:translated\(\s*)?$", before)
            role = role.group(1).replace("ArgumentHelp", "help") if role else ""
            found.append([source.count("\n", 0, match.start()) + 1, role, words])
        end = match.end()
    return [tuple(entry) for entry in found]


def script_texts(source):
    """(line, words) of the literals of a script that hold more than one word."""
    source = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group(0).count("\n"), source, flags=re.S)
    source = re.sub(r"(^|\s)//[^\n]*", r"\1", source)
    for match in re.finditer(r'"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`', source):
        if re.search(r"class:\s*$", source[max(0, match.start() - 12):match.start()]):
            continue
        words = re.sub(r"\$\{[^}]*\}", "…", match.group(1) or match.group(2) or "")
        if re.search(r"[A-Za-z…]{1,} [a-z…]{2,}", words):
            yield source.count("\n", 0, match.start()) + 1, words


def document_texts(source):
    """(line, words) of the paragraphs of a Markdown document, without code blocks."""
    paragraph, start, fenced = [], 0, False
    for number, line in enumerate(source.split("\n") + [""], 1):
        if line.startswith("```"):
            fenced = not fenced
            line = ""
        if fenced or not line.strip() or re.match(r"\s*([-*|#]|\d+\.) ?", line):
            if paragraph:
                yield start, " ".join(paragraph)
            paragraph = []
        if not fenced and line.strip():
            if not paragraph:
                start = number
            paragraph.append(line.strip())


def is_message(words):
    return bool(re.search(r"[A-Za-z]{2,}[,;:]? [a-z]{2,}[,;:]? [a-z`(]", words)) and not re.search(
        r"\b(SELECT|INSERT|UPDATE|DELETE FROM|CREATE|PRAGMA|JOIN|WHERE|ORDER BY)\b|[0-9a-f]+\+[0-9a-f]+=", words)


def texts(root):
    for path in sorted((root / "Sources").rglob("*.swift")):
        name = str(path.relative_to(root))
        for line, role, words in swift_texts(path.read_text(encoding="utf-8")):
            if role and name.startswith("Sources/Programs/synctrain/"):
                yield Text(name, line, HELP, words, role)
            elif is_message(words):
                yield Text(name, line, MESSAGE, words)
    for path in sorted((root / "Sources/Agent/WebPage/page").rglob("*.js")):
        for line, words in script_texts(path.read_text(encoding="utf-8")):
            yield Text(str(path.relative_to(root)), line, PAGE, words)
    guides = [root / "README.md", root / "CHANGELOG.md", *sorted((root / "docs").glob("*.md"))]
    for path, kind in [(path, GUIDE) for path in guides] + [
            (path, DECISION) for path in sorted((root / "docs/decisions").glob("*.md"))]:
        for line, words in document_texts(path.read_text(encoding="utf-8")):
            yield Text(str(path.relative_to(root)), line, kind, words)


def shape(text):
    """(rule, problem) of the length and the full stop of a text of the help or of a message."""
    words = text.words.strip()
    limit = {"abstract": ABSTRACT_LIMIT, "help": HELP_LIMIT}.get(text.role)
    if text.kind == HELP:
        if limit and len(words) > limit:
            yield "length", f"{len(words)} characters of {text.role}, at most {limit}"
        last = words.split("\n")[-1]
        is_command = re.match(r"(Example: |Read it with: |fish: )?synctrain ", last)
        if words and not is_command and not words.endswith((".", "…")):
            yield "full stop", "help ends with a full stop"
    if text.kind == MESSAGE:
        first = re.split(r"[.;:] |\n", prose(words))[0]
        if len(first) > FIRST_LIMIT:
            yield "length", f"the first sentence has {len(first)} characters, at most {FIRST_LIMIT}"
        if re.match(r"[a-z]", words) and re.search(r"[a-z]\.$", words) and ". " not in words:
            yield "full stop", "a message that starts with a small letter has no full stop"
    if re.search(r"[,;:.]\.$|\.[,;:]$", words) and not words.endswith("..."):
        yield "full stop", "doubled punctuation"


def violations(text):
    stripped = Text(text.path, text.line, text.kind, prose(text.words), text.role)
    found = [(each.name, f"“{match.group(0)}”; {each.reason}") for each in RULES if (match := each.find(stripped))]
    for name, problem in [*found, *shape(text)]:
        if not any(name == allowed and words in text.words for allowed, words, _ in ALLOWED):
            yield f"{name}: {problem}"


def silent_throws(root):
    """(path, line, declaration) of each function of Sources whose doc comment does not say what it throws."""
    for path in sorted((root / "Sources").rglob("*.swift")):
        for line, declaration in throwing.undocumented(path.read_text(encoding="utf-8")):
            yield str(path.relative_to(root)), line, declaration


def main(arguments):
    root = Path(arguments[0] if arguments else Path(__file__).resolve().parents[2])
    count = 0
    for text in texts(root):
        for problem in violations(text):
            count += 1
            print(f"{text.path}:{text.line}: {problem}")
    for path, line, declaration in silent_throws(root):
        count += 1
        print(f"{path}:{line}: throws: `{declaration}`; {throwing.REASON}")
    if count:
        print(f"{count} texts to correct; Tests/Language/check.py has the rules", file=sys.stderr)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
