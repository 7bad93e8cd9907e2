import AgentConfiguration
import AgentContext
import BlockExchange
import Cryptography
import IndexStore
import Logging
import NIOCore
import NIOPosix
import SyncTestKit
import Synchronization
import Testing
import Transport

@testable import AsyncTools
@testable import Fetching
@testable import FolderSync
@testable import SyncAgent
@testable import SyncDecisions

/// Reading one version of a file that is not here, in many places at once.
@Suite(.timeLimit(.minutes(1))) struct VersionReaderTests {
    private static let id = FolderID("films")
    private static let nas = DeviceID(certificateDER: [1])

    /// Has all blocks of a file, and answers nothing until it has been asked for as many of them as are wanted, or is released.
    private final class Holder: BlockSource {
        let kind = LinkKind.tcp
        let route = LinkRoute.localNetwork
        let isOpen = true
        let released = Latch()
        let file: FileInfo
        private let wantedCount: Int
        private let asked = Mutex<Set<Int64>>([])

        init(blockCount: Int, wantedCount: Int) {
            self.wantedCount = wantedCount
            // Blocks that are said to be so large that each is a place of its own.
            file = FileInfo(
                name: "a", size: Int64(blockCount * 4), blockSize: 1 << 20,
                blocks: (0..<blockCount).map {
                    BlockInfo(offset: Int64($0 * 4), size: 4, hash: SHA256.digest(Self.content($0)))
                })
        }

        static func content(_ block: Int) -> [UInt8] { [UInt8](repeating: UInt8(truncatingIfNeeded: block), count: 4) }

        func request(_ request: BlockRequest, isBulk: Bool) async throws -> ByteBuffer {
            let count = asked.withLock { asked in
                asked.insert(request.offset)
                return asked.count
            }
            if count >= wantedCount { released.open() }
            await released.wait(atMost: .seconds(3600), clock: ContinuousClock())
            try Task.checkCancellation()
            return ByteBuffer(bytes: Self.content(Int(request.offset / 4)))
        }
    }

    /// - Parameters:
    ///   - local: the block that this disk has; nil for none.
    ///   - succeeded: is called as the gate's is.
    private static func reader(
        of holder: Holder, local: Int? = nil, succeeded: @escaping @Sendable () -> Void = {}
    ) async throws -> VersionReader {
        let (tree, home) = (try TemporaryTree(), try TemporaryDirectory())
        let index = try IndexStore.open(path: home.path + "/index.sqlite")
        let folder = FolderSync.Folder(
            idle: FolderConfiguration(id: id, path: tree.root.path, mode: .selective, devices: [nas]),
            of: DeviceID(certificateDER: [9]), index: index)
        let environment = FetchEnvironment(
            sessions: { _ in [nas: holder] }, linksChanged: { AsyncStream { _ in } }, dialNow: { _ in },
            localBlock: { block, _ in
                local.flatMap { block.offset == Int64($0 * 4) ? ByteBuffer(bytes: Holder.content($0)) : nil }
            }, budget: SharedFetchBudget(limit: 1 << 20), threads: NIOThreadPool.singleton,
            time: .system, settings: BlockScheduler.Settings(minimumPatience: .seconds(3600)))
        let pending = PendingRegistry(
            index: index, ignored: { Configuration.Ignored() }, isKnown: { _ in true },
            events: EventHub(wall: { WallTime(seconds: 0) }), time: .system,
            logger: Logger(label: "mount", factory: { _ in SwiftLogNoOpLogHandler() }))
        let entries = EntrySource(
            finder: FolderFinder(folders: FolderRegistry(pending: pending)), index: index, fetching: environment,
            transfers: TransferRegistry(now: AgentTime.system.monotonic))
        let cache = try BlockCache(directory: home.path + "/blocks", byteLimit: 1 << 20)
        let recent = RecentBlocks()
        return VersionReader(
            folder: id, file: holder.file, version: 1, environment: environment, patience: .seconds(3600),
            holders: { [nas] }, recent: recent,
            ahead: SmallFilesAhead(
                listing: MountListing(entries: entries, folder: folder), cache: cache, recent: recent),
            cache: cache, transfers: entries.transfers,
            breaker: VersionReader.Gate(
                objection: { _, _, _ in nil }, failed: { _, _, _ in }, succeeded: { _ in succeeded() }),
            allowance: ReadAllowance(isSpent: { false }, spend: { _ in }))
    }

    /// No read ends for another one, though more wait at once than streams are kept. Once nobody waits, the rest of them end with the
    /// next that begins.
    @Test func asManyPlacesAreReadAtOnceAsAreWaitedFor() async throws {
        let places = Array(stride(from: 0, to: 36, by: 3))
        let holder = Holder(blockCount: 40, wantedCount: places.count)
        let reader = try await Self.reader(of: holder)
        let read = await withTaskGroup(of: (Int, Result<[UInt8], any Error>).self) { group in
            for place in places {
                group.addTask {
                    do {
                        return (place, .success(try await reader.read(Int64(place * 4), 4)))
                    } catch {
                        holder.released.open()
                        return (place, .failure(error))
                    }
                }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        for place in places { #expect(try read[place]?.get() == Holder.content(place)) }
        _ = try await reader.read(38 * 4, 4)
        #expect(await reader.streamCount <= VersionReader.streamLimit)
        await reader.end()
    }

    /// Who waited for devices in vain does so again only once one of them has sent something: what is on this disk is no sign of that.
    @Test func onlyWhatADeviceSendsSaysThatReadsSucceed() async throws {
        let holder = Holder(blockCount: 10, wantedCount: 1)
        let count = Mutex(0)
        let reader = try await Self.reader(of: holder, local: 2) { count.withLock { $0 += 1 } }
        #expect(try await reader.read(2 * 4, 4) == Holder.content(2))
        #expect(count.withLock { $0 } == 0)
        #expect(try await reader.read(6 * 4, 4) == Holder.content(6))
        #expect(count.withLock { $0 } == 1)
        await reader.end()
    }
}
