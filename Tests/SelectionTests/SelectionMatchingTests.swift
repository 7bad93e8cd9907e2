import SyncTestKit
import Testing

@testable import Selection

@Suite struct SelectionMatchingTests {
    @Test func compiledMatcherAgreesWithTryingEveryGlobInOrder() throws {
        var random = SeededGenerator(seed: 0x51ec7ed)
        var deciding: [Int: Int] = [:]
        for _ in 0..<400 {
            let lines = (0..<Int.random(in: 1...8, using: &random)).map { _ in RandomPatterns.line(&random) }
            guard let selection = try? Selection(parsing: lines.joined(separator: "\n")) else { continue }
            for _ in 0..<20 {
                let path = random.chance(10) ? RandomPatterns.path(&random).uppercased() : RandomPatterns.path(&random)
                let expected = ReferenceMatcher.firstMatch(selection.patterns, path)
                let decision = selection.decision(for: path)
                #expect(decision.patternIndex == expected, "\(path) in \(lines)")
                #expect(decision.isIgnored == expected.map { selection.patterns[$0].isIgnoring } ?? false)
                deciding[expected ?? -1, default: 0] += 1
            }
        }
        // Later lines and no line at all must have had their turn.
        #expect(deciding[-1, default: 0] > 300 && deciding[0, default: 0] > 300 && deciding[3, default: 0] > 50)
    }

    @Test func manyPathsKeepTheirOrder() throws {
        // Each path is named twice, first one way and then the other: the first one counts.
        var lines: [String] = []
        for index in 0..<2_000 {
            let path = "/d\(index % 40)/sub directory \(index)"
            lines += index.isMultiple(of: 3) ? [path, "!" + path] : ["!" + path, path]
        }
        let selection = try Selection(parsing: (lines + ["*"]).joined(separator: "\n"))
        for index in 0..<2_000 {
            let path = "d\(index % 40)/sub directory \(index)"
            #expect(selection.decision(for: path + "/x").patternIndex == index * 2)
            #expect(selection.isIgnored(path) == index.isMultiple(of: 3))
            #expect(selection.decision(for: path + "x").patternIndex == 4_000)
        }
    }

    @Test(arguments: [
        ".stfolder", ".stfolder/x", ".stignore", ".stversions/a/b", ".syncthing.a.tmp", "a/~syncthing~b", ".syncthing.",
    ])
    func ownNamesAreAlwaysIgnored(path: String) throws {
        for text in ["", "!/.stfolder\n!*", "!*\n!.st*"] {
            let decision = try Selection(parsing: text).decision(for: path)
            #expect(decision.isIgnored && !decision.isDeletable && decision.patternIndex == nil, "\(text)")
        }
    }

    @Test(arguments: [
        "a/.stfolder", ".stfolders", ".stignore2", "a/.stignore", ".syncthing", ".syncthing./a", "syncthing~",
    ])
    func namesThatOnlyLookLikeThemAreNot(path: String) throws {
        #expect(!Selection.everything.isIgnored(path))
    }

    @Test func deletableOnlyWhereTheLineIgnores() throws {
        let selection = try Selection(parsing: "(?d).DS_Store\n!(?d)/keep\n(?i)(?d)*.TMP\n*")
        #expect(selection.decision(for: "a/.DS_Store").isDeletable)
        #expect(selection.decision(for: "a/x.tmp").isDeletable)
        #expect(!selection.decision(for: "keep").isDeletable && !selection.isIgnored("keep"))
        #expect(!selection.decision(for: "other").isDeletable && selection.isIgnored("other"))
    }

    @Test func caseFolds() throws {
        let selection = try Selection(parsing: "(?i)/ÜML/İ.Txt\n(?i)!/KEEP/[A-C]*\nlower\n*")
        #expect(selection.decision(for: "üml/i.TXT").patternIndex == 0)
        #expect(selection.decision(for: "Keep/Bee").patternIndex == 1)
        #expect(selection.decision(for: "LOWER").patternIndex == 3)
    }

    @Test func rootIsAlwaysIncluded() throws {
        let selection = try Selection(parsing: "*")
        #expect(!selection.isIgnored("") && !selection.isIgnored("."))
        #expect(selection.decision(for: ".").reason == .root)
    }

    @Test func oddPathsGetAnAnswer() throws {
        let selection = try Selection(parsing: "!/a/b\n*.x\n[!a]?\n/a/*/c\n(?i)É\n*")
        for path in [
            "/", "//", "a//b", "a/", "/a", "..", "a/../b", "\u{0}", "a\u{0}/b", String(repeating: "/", count: 9_000),
        ] {
            _ = (selection.explain(path), selection.mayContainSelected(path), selection.isParentOfSelected(path))
        }
    }
}
