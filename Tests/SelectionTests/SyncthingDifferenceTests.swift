import Testing

@testable import Selection

/// Which lines some Syncthings read differently. What the table says of them was measured with 1.19.2 and 2.1.3 over
/// names with and without `é` and `ü`.
@Suite struct SyncthingDifferenceTests {
    @Test(arguments: [
        "m?nd", "*[0-9]é", "1?5é", "*[0-9]?", "é[0-9]", "*é[a]*", "?[0-9]*", "[z]9é", "*é[a]b", "[é]", "[!a]", "?",
        "/??",
        "?/x", "/?/*", "[a-é]", "{a,é}?", "é{?,zz}", "d/[é]", "(?i)É[a]", "!/m?nd", "foo?.txt",
    ])
    func linesThatDiffer(line: String) throws {
        let selection = try Selection(parsing: "// \(line)\n\n\(line)\n*")
        let differences = selection.differences(limit: 10)
        #expect(differences == [PatternDifference(file: ".stignore", line: 3, text: line)])
    }

    @Test(arguments: [
        "[a-z]", "[a-z]*", "*[a-z]", "155[0-9]", "[a-z][a-z]", "/*[0-9]x", "é", "*é*", "m\\?nd", "/é\\[a\\]", "*.o",
        "/ü/**/*.{jpg,png}", "(?i)*.MP[34]", "{[0-9],zz}x", "/d/*.[ch]",
    ])
    func linesThatDoNot(line: String) throws {
        #expect(try Selection(parsing: line).differences(limit: 10) == [])
    }

    @Test func linesOfIncludedFilesAreNamedThere() throws {
        let file = try IgnoreFile(parsing: "#include more\n?x\n")
        let selection = try Selection(file) { _ in "a\nü[ab]\n" }
        let differences = selection.differences(limit: 10)
        #expect(differences.map(\.file) == ["more", ".stignore"])
        #expect(differences.map(\.line) == [2, 2])
        #expect(
            differences.first?.message.english.hasPrefix(
                "more line 2 (`ü[ab]`) matches differently on Syncthing before 1.20.3")
                == true)
        #expect(selection.differences(limit: 1).count == 1)
    }

    @Test func anUnclosedBraceNamesTheRemedy() {
        let error = #expect(throws: IgnoreError.self) { try IgnoreFile(parsing: "a\nfoo{bar\n") }
        #expect(error?.line == 2)
        #expect(error?.message.contains("\\{") == true)
    }
}
