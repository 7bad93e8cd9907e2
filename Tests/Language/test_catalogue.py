#!/usr/bin/env python3
"""What config/translations/catalogue finds in sources, and what it refuses."""

import importlib.machinery
import importlib.util
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
TRANSLATIONS = Path(__file__).resolve().parents[2] / "config/translations"
sys.path.insert(0, str(TRANSLATIONS))

import po  # noqa: E402
import sources  # noqa: E402

loader = importlib.machinery.SourceFileLoader("catalogue", str(TRANSLATIONS / "catalogue"))
catalogue = importlib.util.module_from_spec(importlib.util.spec_from_loader("catalogue", loader))
loader.exec_module(catalogue)


def keys(text, is_swift=True):
    return [(key.context, key.template, key.plural) for key, _ in sources.keys_of(text, is_swift) if key]


def faults(text, is_swift=True):
    return [fault for _, fault in sources.keys_of(text, is_swift) if fault]


class Swift(unittest.TestCase):
    def test_interpolations_are_places(self):
        self.assertEqual(keys(r'let a = translated("Waiting for \(name ?? "x") to \(f(a, b)).")'), [("", "Waiting for {1} to {2}.", "")])

    def test_joined_and_triple_quoted_literals_are_one_text(self):
        self.assertEqual(keys('translated("a \\(x), " + "b \\(y)")'), [("", "a {1}, b {2}", "")])
        self.assertEqual(keys('translated(\n    """\n    A "b"\n    c \\\n    d \\(x)\n    """)'), [("", 'A "b"\nc d {1}', "")])

    def test_plural_and_context(self):
        self.assertEqual(keys(r'translated(n, one: "\(n) file", many: "\(n) files")'), [("", "{1} file", "{1} files")])
        self.assertEqual(keys('translated("Open", context: "verb")'), [("verb", "Open", "")])

    def test_errors(self):
        self.assertEqual(keys(r'throw ControlError(.failed, isOld ? "It is \(age)." : "It is new.", path: p)'),
                         [("", "It is {1}.", ""), ("", "It is new.", "")])
        self.assertEqual(keys("ControlError(.failed, message: error.message)"), [])
        self.assertEqual(keys('extension ControlError {\n    init() { self.init(.busy, "x y") }\n}'), [("", "x y", "")])

    def test_texts_in_texts(self):
        self.assertEqual(keys(r'"outer \(translated("inner"))"'), [("", "inner", "")])

    def test_comments_and_other_strings_are_not_texts(self):
        self.assertEqual(keys('// translated("a")\n/* translated("b") */ f("c")\nfunc translated(_ x: Int) {}'), [])

    def test_computed_texts_are_refused(self):
        self.assertEqual(len(faults("translated(text)")), 1)
        self.assertEqual(len(faults('ControlError(.failed, "a " + word)')), 1)
        self.assertEqual(len(faults('translated(n, one: word, many: "x")')), 1)


    def test_prose_without_the_catalogue_is_found(self):
        def plain(text):
            return list(sources.plain_texts(sources.Scanner(text, True).pieces()))

        self.assertEqual(plain('print("Nothing was changed.")'), ["Nothing was changed."])
        self.assertEqual(plain('print("a \\(isOld ? "(an old one)" : "")")'), ["(an old one)"])
        self.assertEqual(plain('print("synctrain: \\(name): and \\(rest) more")'), ["{1}: and {2} more"])
        for text in ('translated("Nothing was changed.")', 'ControlError(.failed, a.isOld ? "It is old." : "It is new.")',
                     'Phrase(n, one: "\\(n) old file", many: "\\(n) old files")', 'print("  synctrain pair \\(id)")',
                     'open("/proc/self/mountinfo")', 'print("synctrain: \\(error)")', 'run("--home", "\\(path)/x.sock")'):
            self.assertEqual(plain(text), [], text)

    def test_prose_that_is_no_text_of_the_catalogue_is_found(self):
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory, "Sources/Sync/FolderSync/New.swift")
            file.parent.mkdir(parents=True)
            file.write_text('let a = Phrase("It is known.")\nlet b: Phrase = "It is not known."\n'
                            'logger.info("It is only logged.")\nlet c = "as" + "\\(x) it " + "is joined"\n')
            found = [fault for fault in sources.untranslated(Path(directory)) if fault.startswith("Sources/Sync")]
        self.assertEqual([fault.split(": ", 2)[2] for fault in found], ["'It is not known.'", "'as{1} it is joined'"])

    def test_an_exception_that_excepts_nothing_is_found(self):
        with tempfile.TemporaryDirectory() as directory:
            faults = list(sources.untranslated(Path(directory)))
        self.assertEqual(len(faults), len(sources.NOT_SHOWN) + len(sources.NOT_TEXTS))


class Script(unittest.TestCase):
    def test_templates(self):
        self.assertEqual(keys('h("p", t`Waiting for ${name.replace(/"/g, "")} to ${t`accept`}.`) // t`no`', False),
                         [("", "accept", ""), ("", "Waiting for {1} to {2}.", "")])

    def test_plural_and_context(self):
        self.assertEqual(keys('plural(f(a, "b"), "{1} of {2} file",\n  "{1} of {2} files", all)', False),
                         [("", "{1} of {2} file", "{1} of {2} files")])
        self.assertEqual(keys('t.as("verb")`Open`', False), [("verb", "Open", "")])

    def test_computed_texts_are_refused(self):
        self.assertEqual(len(faults("t(text)", False)), 1)
        self.assertEqual(len(faults("plural(n, one, many)", False)), 1)


class Entries(unittest.TestCase):
    def faults(self, template, *forms, plural=""):
        return list(catalogue.faults_of_entry(po.Entry("", template, plural, list(forms))))

    def test_what_is_wrong_with_an_entry(self):
        self.assertEqual(self.faults("{1} of {2}.", "{2} hat {1}."), [])
        self.assertTrue(self.faults("{1} of {2}.", ""))
        self.assertTrue(self.faults("{1} of {2}.", "{1}."))
        self.assertTrue(self.faults("{1} file", "{1} Datei", "", plural="{1} files"))
        self.assertTrue(self.faults("{1} file", "eine Datei", "{1} Dateien", plural="{1} files"))
        self.assertTrue(self.faults("Name: ", "Name:"))
        self.assertTrue(self.faults("Run `a`.", "a ausführen."))

    def test_files_are_read_as_they_are_written(self):
        entries = [po.Entry("verb", 'a "b"\n\\c', "", ["d\t„e“"], ["f.swift"]), po.Entry("", "{1} x", "{1} y", ["1", "2"])]
        read = po.parse(catalogue.written("de", entries))
        self.assertEqual(read[("verb", 'a "b"\n\\c')].forms, ["d\t„e“"])
        self.assertEqual((read[("", "{1} x")].plural, read[("", "{1} x")].forms), ("{1} y", ["1", "2"]))


if __name__ == "__main__":
    unittest.main()
