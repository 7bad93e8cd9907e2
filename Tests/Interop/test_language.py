"""The terminal in German and Dutch, against a real agent; JSON, codes and exit codes are the same in each language."""

import json
import os
import subprocess

import pytest
from process import wait_until

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

    # What it says of the folder while it begins is not what it says a moment later.
    def rests():
        folder = agent.folder("library")
        return (folder["state"] == "idle" and folder["global"]["files"] == 2 and "lastScan" in folder
                and folder["watch"]["state"] == "watching")
    wait_until(rests, 60, "the folder rests", child=agent)
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


def test_lines_of_the_ignore_file(library, module_lab):
    """What is wrong with a line of .stignore, and of the configuration, is said in each language."""
    path = module_lab.directory("ignoring")
    with open(os.path.join(path, ".stignore"), "w") as file:
        file.write("foo{bar\n")
    library.run("folder", "add", "ignoring", path, "--mode", "full")
    library.wait_state("ignoring", "selection-error")
    for language, words in ((ENGLISH, "this { is never closed; add the }, or write \\{ for the character itself"),
                            (GERMAN, "diese { wird nie geschlossen; die } hinzufügen oder \\{ für das Zeichen selbst schreiben"),
                            (DUTCH, "deze { wordt nooit gesloten; voeg de } toe, of schrijf \\{ voor het teken zelf")):
        assert f"{path}/.stignore:1:4: {words}" in asked(library, language, "status")[1]
        assert words in asked(library, language, "doctor")[1]
    assert library.folder("ignoring")["message"].endswith("write \\{ for the character itself")
    library.run("folder", "remove", "ignoring", "--yes")


def test_syntax_of_the_configuration(lab):
    agent = lab.agent(start=False)
    with open(os.path.join(agent.home, "config.toml"), "ab") as file:
        file.write(b"\nnothing\n")
    for language, words in ((ENGLISH, "not valid TOML: the line ends where `=` should follow the name; write `name = value`"),
                            (GERMAN, "kein gültiges TOML: die Zeile endet, wo auf den Namen `=` folgen sollte; `name = value` schreiben"),
                            (DUTCH, "geen geldige TOML: de regel eindigt waar na de naam `=` hoort te komen; schrijf `name = value`")):
        code, _, errors = asked(agent, language, "config", "list")
        assert code == 1 and words in errors


def test_why_a_link_ended(lab):
    """A reason that the other device gave travels in English and is shown in the language of who reads it."""
    here, there = lab.agent("here"), lab.agent("there")
    here.add_device(there.id, "there", there.address)
    there.add_device(here.id, "here", here.address)
    wait_until(lambda: here.is_connected(there.id), 30, "they connect", child=here)
    there.run("pause", "--device", "here")

    def known():
        device = here.status()["devices"][0]
        return (device.get("lastError") or "").endswith("the device is paused") and device
    device = wait_until(known, 30, "the reason is known", child=here)
    assert device["lastErrorText"]["arguments"][0]["template"] == "the device is paused"
    # While it connects again, in vain, there is no reason for a moment.
    for language, words in ((GERMAN, "die Gegenstelle hat die Verbindung geschlossen: das Gerät ist pausiert"),
                            (DUTCH, "de peer heeft de verbinding gesloten: het apparaat is gepauzeerd")):
        wait_until(lambda: words in asked(here, language, "device", "list")[1], 30, words, child=here)


def test_reach_test(library):
    for language, words in ((ENGLISH, "No device is connected that could test the addresses."),
                            (GERMAN, "Kein Gerät ist verbunden, das die Adressen prüfen könnte."),
                            (DUTCH, "Er is geen apparaat verbonden dat de adressen kan testen.")):
        assert words in asked(library, language, "reach", "--test")[1]
