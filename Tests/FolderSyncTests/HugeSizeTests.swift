import BlockExchange
import ControlAPI
import SyncTestKit
import Testing

@testable import AgentContext
@testable import Fetching
@testable import FolderSync

/// Any device may list files of up to 8 EiB each: their sums end at the greatest number there is.
@Suite struct HugeSizeTests {
    @Test func waitingFilesAreSummed() {
        var waiting: FolderStatusBoard.Waiting?
        for _ in 0..<3 { FolderStatusBoard.Waiting.add(.max, .slowLink(.off), to: &waiting) }
        #expect(waiting?.files == 3 && waiting?.bytes == .max)
    }

    @Test func freedFilesAreSummed() {
        var outcome = FreeingOutcome()
        let name = StayingName(path: "f", size: .max, reason: "no-other-copy", message: "m")
        for _ in 0..<2 {
            outcome.noteFreed("f", size: .max)
            outcome.noteGivenUp(name)
            outcome.noteStaying(name)
        }
        #expect([outcome.freedFiles, outcome.givenUpFiles, outcome.stayingFiles] == [2, 2, 2])
        #expect([outcome.freedBytes, outcome.givenUpBytes, outcome.stayingBytes] == [.max, .max, .max])
        #expect([outcome.freed.count, outcome.givenUp.count, outcome.staying.count] == [2, 2, 2])
    }

    @Test func resolvedFilesAreSummed() {
        var outcome = ResolutionOutcome(folder: "f", action: .delete, isDryRun: true)
        for _ in 0..<2 {
            outcome.note("f", size: .max)
            outcome.noteLost(StayingName(path: "f", size: .max, reason: "no-other-copy", message: "m"))
        }
        #expect([outcome.files, outcome.lostFiles] == [2, 2])
        #expect([outcome.bytes, outcome.lostBytes] == [.max, .max])
        #expect(outcome.names == ["f", "f"] && outcome.lost.count == 2)
    }

    /// Bytes that are there already count at once, however many they are.
    @Test func fetchedFilesAreSummed() {
        let progress = FetchProgress()
        for second in [0.0, 1, 2] { _ = progress.add(.max, from: nil, at: .seconds(second)) }
        let report = progress.add(.max, from: nil, at: .nanoseconds(2_100_000_001))
        #expect(report?.bytesDone == .max)
        let soon = FetchProgress()
        _ = soon.add(0, from: nil, at: .zero)
        #expect(soon.add(.max, from: nil, at: .milliseconds(100))?.bytesPerSecond == .max)

        let registry = TransferRegistry(now: { .zero })
        let transfer = registry.begin(folder: FolderID("f"), path: "film", bytesTotal: .max)
        for _ in 0..<2 { registry.progressed(transfer, by: .max, from: nil) }
        #expect(registry.list { _ in nil }.transfers.map(\.fileBytesDone) == [.max])
    }

    /// A damaged index may list negative sizes. Files of such a size are not small ones.
    @Test func filesAreCollectedBySize() {
        func portions(_ sizes: [Int64]) -> [[Int]] {
            FileStaging.portions(
                of: sizes.map { .init(file: FileInfo(name: "f", size: $0), holders: [], replacement: .nothing) })
        }
        let limit = SmallFileFetch.byteLimit
        #expect(portions([0, 1, limit]) == [[0, 1, 2]])
        #expect(portions([1, limit + 1, 1, .max]) == [[1], [3], [0, 2]])
        #expect(portions([.min, .min, -1, 1]) == [[0], [1], [2], [3]])
    }
}
