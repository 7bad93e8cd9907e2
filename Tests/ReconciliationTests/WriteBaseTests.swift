import BlockExchange
import Testing

@testable import Reconciliation

/// What a program's write through a mount starts from, and that a scan makes a successor of it, whenever it comes.
@Suite struct WriteBaseTests {
    typealias S = Sample

    private static let seen = S.version((S.other, 10))

    @Test func theRule() {
        let (global, deleted) = (S.file("others", Self.seen), S.tombstone(Self.seen))
        let table: [(isOnDisk: Bool, LocalVersion?, FileInfo?, isMeant: Bool, WriteBase)] = [
            (true, S.here(global), global, true, .local),
            (true, nil, global, true, .local),
            (false, nil, global, true, .announced(global)),
            (false, S.here(global), global, true, .announced(global)),
            // Another version has won since the program looked.
            (false, nil, global, false, .nothing),
            (false, nil, deleted, true, .nothing),
            (false, S.here(deleted), deleted, true, .local),
            (false, nil, nil, false, .nothing),
        ]
        for (isOnDisk, local, global, isMeant, expected) in table {
            #expect(WriteBase(isOnDisk: isOnDisk, local: local, global: global, isMeant: isMeant) == expected)
        }
    }

    private func scan(_ content: String, _ previous: LocalVersion?, _ global: FileInfo) throws -> LocalVersion {
        let update = LocalChanges.update(
            of: "f", observed: .item(S.item(content, modified: 900)), previous: previous, global: global, isKept: true,
            rules: S.rules(), unixSeconds: S.now)
        guard case .set(let version) = update else {
            Issue.record("\(update)")
            throw CancellationError()
        }
        return version
    }

    /// A file is emptied when it is opened, scanned, and written after that.
    @Test func aScanBetweenOpeningAndWritingLosesNothing() throws {
        let global = S.file("others", Self.seen)
        let noted = LocalChanges.succeeding(global)
        let empty = try scan("", noted, global)
        #expect(empty.isValid && empty.file.version.hasSeen(Self.seen))
        let written = try scan("mine", empty, empty.file)
        #expect(written.isValid && written.file.version.hasSeen(empty.file.version))
        // The same without the scan in between, and without the note, which is what made a conflict.
        #expect(try scan("mine", noted, global).file.version.hasSeen(Self.seen))
        #expect(!(try scan("mine", nil, global)).file.version.hasSeen(Self.seen))
    }

    /// What was noted is not on the disk yet, or never came there: that is no deletion.
    @Test func aScanBeforeTheFileIsThereForgets() {
        let global = S.file("others", Self.seen)
        let update = LocalChanges.update(
            of: "f", observed: .missing, previous: LocalChanges.succeeding(global), global: global, isKept: true,
            rules: S.rules(), unixSeconds: S.now)
        #expect(update == .forget)
    }

    /// Another device edits what was opened: an edit beside it, and neither of the two is the empty file.
    @Test func anEditElsewhereStaysBesideWhatIsWritten() throws {
        let edited = S.file("theirs", S.version((S.other, 20)))
        let written = try scan("mine", LocalChanges.succeeding(S.file("others", Self.seen)), edited)
        #expect(written.file.version.compare(edited.version).isConcurrent)
        #expect(written.file.hasSameContent(as: S.file("mine", Self.seen)))
    }
}
