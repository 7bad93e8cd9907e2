import AgentConfiguration
import BlockExchange
import Cryptography
import FileAccess
import Foundation
import IndexStore
import LinkRules
import LinkSecurity
import Logging
import NIOCore
import NIOPosix
import SyncTestKit
import Synchronization
import Testing
import Transport

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
    let environment: LinkEnvironment
    private let devices: DeviceRegistry
    private let running: Mutex<[Task<Void, Never>]> = Mutex([])

    /// Starts on what is in `home`.
    init(
        _ id: DeviceID, home: String, peers: [DeviceID], clock: ManualClock,
        _ change: (inout FolderConfiguration) -> Void = { _ in }
    ) async throws {
        self.id = id
        self.home = home
        try FileManager.default.createDirectory(atPath: "\(home)/files/.stfolder", withIntermediateDirectories: true)
        let time = AgentTime(
            clock: clock, monotonic: { clock.now.offset }, wall: { WallTime(seconds: 1_800_000_000) }, random: { 0.5 })
        let logger = Logger(label: "session", factory: { _ in SwiftLogNoOpLogHandler() })
        let index = try IndexStore.open(path: "\(home)/index.sqlite")
        self.index = index
        try await index.addFolder(Self.folder, newIndexID: IndexID(rawValue: SecureRandom.uint64() | 1))
        let events = EventHub(wall: time.wall)
        let folders = FolderRegistry(
            pending: PendingRegistry(index: index, ignored: { .init() }, events: events, time: time, logger: logger))
        let devices = DeviceRegistry()
        self.devices = devices
        let transfers = TransferRegistry(now: time.monotonic)
        self.transfers = transfers
        fetching = FetchEnvironment(
            sessions: { devices.sources($0) }, linksChanged: { devices.linkChanges() }, dialNow: { _ in },
            localBlock: { _ in nil }, blocksHere: { _ in [] }, budget: Budget(limit: 1 << 24),
            threads: NIOThreadPool.singleton, time: time, settings: BlockScheduler.Settings())
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
        let environment = LinkEnvironment(
            localDevice: id, deviceName: { "\(id.shortID)" }, knownDevices: { [] },
            dial: { _, _, _ in throw CancellationError() },
            found: { _, _ in [:] }, foundPause: { _ in .seconds(3600) }, dialPolicy: { DialPolicy() },
            networks: { MachineNetworks() },
            dialBudget: SharedDialBudget(), connections: { 1 }, folders: folders,
            linkChanged: { [devices] in devices.linkChanged() },
            index: index, transfers: transfers,
            events: events, time: time, partials: PartialBlocks(), serveDrop: { _, _ in BlockAnswer(.noSuchFile) },
            slowLinkPolicy: { _, _ in nil }, held: { HeldTransfers() }, limits: { _, _ in nil }, heard: { _, _, _ in },
            distrust: { _, _ in }, logger: logger)
        self.environment = environment
        for peer in peers {
            devices.insert(
                DeviceSession(
                    DeviceConfiguration(id: peer, name: "\(peer.shortID)", addresses: []), lastSeen: nil,
                    environment: environment))
        }
        run { await folder.runner.run() }
    }

    /// Ends all that runs; the disk stays as it is.
    func stop() async throws {
        let tasks = running.withLock { running in
            defer { running = [] }
            return running
        }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
        try index.close()
    }

    private func run(_ body: @escaping @Sendable () async -> Void) {
        running.withLock { $0.append(Task { await body() }) }
    }

    // MARK: links

    func device(_ id: DeviceID) -> DeviceSession? { devices.device(id) }
    func session(_ id: DeviceID) -> PeerSession? { devices.device(id)?.session }

    /// Serves a link until it ends.
    func serve(_ link: SecureLink) {
        guard let device = devices.device(link.peer) else { return }
        run { await device.serve(link) }
    }

    /// Changes the folder's settings as a change of the configuration does.
    func configure(_ change: (inout FolderConfiguration) -> Void) async {
        var configuration = folder.configuration
        let before = configuration.devices
        change(&configuration)
        folder.configure(configuration)
        for id in Set(before).union(configuration.devices) { await device(id)?.announceFolders() }
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

/// What tests of sessions begin with.
final class SessionScene: Sendable {
    let clock = ManualClock()
    let home = FileManager.default.temporaryDirectory.appending(path: "sessions-\(UUID().uuidString)").path
    let ids = (0..<3).map { DeviceID(digest: SHA256.digest([UInt8($0)])) }
    private let agents = Mutex<[Int: SessionAgent]>([:])

    deinit { try? FileManager.default.removeItem(atPath: home) }

    /// Runs a test with agents that share a folder, and ends them.
    static func run(
        _ count: Int = 2, _ change: (inout FolderConfiguration, _ agent: Int) -> Void = { _, _ in },
        _ body: (SessionScene) async throws -> Void
    ) async throws {
        let scene = SessionScene()
        for number in 0..<count { try await scene.start(number) { change(&$0, number) } }
        do {
            try await body(scene)
        } catch {
            await scene.stop()
            throw error
        }
        await scene.stop()
    }

    subscript(number: Int) -> SessionAgent {
        guard let agent = agents.withLock({ $0[number] }) else { preconditionFailure("no agent \(number)") }
        return agent
    }

    @discardableResult
    func start(_ number: Int, _ change: (inout FolderConfiguration) -> Void = { _ in }) async throws -> SessionAgent {
        let agent = try await SessionAgent(
            ids[number], home: "\(home)/\(number)", peers: ids.filter { $0 != ids[number] }, clock: clock, change)
        agents.withLock { $0[number] = agent }
        return agent
    }

    func stop(_ number: Int) async throws {
        let agent = agents.withLock { $0.removeValue(forKey: number) }
        try await agent?.stop()
    }

    private func stop() async {
        for number in agents.withLock({ Array($0.keys) }) { try? await stop(number) }
    }

    /// Connects two agents by a wire; the first one has dialled.
    @discardableResult
    func connect(
        _ dialler: Int = 0, _ answerer: Int = 1, kind: LinkKind = .tcp, over wire: MemoryWire = MemoryWire()
    ) async throws -> MemoryWire {
        let (first, second) = (self[dialler], self[answerer])
        let links = [
            try await wire.link(.dialler, to: second.id, kind: kind),
            try await wire.link(.answerer, to: first.id, kind: kind),
        ]
        first.serve(links[0])
        second.serve(links[1])
        return wire
    }

    /// Connects an agent to a peer that says whatever the test has it say.
    func peer(of agent: Int = 0, as number: Int = 1, over wire: MemoryWire = MemoryWire()) async throws -> ScriptedPeer
    {
        let peer = ScriptedPeer(ids[number], of: ids[agent], wire: wire)
        self[agent].serve(try await wire.link(.answerer, to: ids[number]))
        return peer
    }

    /// Lets everything go on until something is so. Pauses of up to a second are over at once; longer ones never are.
    func until(sourceLocation: SourceLocation = #_sourceLocation, _ condition: () async throws -> Bool) async throws {
        while try await !condition() {
            if Task.isCancelled { Issue.record("This never came to be.", sourceLocation: sourceLocation) }
            try Task.checkCancellation()
            clock.advance(within: .seconds(1))
            await Task.yield()
        }
    }

    /// Both agents have the files, on disk and in their indexes, and know that of each other.
    func haveBoth(_ files: [String: [UInt8]]) async throws -> Bool {
        let (first, second) = (self[0], self[1])
        for (name, bytes) in files {
            guard second.read(name) == bytes, first.read(name) == bytes, let version = try await first.version(name)
            else { return false }
            guard try await second.version(name) == version else { return false }
        }
        guard try await first.isCurrent(of: second) else { return false }
        return try await second.isCurrent(of: first)
    }
}

/// A peer at the other end of a wire that says what a test has it say, true or not.
final class ScriptedPeer: Sendable {
    private struct State {
        var machine: ConnectionMachine
        var events: [ConnectionEvent] = []
        var hasEnded = false
    }

    let id: DeviceID
    let agent: DeviceID
    private let wire: MemoryWire
    private let state: Mutex<State>

    /// It is the one that dialled.
    init(_ id: DeviceID, of agent: DeviceID, wire: MemoryWire) {
        self.id = id
        self.agent = agent
        self.wire = wire
        state = Mutex(State(machine: ConnectionMachine(compression: .never, now: .zero)))
        wire.attach(.dialler) { bytes in
            self.state.withLock { state in
                state.machine.receive(bytes, at: .zero)
                while let event = try? state.machine.nextEvent() { state.events.append(event) }
            }
        } close: {
            self.state.withLock { $0.hasEnded = true }
        }
    }

    /// What the agent has said.
    var events: [ConnectionEvent] { state.withLock { $0.events } }
    var hasEnded: Bool { state.withLock { $0.hasEnded } }

    /// The reason that the agent gave for ending the link.
    var closeReason: String? {
        for case .closed(let reason) in events { return reason }
        return nil
    }

    var requests: [(id: Int32, request: BlockRequest)] {
        events.compactMap { if case .request(let id, let request) = $0 { (id, request) } else { nil } }
    }

    func sayHello(client: String = "syncthing") {
        let bytes = state.withLock { state in
            state.machine.start(Hello(deviceName: "peer", clientName: client, clientVersion: "v1.27.0"), at: .zero)
        }
        wire.send(bytes, from: .dialler)
    }

    func say(_ message: OutgoingMessage) {
        wire.send(state.withLock { $0.machine.send(message, at: .zero) }, from: .dialler)
    }

    func ask(_ request: BlockRequest) {
        wire.send(state.withLock { $0.machine.request(request, at: .zero).bytes }, from: .dialler)
    }

    /// Bytes that may be no message.
    func say(bytes: [UInt8]) { wire.send(raw: ByteBuffer(bytes: bytes), from: .dialler) }

    /// What it shares: its index of the folder, and what it knows of the agent's.
    func config(
        _ folder: FolderID = SessionAgent.folder, has: Int64, id indexID: IndexID = IndexID(rawValue: 77)
    ) -> ClusterConfig {
        ClusterConfig(folders: [
            ClusterConfig.Folder(
                id: folder,
                devices: [
                    ClusterConfig.Device(id: agent),
                    ClusterConfig.Device(id: id, maxSequence: has, indexID: indexID),
                ])
        ])
    }
}
