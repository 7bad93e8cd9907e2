import SyncTestKit
import Testing

@testable import Selection

@Suite struct SelectionWalkTests {
    static let selective = """
        (?d).DS_Store
        !/photos/2024/best
        !/music
        /docs/private
        !/docs
        !/a b/[[]x]
        *
        """

    @Test(arguments: [
        ("", true), (".", true), ("photos", true), ("photos/2024", true), ("photos/2024/best", true),
        ("photos/2024/best/deep/er", true), ("photos/2024/rest", false), ("photos/2023", false), ("photo", false),
        ("music", true), ("musical", false), ("docs", true), ("docs/private", false), ("docs/private/x", false),
        ("docs/other", true), ("docs/.DS_Store", false), ("a b", true), ("a b/[x]", true), ("a b/x", false),
        (".stversions", false), (".stfolder", false), ("video", false),
    ])
    func opensOnlyWhatIsOnTheWay(directory: String, expected: Bool) throws {
        #expect(try Selection(parsing: Self.selective).mayContainSelected(directory) == expected)
    }

    @Test(arguments: [
        ("photos", SelectedState.no, true), ("photos/2024/best", .explicit, false),
        ("photos/2024/best/1.jpg", .implicit, false), ("photos/1.jpg", .no, false), ("docs", .explicit, false),
        ("docs/private", .no, false), ("docs/x", .implicit, false), ("docs/x/.DS_Store", .no, false),
        ("a b/[x]", .explicit, false), ("", .implicit, true), ("video", .no, false),
    ])
    func saysHowAPathIsKept(path: String, state: SelectedState, isParent: Bool) throws {
        let selection = try Selection(parsing: Self.selective)
        #expect(selection.selectedState(of: path) == state)
        #expect(selection.isParentOfSelected(path) == isParent)
        #expect(selection.isLeftOut(path) == (state == .no && !isParent))
    }

    @Test(arguments: [
        ("docs", true), ("docs/private", false), ("docs/other", false), ("music", false), ("photos", false), ("", true),
        ("video", false),
    ])
    func saysWhereSomethingIsLeftOut(path: String, expected: Bool) throws {
        #expect(try Selection(parsing: Self.selective).isParentOfLeftOut(path) == expected)
    }

    @Test(arguments: [
        // Without a line for the rest all is kept; a line that comes too late leaves nothing out; wildcards are not looked at.
        ("/a/b", "a", true), ("/a/b", "", true), ("/a/b", "c", false), ("!/a\n/a/b\n*", "a", false),
        ("!/a/b\n/a/b/c\n*", "a", false), ("/a/b/c\n!/a/b\n*", "a", true), ("/a/*\n!/a\n*", "a", false),
        ("(?i)/A/b\n!/a\n*", "a", true),
    ])
    func edgesOfLeavingOut(text: String, path: String, expected: Bool) throws {
        #expect(try Selection(parsing: text).isParentOfLeftOut(path) == expected)
    }

    @Test func withoutPatternsEverythingIsKept() {
        #expect(!Selection.everything.isParentOfLeftOut("a"))
        #expect(Selection.everything.selectedState(of: "a") == .implicit)
        #expect(Selection.everything.mayContainSelected("a/b"))
        #expect(Selection.everything.explain("a").decision.reason == .noPattern)
    }

    @Test(arguments: [
        // Lines that come too late select nothing, so there is nothing to look for.
        ("*\n!/a/b", "a", false), ("/a\n!/a/b\n*", "a", false), ("b\n!/a/b\n*", "a", false), ("/a/\n!/a\n*", "", true),
        // What may match anywhere, or below, opens directories.
        ("!b\n*", "x/y", true), ("!*.jpg\n*", "x", true), ("!/a/*/c\n*", "a", true), ("!/a/*/c\n*", "a/b", true),
        ("!/a/*/c\n*", "b", false), ("!/a/*/c\n*", "a/b/d", false), ("!/a/*/c\n*", "a/b/c/d", true),
        ("!/a*\n*", "", true), ("!/a*\n*", "b", false), ("!/a*\n*", "ab/c", true), ("!/a/**/z\n*", "a/b/c", true),
        ("(?i)!/A/b\n*", "a", true), ("(?i)!/A/b\n*", "A", true), ("(?i)!/A/b\n*", "c", false),
        ("!/a/\n*", "", true), ("!/a/\n*", "a", true), ("/x/*\n*", "x", false), ("/x/*", "x", true), ("/x", "x", false),
    ])
    func edgesOfWalking(text: String, directory: String, expected: Bool) throws {
        #expect(try Selection(parsing: text).mayContainSelected(directory) == expected)
    }

    /// Every path of up to four of these names; no line knows the last one, which stands for all others.
    private static let universe: [String] = {
        let names = ["a", "b", "c", "other"]
        var level = [""]
        var all: [String] = []
        for _ in 0..<4 {
            level = level.flatMap { path in names.map { path.isEmpty ? $0 : "\(path)/\($0)" } }
            all += level
        }
        return all
    }()

    @Test func walkIsExactForPathsWithoutWildcards() throws {
        var random = SeededGenerator(seed: 4_096)
        var opened = 0
        for _ in 0..<120 {
            var lines: [String] = random.chance(30) ? [random.pick(["a", "b", "c/", "b/c"])] : []
            for _ in 0..<Int.random(in: 1...5, using: &random) {
                let depth = Int.random(in: 1...3, using: &random)
                let path = (0..<depth).map { _ in random.pick(["a", "b", "c"]) }.joined(separator: "/")
                lines.append((random.chance(70) ? "!/" : "/") + path + (random.chance(10) ? "/" : ""))
            }
            let selection = try Selection(parsing: (lines + ["*"]).joined(separator: "\n"))
            let included = Self.universe.filter { !selection.isIgnored($0) }
            for directory in [""] + Self.universe where directory.utf8.count(where: { $0 == 0x2F }) < 3 {
                let below = directory.isEmpty ? "" : directory + "/"
                let expected = included.contains { $0.hasPrefix(below) }
                #expect(selection.mayContainSelected(directory) == expected, "\(directory) in \(lines)")
                if expected { opened += 1 }
            }
        }
        #expect(opened > 300)
    }

    @Test func walkNeverMissesWhatIsIncluded() throws {
        var random = SeededGenerator(seed: 99)
        var closed = 0
        for _ in 0..<700 {
            var lines = (0..<Int.random(in: 1...5, using: &random)).map { _ in RandomPatterns.line(&random) }
            if random.chance(70) { lines.append("*") }
            guard let selection = try? Selection(parsing: lines.joined(separator: "\n")) else { continue }
            for _ in 0..<20 {
                let (directory, path) = (RandomPatterns.path(&random), RandomPatterns.path(&random))
                guard !selection.mayContainSelected(directory) else { continue }
                closed += 1
                #expect(selection.isIgnored("\(directory)/\(path)"), "\(directory)/\(path) in \(lines)")
            }
        }
        #expect(closed > 1_000)
    }

    @Test(arguments: [
        ("", "", false), ("", "a", false), ("!/a\n*", "", true), ("!/a\n*", "a", false), ("!/a\n*", "a/b", false),
        ("!/a\n*", "b", true), ("!/a/b\n*", "a", true), ("!/a/b\n*", "a/b", false), ("/a/b\n!/a\n*", "a", true),
        ("/a/b\n!/a\n*", "a/c", false), ("!/a\n/a/b\n*", "a", false), ("*.tmp\n!/a\n*", "a", true),
        ("!/a\n*.tmp\n*", "a", false), ("b\n!/a\n*", "a/c", true), ("/a\n", "a", true), ("/a\n", "b", false),
        ("(?i)*.TMP\n", "b", true), ("(?i)!/A\n*", "a/b", false), ("(?i)/A/b\n!/a\n*", "a", true),
    ])
    func opensWhereSomethingMayBeLeftOut(text: String, directory: String, expected: Bool) throws {
        #expect(try Selection(parsing: text).mayContainLeftOut(directory) == expected)
    }

    @Test func walkNeverMissesWhatIsLeftOut() throws {
        var random = SeededGenerator(seed: 101)
        var closed = 0
        for _ in 0..<700 {
            var lines = (0..<Int.random(in: 1...5, using: &random)).map { _ in RandomPatterns.line(&random) }
            if random.chance(50) { lines.append("!/\(RandomPatterns.path(&random))") }
            if random.chance(70) { lines.append("*") }
            guard let selection = try? Selection(parsing: lines.joined(separator: "\n")) else { continue }
            for _ in 0..<20 {
                let (directory, path) = (RandomPatterns.path(&random), RandomPatterns.path(&random))
                guard !selection.mayContainLeftOut(directory) else { continue }
                closed += 1
                let decision = selection.decision(for: "\(directory)/\(path)")
                #expect(!decision.isIgnored || decision.patternIndex == nil, "\(directory)/\(path) in \(lines)")
            }
        }
        #expect(closed > 300)
    }

    @Test func explains() throws {
        let selection = try Selection(parsing: "// note\n(?d).DS_Store\n!/a/b\n#include more\n(?i)TMP*\n*") { name in
            #expect(name == "more")
            return "\n\nsecret/"
        }
        let below = selection.explain("a/b/c/d")
        #expect(below.pattern?.text == "!/a/b" && below.pattern?.line == 3 && below.matchedPath == "a/b")
        #expect(below.selected == .implicit && !below.decision.isIgnored)
        let included = selection.explain("x/secret/y")
        #expect(included.pattern?.file == "more" && included.pattern?.line == 3)
        #expect(included.matchedPath == "x/secret/y")
        let parent = selection.explain("a")
        #expect(parent.decision.isIgnored && parent.isParentOfSelected && parent.pattern?.text == "*")
        let folded = selection.explain("x/ÜTmp/tmpX/y")
        #expect(folded.pattern?.text == "(?i)TMP*" && folded.matchedPath == "x/ÜTmp/tmpX")
        #expect(selection.explain("a/.DS_Store").decision.isDeletable)
        #expect(selection.explain(".stignore").decision.reason == .internalName)
        #expect(selection.explain(".stignore").pattern == nil)
    }
}
