import FileAccess
import SyncTestKit
import Synchronization
import Testing

@testable import FolderScanner

@Suite struct FindingQueueTests {
    /// A sparse file may be as long as numbers go.
    @Test(arguments: [10, .max / 2 + 1, .max] as [Int64])
    func filesOfAnyLengthFollowEachOther(length: Int64) async throws {
        let tree = try TemporaryTree()
        let names = ["a", "b", "c"]
        for name in names { try tree.write(name, to: name) }
        let threads = BlockingThreads(count: 0, bufferByteCount: FileReading.bufferByteCount)
        let found = Mutex<[String]>([])
        let queue = FindingQueue(threads: threads, options: ScanOptions(), checkRoot: {}) { batch in
            found.withLock { $0 += batch.findings.map(\.name) }
        }
        let directory = try tree.root.directory(nil)
        for entry in try directory.list().sorted(by: { $0.nameBytes.lexicographicallyPrecedes($1.nameBytes) }) {
            let seen = try tree.status(try #require(entry.name))
            let status = FileStatus(
                type: .regular, size: length, modified: seen.modified, inode: seen.inode, device: seen.device,
                permissions: seen.permissions, linkCount: seen.linkCount, changed: seen.changed)
            let reading = FileReading(
                name: try #require(entry.name), entry: entry, in: directory, status: status, previousBlockSize: 0,
                now: { FileTime(seconds: 0) }, cancellation: Cancellation())
            try await queue.append(reading, known: nil, canCompare: false)
        }
        try await queue.finish()
        #expect(found.withLock { $0 } == names)
        #expect(queue.report.filesHashed == 3)
    }
}
