import SyncTestKit
import Testing

@testable import Selection

@Suite struct IgnoreFileTests {
    @Test func keepsEveryByte() throws {
        let texts = [
            "", "\n", "*", "*\n", "\r\n*\r\n", "  // note \n\n\t!/a  \n(?d)x\r\n*", "// \u{FEFF}\n*\n\n\n",
            "#escape=|\n!/a|[b\n*",
        ]
        for text in texts { #expect(try IgnoreFile(parsing: text).bytes == Array(text.utf8)) }
        let latin: [UInt8] = Array("// caf".utf8) + [0xE9, 0x0A] + Array("*\n".utf8)
        #expect(try IgnoreFile(parsing: latin).bytes == latin)
    }

    @Test func keepsEveryByteOfRandomFiles() throws {
        var random = SeededGenerator(seed: 1)
        for _ in 0..<500 {
            var text = ""
            for _ in 0..<Int.random(in: 0...12, using: &random) {
                text += random.pick(["", "// x", " ", "\t", RandomPatterns.line(&random), "#include a b"])
                text += random.pick(["\n", "\r\n", " \n", "\n\n"])
            }
            if random.chance(50) { text += RandomPatterns.line(&random) }
            guard let file = try? IgnoreFile(parsing: text) else { continue }
            #expect(file.bytes == Array(text.utf8))
            #expect(try IgnoreFile(parsing: file.text) == file)
            #expect(file.lines.map(\.number) == Array(1..<(file.lines.count + 1)))
        }
    }

    @Test func tellsLinesApart() throws {
        let file = try IgnoreFile(parsing: "\n// c\n#include a/b c\n#foo\n//\n \u{3000}x\u{3000} \n")
        #expect(file.lines[0].content == .blank && file.lines[1].content == .comment)
        #expect(file.lines[2].content == .include("a/b c"))
        #expect(file.lines[3].pattern?.expansion.first == "#foo")
        #expect(file.lines[4].content == .comment)
        #expect(file.lines[5].pattern?.text == "x" && file.lines[5].pattern?.line == 6)
    }

    @Test(arguments: [
        ("!", IgnoreError.Code.invalidPattern, 1, 1), ("a\n(?i)(?d)!", .invalidPattern, 2, 9),
        ("x\n\n!/a/[b", .invalidPattern, 3, 5), ("a{b", .invalidPattern, 1, 2), ("(?i)[z-a]", .invalidPattern, 1, 6),
        ("[a-cx]", .invalidPattern, 1, 5), ("a\u{0}b", .invalidText, 1, 2), ("/\u{FFFD}", .invalidText, 1, 2),
        ("#include", .invalidInclude, 1, 8), ("#includex", .invalidInclude, 1, 9), ("#escape=", .invalidEscape, 1, 8),
        ("#escape=ab", .invalidEscape, 1, 8), ("#escapes", .invalidEscape, 1, 8),
        ("#escape=|\n#escape=|", .invalidEscape, 2, 1), ("a\n#escape=|", .invalidEscape, 2, 1),
    ])
    func faults(text: String, code: IgnoreError.Code, line: Int, column: Int) {
        do throws(IgnoreError) {
            _ = try IgnoreFile(parsing: text, name: "f")
            Issue.record("no error for \(text)")
        } catch {
            #expect(error.code == code && error.line == line && error.column == column && error.file == "f")
            #expect(error.description == "f:\(line):\(column): \(error.message)")
        }
    }

    @Test func limits() throws {
        func code(_ text: String) -> IgnoreError.Code? {
            do throws(IgnoreError) {
                _ = try IgnoreFile(parsing: text)
                return nil
            } catch { return error.code }
        }
        let line = String(repeating: "a", count: IgnoreLimits.lineByteCount)
        #expect(code(line) == nil)
        #expect(code(line + "a") == .tooLarge)
        #expect(code(String(repeating: "\n", count: IgnoreLimits.totalLineCount)) == nil)
        #expect(code(String(repeating: "\n", count: IgnoreLimits.totalLineCount + 1)) == .tooLarge)
        #expect(code(String(repeating: "// aaaaaaaaaaaaaaaaaa\n", count: 50_000)) == .tooLarge)
        #expect(throws: IgnoreError.self) { try IgnoreFile(parsing: [0x61, 0xFF]) }
    }

    @Test func prefixesCountOnce() throws {
        func pattern(_ text: String) throws -> IgnorePattern {
            try #require(try IgnoreFile(parsing: text).lines.first?.pattern)
        }
        let twice = try pattern("!!foo")
        #expect(!twice.isIgnoring && twice.expansion.first == "!!foo")
        #expect(try Selection(parsing: "!!foo\n*").decision(for: "!foo").patternIndex == 0)
        let all = try pattern("(?d)!(?i)/A/B")
        #expect(all.foldsCase && !all.isIgnoring && !all.isDeletable && all.literalPath == "a/b")
        #expect(try pattern("(?i)(?i)x").expansion.first == "(?i)(?i)x")
        #expect(try pattern("/a\\*[b]/c[\\-\\]").literalPath == "a*b/c\\")
        #expect(try pattern("a/b").literalPath == nil)
        #expect(try pattern("/a*").literalPath == nil)
    }

    @Test func escapeCharacterOfTheFile() throws {
        let selection = try Selection(parsing: "// first\n#escape = ^\n/a^*\n/b^^\n/c\\*\n/d^")
        #expect(selection.isIgnored("a*") && !selection.isIgnored("ab"))
        #expect(selection.isIgnored("b^"))
        // A backslash stays an escape beside the other one.
        #expect(selection.isIgnored("c*") && !selection.isIgnored("cd"))
        #expect(selection.isIgnored("d"))
        #expect(try Selection(parsing: "#escape=|\n/a\\|*").patterns.first?.expansion.first == "/a\\|*")
    }

    private func fault(_ text: String, _ include: (String) throws -> String) -> IgnoreError? {
        do throws(IgnoreError) {
            _ = try Selection(parsing: text, include: include)
            return nil
        } catch { return error }
    }

    @Test func includes() throws {
        let files = [
            "lists/one": "b\n#include two\na\n", "lists/two": "c\n#include ../three", "three": "#escape=|\nd|*",
            "loop": "#include ./loop", "../outside": "e",
        ]
        struct Missing: Error {}
        func load(_ name: String) throws -> String {
            guard let text = files[name] else { throw Missing() }
            return text
        }
        let selection = try Selection(
            parsing: "a\n#include lists/one\n#include ../outside\nf\n#include lists/one", include: load)
        #expect(selection.patterns.map(\.text) == ["a", "b", "c", "d|*", "e", "f"])
        #expect(
            selection.patterns.map(\.file) == [
                ".stignore", "lists/one", "lists/two", "three", "../outside", ".stignore",
            ])
        #expect(selection.isIgnored("x/d*") && !selection.isIgnored("x/dd"))

        let missing = fault("a\n#include nope", load)
        #expect(missing?.code == .invalidInclude && missing?.line == 2 && missing?.file == ".stignore")
        let twice = fault("#include three\n#include ./three", load)
        #expect(twice?.code == .invalidInclude && twice?.line == 2)
        let loop = fault("#include loop", load)
        #expect(loop?.code == .invalidInclude && loop?.file == "loop")
        #expect(fault("#include x") { "#include \($0)x" }?.code == .invalidInclude)
        #expect(fault("#include x") { $0.count < 32 ? "#include \($0)x" : "" } == nil)
        // Many small files are as limited as one large.
        let large = fault("#include x") { name in
            String(repeating: "// aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n", count: 2_000) + "#include \(name)x"
        }
        #expect(large?.code == .tooLarge)
        #expect(fault("#include x") { _ in "[" }?.file == "x")
        #expect(fault("#include x", { _ in throw Missing() })?.message.contains("Missing") == true)
        #expect((try? Selection(parsing: "#include x")) == nil)
    }
}
