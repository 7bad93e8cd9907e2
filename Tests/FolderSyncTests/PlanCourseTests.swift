import BlockExchange
import Testing

@testable import FolderSync
@testable import Reconciliation
@testable import Selection

@Suite struct PlanCourseTests {
    private static func file(_ name: String) -> FileInfo { FileInfo(name: name) }
    private static func local(_ name: String) -> LocalVersion { LocalVersion(file: file(name), isOnDisk: true) }
    private static func fetch(_ name: String) -> Action { .fetch(file(name), replacing: .nothing) }
    private static func link(_ name: String) -> Action { .makeSymlink(file(name), replacing: .nothing) }
    private static func delete(_ name: String) -> Action { .delete(local(name), tombstone: nil, keepsCopy: false) }

    private static func group(_ name: String, behind fetches: Int) -> GroupChange {
        GroupChange(group: FileGroup(names: [name, name + "2"]), actions: [fetch(name)], precedingFetches: fetches)
    }

    private static func words(_ course: PlanCourse) -> String {
        course.stages.map { stage in
            switch stage {
            case .group(let change): "group:\(change.group.names[0])"
            case .fetch(let file, _): "fetch:\(file.name)"
            case .step(let step): step.name ?? "-"
            }
        }.joined(separator: " ")
    }

    @Test(
        arguments: [
            ([], 0, [], ""),
            ([link("l"), fetch("a"), delete("d")], 1, [], "l fetch:a d"),
            // A group comes behind as many files as it says.
            ([fetch("a"), fetch("b"), delete("d")], 0, [group("g", behind: 1)], "fetch:a group:g fetch:b d"),
            ([link("l"), fetch("a")], 1, [group("g", behind: 0)], "l group:g fetch:a"),
            // Before what goes, even if fewer files come than it says; and at the end if nothing goes.
            ([fetch("a"), delete("d")], 0, [group("g", behind: 5)], "fetch:a group:g d"),
            ([fetch("a")], 0, [group("g", behind: 5), group("h", behind: 6)], "fetch:a group:g group:h"),
            // Space is short: a group that goes is first, behind what comes before any fetch.
            ([link("l"), delete("d"), fetch("a")], 1, [group("g", behind: 0)], "l group:g d fetch:a"),
        ] as [([Action], Int, [GroupChange], String)])
    func stagesAreInOrder(_ steps: [Action], _ fetchPosition: Int, _ groups: [GroupChange], _ expected: String) {
        #expect(Self.words(PlanCourse(steps, fetchPosition: fetchPosition, groups: groups)) == expected)
    }

    /// What is put into a place is noted before; directories, and what comes behind the first fetch, are not.
    @Test func whatIsPlacedBeforeTheFirstFetchIsKnown() {
        let steps = [
            Action.makeDirectory(Self.file("d"), replacing: .nothing), Self.link("l"),
            .rename(from: Self.local("a"), tombstone: Self.file("a"), to: Self.file("b"), replacing: .nothing),
            Self.delete("x"), Self.fetch("f"), Self.link("m"),
        ]
        #expect(PlanCourse(steps, fetchPosition: 4, groups: []).placed.map(\.name) == ["l", "b"])
        // A group is fetched first.
        let groups = [Self.group("g", behind: 0)]
        #expect(PlanCourse(steps, fetchPosition: 2, groups: groups).placed.map(\.name) == ["l"])
    }

    @Test func whatStepsPutIsKnown() {
        let directory = Action.makeDirectory(Self.file("d"), replacing: .nothing)
        let renamed = Action.rename(
            from: Self.local("a"), tombstone: Self.file("a"), to: Self.file("b"), replacing: .nothing)
        let over = Action.makeSymlink(Self.file("l"), replacing: .replaced(Self.local("l")))
        #expect(directory.newcomer?.arrival == .directory)
        #expect(renamed.newcomer?.arrival == .renamed(from: "a"))
        #expect(renamed.newcomer?.file.name == "b")
        #expect(Self.link("l").newcomer?.arrival == .downloaded)
        #expect(over.newcomer == nil && Self.delete("x").newcomer == nil && Self.fetch("f").newcomer == nil)
        for step in [directory, renamed, over, Self.fetch("f")] { #expect(step.putsSomething) }
        for step in [Self.delete("x"), .forget("x"), .record(Self.local("x")), .nothing] {
            #expect(!step.putsSomething)
        }
    }
}
