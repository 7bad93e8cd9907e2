import BlockExchange
import Reconciliation
import Selection
import SyncTestKit
import Testing

@Suite struct PlanTests {
    typealias S = Sample

    static let old = S.version((S.other, 1))
    static let new = S.version((S.other, 2))

    private func fetched(_ name: String, _ content: String? = nil, modified: Int64 = 100) -> PlanItem {
        PlanItem(local: nil, global: S.file(content ?? name, Self.new, name: name, modified: modified), isKept: true)
    }

    private func deleted(_ name: String, _ content: String? = nil) -> PlanItem {
        PlanItem(
            local: S.here(S.file(content ?? name, Self.old, name: name)),
            global: S.tombstone(Self.new, name: name), isKept: true)
    }

    private func deletedDirectory(_ name: String) -> PlanItem {
        PlanItem(
            local: S.here(S.directory(Self.old, name: name)),
            global: S.tombstone(Self.new, name: name, kind: .directory), isKept: true)
    }

    private func made(_ name: String, local: FileInfo? = nil) -> PlanItem {
        PlanItem(
            local: local.map { S.here($0) }, global: S.directory(Self.new, name: name), isKept: true)
    }

    private func linked(_ name: String, local: FileInfo? = nil) -> PlanItem {
        PlanItem(local: local.map { S.here($0) }, global: S.symlink("x", Self.new, name: name), isKept: true)
    }

    private func plan(_ items: [PlanItem], _ options: PlanOptions = PlanOptions()) -> Plan {
        Plan(items: items, rules: S.rules(), options: options, unixSeconds: S.now)
    }

    /// A step in a few characters: what is done, to which name.
    private func words(_ plan: Plan) -> [String] {
        plan.steps.map { step in
            switch step {
            case .nothing: "nothing"
            case .blocked: "blocked"
            case .record(let version): "record \(version.file.name)"
            case .forget(let name): "forget \(name)"
            case .adopt(let file, _, _): "adopt \(file.name)"
            case .fetch(let file, _): "fetch \(file.name)"
            case .makeDirectory(let file, _): "mkdir \(file.name)"
            case .makeSymlink(let file, _): "link \(file.name)"
            case .rename(let from, _, let file, _): "rename \(from.file.name) \(file.name)"
            case .delete(let local, _, let keepsCopy): "delete \(local.file.name)\(keepsCopy ? " keeping" : "")"
            }
        }
    }

    @Test func everythingInItsOrder() {
        let items = [
            deletedDirectory("gone"), deletedDirectory("gone/sub"), deleted("gone/sub/f"), fetched("new/a/f"),
            made("new"), made("new/a"), linked("new/l"), fetched("b"), deleted("x", "moved"), fetched("new/y", "moved"),
            PlanItem(
                local: S.here(S.file("t", Self.old, name: "touched")),
                global: S.file("t", Self.new, name: "touched", modified: 9), isKept: true),
            PlanItem(
                local: S.here(S.directory(Self.old, name: "closed")),
                global: S.directory(Self.new, name: "closed", permissions: 0o500), isKept: true),
            PlanItem(
                local: S.here(S.tombstone(Self.old, name: "t")), global: S.tombstone(Self.new, name: "t"), isKept: true),
            PlanItem(local: nil, global: S.file("no", Self.new, name: "unkept"), isKept: false),
        ]
        let expected = [
            "record t", "mkdir new", "mkdir new/a", "rename x new/y", "link new/l", "adopt touched", "fetch b",
            "fetch new/a/f", "delete gone/sub/f", "delete gone/sub", "delete gone", "adopt closed",
        ]
        #expect(words(plan(items)) == expected)
        // The order in which names are given says nothing.
        var random = SeededGenerator(seed: 1)
        for _ in 0..<50 { #expect(words(plan(items.shuffled(using: &random))) == expected) }
        #expect(plan([]).isEmpty)
    }

    @Test func filesInTheOrderAskedFor() throws {
        let items = [
            fetched("b", "1234567", modified: 3), fetched("a", "12345", modified: 1), fetched("c.md", "123456789"),
            fetched("d", "1", modified: 2), fetched("e", "2", modified: 2), fetched("keep/z.md", "123"),
        ]
        #expect(words(plan(items)).map { $0.dropFirst(6) } == ["a", "b", "c.md", "d", "e", "keep/z.md"])
        #expect(
            words(plan(items, PlanOptions(order: .smallestFirst))).map { $0.dropFirst(6) }
                == ["d", "e", "keep/z.md", "a", "b", "c.md"])
        #expect(
            words(plan(items, PlanOptions(order: .newestFirst))).map { $0.dropFirst(6) }
                == ["c.md", "keep/z.md", "b", "d", "e", "a"])
        let priorities = try PriorityPatterns(["/keep", "!/d", "*.md", "?"])
        #expect(
            words(plan(items, PlanOptions(order: .smallestFirst, priorities: priorities))).map { $0.dropFirst(6) }
                == ["keep/z.md", "c.md", "e", "a", "b", "d"])
        #expect(throws: IgnoreError.self) { try PriorityPatterns(["a", "[b"]) }
        #expect(throws: IgnoreError.self) { try PriorityPatterns(["#include other"]) }
    }

    @Test func filesGoFirstWhenSpaceIsShort() {
        let items = [fetched("a", "12345"), deleted("b"), deletedDirectory("d"), deleted("d/f"), made("n")]
        let short = plan(items, PlanOptions(freeByteCount: 4))
        #expect(short.deletesFirst)
        #expect(short.fetchedByteCount == 5)
        #expect(words(short) == ["delete b", "delete d/f", "mkdir n", "fetch a", "delete d"])
        let enough = plan(items, PlanOptions(freeByteCount: 5))
        #expect(!enough.deletesFirst)
        #expect(words(enough) == ["mkdir n", "fetch a", "delete b", "delete d/f", "delete d"])
        #expect(plan(items, PlanOptions(freeByteCount: 5, neededByteCount: 6)).deletesFirst)
        // A rename needs no space.
        let renamed = plan([deleted("x", "moved"), fetched("y", "moved")], PlanOptions(freeByteCount: 0))
        #expect(words(renamed) == ["rename x y"])
        // Sizes that peers make up do not trap.
        var huge = S.file("h", Self.new, name: "h")
        huge.size = .max
        var more = huge
        more.name = "i"
        let items2 = [huge, more].map { PlanItem(local: nil, global: $0, isKept: true) }
        #expect(plan(items2).fetchedByteCount == .max)
    }

    @Test func aWholeDirectoryIsRenamed() {
        let items = [
            deletedDirectory("a"), deleted("a/1"), deleted("a/2"), made("b"), fetched("b/1", "a/1"),
            fetched("b/2", "a/2"),
        ]
        #expect(words(plan(items)) == ["mkdir b", "rename a/1 b/1", "rename a/2 b/2", "delete a"])
    }

    @Test func renamesAreMatchedOnceEachAndByName() {
        // Three alike go, two come: same last components find each other first.
        let items = [
            deleted("a", "c"), deleted("b/x", "c"), deleted("d", "c"), fetched("n/x", "c"), fetched("q", "c"),
        ]
        #expect(words(plan(items)) == ["rename b/x n/x", "rename a q", "delete d"])
        // Empty files, and files of another size, are not worth it.
        #expect(words(plan([deleted("a", ""), fetched("b", "")])) == ["fetch b", "delete a"])
        // One that stays as a copy is not moved away.
        let conflicting = PlanItem(
            local: S.here(S.file("c", S.version((S.me, 1)), name: "a")), global: S.tombstone(Self.new, name: "a"),
            isKept: true)
        #expect(words(plan([conflicting, fetched("b", "c")])) == ["fetch b", "delete a keeping"])
        // A rename over another file keeps to what must be there.
        let over = PlanItem(
            local: S.here(S.file("old", S.version((S.me, 1)), name: "b")), global: S.file("c", Self.new, name: "b"),
            isKept: true)
        guard case .rename(_, _, _, .conflicting(let loser)) = plan([deleted("a", "c"), over]).steps.first else {
            Issue.record("no rename")
            return
        }
        #expect(loser.file.name == "b")
    }

    @Test func typeChangesComeInAWorkableOrder() {
        // A directory becomes a file: what was in it goes first.
        let becomesFile = PlanItem(
            local: S.here(S.directory(Self.old, name: "a")), global: S.file("n", Self.new, name: "a"), isKept: true)
        #expect(
            words(plan([becomesFile, deleted("a/x"), deletedDirectory("a/s"), deleted("a/s/y")]))
                == ["delete a/s/y", "delete a/x", "delete a/s", "fetch a"])
        // … or is moved out.
        #expect(
            words(plan([becomesFile, deleted("a/x", "c"), fetched("b", "c")])) == ["rename a/x b", "fetch a"])
        // A file becomes a directory.
        #expect(
            words(plan([fetched("a/x"), made("a", local: S.file("o", Self.old, name: "a"))])) == [
                "mkdir a", "fetch a/x",
            ])
        // A file is deleted, and something is needed below its name.
        #expect(words(plan([deleted("a", "c"), fetched("a/x", "c")])) == ["delete a", "fetch a/x"])
        // A directory becomes a symbolic link.
        #expect(
            words(plan([linked("a", local: S.directory(Self.old, name: "a")), deleted("a/x")]))
                == ["delete a/x", "link a"])
    }

    @Test func aFileAndSomethingBelowItCannotBoth() {
        let both = plan([fetched("a"), fetched("a/x"), fetched("b")])
        #expect(words(both) == ["fetch a", "fetch b"])
        #expect(both.blocked.map(\.name) == ["a/x"])
        #expect(both.blocked.map(\.obstacle) == [.parentNotDirectory])
        let spelled = plan([fetched("e\u{301}"), made("\u{E9}"), fetched("\u{E9}/x")])
        #expect(spelled.blocked.isEmpty, "another spelling is another name")
        // Where the directory is on disk, it stays.
        let becomesFile = PlanItem(
            local: S.here(S.directory(Self.old, name: "a")), global: S.file("n", Self.new, name: "a"), isKept: true)
        let stays = plan([becomesFile, fetched("a/x")])
        #expect(words(stays) == ["fetch a/x"])
        #expect(stays.blocked.map(\.obstacle) == [.directoryNotEmpty])
        let doubtful = PlanItem(
            local: S.here(S.file("o", Self.old), .mustRescan), global: S.file("n", Self.new), isKept: true)
        #expect(plan([doubtful]).blocked.map(\.obstacle) == [.mustRescan])
        #expect(plan([doubtful]).isEmpty)
    }

    @Test func aDeletedDirectoryThatIsNeededIsAnnouncedAnew() throws {
        let items = [deletedDirectory("d"), deletedDirectory("d/e"), deletedDirectory("d/f"), fetched("d/e/x")]
        let made = plan(items)
        #expect(words(made) == ["record d", "record d/e", "fetch d/e/x", "delete d/f"])
        guard case .record(let version) = try #require(made.steps.first) else {
            Issue.record("not recorded")
            return
        }
        #expect(version.isValid && version.isOnDisk)
        #expect(version.file.version == S.version((S.other, 2), (S.me, 1000)))
        // A conflict copy stays in it as well.
        let conflicting = PlanItem(
            local: S.here(S.file("c", S.version((S.me, 1)), name: "d/c")),
            global: S.tombstone(Self.new, name: "d/c"), isKept: true)
        #expect(words(plan([deletedDirectory("d"), conflicting])) == ["record d", "delete d/c keeping"])
    }

    @Test func aRevertIsOrderedLikeAnyPlan() {
        let directory = LocalVersion(
            file: S.directory(Self.new, name: "d"), flags: .receiveOnlyChanged, isOnDisk: true)
        let file = LocalVersion(
            file: S.file("x", Self.new, name: "d/x"), flags: .receiveOnlyChanged, isOnDisk: true)
        let actions = [directory, file].map {
            Reconciler.revert(local: $0, global: nil, isKept: true, rules: S.rules(.receiveOnly))
        }
        let plan = Plan(actions: actions, rules: S.rules(.receiveOnly), unixSeconds: S.now)
        #expect(words(plan) == ["delete d/x", "delete d"])
    }

    @Test func renamesAreAnnouncedTogether() {
        func change(_ version: LocalVersion, _ previous: LocalVersion?) -> AnnouncementOrder.Change {
            AnnouncementOrder.Change(previous: previous, version: version)
        }
        let gone = ["a/1", "a/2", "a/3"].map { name in
            change(
                S.here(S.tombstone(Self.new, name: name)), S.here(S.file(name, Self.old, name: name)))
        }
        let changes = [
            gone[0], gone[1], gone[2], change(S.here(S.directory(Self.new, name: "b")), nil),
            change(S.here(S.file("a/2", Self.new, name: "b/2")), nil),
            change(S.here(S.file("a/1", Self.new, name: "b/1")), S.here(S.tombstone(Self.old, name: "b/1"))),
            // Replaces a file, so nobody looks for a rename.
            change(S.here(S.file("a/3", Self.new, name: "c")), S.here(S.file("c", Self.old, name: "c"))),
        ]
        let order = AnnouncementOrder(changes)
        #expect(order.versions.map(\.file.name) == ["b", "b/2", "a/2", "b/1", "a/1", "c", "a/3"])
        #expect(order.renames.map(\.from) == ["a/2", "a/1"])
        #expect(order.renames.map(\.to) == ["b/2", "b/1"])
        #expect(AnnouncementOrder([]).versions.isEmpty)
    }
}
