import AgentConfiguration
import AsyncTools
import BlockExchange
import IndexStore
import LinkRules
import LinkSecurity
import Logging
import Synchronization
import Transport

@testable import AgentContext
@testable import Fetching
@testable import FolderSync
@testable import PeerLinks

/// Who is at which address, where a test says so; nobody answers anywhere else.
final class TestDials: Sendable {
    enum Place: Sendable {
        case device(DeviceID)
        case failure(LinkError.Code)
        /// Nothing comes back.
        case silence
    }

    private let places = Mutex<[String: Place]>([:])
    private let dialled = Mutex<[String]>([])

    /// The addresses that were dialled, in order.
    var addresses: [String] { dialled.withLock { $0 } }

    func set(_ places: [String: Place]) { self.places.withLock { $0 = places } }

    func dial(_ address: LinkAddress) async throws -> DeviceID {
        dialled.withLock { $0.append("\(address)") }
        switch places.withLock({ $0["\(address)"] }) ?? .failure(.unreachable) {
        case .device(let id): return id
        case .failure(let code): throw LinkError(code, "scripted", isTransient: true)
        case .silence:
            await Signal().wait()
            throw CancellationError()
        }
    }
}

/// The devices that were to be paused.
final class PauseLog: Sendable {
    private let list = Mutex<[(device: DeviceID, quota: DeviceQuota)]>([])

    /// In order.
    var all: [(device: DeviceID, quota: DeviceQuota)] { list.withLock { $0 } }

    func add(_ device: DeviceID, _ quota: DeviceQuota) { list.withLock { $0.append((device, quota)) } }
}

/// The real sessions of an agent with its peers, without the rest of an agent. Links are handed in; nobody is dialled.
final class AgentLinks: Sendable {
    private let devices: DeviceRegistry
    private let folders: FolderRegistry
    private let executor: (any TaskExecutor)?
    let environment: LinkEnvironment
    /// What dials when others want to know how they are reached.
    let testDials = TestDials()
    private let running: Mutex<[Task<Void, Never>]> = Mutex([])
    let pauses: PauseLog

    /// - Parameters:
    ///   - connections: how many links to a device this one asks for.
    ///   - executor: runs all of it.
    init(
        of id: DeviceID, to peers: [DeviceID], connections: Int = 1, index: IndexStore, folders: FolderRegistry,
        devices: DeviceRegistry, transfers: TransferRegistry, downloads: DownloadBoard = DownloadBoard(),
        events: EventHub, time: AgentTime, executor: (any TaskExecutor)? = nil, logger: Logger
    ) {
        self.devices = devices
        self.folders = folders
        self.executor = executor
        let pauses = PauseLog()
        self.pauses = pauses
        let environment = LinkEnvironment(
            localDevice: id, deviceName: { "\(id.shortID)" }, knownDevices: { [] },
            dial: { _, _, _ in throw CancellationError() }, found: { _, _ in [:] },
            foundPause: { _ in .seconds(3600) }, expect: { _ in }, dialPolicy: { DialPolicy() },
            networks: { MachineNetworks() },
            dialBudget: SharedDialBudget(), connections: { connections }, folders: folders,
            linkChanged: { devices.linkChanged() }, index: index, transfers: transfers, events: events, time: time,
            partials: PartialBlocks(), downloads: downloads, serveDrop: { _, _ in BlockAnswer(.noSuchFile) },
            slowLinkPolicy: { _, _ in nil }, held: { HeldTransfers() }, limits: { _, _ in nil },
            dialTest: { [testDials] address, _, _ in try await testDials.dial(address) }, heard: { _, _, _ in },
            pause: { pauses.add($0, $1) }, distrust: { _, _ in }, logger: logger)
        self.environment = environment
        for peer in peers {
            let device = DeviceSession(
                DeviceConfiguration(id: peer, name: "\(peer.shortID)", addresses: []), lastSeen: nil,
                environment: environment)
            devices.insert(device)
            start { await device.run() }
        }
    }

    func device(_ id: DeviceID) -> DeviceSession? { devices.device(id) }

    /// Serves a link until it ends.
    func serve(_ link: SecureLink) {
        guard let device = devices.device(link.peer) else { return }
        start { await device.serve(link) }
    }

    /// Runs something until it ends, or the agent does.
    func start(_ body: @escaping @Sendable () async -> Void) {
        running.withLock { $0.append(Task(executorPreference: executor) { await body() }) }
    }

    /// Changes a folder's settings as a change of the configuration does.
    func configure(_ folder: Folder, _ configuration: FolderConfiguration) async {
        let before = folder.configuration.devices
        folder.configure(configuration)
        for id in Set(before).union(configuration.devices).sorted() { await device(id)?.announceFolders() }
        devices.linkChanged()
    }

    /// Forgets a device, and ends its links.
    func remove(_ id: DeviceID) async { await devices.remove(id)?.stop() }

    /// Lets all that runs end; the links break without a word of farewell.
    func cancel() {
        for task in running.withLock({ $0 }) { task.cancel() }
    }

    /// Returns when all that was started has ended.
    func end() async {
        let tasks = running.withLock { running in
            defer { running = [] }
            return running
        }
        for task in tasks { await task.value }
        // They and the registries hold each other.
        for device in devices.all { _ = devices.remove(device.id) }
        for folder in folders.all { _ = folders.remove(folder.id) }
    }
}
