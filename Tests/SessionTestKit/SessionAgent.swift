import AgentConfiguration
import BlockExchange
import Cryptography
import FileAccess
import Foundation
import IndexStore
import LinkSecurity
import Logging
import NIOCore
import NIOPosix
import SyncTestKit
import Synchronization

@testable import AgentContext
@testable import AsyncTools
@testable import Fetching
@testable import FolderSync
@testable import PeerLinks
@testable import SyncDecisions

/// An agent's folder and its sessions with other devices, on a disk of its own, with links in memory and a clock that its test
/// moves.
final class SessionAgent: Sendable {
    static let folder = FolderID("docs")

    let id: DeviceID
    /// Outlives the agent; whoever makes the first one removes it.
    let home: String
    let index: IndexStore
    let folder: FolderSync.Folder
    let fetching: FetchEnvironment
    let transfers: TransferRegistry
    private let links: AgentLinks
    var environment: LinkEnvironment { links.environment }
    var testDials: TestDials { links.testDials }
    /// The devices that were to be paused, in order.
    var pauses: [(device: DeviceID, quota: DeviceQuota)] { links.pauses.all }

    /// Starts on what is in `home`.
    ///
    /// - Parameters:
    ///   - connections: how many links to a device it asks for.
    ///   - quota: of what other devices may have stored.
    ///   - executor: runs all of it; nil for the threads that an agent has.
    init(
        _ id: DeviceID, home: String, peers: [DeviceID], connections: Int = 1, quota: IndexStore.Quota = .init(),
        clock: ManualClock, executor: SerialTaskExecutor? = nil,
        _ change: (inout FolderConfiguration) -> Void = { _ in }
    ) async throws {
        self.id = id
        self.home = home
        try FileManager.default.createDirectory(atPath: "\(home)/files/.stfolder", withIntermediateDirectories: true)
        let time = AgentTime(
            clock: clock, monotonic: { clock.now.offset }, wall: { WallTime(seconds: 1_800_000_000) }, random: { 0.5 })
        let logger = Logger(label: "session", factory: { _ in SwiftLogNoOpLogHandler() })
        let index = try IndexStore.open(path: "\(home)/index.sqlite", quota: quota, blocksCaller: executor != nil)
        self.index = index
        try await index.addFolder(Self.folder, newIndexID: IndexID(rawValue: SecureRandom.uint64() | 1))
        let events = EventHub(wall: time.wall)
        let folders = FolderRegistry(
            pending: PendingRegistry(index: index, ignored: { .init() }, events: events, time: time, logger: logger))
        let devices = DeviceRegistry()
        let transfers = TransferRegistry(now: time.monotonic)
        self.transfers = transfers
        let downloads = SharedDownloads(board: DownloadBoard(), localDevice: id, folders: folders, index: index)
        fetching = FetchEnvironment(
            sessions: { devices.sources($0) }, linksChanged: { devices.linkChanges() }, dialNow: { _ in },
            localBlock: { _, _ in nil }, blocksHere: { _, _ in [] }, budget: SharedFetchBudget(limit: 1 << 24),
            threads: executor == nil ? NIOThreadPool.singleton : CallingThread(), time: time,
            settings: BlockScheduler.Settings(), downloads: downloads)
        let tools = FolderTools(
            localDevice: id, fetching: fetching, transfers: transfers, hashingWorkers: 0, time: time,
            // No reading is so soon after a change that the disk's clock could not tell.
            diskTime: {
                let now = WallTime.now
                return FileTime(seconds: now.seconds + 60, nanoseconds: now.nanoseconds)
            }, logger: logger)
        var configuration = FolderConfiguration(
            id: Self.folder, path: "\(home)/files", mode: .full, devices: peers)
        change(&configuration)
        let folder = FolderSync.Folder(configuration, index: index, tools: tools, events: events, watchProgram: nil)
        self.folder = folder
        folders.insert(folder)
        links = AgentLinks(
            of: id, to: peers, connections: connections, index: index, folders: folders, devices: devices,
            transfers: transfers, downloads: downloads.board, events: events, time: time, executor: executor,
            logger: logger)
        links.start { await folder.runner.run() }
    }

    /// Ends all that runs; the disk stays as it is.
    func stop() async throws {
        links.cancel()
        await links.end()
        try index.close()
    }

    // MARK: links

    func device(_ id: DeviceID) -> DeviceSession? { links.device(id) }
    func session(_ id: DeviceID) -> PeerSession? { links.device(id)?.session }

    /// Serves a link until it ends.
    func serve(_ link: SecureLink) { links.serve(link) }

    /// Changes the folder's settings as a change of the configuration does.
    func configure(_ change: (inout FolderConfiguration) -> Void) async {
        var configuration = folder.configuration
        change(&configuration)
        await links.configure(folder, configuration)
    }

    // MARK: disk and index

    func path(_ name: String) -> String { "\(home)/files/\(name)" }

    /// Writes a file and has the folder scanned.
    func write(_ bytes: [UInt8], to name: String) throws {
        let path = path(name)
        try FileManager.default.createDirectory(
            atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        folder.boards.inbox.scanEverything()
    }

    func read(_ name: String) -> [UInt8]? { FileManager.default.contents(atPath: path(name)).map { Array($0) } }

    /// The names in the folder's directory, but for those of the agent.
    var names: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: "\(home)/files")) ?? []).filter { $0 != ".stfolder" }
            .sorted()
    }

    /// The version that this device says it has of a name.
    func version(_ name: String) async throws -> VersionVector? {
        guard let local = try await index.local(Self.folder, name), !local.file.isInvalid else { return nil }
        return local.file.version
    }

    /// The version that this device knows another to have of a name, if that one can serve it.
    func version(_ name: String, of device: DeviceID) async throws -> VersionVector? {
        guard let global = try await index.global(Self.folder, name), global.holders.contains(device) else {
            return nil
        }
        return global.file?.version
    }

    /// How far another device's index is known here, and how far it goes there.
    func isCurrent(of other: SessionAgent) async throws -> Bool {
        guard let known = try await index.remoteIndex(of: Self.folder, device: other.id) else { return false }
        let own = try await other.index.localIndex(of: Self.folder)
        let last = try await other.index.lastAnnounced(of: Self.folder)
        return known.indexID == own.indexID && known.maxSequence == last
    }
}
