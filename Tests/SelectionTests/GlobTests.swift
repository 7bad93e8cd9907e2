import SyncTestKit
import Testing

@testable import Selection

@Suite struct GlobTests {
    private func parse(_ text: String) throws -> Glob { try GlobParser.parse(text.scalarValues) }

    private func matches(_ glob: String, _ path: String) throws -> Bool {
        let automaton = GlobAutomaton([try parse(glob)])
        var steps = 0
        return path.withBytes { automaton.run($0, steps: &steps).accepts }
    }

    @Test(arguments: [
        ("a*c", "abbc", true), ("a*c", "ab/c", false), ("a**c", "ab/c", true), ("a?c", "a/c", false),
        ("a?c", "aüc", true), ("[a-c]x", "bx", true), ("[a-c]x", "dx", false), ("[!a-c]x", "dx", true),
        ("[^z]", "^", true), ("[^z]", "z", true), ("[^z]", "a", false), ("a[!b]c", "a/c", true),
        ("{a,b/c,d*}x", "b/cx", true), ("{a,b/c,d*}x", "deex", true), ("{a,b/c,d*}x", "cx", false),
        ("{a,{b,c}d}", "cd", true), ("\\{a\\}", "{a}", true), ("a\\,b", "a,b", true), ("{a\\,b,c}", "a,b", true),
        ("}", "}", true), ("a,b", "a,b", true), ("a\\", "a", true), ("[\\]]", "]", true), ("[]-a]", "^", true),
        ("[\\-z]", "]", true), ("[a\\-z]", "-", true), ("[ab-d]", "-", true), ("[ab-d]", "c", false),
        ("tes**est", "test", true), ("tes*est", "test", false), ("a/**/x", "a/x", true), ("a/**/x", "a/x/x", true),
        ("a****a", "a", true), ("[a]**a", "a", true), ("{a}**a", "a", true), ("?**a", "a", false),
        ("{a**a,b}", "a", true), ("x{a**a,b}", "xa", true), ("ab**ba", "aba", true), ("aa**aa", "aaa", true),
        ("abc**bcd", "abcd", true), ("abc**bcd", "abcbcd", true), ("ab**cd", "abd", false),
    ])
    func matching(glob: String, path: String, expected: Bool) throws {
        #expect(try matches(glob, path) == expected)
        #expect(ReferenceMatcher.matches(try parse(glob), path.scalarValues) == expected)
    }

    @Test(arguments: [
        ("[", 0), ("a[z", 1), ("[]", 0), ("[!]", 0), ("[a-", 0), ("[a-]", 0), ("[z-a]", 1), ("[a-cx]", 4), ("a{b", 1),
        ("{a,{b}", 0), ("[]abc]", 0),
    ])
    func faults(glob: String, offset: Int) {
        #expect(throws: GlobError.self) { try parse(glob) }
        do { _ = try parse(glob) } catch { #expect((error as? GlobError)?.offset == offset) }
    }

    @Test func limitsOfBraces() throws {
        let depth = IgnoreLimits.braceDepth
        func nested(_ depth: Int) -> String {
            String(repeating: "{", count: depth) + "a" + String(repeating: "}", count: depth)
        }
        #expect(try matches(nested(depth), "a"))
        #expect(throws: GlobError.self) { try parse(nested(depth + 1)) }
        #expect(throws: GlobError.self) { try parse(nested(60_000)) }
        func wide(_ count: Int) -> String { "{" + Array(repeating: "a", count: count).joined(separator: ",") + "}" }
        #expect(try matches(wide(IgnoreLimits.alternativeCount), "a"))
        #expect(throws: GlobError.self) { try parse(wide(IgnoreLimits.alternativeCount + 1)) }
    }

    @Test func automatonAgreesWithTheDefinition() throws {
        var random = SeededGenerator(seed: 0x5e1ec7)
        var matchCount = 0
        for _ in 0..<1_500 {
            let text = RandomPatterns.glob(&random)
            guard let glob = try? parse(text) else { continue }
            let automaton = GlobAutomaton([glob])
            for _ in 0..<10 {
                let path = RandomPatterns.path(&random)
                var steps = 0
                let accepts = path.withBytes { automaton.run($0, steps: &steps).accepts }
                let expected = ReferenceMatcher.matches(glob, path.scalarValues)
                #expect(accepts == expected, "\(text) on \(path)")
                if expected { matchCount += 1 }
            }
        }
        // The property says something only if both answers occur.
        #expect(matchCount > 500 && matchCount < 14_000)
    }

    /// What a run may still match behind a directory is what some longer path shows.
    @Test func automatonKnowsWhatCanFollow() throws {
        var random = SeededGenerator(seed: 77)
        var hopeless = 0
        for _ in 0..<1_500 {
            let text = RandomPatterns.glob(&random)
            guard let glob = try? parse(text) else { continue }
            let automaton = GlobAutomaton([glob])
            let (directory, name) = (RandomPatterns.path(&random), RandomPatterns.path(&random))
            var steps = 0
            let canContinue = directory.withBytes { automaton.run($0, thenSlash: true, steps: &steps).canContinue }
            if !canContinue {
                hopeless += 1
                #expect(
                    !ReferenceMatcher.matches(glob, "\(directory)/\(name)".scalarValues), "\(text) below \(directory)")
            }
        }
        #expect(hopeless > 250)
    }

    @Test(arguments: [
        String(repeating: "a*", count: 100) + "b",
        String(repeating: "**a", count: 100) + "b",
        String(repeating: "*?", count: 100) + "b",
        String(repeating: "{a,a,*}", count: 75) + "b",
        String(repeating: "{", count: 16) + "*,a**" + String(repeating: "}*", count: 16) + "b",
        String(repeating: "a", count: 400) + "**" + String(repeating: "a", count: 400) + "b",
        "{" + String(repeating: "**a,", count: 300) + "b}c",
    ])
    func nastyPatternsStayPolynomial(pattern: String) throws {
        let path = Array(String(repeating: "a", count: 500).utf8)
        let selection = try Selection(parsing: pattern)
        var steps = 0
        let decision = path.withUnsafeBufferPointer { selection.decision(for: $0, steps: &steps) }
        #expect(!decision.isIgnored)
        // Four globs to a line, a handful of states to a character, each at most twice per character of the path.
        #expect(steps <= 4 * 6 * (pattern.count + 8) * (path.count + 1) * 2)
        #expect(steps > 0)
    }
}
