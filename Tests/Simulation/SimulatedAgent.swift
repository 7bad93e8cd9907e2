import AgentConfiguration
import BlockExchange
import Cryptography
import FileAccess
import Foundation
import IndexStore
import Logging
import NIOCore
import Names
import Selection
import SyncTestKit
import Synchronization

@testable import AgentContext
@testable import AsyncTools
@testable import Fetching
@testable import FolderSync
@testable import PeerLinks
@testable import SessionTestKit
@testable import SyncDecisions

/// One device: its disk, which outlives its processes, and the process that runs on it, if one does.
final class SimulatedAgent: Sendable {
    struct Process: Sendable {
        let index: IndexStore
        let folder: Folder
        let links: AgentLinks
    }

    private struct State {
        var restoredIndexes: UInt64 = 0
        var process: Process?
        /// What runs in the process now; it ends with it.
        var step: Task<Void, Never>?
        /// The ends of wires that processes have had.
        var wires: [(wire: MemoryWire, side: MemoryWire.Side)] = []
        var skew: Int64
        var selection: Selection?
        /// The one that its index is in line with.
        var appliedSelection: Selection?
        var lostClaims: [String] = []
        var losses: [Loss] = []
        var interruption: (@Sendable (String) -> Void)?
        var isFreeing = false
        /// The names that it has emptied for that.
        var emptied: Set<String> = []
        var groupsBefore: [FileGroup: [NameKey: VersionVector]]?
        var filled: Set<String> = []
        /// What a process that died has filled, until the next one has settled its groups.
        var leftBehind: Set<String> = []
        /// What the step that runs is writing, under the names of the directories that its user has renamed meanwhile.
        var movedAlong: Set<String> = []
    }

    static let folder = FolderID("simulated")

    let number: Int
    let id: DeviceID
    let files: UserFiles
    let disk: FaultyDisk
    private let home: String
    private let indexID: IndexID
    private let time: VirtualTime
    private let executor: SerialTaskExecutor
    private let trace: Trace
    private let state: Mutex<State>

    /// - Parameters:
    ///   - folding: which names its disk takes for one; nil for an ordinary disk.
    ///   - executor: runs its processes.
    init(
        number: Int, seed: UInt64, home: String, folding: FoldedNames?, time: VirtualTime, skew: Int64,
        executor: SerialTaskExecutor, trace: Trace
    ) throws {
        self.number = number
        self.home = home
        self.time = time
        self.executor = executor
        self.trace = trace
        var generator = SeededGenerator(seed: seed)
        id = DeviceID(digest: SHA256.digest(generator.bytes(32)))
        indexID = IndexID(rawValue: generator.next() | 1)
        for name in ["root/.stfolder", "trash", "cache"] {
            try FileManager.default.createDirectory(atPath: "\(home)/\(name)", withIntermediateDirectories: true)
        }
        files = UserFiles(root: "\(home)/root", folding: folding)
        let state = Weak()
        disk = FaultyDisk(
            root: "\(home)/root", trash: "\(home)/trash", seed: generator.next(), folding: folding,
            note: {
                trace.noteDisk(number, $0)
                state.agent?.interruption?($0)
            }, check: { state.agent?.check($0, isFilled: $1) },
            died: { state.agent?.die() })
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

    /// Of an index that came out of a backup.
    private func nextIndexID() -> IndexID {
        state.withLock { state in
            state.restoredIndexes += 1
            return IndexID(rawValue: indexID.rawValue &+ 2 &* state.restoredIndexes)
        }
    }

    // MARK: the process

    /// Starts a process on what is on the disk.
    ///
    /// - Parameters:
    ///   - rules: the folder's settings but for its path.
    ///   - peers: the devices that it knows.
    ///   - connections: how many links it wants with each of them.
    ///   - filesAtOnce: files that are fetched at the same time.
    func start(_ rules: FolderConfiguration, peers: [DeviceID], connections: Int, filesAtOnce: Int) async throws {
        var logger = Logger(label: "simulation", factory: { _ in SwiftLogNoOpLogHandler() })
        logger.logLevel = .critical
        let index = try IndexStore.open(
            path: "\(home)/index.sqlite", cacheBytes: 1 << 20, blocksCaller: true, newIndexID: nextIndexID)
        try await index.addFolder(Self.folder, newIndexID: indexID)
        try await loseWhatIsNotDurable(index)
        let agentTime = self.agentTime
        let events = EventHub(wall: agentTime.wall)
        var configuration = rules
        configuration.path = files.root
        let registry = FolderRegistry(
            pending: PendingRegistry(
                index: index, ignored: { .init() }, events: events, time: agentTime, logger: logger))
        let local = LocalBlocks(
            of: id, cache: try BlockCache(directory: "\(home)/cache", byteLimit: 0), index: index, folders: registry,
            threads: CallingThread())
        let devices = DeviceRegistry()
        let fetching = FetchEnvironment(
            sessions: { devices.sources($0) }, linksChanged: { devices.linkChanges() }, dialNow: { _ in },
            localBlock: { await local.block($0, for: $1) }, budget: SharedFetchBudget(limit: 64 << 20),
            threads: CallingThread(),
            time: agentTime, settings: BlockScheduler.Settings(minimumPatience: .seconds(1 << 40)),
            firstHolderPatience: .zero, lostHolderPatience: .zero)
        let transfers = TransferRegistry(now: agentTime.monotonic)
        let tools = FolderTools(
            localDevice: id, fetching: fetching, transfers: transfers, hashingWorkers: 0, filesAtOnce: filesAtOnce,
            time: agentTime,
            // No reading is ever so soon after a change that the disk's clock could not tell.
            diskTime: {
                let now = WallTime.now
                return FileTime(seconds: now.seconds + 60, nanoseconds: now.nanoseconds)
            }, logger: logger)
        let folder = Folder(
            configuration, index: index, tools: tools, events: events, watchProgram: nil, interposer: disk)
        try await folder.exchange.applyRoles(configuration)
        registry.insert(folder)
        let links = AgentLinks(
            of: id, to: peers, connections: connections, index: index, folders: registry, devices: devices,
            transfers: transfers, events: events, time: agentTime, executor: executor, logger: logger)
        // As the folder's runner does, which does not run here.
        links.start { for await _ in devices.linkChanges() { folder.boards.inbox.pullEverything() } }
        state.withLock { $0.process = Process(index: index, folder: folder, links: links) }
        selectionChanged()
    }

    /// Called with each change of the disk, in words, right before it is made.
    var interruption: (@Sendable (_ change: String) -> Void)? {
        get { state.withLock { $0.interruption } }
        set { state.withLock { $0.interruption = newValue } }
    }

    /// What was to be done about groups before it did what it is at.
    var groupsBefore: [FileGroup: [NameKey: VersionVector]]? {
        get { state.withLock { $0.groupsBefore } }
        set { state.withLock { $0.groupsBefore = newValue } }
    }

    /// The names that it has filled since then.
    var filled: Set<String> {
        get { state.withLock { $0.filled } }
        set { state.withLock { $0.filled = newValue } }
    }

    /// Its user has asked it to remove what is not selected.
    var isFreeing: Bool {
        get { state.withLock { $0.isFreeing } }
        set { state.withLock { ($0.isFreeing, $0.emptied) = (newValue, []) } }
    }

    /// What the index says is on the disk, or gone from it, and is not so any more since the power was lost: it said so
    /// too early.
    var lostClaims: [String] { state.withLock { $0.lostClaims } }

    /// What a loss of power made of a file: nothing, or something else.
    struct Loss {
        var content: SHA256Digest
        var left: SHA256Digest?
    }

    /// What the last start found lost.
    var losses: [Loss] { state.withLock { $0.losses } }

    /// Whether the index says this of what is on the disk; not of a file that its user has written into since.
    private func says(_ entry: LocalEntry?, _ found: stat) -> Bool {
        guard let noted = entry.flatMap({ FileAccess.FileStatus($0) }), noted.inode == UInt64(found.st_ino) else {
            return false
        }
        guard noted.type == .regular else { return true }
        return noted.size == Int64(found.st_size)
            && noted.modified
                == FileTime(seconds: Int64(found.st_mtim.tv_sec), nanoseconds: Int32(found.st_mtim.tv_nsec))
    }

    private func loseWhatIsNotDurable(_ index: IndexStore) async throws {
        var claims: [(name: String, item: Item?)] = []
        for file in try await index.localUpdates(of: Self.folder, after: 0, limit: 10_000) where !file.isInvalid {
            let status = files.status(file.name)
            let local = try await index.local(Self.folder, file.name)
            let isTrue =
                file.isDeleted ? status == nil : status.map { says(local, $0) } ?? false
            if isTrue { claims.append((file.name, files.item(file.name))) }
        }
        let before = files.contents()
        for loss in disk.restart() { trace.note("agent \(number) lost \(loss)") }
        let after = files.contents()
        let lost = claims.filter { claim in
            switch (claim.item, files.item(claim.name)) {
            case (nil, nil), (.directory, .directory): false
            case (.symlink(let before), .symlink(let after)): before != after
            case (.file(let before, _, _, _), .file(let after, _, _, _)): before != after
            default: true
            }
        }
        state.withLock { state in
            state.losses = before.compactMap { inode, content in
                after[inode] == content ? nil : Loss(content: content, left: after[inode])
            }
            state.lostClaims = lost.map {
                "agent \(number) lost \($0.name), which its index had noted\($0.item == nil ? " as gone" : "")"
            }
        }
    }

    var agentTime: AgentTime {
        AgentTime(
            clock: time.clock, monotonic: { [time] in time.now },
            wall: { [weak self] in self?.wall ?? WallTime(seconds: 0) }, random: { 0.5 })
    }

    /// Lets go of the process, as it is, once nothing of it runs any more.
    func drop() async {
        let process = state.withLock { state in
            defer { state.process = nil }
            return state.process
        }
        process?.links.cancel()
        await process?.links.end()
        do {
            try process?.index.close()
        } catch {
            trace.violate("agent \(number): its index is in use after its end: \(error)")
        }
    }

    /// Begins one thing in the process, which may die in it; its calls on the disk fail from then on, and its transactions
    /// are cancelled.
    func begin(_ body: @escaping @Sendable (Process) async -> Void) -> Task<Void, Never>? {
        guard let process else { return nil }
        let step = Task(executorPreference: executor) { await body(process) }
        state.withLock { $0.step = step }
        return step
    }

    func endStep() {
        let isSettled = !disk.isDead && process?.folder.runner.memory.hasUnsettledGroups == false
        state.withLock { state in
            state.step = nil
            state.movedAlong = []
            if isSettled { state.leftBehind = [] }
        }
    }

    /// Serves one end of a wire.
    func serve(_ side: MemoryWire.Side, of wire: MemoryWire, to peer: DeviceID) throws {
        guard let process else { return }
        state.withLock { state in
            state.wires.removeAll { $0.wire.isOver }
            state.wires.append((wire, side))
        }
        process.links.serve(try wire.link(side, to: peer, on: executor.loop))
    }

    /// The addresses of its links with another agent, that of the primary first.
    func links(to peer: SimulatedAgent) -> [String] {
        guard let device = process?.links.device(peer.id), let primary = device.session else { return [] }
        let others = device.source.sessions.filter { $0 !== primary }.map(\.information.remoteAddress)
        return [primary.information.remoteAddress] + others.sorted()
    }

    /// Called in the middle of something: nothing more leaves the process.
    private func die() {
        let (step, process, wires) = state.withLock { state in
            defer { state.wires = [] }
            if state.process?.folder.configuration.groups.isEmpty == false { state.leftBehind.formUnion(state.filled) }
            return (state.step, state.process, state.wires)
        }
        for (wire, side) in wires { wire.end(side) }
        step?.cancel()
        process?.links.cancel()
    }

    // MARK: what it keeps

    /// What the ignore file says now; nil if it is broken.
    var selection: Selection? { state.withLock { $0.selection } }

    /// Whether its user, or the agent itself, takes the name for one that is kept.
    func mayKeep(_ name: String) -> Bool {
        let (selection, applied) = state.withLock { ($0.selection, $0.appliedSelection) }
        return [selection, applied].contains { $0?.isLeftOut(name) == false }
    }

    /// What the folder has made of the ignore file by now.
    func noteAppliedSelection() {
        guard let applied = process?.folder.runner.memory.appliedSelection else { return }
        state.withLock { $0.appliedSelection = applied }
    }

    /// The ignore file was written.
    func selectionChanged() {
        let text = files.read(".stignore").map { String(decoding: $0, as: UTF8.self) } ?? ""
        let selection = try? Selection(parsing: text)
        state.withLock { $0.selection = selection }
    }

    /// Its user has renamed a directory, perhaps while a file is written into it.
    func movedDirectory(to name: String) {
        let targets = files.allNames(below: name, all: true).compactMap { RelativePath($0)?.temporaryTarget?.text }
        state.withLock { if $0.step != nil { $0.movedAlong.formUnion(targets) } }
    }

    /// Whether the folder has the content and would have it after a loss of power.
    func holdsDurably(_ content: SHA256Digest) -> Bool {
        files.allNames().contains { files.content($0) == content && disk.isDurable("\(files.root)/\($0)") }
    }

    /// The agent fills or empties a name.
    private func check(_ name: String, isFilled: Bool) {
        guard let path = RelativePath(name), !path.isInternal, !path.isTemporary else { return }
        if isFilled { state.withLock { _ = $0.filled.insert(name) } }
        // The loser of a conflict is kept beside the winner, selected or not.
        if isFilled, name.contains(".sync-conflict-") || name.contains(" (") { return }
        guard selection?.isLeftOut(name) ?? true else { return }
        // Its lines may have followed something that was renamed.
        selectionChanged()
        guard selection?.isLeftOut(name) ?? true else { return }
        if !isFilled, isFreeing {
            state.withLock { _ = $0.emptied.insert(name) }
            return
        }
        // What could not be removed goes back to its name.
        if isFilled, state.withLock({ $0.emptied.remove(name) }) != nil { return }
        // A file that is written goes where its directory goes: its user has renamed that, as if the file had been in it before.
        if isFilled, state.withLock({ $0.movedAlong.remove(name) }) != nil { return }
        // A copy that could not be made durable is taken back: what it was made of is in its place. If not, the ledger misses it.
        if !isFilled, name.contains(".sync-conflict-"), filled.contains(name) { return }
        // Of a group that was cut short, what had come to its place is taken back, whatever is selected by now.
        if !isFilled, state.withLock({ $0.leftBehind.contains(name) }) { return }
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
