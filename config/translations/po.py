"""Reads and writes gettext's PO files, as far as the catalogue uses them."""

import re
from dataclasses import dataclass, field


@dataclass
class Entry:
    context: str
    template: str
    plural: str
    forms: list
    files: list = field(default_factory=list)
    flags: set = field(default_factory=set)
    obsolete: bool = False

    @property
    def identity(self):
        return (self.context, self.template)


ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "r": "\r"}


def unquoted(text):
    return re.sub(r"\\(.)", lambda match: ESCAPES.get(match.group(1), match.group(1)), text)


def quoted(text):
    for plain, escape in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t")):
        text = text.replace(plain, escape)
    return f'"{text}"'


def parse(source):
    """The entries by context and template, without the header."""
    entries = {}
    for block in re.split(r"\n\s*\n", source):
        fields, flags, files, name, obsolete = {}, set(), [], None, False
        for line in block.split("\n"):
            if line.startswith("#,"):
                flags |= {flag.strip() for flag in line[2:].split(",")}
            elif line.startswith("#:"):
                files += line[2:].split()
            if line.startswith("#~"):
                obsolete, line = True, line[2:].strip()
            match = re.match(r'(msgctxt|msgid|msgid_plural|msgstr(?:\[\d+\])?)\s+"(.*)"\s*$', line)
            if match:
                name = match.group(1)
                fields[name] = unquoted(match.group(2))
            elif name and re.match(r'\s*"(.*)"\s*$', line):
                fields[name] += unquoted(line.strip()[1:-1])
        if not fields.get("msgid"):
            continue
        forms = [fields[key] for key in sorted(fields) if key.startswith("msgstr")]
        entry = Entry(fields.get("msgctxt", ""), fields["msgid"], fields.get("msgid_plural", ""), forms, files, flags, obsolete)
        entries[entry.identity] = entry
    return entries


def write(language, plural_rule, entries):
    lines = ['msgid ""', 'msgstr ""', quoted(f"Project-Id-Version: synctrain\n"), quoted(f"Language: {language}\n"),
             quoted("MIME-Version: 1.0\n"), quoted("Content-Type: text/plain; charset=UTF-8\n"),
             quoted("Content-Transfer-Encoding: 8bit\n"), quoted(f"Plural-Forms: {plural_rule}\n"), ""]
    for entry in entries:
        lines += [f"#: {file}" for file in entry.files]
        if entry.context:
            lines.append(f"msgctxt {quoted(entry.context)}")
        lines.append(f"msgid {quoted(entry.template)}")
        if entry.plural:
            lines.append(f"msgid_plural {quoted(entry.plural)}")
            lines += [f"msgstr[{index}] {quoted(form)}" for index, form in enumerate(entry.forms)]
        else:
            lines.append(f"msgstr {quoted(entry.forms[0])}")
        lines.append("")
    return "\n".join(lines)
