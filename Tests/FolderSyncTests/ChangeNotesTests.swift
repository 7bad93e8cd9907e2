import BlockExchange
import Foundation
import IndexStore
import Testing

@testable import FolderSync

@Suite struct ChangeNotesTests {
    static let nas = DeviceID(certificateDER: [1])
    static let phone = DeviceID(certificateDER: [2])

    private static func file(
        _ name: String, _ counter: UInt64, by device: DeviceID = nas, size: Int64 = 10, nanoseconds: Int32 = 5,
        isDeleted: Bool = false, isInvalid: Bool = false
    ) -> FileInfo {
        FileInfo(
            name: name, size: isDeleted ? 0 : size, modifiedSeconds: 1000, modifiedNanoseconds: nanoseconds,
            isDeleted: isDeleted, isInvalid: isInvalid,
            version: VersionVector([.init(id: device.shortID, value: counter)]), modifiedBy: device.shortID)
    }

    static let single: [(String, FileInfo?, FileInfo?, RecordedChange.Kind?)] = [
        ("new", nil, file("a", 1), .added), ("newer", file("a", 1), file("a", 2), .changed),
        ("the same", file("a", 1), file("a", 1), nil), ("gone", file("a", 1), file("a", 2, isDeleted: true), .deleted),
        ("back", file("a", 1, isDeleted: true), file("a", 2), .added),
        ("deleted, never here", nil, file("a", 1, isDeleted: true), nil),
        ("deleted twice", file("a", 1, isDeleted: true), file("a", 2, isDeleted: true), nil),
        ("nobody vouches for it", nil, file("a", 1, isInvalid: true), nil), ("forgotten", file("a", 1), nil, nil),
        ("vouched for again", file("a", 1, isInvalid: true), file("a", 1), .added),
    ]

    @Test(arguments: single.indices) func whatBecameOfAName(_ number: Int) {
        let (label, before, after, expected) = Self.single[number]
        let changes = ChangeNotes.changes([("a", before, after)], time: 7)
        #expect(changes.map(\.kind) == (expected.map { [$0] } ?? []), "\(label)")
        #expect(changes.allSatisfy { $0.time == 7 && $0.name == "a" && $0.device == Self.nas.shortID })
    }

    /// Several messages may be taken in together.
    @Test func aNameThatComesTwiceIsNotedOnce() {
        let added = ("b", FileInfo?.none, FileInfo?.some(Self.file("b", 2)))
        #expect(ChangeNotes.changes([added, added], time: 7).map(\.kind) == [.added])
        let gone = ("a", FileInfo?.some(Self.file("a", 1)), FileInfo?.some(Self.file("a", 2, isDeleted: true)))
        let changes = ChangeNotes.changes([gone, added, added], time: 7)
        #expect(changes.map(\.kind) == [.renamed] && changes.map(\.oldName) == ["a"])
    }

    /// Old and new names, and whether they are one file that was renamed.
    static let renames: [(String, [(FileInfo?, FileInfo?)], Bool)] = [
        ("alike", [(file("a", 1), file("a", 2, isDeleted: true)), (nil, file("b", 2))], true),
        ("in the other order", [(nil, file("b", 2)), (file("a", 1), file("a", 2, isDeleted: true))], true),
        ("of another size", [(file("a", 1), file("a", 2, isDeleted: true)), (nil, file("b", 2, size: 9))], false),
        (
            "of another time", [(file("a", 1), file("a", 2, isDeleted: true)), (nil, file("b", 2, nanoseconds: 6))],
            false
        ),
        ("empty", [(file("a", 1, size: 0), file("a", 2, isDeleted: true)), (nil, file("b", 2, size: 0))], false),
        (
            "of whole seconds",
            [(file("a", 1, nanoseconds: 0), file("a", 2, isDeleted: true)), (nil, file("b", 2, nanoseconds: 0))], false
        ),
        ("by another device", [(file("a", 1), file("a", 2, isDeleted: true)), (nil, file("b", 2, by: phone))], false),
        (
            "of two",
            [(file("a", 1), file("a", 2, isDeleted: true)), (nil, file("b", 2)), (nil, file("c", 2))], false
        ),
        (
            "two of one",
            [
                (file("a", 1), file("a", 2, isDeleted: true)), (file("c", 1), file("c", 2, isDeleted: true)),
                (nil, file("b", 2)),
            ], false
        ),
    ]

    @Test(arguments: renames.indices) func renamesAreSeenWhereTheyAreCertainEnough(_ number: Int) {
        let (label, names, isRename) = Self.renames[number]
        let changes = ChangeNotes.changes(
            names.map { (name: ($0.1 ?? $0.0)?.name ?? "", before: $0.0, after: $0.1) }, time: 0)
        #expect(changes.contains { $0.kind == .renamed && $0.name == "b" && $0.oldName == "a" } == isRename, "\(label)")
        #expect(changes.count == (isRename ? names.count - 1 : names.count), "\(label)")
    }

    private static func batch(_ first: Int64, isFull: Bool = false) -> IndexBatch {
        var entry = file("a", 1)
        entry.sequence = first
        return IndexBatch(folder: FolderID("f"), files: [entry], isFullIndex: isFull)
    }

    /// A device that told nothing before sends its first index up to where it said that it goes.
    @Test func theFirstIndexIsNoNews() {
        var indexes = FirstIndexes()
        #expect(!indexes.isNews(Self.batch(5), from: Self.nas))
        let (one, other) = (IndexID(rawValue: 1), IndexID(rawValue: 2))
        indexes.exchange(with: Self.nas, index: one, known: 0, announced: 100)
        #expect(!indexes.isNews(Self.batch(1, isFull: true), from: Self.nas))
        #expect(!indexes.isNews(Self.batch(100), from: Self.nas))
        #expect(indexes.isNews(Self.batch(101), from: Self.nas))
        #expect(!indexes.isNews(Self.batch(101), from: Self.phone))
        // The link broke in the middle of it, and something was added meanwhile.
        indexes.exchange(with: Self.nas, index: one, known: 40, announced: 120)
        #expect(!indexes.isNews(Self.batch(41), from: Self.nas))
        #expect(indexes.isNews(Self.batch(101), from: Self.nas))
        indexes.exchange(with: Self.nas, index: one, known: 101, announced: 500)
        #expect(indexes.isNews(Self.batch(102), from: Self.nas))
        indexes.exchange(with: Self.nas, index: one, known: 0, announced: 100)
        indexes.exchange(with: Self.nas, index: other, known: 40, announced: 50)
        #expect(indexes.isNews(Self.batch(41), from: Self.nas))
        #expect(!indexes.isNews(Self.batch(1, isFull: true), from: Self.nas))
    }

    /// A link that ends while its batch is stored, or a program that is ended, does not hide what is.
    @Test func aCancelledCallerHearsOfWhatIsStored() async throws {
        let home = FileManager.default.temporaryDirectory.appending(path: "notes-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: home) }
        let index = try IndexStore.open(path: "\(home)/index.sqlite")
        let folder = FolderID("f")
        try await index.addFolder(folder, newIndexID: IndexID(rawValue: 1))
        let task = Task {
            try await ChangeNotes.noting(["a"], in: index, folder, at: 7) {
                let result = try await index.applyIndex(
                    of: folder, device: Self.nas, files: [Self.file("a", 1)], replacesAll: true
                ) { _ in false }
                withUnsafeCurrentTask { $0?.cancel() }
                return result
            }
        }
        let (result, changes) = try await task.value
        #expect(result.changedCount == 1)
        #expect(changes.map(\.kind) == [.added] && changes.map(\.name) == ["a"])
        #expect(try await index.global(folder, "a")?.file?.version == Self.file("a", 1).version)
    }
}
