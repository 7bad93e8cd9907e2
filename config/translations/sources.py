"""Finds the texts in Swift and JavaScript sources that are translated."""

import re
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Key:
    context: str
    template: str
    plural: str = ""
    files: set = field(default_factory=set)

    @property
    def identity(self):
        return (self.context, self.template)


@dataclass
class Literal:
    """A string of the source. `parts` alternates texts and lists of pieces (the code that is put in)."""

    parts: list
    is_template: bool = False

    def template(self, first=1):
        """The text with `{n}` for what is put in, and the next number."""
        text = ""
        for part in self.parts:
            if isinstance(part, str):
                text += part
            else:
                text += f"{{{first}}}"
                first += 1
        return text, first


class Unreadable(Exception):
    pass


ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", '"': '"', "'": "'", "`": "`", "\\": "\\", "$": "$"}


class Scanner:
    """Splits a source into code (strings of Python) and literals; comments are left out."""

    def __init__(self, text, is_swift):
        self.text, self.is_swift, self.at = text, is_swift, 0

    def pieces(self, closing=""):
        """Up to the bracket that closes; `closing` is consumed."""
        pieces, code, depth = [], "", 0
        text = self.text
        while self.at < len(text):
            char = text[self.at]
            if text.startswith("//", self.at):
                self.at = text.find("\n", self.at)
                if self.at < 0:
                    self.at = len(text)
                continue
            if text.startswith("/*", self.at):
                end = text.find("*/", self.at)
                self.at = len(text) if end < 0 else end + 2
                continue
            if not self.is_swift and char == "/" and re.search(r"(^|[(,=:\[!&|?{};]|return|=>)\s*$", code[-40:] or "("):
                match = re.compile(r"/(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*").match(text, self.at)
                if match:
                    self.at = match.end()
                    code += "0"
                    continue
            if char == '"' or (char in "'`" and not self.is_swift) or (self.is_swift and re.match(r'#+"', text[self.at:self.at + 4])):
                if code:
                    pieces.append(code)
                code = ""
                pieces.append(self.swift_literal() if self.is_swift else self.script_literal())
                continue
            if closing:
                if char in "([{":
                    depth += 1
                elif char in ")]}":
                    if depth == 0 and char == closing:
                        self.at += 1
                        break
                    depth -= 1
            code += char
            self.at += 1
        if code:
            pieces.append(code)
        return pieces

    def escape(self):
        """The character of the escape at this place, behind the backslash."""
        char = self.text[self.at]
        self.at += 1
        if char == "u":
            match = re.compile(r"\{([0-9a-fA-F]+)\}|([0-9a-fA-F]{4})").match(self.text, self.at)
            self.at = match.end()
            return chr(int(match.group(1) or match.group(2), 16))
        if char == "x":
            self.at += 2
            return chr(int(self.text[self.at - 2:self.at], 16))
        return ESCAPES.get(char, char)

    def swift_literal(self):
        text = self.text
        hashes = re.compile("#*").match(text, self.at).group(0)
        self.at += len(hashes)
        quote = '"""' if text.startswith('"""', self.at) else '"'
        self.at += len(quote)
        end, escape = quote + hashes, "\\" + hashes
        indent = 0
        if quote == '"""':
            self.at = text.index("\n", self.at) + 1
            close = text.index(end, self.at)
            indent = close - text.rindex("\n", 0, close) - 1
        parts, words, starts_line = [], "", bool(indent)
        while not text.startswith(end, self.at):
            if self.at >= len(text):
                raise Unreadable("a string without an end")
            if starts_line:
                blank = re.compile(r" {0,%d}" % indent).match(text, self.at)
                self.at = blank.end()
                starts_line = False
                continue
            if text.startswith(escape, self.at):
                self.at += len(escape)
                if text[self.at] == "(":
                    self.at += 1
                    parts += [words, self.pieces(")")]
                    words = ""
                elif text[self.at] == "\n":
                    self.at += 1
                    starts_line = bool(indent)
                else:
                    words += self.escape()
                continue
            words += text[self.at]
            starts_line = text[self.at] == "\n" and bool(indent)
            self.at += 1
        self.at += len(end)
        if quote == '"""' and words.endswith("\n"):
            words = words[:-1]
        return Literal(parts + [words])

    def script_literal(self):
        text = self.text
        quote = text[self.at]
        self.at += 1
        parts, words = [], ""
        while self.at < len(text) and text[self.at] != quote:
            if text[self.at] == "\\":
                self.at += 1
                words += self.escape()
            elif quote == "`" and text.startswith("${", self.at):
                self.at += 2
                parts += [words, self.pieces("}")]
                words = ""
            else:
                words += text[self.at]
                self.at += 1
        self.at += 1
        return Literal(parts + [words], quote == "`")


def arguments(pieces, index, offset):
    """The arguments of the call whose `(` is before `offset` of piece `index`, each a list of pieces."""
    found, current, depth = [], [], 0
    while index < len(pieces):
        piece = pieces[index]
        if isinstance(piece, str):
            code = ""
            for char in piece[offset:]:
                if char in ")]}" and depth == 0:
                    if code:
                        current.append(code)
                    return found + [current] if current or found else []
                depth += (char in "([{") - (char in ")]}")
                if char == "," and depth == 0:
                    found.append(current + ([code] if code else []))
                    current, code = [], ""
                    continue
                code += char
            if code:
                current.append(code)
        else:
            current.append(piece)
        index, offset = index + 1, 0
    return found + [current]


def labelled(argument):
    """(label, pieces) of an argument of Swift, without blanks."""
    pieces = [piece for piece in argument if not isinstance(piece, str) or piece.strip()]
    if pieces and isinstance(pieces[0], str):
        match = re.match(r"\s*(\w+):\s*", pieces[0])
        if match:
            rest = pieces[0][match.end():]
            return match.group(1), ([rest] if rest.strip() else []) + pieces[1:]
    return "", pieces


def template_of(pieces):
    """The template of literals joined by +; None if it is anything else."""
    text, number = "", 1
    for index, piece in enumerate(pieces):
        if index % 2 == 1:
            if not isinstance(piece, str) or piece.strip() != "+":
                return None
            continue
        if not isinstance(piece, Literal):
            return None
        more, number = piece.template(number)
        text += more
    return text if len(pieces) % 2 == 1 else None


# Their arguments behind the first are texts where they are literals without a label, and those called `there` and `remedy`.
TAKERS = ("ConfigurationError|ControlError|SettingProblem|LinkError|LinkSecurityError|ProxyError|RelayError|BluetoothState"
          "|IgnoreError|GlobError|TOMLError|PairingFailure|LinkRuleError|ArchiveError")
SWIFT_CALLS = rf"(?<!func )(?<![\w])(translated|Phrase|{TAKERS})\("
# In an extension of one of these.
SWIFT_ERRORS = rf"(?<!func )(?<![\w])(translated|Phrase|{TAKERS}|self\.init)\("


def choices(pieces, name):
    """The texts of an argument that is a literal, or one of several by a condition."""
    run = []
    for piece in pieces + [""]:
        if isinstance(piece, Literal) or (run and piece.strip() == "+"):
            run.append(piece)
            continue
        if run:
            text = template_of(run)
            if text is None:
                yield None, f"{name}(…) with a computed text"
            elif text.replace("{1}", ""):
                yield Key("", text), None
        if re.search(r"\+\s*$|^\s*\+", piece):
            yield None, f"{name}(…) with a computed text: {piece.strip()[:60]}"
        run = []


def swift_keys(pieces, is_error=False):
    """(key, None) for each text, (None, reason) for a call without one."""
    for index, piece in enumerate(pieces):
        if isinstance(piece, Literal):
            for part in piece.parts:
                if not isinstance(part, str):
                    yield from swift_keys(part, is_error)
            continue
        for match in re.finditer(SWIFT_ERRORS if is_error else SWIFT_CALLS, piece):
            name = match.group(1)
            parsed = [labelled(argument) for argument in arguments(pieces, index, match.end())]
            labels = dict(parsed)
            if name not in ("translated", "Phrase"):
                # Without a literal it is the message of something else.
                for label, argument in parsed[1:]:
                    if not label and not any(isinstance(piece, str) and "Phrase(" in piece for piece in argument):
                        yield from choices(argument, name)
                for label in ("there", "remedy"):
                    yield from choices(labels.get(label, []), name)
                continue
            context = template_of(labels["context"]) if "context" in labels else ""
            if "one" in labels:
                one, many = template_of(labels["one"]), template_of(labels.get("many", []))
                if one is None or many is None or context is None:
                    yield None, f"{name}(…) with a plural that is not literals"
                else:
                    yield Key(context, one, many), None
            elif name == "Phrase" and (not parsed or parsed[0][0]):
                continue
            else:
                text = template_of(parsed[0][1]) if parsed else None
                if text is None or context is None:
                    yield None, f"{name}(…) without a literal"
                elif text.replace("{1}", ""):
                    yield Key(context, text), None


def script_keys(pieces):
    for index, piece in enumerate(pieces):
        if isinstance(piece, Literal):
            for part in piece.parts:
                if not isinstance(part, str):
                    yield from script_keys(part)
            before = pieces[index - 1] if index and isinstance(pieces[index - 1], str) else ""
            if piece.is_template and re.search(r"(?<![\w.$])t\s*$", before):
                yield Key("", piece.template()[0]), None
            elif piece.is_template and before == ")" and index > 2 and re.search(r"(?<![\w.$])t\.as\(\s*$", str(pieces[index - 3])):
                yield Key(pieces[index - 2].template()[0], piece.template()[0]), None
            continue
        for match in re.finditer(r"(?<!function )(?<![\w.$])plural\(", piece):
            parsed = [[p for p in argument if not isinstance(p, str) or p.strip()]
                      for argument in arguments(pieces, index, match.end())]
            forms = [template_of(argument) for argument in parsed[1:3]]
            if len(forms) < 2 or None in forms:
                yield None, "plural(…) without two literals"
            else:
                yield Key("", forms[0], forms[1]), None
        for match in re.finditer(r"(?<!function )(?<![\w.$])t\(", piece):
            yield None, "t(…) instead of t`…`"


def declared_keys(pieces):
    """The texts of a file of declarations: what has a blank or begins with a capital letter, and is not a command."""
    for piece in pieces:
        if isinstance(piece, Literal):
            text = template_of([piece])
            if re.match(r"[A-Z]|[^ ]+ ", text) and not text.startswith("synctrain ") and len(piece.parts) == 1:
                yield Key("", text), None


def keys_of(text, is_swift, is_declaration=False):
    if is_declaration:
        return declared_keys(Scanner(text, is_swift).pieces())
    pieces = Scanner(text, is_swift).pieces()
    return swift_keys(pieces, re.search(rf"extension ({TAKERS}) {{", text) is not None) if is_swift else script_keys(pieces)


CALLS = re.compile(rf"extension ({TAKERS})|translated\(|Phrase\(|({TAKERS})\(|plural\(|\bt(\.as\(|\s*`|\()")

# The runtime itself.
EXCLUDED = {
    "Sources/Core/Phrases", "Sources/Agent/WebPage/page/language.js",
    # What only developers, or those who set up a relay or a proxy, come to read: in English.
    "Sources/Links/TransportVirtual", "Sources/Links/TransportRelay", "Sources/Links/Proxies",
}


def keys(root):
    """The keys of all sources by identity, and what is wrong."""
    found, faults = {}, []
    files = sorted(root.glob("Sources/**/*.swift")) + sorted(root.glob("Sources/Agent/WebPage/page/*.js"))
    for path in files:
        name = str(path.relative_to(root))
        if any(name.startswith(excluded) for excluded in EXCLUDED):
            continue
        text = path.read_text()
        is_declaration = re.match(r"SettingsSchema\+|Setting\+Shapes", path.name)
        if not CALLS.search(text) and not is_declaration:
            continue
        try:
            for key, fault in keys_of(text, path.suffix == ".swift", is_declaration):
                if fault:
                    faults.append(f"{name}: {fault}")
                    continue
                known = found.setdefault(key.identity, key)
                known.files.add(name)
                if known.plural != key.plural:
                    if known.plural and key.plural:
                        faults.append(f"{name}: two plurals of {key.template!r}")
                    known.plural = known.plural or key.plural
        except Unreadable as error:
            faults.append(f"{name}: {error}")
    return found, faults


# What the command line says in English only: what developers and hidden commands show, what is written for other programs, the manual.
ENGLISH = {
    "CompleteCommand.swift", "DeviceRestoring.swift", "CompletionPlace.swift", "CompletionScript.swift", "DemoCommand.swift", "LineLogHandler.swift",
    "ManualPage.swift", "PageEntrance.swift", "ProgramVersion.swift", "RadioDemo.swift", "SupportBundle.swift", "SystemdUnit.swift",
    "VirtualAirCommand.swift", "AgentProgram.swift", "StartupPages.swift",
}
NOT_PROSE = re.compile(r"`[^`]*`|\{1\} (?:min|h) \{2\} (?:s|min)|\{\d+\}|--[a-z-]+|[a-z]+://\S*|(/[\w.]+)+|\buser\.[a-z.]+|^\s*synctrain( [a-z]+| \{\d\})*$")
PROSE = re.compile(r"[A-Za-z]{2,}[,:;]? [a-zA-Z…(]|… [a-z]{4,}|[a-z]{2,}[.:?!,;]( |$)")
SHOWN = re.compile(r"(?:translated|Phrase)\($|(?:one|many|context|command|commandName|valueName):$|ControlError\(\s*[\w.]+,$")


# Outside the command line, what no person comes to read, or in English only; a directory or a file each, with the reason.
# Whatever else reads as prose is a text of the catalogue, or lint fails.
NOT_SHOWN = {
    # Protocols: what is wrong with bytes stays in the words of the specifications. `LinkEnd` says around it what became of the link.
    "Sources/Core/BlockExchange": "protocol", "Sources/Core/Cryptography": "protocol",
    "Sources/Core/GhostDrop": "protocol", "Sources/Core/MountProtocol": "protocol", "Sources/Core/MountRules": "protocol",
    "Sources/Links/HTTPExchange": "protocol", "Sources/Links/GlobalDiscovery": "protocol", "Sources/Links/PortMapping": "protocol",
    "Sources/Links/TransportBluetooth": "protocol", "Sources/Links/TransportTCP": "protocol", "Sources/Links/LinkSecurity": "protocol",
    "Sources/Storage/FolderWatcher": "protocol", "Sources/System": "protocol", "Sources/Core/Pairing/InvitationCode.swift": "protocol",
    "Sources/Core/Pairing/PairingCode.swift": "protocol", "Sources/Core/Thumbnails": "protocol",
    # SQL and its declarations.
    "Sources/Storage/IndexStore": "SQL",
    # What the OpenAPI document says of fields.
    "Sources/Core/ControlAPI": "OpenAPI",
    # Commands, which are typed as they stand.
    "Sources/Core/Diagnosis": "command", "Sources/Agent/SyncAgent/Control/Configuration+Schema.swift": "command",
    # HTTP, HTML and pictures.
    "Sources/Agent/AgentServer/CodePicture.swift": "markup", "Sources/Agent/AgentServer/LineStream.swift": "markup",
    "Sources/Agent/AgentServer/MultipartRanges.swift": "markup", "Sources/Agent/AgentServer/PageFile.swift": "markup",
    "Sources/Agent/AgentServer/ResponseSink.swift": "markup", "Sources/Agent/AgentServer/SessionCookie.swift": "markup",
    "Sources/Agent/AgentServer/SiteServer.swift": "markup", "Sources/Agent/AgentServer/SiteTarget.swift": "markup",
    "Sources/Agent/SyncAgent/Control/LoginPage.swift": "markup", "Sources/Sync/SyncDecisions/Notices/NoticeRule.swift": "markup",
    # What is written into files: the configuration, marks in folders; what is read of other programs.
    "Sources/Sync/AgentConfiguration/File/DefaultConfiguration.swift": "file", "Sources/Storage/FolderScanner/CompositionTable.swift": "file",
    "Sources/Sync/AgentConfiguration/Folders/FolderPreparation.swift": "file", "Sources/Storage/FileAccess/DiskAttributes.swift": "file",
    "Sources/Storage/FileAccess/RelativePath+Conventions.swift": "file", "Sources/Core/Reconciliation": "file",
    "Sources/Sync/AgentConfiguration/Folders/ArchiveMarker.swift": "file",
    # Only ever logged, which is in English.
    "Sources/Agent/MachineState": "log", "Sources/Agent/Reachability": "log", "Sources/Agent/AgentServer/LinkEndpoint.swift": "log",
    "Sources/Agent/AgentServer/ControlResponder+Page.swift": "log", "Sources/Agent/AgentServer/ControlSocket.swift": "log",
    "Sources/Agent/SyncAgent/Roles": "log", "Sources/Agent/SyncAgent/Policies/PolicyFollower.swift": "log",
    "Sources/Agent/SyncAgent/Mount": "log", "Sources/Sync/AgentContext": "log", "Sources/Sync/FolderSync/PendingRegistry.swift": "log",
    "Sources/Sync/FolderSync/Pulling/ElsewhereRenames.swift": "log", "Sources/Sync/FolderSync/Scanning/LocalRenames.swift": "log",
    "Sources/Sync/ThumbnailService": "log", "Sources/Programs/synctrain-mount": "log",
    "Sources/Sync/AgentConfiguration/Identity/DeviceIdentityFiles.swift": "log",
    # What the other device is told by the protocol.
    "Sources/Sync/FileDrop/LegacySender.swift": "protocol",
}
# Marks, prefixes, commands, and what stands in logs: no texts, though they read as prose.
NOT_TEXTS = {
    "#include {1}", ".syncthing.", "// synctrain: ", "line {1}, column {2}: {3}; {4}", "error {1}", "synctrain pause --for",
    "synctrain folder share --unencrypted", "{1} from {2}", "PRIVATE KEY-----", "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----",
}
# A call that logs, or a value that is compared or looked up.
LOGGED = re.compile(r"(?:[lL]ogger|\blog)\??\.(?:trace|debug|info|notice|warning|error|critical|log)\($|[pP]recondition\w*\([^;]*$"
                    r"|fatalError\($|\.post\($|level: [.\w]+, $|\.(?:info|warning),$")


def runs(pieces):
    """(the code before, the text) of the literals, those joined by + as one."""
    index = 0
    while index < len(pieces):
        if not isinstance(pieces[index], Literal):
            index += 1
            continue
        run, before = [pieces[index]], pieces[index - 1] if index and isinstance(pieces[index - 1], str) else ""
        while index + 2 < len(pieces) and isinstance(pieces[index + 1], str) and pieces[index + 1].strip() == "+" \
                and isinstance(pieces[index + 2], Literal):
            index += 2
            run.append(pieces[index])
        text, number = "", 1
        for literal in run:
            more, number = literal.template(number)
            text += more
            for part in literal.parts:
                if not isinstance(part, str):
                    yield from runs(part)
        yield before, text
        index += 1


def plain_texts(pieces):
    """The literals that read as prose and are no texts of the catalogue."""
    for index, piece in enumerate(pieces):
        if not isinstance(piece, Literal):
            continue
        for part in piece.parts:
            if not isinstance(part, str):
                yield from plain_texts(part)
        first = index
        while first > 1 and isinstance(pieces[first - 1], str) and re.fullmatch(r"\s*(\+|:)\s*", pieces[first - 1]):
            first -= 2
        before = pieces[first - 1] if first and isinstance(pieces[first - 1], str) else ""
        # A condition in an error chooses between texts.
        before = re.sub(r",\s*\w+(\.\w+)?\s*\?\s*$", ",", before)
        text = piece.template()[0].removeprefix("synctrain: ")
        if not SHOWN.search(before.rstrip()) and PROSE.search(NOT_PROSE.sub("…", text)):
            yield text


def untranslated(root):
    """What the sources say to people without the catalogue."""
    for path in sorted((root / "Sources/Programs/synctrain").glob("**/*.swift")):
        if path.name not in ENGLISH:
            for text in plain_texts(Scanner(path.read_text(), True).pieces()):
                yield f"{path.relative_to(root)}: without `translated`: {text!r}"
    found, _ = keys(root)
    known = {form for key in found.values() for form in (key.template, key.plural)}
    needed = set()
    for path in sorted(root.glob("Sources/**/*.swift")):
        name = str(path.relative_to(root))
        if any(name.startswith(place) for place in (*EXCLUDED, "Sources/Programs/synctrain/")):
            continue
        places = [place for place in NOT_SHOWN if name == place or name.startswith(place + "/")]
        for before, text in runs(Scanner(path.read_text(), True).pieces()):
            if text in known or LOGGED.search(before.rstrip()) or not PROSE.search(NOT_PROSE.sub("…", text)):
                continue
            needed.update(places, {text} & NOT_TEXTS)
            if not places and text not in NOT_TEXTS:
                yield f"{name}: no text of the catalogue, so English for everybody; use `Phrase(…)`: {text!r}"
    for place in sorted((NOT_SHOWN.keys() | NOT_TEXTS) - needed):
        yield f"config/translations/sources.py: {place!r} excepts nothing; remove it"
