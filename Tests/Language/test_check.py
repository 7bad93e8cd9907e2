#!/usr/bin/env python3
"""What the rules of check.py find and what they leave alone. Runs alone or by pytest."""

import contextlib
import io
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import check
import throwing


def found(words, kind=check.MESSAGE, role=""):
    return [problem.split(":")[0] for problem in check.violations(check.Text("file", 1, kind, words, role))]


def test_banned_turns_are_found():
    for words, name in [
        ("No device is near-by at the moment", "nearby"), ("Make anew what is stored", "anew"),
        ("An unknown device knocked here", "knocked"), ("Let a folder rest for an hour", "rest"),
        ("the file lies in no folder", "lies"), ("x is no file that can be read", "no noun"),
        ("a member has not its checksum", "has not its"), ("the time is over here", "time over"),
        ("write 30m; One waits up to a year", "one waits"), ("The line leaves it out here", "left out"),
        ("it is tried again later", "try again"), ("there is nothing to be had here", "be had"),
    ]:
        assert found(words) == [name], (words, found(words))


def test_plain_words_pass():
    for words in ["the folder is no longer shared with it", "there is no space left on the disk", "The rest is downloaded.",
                  "list the nearby devices to choose from", "No pending devices.", "It rests on nothing else."]:
        assert found(words) == [], (words, found(words))


def test_code_and_values_are_not_prose():
    assert found("run `synctrain anew` to rebuild the index") == []
    assert found("the folder \\(name(anew)) is paused now") == []


def test_help_has_a_length_and_a_full_stop():
    assert found("Pause a folder.", check.HELP, "abstract") == []
    assert found("Pause a folder", check.HELP, "abstract") == ["full stop"]
    assert found("Pause " * 20 + "it.", check.HELP, "abstract") == ["length"]
    assert found("Adds it.\n\nExample: synctrain folder add a b", check.HELP, "discussion") == []


def test_messages_have_one_style_of_full_stop():
    assert found("the folder is paused.") == ["full stop"]
    assert found("The folder is paused..") == ["full stop"]
    assert found("the folder is paused; resume it") == []
    assert found("words " * 30) == ["length"]


def test_decisions_may_speak_of_their_reasons():
    assert found("a codec of our own", check.GUIDE) == ["first person"]
    assert found("a codec of our own", check.DECISION) == []


def test_swift_literals_are_joined_and_placed():
    source = 'let x = 1\nthrow E(.a, "one \\(b("c")) "\n    + "two")\n// "no text here"\n@Flag(help: "Three.") var y\n'
    assert check.swift_texts(source) == [(2, "", 'one \\(b("c")) two'), (5, "help", "Three.")]


def test_triple_quoted_literals_are_one_text():
    source = 'discussion: """\n    One \\\n    two.\n\n    Three.\n    """\n'
    assert check.swift_texts(source) == [(1, "discussion", "One two.\n\nThree.")]


def test_scripts_and_documents():
    script = '// "not this one"\nh("p", { class: "cell holders" }, "Two words", `of ${x} here`)\n'
    assert list(check.script_texts(script)) == [(2, "Two words"), (2, "of … here")]
    document = "One\ntwo.\n\n```\ncode anew\n```\n- Three\n  four\n"
    assert list(check.document_texts(document)) == [(1, "One two."), (7, "- Three four")]


SILENT = [
    "package func a() throws {}",
    "    public init(_ x: Int) async throws {",
    "package func a<T>(_ body: () throws -> T) rethrows -> T {",
    "/// Does it.\npackage static func a() throws {}",
    "/// - Throws: `E`.\n\npackage func a() throws {}",
    "/// Closes it before this throws.\npackage func a() throws {}",
    "package func a() throws(any Error) {}",
    "@discardableResult package func a(\n    b: Int\n) async throws -> Int {",
    "package func a<T: Sequence<() -> Int>>(_ b: T = c(1)) throws where T: D {",
    "package protocol P: Sendable {\n    func a() throws\n}",
    "package extension P {\n    func a() throws {}\n}",
    'package func a(b: String = "){") throws {}',
]

SAID = [
    "/// - Throws: `E`.\npackage func a() throws {}",
    "/// Does it.\n///\n/// - Throws: what `body` throws.\n@discardableResult\npackage func a() rethrows {}",
    "/// Does it. Throws `E` for nothing.\npackage init() throws {}",
    "package func a() throws(E) {}",
    "package func a() async {}",
    "package func a(_ body: () throws -> Void) {}",
    "func a() throws {}",
    "private func a() throws {}",
    "protocol P {\n    func a() throws\n}",
    "package protocol P {\n    /// - Throws: `E`.\n    func a() throws\n}",
    "package extension P {\n    private func a() throws {}\n    func b() {\n        func c() throws {}\n    }\n}",
    "package struct S {\n    func a() throws {}\n}",
    "/* package func a() throws {} */\n// package func a() throws {}",
    'let text = """\n    package func a() throws {}\n    """',
    "package let a: () throws -> Void",
]


def test_functions_say_what_they_throw():
    for source in SILENT:
        assert len(list(throwing.undocumented(source))) == 1, source
    for source in SAID:
        assert list(throwing.undocumented(source)) == [], source


def test_silent_functions_are_reported_with_their_places():
    source = "struct S {\n    // no `\"`\n    /// Does it.\n    @inlinable\n    package func a() throws {}\n}\n"
    assert list(throwing.undocumented(source)) == [(5, "func a")]
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        (root / "Sources/Core").mkdir(parents=True)
        (root / "docs").mkdir()
        for name in ["README.md", "CHANGELOG.md"]:
            (root / name).write_text("")
        (root / "Sources/Core/S.swift").write_text(source)
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO()):
            assert check.main([directory]) == 1
        assert output.getvalue().startswith("Sources/Core/S.swift:5: throws: `func a`; "), output.getvalue()
        (root / "Sources/Core/S.swift").write_text(source.replace("Does it.", "- Throws: `E`."))
        assert check.main([directory]) == 0


def test_every_rule_has_a_reason_and_every_exception_a_rule():
    names = {rule.name for rule in check.RULES} | {"full stop", "length"}
    assert all(rule.reason for rule in check.RULES) and len(names) == len(check.RULES) + 2
    assert all(name in names and words and reason for name, words, reason in check.ALLOWED)


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
