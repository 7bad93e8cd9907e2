import BlockExchange
import Testing

@testable import Reconciliation

/// Which new name of others is a deleted one's.
@Suite struct RenameElsewhereTests {
    private typealias S = Sample

    private static func deletion(_ counter: UInt64) -> FileInfo {
        var file = FileInfo(name: "a", kind: .file)
        file.isDeleted = true
        file.version = S.version((S.third, 1), (S.other, counter))
        file.modifiedBy = S.other
        return file
    }

    private static let content = S.file("text", S.version((S.third, 1)), name: "a")

    @Test(
        arguments: [
            (S.file("text", S.version((S.other, 5000)), name: "b"), true),
            // Found in the same look, or in one soon after.
            (S.file("text", S.version((S.other, 4500)), name: "b"), true),
            (S.file("text", S.version((S.other, 5599)), name: "b"), true),
            // A copy that was there long before.
            (S.file("text", S.version((S.other, 4000)), name: "b"), false),
            // One that the device which deleted it has not made.
            (S.file("text", S.version((S.me, 5000)), name: "b"), false),
            (S.file("TEXT", S.version((S.other, 5000)), name: "b"), false),
            (S.file("text, more", S.version((S.other, 5000)), name: "b"), false),
            (S.directory(S.version((S.other, 5000)), name: "b"), false),
        ] as [(FileInfo, Bool)])
    func knowsARename(added: FileInfo, expected: Bool) {
        #expect(RenameElsewhere.isRename(Self.deletion(5000), of: Self.content, to: added) == expected)
    }

    /// The contents that a file had before somebody else changed it are known to nobody here: the time says it.
    @Test func knowsTheNewNameOfAFileThatWasChangedMeanwhile() {
        let edited = S.file("edited", S.version((S.third, 1), (S.me, 9)), name: "c", by: S.me)
        func isRename(_ added: FileInfo, _ edited: FileInfo) -> Bool {
            RenameElsewhere.isRename(beside: Self.deletion(5000), of: edited, to: added)
        }
        #expect(isRename(S.file("text", S.version((S.other, 5000)), name: "d/c"), edited))
        #expect(!isRename(S.file("text", S.version((S.other, 4000)), name: "d/c"), edited))
        #expect(!isRename(S.file("text", S.version((S.third, 5000)), name: "d/c"), edited))
        #expect(!isRename(S.directory(S.version((S.other, 5000)), name: "d/c"), edited))
        let kept = S.file("text", S.version((S.other, 5000)), name: "c")
        #expect(!isRename(S.file("text", S.version((S.other, 5000)), name: "d/c"), kept), "its own was left there")
    }

    @Test func whatIsNotThereIsNoRename() {
        var added = S.file("text", S.version((S.other, 5000)), name: "b")
        added.isInvalid = true
        #expect(!RenameElsewhere.isRename(Self.deletion(5000), of: Self.content, to: added))
        added.isInvalid = false
        #expect(!RenameElsewhere.isRename(Self.content, of: Self.content, to: added))
    }
}
