import AgentConfiguration
import BlockExchange
import Cryptography
import FileAccess
import Foundation
import IndexStore
import Logging
import NIOCore
import NIOPosix
import Selection
import SyncTestKit
import Synchronization

@testable import SyncAgent

/// One device: its disk, which outlives its processes, and the process that runs on it, if one does.
final class SimulatedAgent: Sendable {
    struct Process: Sendable {
        let index: IndexStore
        let session: FolderSession
        let engine: FolderEngine
    }

    private struct State {
        var process: Process?
        /// What runs in the process now; it ends with it.
        var step: Task<Void, Never>?
        var skew: Int64
        var selection: Selection?
    }

    static let folder = FolderID("simulated")

    let number: Int
    let id: DeviceID
    let files: UserFiles
    let disk: FaultyDisk
    private let home: String
    private let indexID: IndexID
    private let time: VirtualTime
    private let trace: Trace
    private let state: Mutex<State>

    init(number: Int, seed: UInt64, home: String, time: VirtualTime, skew: Int64, trace: Trace) throws {
        self.number = number
        self.home = home
        self.time = time
        self.trace = trace
        var generator = SeededGenerator(seed: seed)
        id = DeviceID(digest: SHA256.digest(generator.bytes(32)))
        indexID = IndexID(rawValue: generator.next() | 1)
        for name in ["root/.stfolder", "trash", "cache"] {
            try FileManager.default.createDirectory(atPath: "\(home)/\(name)", withIntermediateDirectories: true)
        }
        files = UserFiles(root: "\(home)/root")
        let state = Weak()
        disk = FaultyDisk(
            root: "\(home)/root", trash: "\(home)/trash", seed: generator.next(),
            note: { trace.noteDisk(number, $0) }, check: { state.agent?.check($0, isFilled: $1) },
            died: { state.agent?.cancelStep() })
        self.state = Mutex(State(skew: skew, selection: nil))
        state.set(self)
    }

    /// Lets the disk know its agent, which knows the disk.
    private final class Weak: Sendable {
        private let reference = Mutex<Reference>(Reference())
        private struct Reference { weak var agent: SimulatedAgent? }
        var agent: SimulatedAgent? { reference.withLock { $0.agent } }
        func set(_ agent: SimulatedAgent) { reference.withLock { $0.agent = agent } }
    }

    var process: Process? { state.withLock { $0.process } }
    var isUp: Bool { process != nil }
    var wall: WallTime { time.wall(skew: state.withLock { $0.skew }) }
    func skewClock(by seconds: Int64) { state.withLock { $0.skew += seconds } }

    // MARK: the process

    /// Starts a process on what is on the disk.
    func start(_ environment: FetchEnvironment, rules: FolderConfiguration) async throws {
        var logger = Logger(label: "simulation", factory: { _ in SwiftLogNoOpLogHandler() })
        logger.logLevel = .critical
        let index = try IndexStore.open(path: "\(home)/index.sqlite", cacheBytes: 1 << 20)
        try await index.addFolder(Self.folder, newIndexID: indexID)
        let agentTime = self.agentTime
        let events = EventHub(wall: agentTime.wall)
        var configuration = rules
        configuration.path = files.root
        let session = FolderSession(
            configuration, index: index, threads: environment.threads, events: events, logger: logger,
            interposer: disk)
        let registry = FolderRegistry(
            pending: PendingRegistry(index: index, events: events, time: agentTime, logger: logger), logger: logger)
        registry.insert(session)
        let local = LocalBlocks(
            cache: try BlockCache(directory: "\(home)/cache", byteLimit: 0), index: index, folders: registry,
            threads: environment.threads)
        var fetching = environment
        fetching.localBlock = { await local.block($0) }
        let engine = FolderEngine(
            session,
            FolderEngineEnvironment(
                localDevice: id, index: index, fetching: fetching, transfers: TransferRegistry(), events: events,
                watchProgram: nil, hashingWorkers: 0, filesAtOnce: 1, time: agentTime,
                // No reading is ever so soon after a change that the disk's clock could not tell.
                diskTime: {
                    let now = WallTime.now
                    return FileTime(seconds: now.seconds + 60, nanoseconds: now.nanoseconds)
                }, logger: logger))
        session.engine = engine
        state.withLock { $0.process = Process(index: index, session: session, engine: engine) }
        selectionChanged()
    }

    var agentTime: AgentTime {
        AgentTime(
            clock: VirtualClock(time: time), monotonic: { [time] in time.now },
            wall: { [weak self] in self?.wall ?? WallTime(seconds: 0) }, random: { 0.5 })
    }

    /// Lets go of the process, as it is.
    func drop() {
        let process = state.withLock { state in
            defer { state.process = nil }
            return state.process
        }
        process?.session.engine = nil
    }

    /// Runs one thing in the process, which may die in it; its calls on the disk fail from then on, and its transactions
    /// are cancelled.
    func run(_ body: @escaping @Sendable (Process) async -> Void) async {
        guard let process else { return }
        let gate = Signal()
        let step = Task {
            await gate.wait()
            await body(process)
        }
        state.withLock { $0.step = step }
        gate.notify()
        await step.value
        state.withLock { $0.step = nil }
    }

    private func cancelStep() { state.withLock { $0.step }?.cancel() }

    // MARK: what it keeps

    /// What the ignore file says now; nil if it is broken.
    var selection: Selection? { state.withLock { $0.selection } }

    /// The ignore file was written.
    func selectionChanged() {
        let text = files.read(".stignore").map { String(decoding: $0, as: UTF8.self) } ?? ""
        let selection = try? Selection(parsing: text)
        state.withLock { $0.selection = selection }
    }

    /// The agent fills or empties a name.
    private func check(_ name: String, isFilled: Bool) {
        guard let path = RelativePath(name), !path.isInternal, !path.isTemporary else { return }
        // The loser of a conflict is kept beside the winner, selected or not.
        if isFilled, name.contains(".sync-conflict-") { return }
        guard selection?.isLeftOut(name) ?? true else { return }
        trace.violate("agent \(number) \(isFilled ? "filled" : "emptied") \(name), which is not selected")
    }
}

extension Trace {
    /// A change of a disk; what only makes things durable is none.
    func noteDisk(_ agent: Int, _ words: String) {
        if words.hasPrefix("fsync") || words == "syncfs" {
            note("    \(agent): \(words)")
        } else {
            noteChange("    \(agent): \(words)")
        }
    }
}
