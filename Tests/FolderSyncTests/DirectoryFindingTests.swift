import BlockExchange
import FileAccess
import IndexStore
import Reconciliation
import Selection
import Testing

@testable import FolderSync

@Suite struct DirectoryFindingTests {
    private static let time = FileTime(seconds: 7)

    private static func finding(_ name: String, _ type: FileType = .regular, size: Int64 = 3) -> DirectoryFinding {
        DirectoryFinding(
            name: name, type: type,
            status: FileAccess.FileStatus(
                type: type, size: size, modified: time, inode: 5, permissions: 0o644, changed: time))
    }

    private static func facts(_ name: String, isDeleted: Bool? = nil) -> NameFacts {
        let file = FileInfo(name: name, size: 3, modifiedSeconds: 7)
        let local = LocalEntry(
            file: file, status: IndexedStatus(inode: 5, changedSeconds: 7, changedNanoseconds: 0))
        return NameFacts(
            name: name, global: isDeleted.map { FileInfo(name: name, isDeleted: $0) }, local: local)
    }

    private static func items(
        _ found: [DirectoryFinding], _ facts: [NameFacts]? = nil, patterns: String = "", problems: Set<String> = []
    ) throws -> [DirectoryRemoval.Item] {
        DirectoryFinding.items(
            found, facts ?? found.map { Self.facts($0.name) }, selection: try Selection(parsing: patterns),
            isProblem: problems.contains)
    }

    @Test func whatTheIndexKnowsIsCompared() throws {
        let items = try Self.items([Self.finding("d/a"), Self.finding("d/b", size: 4)])
        #expect(items.map(\.isUnchanged) == [true, false])
        let unknown = try Self.items([Self.finding("d/a")], [NameFacts(name: "d/a")])
        #expect(unknown[0].local == nil && !unknown[0].isUnchanged)
    }

    @Test func whatLiesInSomethingUnsyncableIsUnsyncable() throws {
        let items = try Self.items(
            [
                Self.finding("d/p", .directory), Self.finding("d/p/q", .directory), Self.finding("d/p/q/r"),
                Self.finding("d/s"), DirectoryFinding(name: "d/fifo", type: .other), Self.finding("d/p/\u{301}x"),
            ], problems: ["d/p"])
        #expect(items.map(\.isUnsyncable) == [true, true, true, false, true, true])
    }

    @Test func patternsAndTemporaryNamesAreTold() throws {
        let items = try Self.items(
            [
                Self.finding("d/a.tmp"), Self.finding("d/b.log"), Self.finding("d/.syncthing.c.tmp"),
                Self.finding("d/c"),
            ],
            patterns: "(?d)*.tmp\n*.log\n")
        #expect(items.map(\.isDeletable) == [true, false, false, false])
        #expect(items.map(\.isLeftOut) == [true, true, true, false])
        #expect(items.map(\.isTemporary) == [false, false, true, false])
    }

    @Test func whatOthersDeletedToo() throws {
        let items = try Self.items(
            [Self.finding("d/a"), Self.finding("d/b"), Self.finding("d/c")],
            [Self.facts("d/a", isDeleted: true), Self.facts("d/b", isDeleted: false), Self.facts("d/c")])
        #expect(items.map(\.isDeletedElsewhere) == [true, false, false])
    }
}
