"""The terminal in German and Dutch, against a real agent; JSON, codes and exit codes are the same in each language."""

import json
import os
import subprocess

import pytest

ENGLISH = {"LC_ALL": "C.UTF-8"}
GERMAN = {"LC_ALL": "de_DE.UTF-8"}
DUTCH = {"LC_ALL": "nl_BE.UTF-8"}


@pytest.fixture(scope="module")
def library(module_lab):
    agent = module_lab.agent()
    directory = os.path.join(os.path.dirname(agent.home), "Library")
    os.makedirs(directory)
    for name, size in (("one.txt", 3), ("two.bin", 1500 * 1024)):
        with open(os.path.join(directory, name), "wb") as file:
            file.write(os.urandom(size))
    agent.run("folder", "add", "library", directory, "--mode", "full")
    agent.run("scan", "library")
    return agent


def asked(agent, language, *arguments):
    """(exit code, standard output, standard error) of a command in a language."""
    kept = {key: value for key, value in agent.environment.items()
            if key not in ("LANG", "LANGUAGE") and not key.startswith("LC_")}
    result = subprocess.run([agent.program, "--home", agent.home, *arguments], env={**kept, **language}, cwd="/",
                            stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    return result.returncode, result.stdout.decode(), result.stderr.decode()


def test_status(library):
    for language, folders, up_to_date, files in (
            (ENGLISH, "Folders", "up to date (full copy)", "2 files, 1.5 MiB"),
            (GERMAN, "Ordner", "aktuell (vollständige Kopie)", "2 Dateien, 1,5 MiB"),
            (DUTCH, "Mappen", "bijgewerkt (volledige kopie)", "2 bestanden, 1,5 MiB")):
        code, output, _ = asked(library, language, "status")
        assert code == 0
        assert folders in output.splitlines()
        row, = [line for line in output.splitlines() if line.startswith("library ")]
        assert up_to_date in row and files in row


def test_list(library):
    rows = {}
    for name, language in (("en", ENGLISH), ("de", GERMAN), ("nl", DUTCH)):
        code, output, _ = asked(library, language, "ls", "-l", "library:")
        assert code == 0
        rows[name], = [line for line in output.splitlines() if line.endswith("two.bin")]
    assert rows["en"].startswith("present ") and "1.5 MiB" in rows["en"]
    assert rows["de"].startswith("hier ") and "1,5 MiB" in rows["de"]
    assert rows["nl"].startswith("hier ") and "1,5 MiB" in rows["nl"]
    # 2026-11-26, 26.11.2026 and 26-11-2026.
    year, month, day = next(word for word in rows["en"].split() if word.count("-") == 2).split("-")
    assert f" {day}.{month}.{year} " in rows["de"] and f" {day}-{month}-{year} " in rows["nl"]


def test_error_of_the_agent(library):
    for language, words in ((ENGLISH, "library:nope: not found; `synctrain search` finds names"),
                            (GERMAN, "library:nope: nicht gefunden; `synctrain search` findet Namen"),
                            (DUTCH, "library:nope: niet gevonden; `synctrain search` vindt namen")):
        assert asked(library, language, "fetch", "library:nope") == (4, "", f"synctrain: {words}\n")


def test_error_of_the_command_line(library):
    for language, words in ((ENGLISH, "Error: "), (GERMAN, "Unbekannte Option '--nope'"), (DUTCH, "onbekende optie '--nope'")):
        code, output, errors = asked(library, language, "status", "--nope")
        assert (code, output) == (64, "")
        if language is not ENGLISH:
            assert words in errors
    assert "`stauts` ist kein Befehl. Gemeint ist vielleicht `status`." in asked(library, GERMAN, "stauts")[2]
    assert "`stauts` is geen opdracht. Bedoel je `status`?" in asked(library, DUTCH, "stauts")[2]


def test_plural(library, tmp_path):
    """One file and several, in one command and its words."""
    for language, one, many in ((ENGLISH, "1 file", "2 files"), (GERMAN, "1 Datei", "2 Dateien"), (DUTCH, "1 bestand", "2 bestanden")):
        for paths, words in ((["library:one.txt"], one), (["library:one.txt", "library:two.bin"], many)):
            out = os.path.join(tmp_path, f"{words} out")
            if len(paths) > 1:
                os.makedirs(out)
            code, _, errors = asked(library, language, "fetch", *paths, "-o", out)
            assert code == 0 and errors.startswith(f"{words}, ")


def test_help(library):
    for language, heading, abstract in ((ENGLISH, "OVERVIEW: ", "Show connections, folders and transfers."),
                                        (GERMAN, "ÜBERSICHT: ", "Verbindungen, Ordner und Übertragungen zeigen."),
                                        (DUTCH, "OVERZICHT: ", "Verbindingen, mappen en overdrachten tonen.")):
        code, output, _ = asked(library, language, "status", "--help")
        assert code == 0 and output.startswith(heading + abstract)
    output = asked(library, GERMAN, "--help")[1]
    assert "AUFRUF: synctrain" in output and "\nDATEIEN:\n" in output and "SUBCOMMANDS" not in output


def test_programs_read_the_same(library):
    """JSON, errors in JSON, exit codes and the manual."""
    for command in (["ls", "--json", "library:"], ["config", "list", "--json"], ["fetch", "library:nope", "--json"],
                    ["status", "--nope", "--json"], ["folder", "list", "--json"], ["man"]):
        english, german, dutch = (asked(library, language, *command) for language in (ENGLISH, GERMAN, DUTCH))
        assert english == german == dutch, command
    error = json.loads(asked(library, GERMAN, "fetch", "library:nope", "--json")[2])
    assert error["message"] == "library:nope: not found; `synctrain search` finds names"
    assert error["text"] == {"template": "{1}:{2}: not found; `synctrain search` finds names", "arguments": ["library", "nope"]}


def test_language_by_preference(library):
    """LANGUAGE is a list; C is English whatever LANGUAGE says."""
    assert "Mappen" in asked(library, {"LANG": "de_DE.UTF-8", "LANGUAGE": "fr:nl:de"}, "status")[1].splitlines()
    assert "Folders" in asked(library, {"LC_ALL": "C", "LANGUAGE": "de"}, "status")[1].splitlines()
    assert "Folders" in asked(library, {"LANG": "fr_FR.UTF-8"}, "status")[1].splitlines()
