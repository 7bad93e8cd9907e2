import MountProtocol
import Names
import Testing

@testable import MountRules

@Suite struct SeenDirectoriesTests {
    private func file(_ size: Int64) -> SeenName {
        SeenName(kind: .file, version: UInt64(size), size: size, seconds: size, nanoseconds: 0)
    }
    private let directory = SeenName(kind: .directory, size: 0, seconds: 1, nanoseconds: 0)

    /// A program has listed `d` with these.
    private func seen(_ names: [NameKey: SeenName], directoryLimit: Int = 10, nameLimit: Int = 2000) -> SeenDirectories
    {
        var seen = SeenDirectories(directoryLimit: directoryLimit, nameLimit: nameLimit)
        seen.listed("d", names, since: seen.mark)
        #expect(!seen.hasQuestion)
        return seen
    }

    /// Answers all questions about names from these, and gives what watchers hear.
    private func hear(_ seen: inout SeenDirectories, _ world: [String: SeenName]) -> [String: [WatchedChange]] {
        var heard: [String: [WatchedChange]] = [:]
        while let question = seen.takeQuestion() {
            switch question {
            case .look(let path):
                let changes = seen.found(path, world[path])
                if !changes.isEmpty { heard[path] = changes }
                seen.told(path, world[path])
            case .list(let directory):
                let names = world.filter { NodeTable.split($0.key)?.parent == directory }
                    .map { (NameKey(NodeTable.split($0.key)!.name), $0.value) }
                if seen.relisted(directory, Dictionary(uniqueKeysWithValues: names)) { heard[directory] = [.changed] }
            }
            seen.endQuestion()
        }
        return heard
    }

    @Test func whatOthersChangeIsHeardOnce() {
        var seen = seen(["a": file(1), "b": file(2), "c": file(3)])
        for path in ["d/a", "d/b", "d/n", "d/c", "e/x", "d"] { seen.changed(path) }
        let world = ["d/a": file(9), "d/n": file(4), "d/c": file(3)]
        let expected = ["d/a": [WatchedChange.changed], "d/b": [.removed(file(2))], "d/n": [.made(.file)]]
        #expect(hear(&seen, world) == expected)
        for path in ["d/a", "d/b", "d/n", "d/c"] { seen.changed(path) }
        #expect(hear(&seen, world) == [:])
    }

    /// Of `é` and `e` with an accent behind it, each is a name.
    @Test func anotherSpellingIsAnotherName() {
        var seen = seen(["\u{E9}": file(1), "e\u{301}": file(2)])
        seen.listed("d", ["\u{E9}": file(1), "e\u{301}": file(2)], since: seen.mark)
        #expect(!seen.hasQuestion)
        seen.changed("d/\u{E9}")
        seen.changed("d/e\u{301}")
        var looked: [NameKey] = []
        while case .look(let path)? = seen.takeQuestion() {
            looked.append(NameKey(path))
            #expect(seen.found(path, nil) == [.removed(path.utf8.count == 4 ? file(1) : file(2))])
            seen.told(path, nil)
            seen.endQuestion()
        }
        #expect(looked == ["d/\u{E9}", "d/e\u{301}"])
        seen.began("d/\u{E9}")
        #expect(seen.isTouched("d/\u{E9}") && !seen.isTouched("d/e\u{301}"))
        seen.renamed("d/\u{E9}", to: "d/e\u{301}", as: file(3))
        seen.changed("d/e\u{301}")
        _ = seen.takeQuestion()
        #expect(seen.found("d/e\u{301}", nil) == [.removed(file(3))])
    }

    @Test func nothingIsHeardOfWhatNobodyHasListed() {
        var seen = SeenDirectories()
        seen.changed("d/a")
        seen.changedEverywhere()
        #expect(!seen.hasQuestion)
    }

    @Test func aListThatIsOtherwiseHasItsDirectoryListedAgain() {
        var seen = seen(["a": file(1), "b": file(2)])
        seen.listed("d", ["a": file(1), "b": file(2)], since: seen.mark)
        #expect(!seen.hasQuestion)
        seen.listed("d", ["a": file(1)], since: seen.mark)
        #expect(hear(&seen, ["d/a": file(1)]) == ["d/b": [.removed(file(2))]])
        seen.changedEverywhere()
        #expect(hear(&seen, ["d/a": file(5)]) == ["d/a": [.changed]])
    }

    @Test func whatProgramsOfTheMountChangeIsNotHeardAgain() {
        var seen = seen(["a": file(1), "gone": file(2)])
        seen.began("d/new")
        seen.changed("d/new")
        seen.ended("d/new", .seen(file(7)))
        seen.began("d/gone")
        seen.ended("d/gone", .nobodys)
        for path in ["d/new", "d/gone"] { seen.changed(path) }
        #expect(hear(&seen, ["d/a": file(1), "d/new": file(7)]) == [:])
        // Another device then changes what the program made.
        seen.changed("d/new")
        #expect(hear(&seen, ["d/a": file(1), "d/new": file(8)]) == ["d/new": [.changed]])
    }

    @Test func whatIsOpenForWritingIsNotAskedFor() {
        var seen = seen(["a": file(1)])
        seen.began("d/a")
        // Truncated meanwhile by its name, and opened a second time.
        seen.began("d/a")
        seen.ended("d/a", .seen(file(0)))
        seen.changed("d/a")
        #expect(!seen.hasQuestion)
        seen.listed("d", ["a": file(50)], since: seen.mark)
        #expect(!seen.hasQuestion)
        seen.ended("d/a", .seen(file(90)))
        seen.changed("d/a")
        #expect(hear(&seen, ["d/a": file(90)]) == [:])
    }

    @Test func anAnswerFromBeforeAProgramsChangeIsNotHeard() {
        var seen = seen(["a": file(1)])
        seen.changed("d/a")
        #expect(seen.takeQuestion() == .look("d/a"))
        seen.began("d/a")
        #expect(seen.isTouched("d/a"))
        seen.ended("d/a", .seen(file(3)))
        #expect(seen.found("d/a", file(2)) == [])
        seen.told("d/a", file(2))
        seen.endQuestion()
        seen.changed("d/a")
        #expect(hear(&seen, ["d/a": file(3)]) == [:])
    }

    @Test func aChangeThatFailedIsAskedFor() {
        var seen = seen(["a": file(1)])
        seen.began("d/a")
        seen.ended("d/a", .failed)
        #expect(hear(&seen, [:]) == ["d/a": [.removed(file(1))]])
        seen.began("d/b")
        seen.ended("d/b", .unclear)
        #expect(hear(&seen, ["d/b": file(1)]) == [:])
        seen.changed("d/b")
        #expect(hear(&seen, [:]) == ["d/b": [.removed(file(1))]])
    }

    @Test func aRenameTakesAlongWhatIsKnown() {
        var seen = seen(["a": file(1), "sub": directory, "old": file(2)])
        seen.listed("d/sub", ["x": file(5)], since: seen.mark)
        seen.listed("d/sub/deep", ["y": file(6)], since: seen.mark)
        // A file below is open for writing.
        seen.began("d/sub/w")
        for path in ["d/sub", "d/moved"] { seen.began(path) }
        seen.renamed("d/sub", to: "d/moved", as: nil)
        #expect(seen.remembers("d/moved") && seen.remembers("d/moved/deep") && !seen.remembers("d/sub"))
        seen.ended("d/moved/w", .seen(file(8)))
        for path in ["d/a", "d/old"] { seen.began(path) }
        seen.renamed("d/a", to: "d/old", as: file(1))
        let world = ["d/moved": directory, "d/moved/x": file(5), "d/moved/w": file(8), "d/old": file(1)]
        for path in ["d/a", "d/old", "d/sub", "d/moved", "d/moved/x", "d/moved/w", "d/sub/w"] { seen.changed(path) }
        #expect(hear(&seen, world) == [:])
        seen.changed("d/moved/deep/y")
        #expect(hear(&seen, world) == ["d/moved/deep/y": [.removed(file(6))]])
    }

    @Test func aListThatWasOvertakenIsReadAgain() {
        var seen = SeenDirectories()
        let start = seen.mark
        // A program makes a name while another one lists, which does not see it.
        seen.began("d/new")
        seen.ended("d/new", .seen(file(1)))
        seen.listed("d", ["a": file(2)], since: start)
        let world = ["d/a": file(2), "d/new": file(1)]
        #expect(hear(&seen, world) == [:])
        seen.changed("d/new")
        #expect(hear(&seen, world) == [:])
        seen.changed("d/new")
        #expect(hear(&seen, ["d/a": file(2)]) == ["d/new": [.removed(file(1))]])
    }

    @Test func aDirectoryThatIsGoneIsForgottenWithAllBelow() {
        var seen = seen(["sub": directory])
        seen.listed("d/sub", ["x": file(1)], since: seen.mark)
        seen.listed("d/sub/deep", ["x": file(1)], since: seen.mark)
        seen.changed("d/sub")
        #expect(hear(&seen, [:]) == ["d/sub": [.removed(directory)]])
        #expect(seen.remembers("d") && !seen.remembers("d/sub") && !seen.remembers("d/sub/deep"))
    }

    @Test func tooManyDifferencesAreHeardAsOne() {
        let limit = SeenDirectories.foldLimit
        var seen = seen([:])
        func names(_ count: Int) -> [String: SeenName] {
            Dictionary(uniqueKeysWithValues: (0..<count).map { ("d/\($0)", file(1)) })
        }
        seen.changedEverywhere()
        #expect(hear(&seen, names(limit)).count == limit)
        seen.changedEverywhere()
        #expect(hear(&seen, names(2 * limit)).count == limit)
        seen.changedEverywhere()
        #expect(hear(&seen, names(limit - 1)) == ["d": [.changed]])
        seen.changedEverywhere()
        #expect(hear(&seen, names(limit - 1)) == [:])
        // Names that wait for being asked for are no more than their limit.
        for number in 0...SeenDirectories.questionLimit { seen.changed("d/n\(number)") }
        #expect(seen.takeQuestion() == .list("d"))
    }

    @Test func whatCannotBeToldIsGivenUp() {
        var seen = seen([:])
        seen.changed("d/a")
        for attempt in 1...SeenDirectories.attemptLimit {
            #expect(seen.takeQuestion() == .look("d/a"), "\(attempt)")
            #expect(seen.found("d/a", file(1)) == [.made(.file)])
            seen.notTold("d/a", file(1))
            seen.endQuestion()
        }
        #expect(!seen.hasQuestion)
        seen.changed("d/a")
        #expect(hear(&seen, ["d/a": file(1)]) == [:])
    }

    @Test func memoryIsBounded() {
        var seen = seen(["a": file(1)], directoryLimit: 2, nameLimit: 10)
        seen.listed("e", ["a": file(1)], since: seen.mark)
        seen.listed("d", ["a": file(1)], since: seen.mark)
        seen.listed("f", ["a": file(1)], since: seen.mark)
        #expect(seen.remembers("d") && seen.remembers("f") && !seen.remembers("e"))
        let many = Dictionary(uniqueKeysWithValues: (0..<5).map { (NameKey("\($0)"), file(1)) })
        seen.listed("g", many, since: seen.mark)
        #expect(seen.remembers("g") && seen.remembers("f") && !seen.remembers("d"))
        seen.listed("h", many, since: seen.mark)
        #expect(seen.remembers("h") && seen.remembers("g") && !seen.remembers("f"))
        seen.listed("g", many.merging(["x": file(1)]) { $1 }, since: seen.mark)
        #expect(!seen.remembers("g"), "more than half of all names")
    }
}
