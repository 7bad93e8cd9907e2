import AgentContext
import BlockExchange
import Cryptography
import FileAccess
import NIOCore
import NIOPosix
import SyncTestKit
import Testing

@testable import AsyncTools
@testable import Fetching
@testable import SyncDecisions

@Suite struct StagedFetchTests {
    private static let bytes = Array("what is on this disk already".utf8)

    @Test func `a file that has no room beside those that are arriving leaves nothing on the disk`() async throws {
        let directory = try TemporaryTree()
        let root = directory.root
        let environment = FetchEnvironment(
            sessions: { _ in [:] }, linksChanged: { AsyncStream { _ in } }, dialNow: { _ in },
            localBlock: { _, _ in ByteBuffer(bytes: Self.bytes) },
            budget: SharedFetchBudget(limit: 1 << 20),
            threads: NIOThreadPool.singleton, time: .system, settings: BlockScheduler.Settings())
        let free = try root.freeSpace().available
        let block = BlockInfo(offset: 0, size: Int32(Self.bytes.count), hash: SHA256.digest(Self.bytes))
        let fetch = StagedFetch(
            folder: FolderID("f"), file: FileInfo(name: "a", size: Int64(Self.bytes.count), blocks: [block]),
            holders: [],
            target: FetchTarget(root: root, path: try RelativePath(parsing: "a")), environment: environment,
            freeSpaceFloor: free / 4)
        do {
            let other = try root.stage(try RelativePath(parsing: "other"))
            #expect(try other.reserve(free / 8 * 7, in: environment.space) == nil)
            let error = await #expect(throws: FetchError.self) { try await fetch.run { _, _ in } }
            #expect(error.map { if case .noSpace = $0 { true } else { false } } == true)
            #expect(directory.names() == [".syncthing.other.tmp"])
        }
        let staged = try await fetch.run { _, _ in }
        #expect(try staged.read(count: Self.bytes.count, at: 0) == Self.bytes)
        #expect(root.reservedByteCount(in: environment.space) < 4096)
    }
}
