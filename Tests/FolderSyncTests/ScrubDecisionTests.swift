import BlockExchange
import Cryptography
import FileAccess
import IndexStore
import Testing

@testable import FolderSync

/// What a check of a file means, and when checks begin and go on.
@Suite struct ScrubDecisionTests {
    private static func hash(_ number: UInt8) -> SHA256Digest { SHA256.digest([number]) }

    private static let blocks = (0..<40).map { BlockInfo(offset: Int64($0) * 10, size: 10, hash: hash(UInt8($0))) }

    @Test func blocksAreCounted() {
        var tally = BlockTally(Array(Self.blocks.prefix(3)))
        #expect(tally.block?.offset == 0)
        tally.note(Self.hash(0))
        tally.note(Self.hash(99))
        #expect(tally.block?.offset == 20 && tally.foundHash == nil, "not all were read")
        tally.note(Self.hash(2))
        #expect(tally.block == nil && tally.wrong == 1 && tally.unreadable == 0)
        var found = Array(Self.blocks.prefix(3))
        found[1].hash = Self.hash(99)
        #expect(tally.foundHash == FileInfo.blocksHash(of: found))
        // More than there are.
        tally.note(Self.hash(7))
        #expect(tally.wrong == 1)
    }

    @Test func aFileThatTheDiskCannotReadIsGivenUpAfterSomeBlocks() {
        var tally = BlockTally(Self.blocks)
        tally.note(Self.hash(0))
        var tried = 0
        while tally.block != nil {
            tally.note(nil)
            tried += 1
        }
        #expect(tried == BlockTally.unreadableLimit)
        #expect(tally.wrong == Int64(tried) && tally.unreadable == tried && tally.foundHash == nil)
    }

    private static func status(
        size: Int64 = 5, modified: Int64 = 7, inode: UInt64 = 3, changed: Int64? = 8
    ) -> FileAccess.FileStatus {
        FileAccess.FileStatus(
            type: .regular, size: size, modified: FileTime(seconds: modified), inode: inode, device: 1,
            changed: changed.map { FileTime(seconds: $0) })
    }

    static let verdicts:
        [(FileAccess.FileStatus, FileAccess.FileStatus?, FileAccess.FileStatus?, Int64, ScrubVerdict)] = [
            (status(), status(), status(), 0, .good),
            (status(), status(), status(), 1, .damaged),
            // Edited before, while it was read, or gone.
            (status(), status(size: 6), status(size: 6), 1, .changed),
            (status(), status(modified: 8), status(modified: 8), 1, .changed),
            (status(), status(inode: 4), status(inode: 4), 1, .changed),
            (status(), status(changed: 9), status(changed: 9), 1, .changed),
            (status(), status(), status(modified: 8), 1, .changed),
            (status(), status(), status(changed: 9), 0, .changed),
            (status(), nil, nil, 0, .changed), (status(), status(), nil, 1, .changed),
            // A later change would not show.
            (status(changed: nil), status(), status(), 1, .changed),
            (status(changed: nil), status(), status(), 0, .good),
        ]

    @Test(arguments: verdicts.indices) func onlyBytesThatNobodyChangedAreDamaged(index: Int) {
        let (known, before, after, wrong, verdict) = Self.verdicts[index]
        #expect(ScrubVerdict(known: known, before: before, after: after, wrong: wrong) == verdict)
    }

    @Test func checksGoOnForADay() {
        var tally = ScrubTally(begun: 1000)
        tally.updated = 2000
        #expect(ScrubSchedule.continues(tally, at: 2000, isScheduled: false))
        #expect(ScrubSchedule.continues(tally, at: 2000 + 86_399, isScheduled: false))
        #expect(!ScrubSchedule.continues(tally, at: 2000 + 86_400, isScheduled: false))
        #expect(
            ScrubSchedule.continues(tally, at: 9_000_000, isScheduled: true), "one that runs by itself may take weeks")
        #expect(!ScrubSchedule.continues(tally, at: 999, isScheduled: true), "the clock was set back")
        tally.updated = .min
        #expect(!ScrubSchedule.continues(tally, at: .max, isScheduled: false))
    }

    @Test func checksAreDueByTheirBeginnings() {
        var last = ScrubTally(begun: 1000)
        last.updated = 5000
        func pause(_ last: ScrubTally?, _ underWay: ScrubTally? = nil, at now: Int64) -> Int64 {
            ScrubSchedule.pause(every: 10_000, last: last, underWay: underWay, at: now)
        }
        #expect(pause(nil, at: 0) == 0)
        #expect(pause(last, at: 1000) == 10_000)
        #expect(pause(last, at: 10_999) == 1)
        #expect(pause(last, at: 11_000) == 0)
        #expect(pause(last, at: .max) == 0)
        #expect(pause(last, ScrubTally(begun: 2000), at: 3000) == 0, "one that was ended goes on")
        #expect(pause(last, at: 999) == 0, "the clock was set back")
        #expect(pause(ScrubTally(begun: .min), at: .max) == 0)
    }

    @Test func whatRunsByItselfIsSlow() {
        let second = ScrubSchedule.bytesPerSecond
        #expect(ScrubSchedule.rest(after: second, in: .zero) == .seconds(1))
        #expect(ScrubSchedule.rest(after: second / 2, in: .milliseconds(100)) == .milliseconds(400))
        #expect(ScrubSchedule.rest(after: second, in: .seconds(3)) == .zero)
        #expect(ScrubSchedule.rest(after: 0, in: .zero) == .zero)
    }
}
