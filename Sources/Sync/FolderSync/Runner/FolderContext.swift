import AgentConfiguration
import AgentContext
import AsyncTools
import BlockExchange
import Fetching
import FileAccess
import FolderScanner
import Logging
import Reconciliation
import Selection

/// What the steps of a folder need of the agent around it; the same for all steps.
package struct FolderTools: Sendable {
    package var localDevice: DeviceID
    package var fetching: FetchEnvironment
    package var transfers: TransferRegistry
    /// Files that are hashed at the same time, and files that are fetched at the same time. With one each, a run with
    /// the same inputs does the same.
    var hashingWorkers = 2
    var filesAtOnce = 32
    /// Names below a directory at which file systems are mounted; nil if nobody can tell.
    var mountNames: @Sendable (_ directory: String) -> Set<String>? = { MountTable.names(below: $0) }
    package var time: AgentTime
    /// The clock of the disk's times.
    var diskTime: @Sendable () -> FileTime = ScanOptions.realTime
    /// Reads a part of a file that is checked; tests give a disk that fails.
    var readBlock: FileCheck.Reader = FileCheck.readFromDisk
    /// Seconds by which local time is ahead of UTC at a time in unix seconds: names of conflict copies have local time.
    package var utcOffset: @Sendable (Int64) -> Int64 = { _ in 0 }
    /// The devices that this one knows, itself among them, and their names.
    package var knownDevices: @Sendable () -> [(id: DeviceID, name: String)] = { [] }
    package var logger: Logger

    package init(
        localDevice: DeviceID, fetching: FetchEnvironment, transfers: TransferRegistry, hashingWorkers: Int = 2,
        filesAtOnce: Int = 32, time: AgentTime, diskTime: @escaping @Sendable () -> FileTime = ScanOptions.realTime,
        utcOffset: @escaping @Sendable (Int64) -> Int64 = { _ in 0 },
        knownDevices: @escaping @Sendable () -> [(id: DeviceID, name: String)] = { [] }, logger: Logger
    ) {
        self.localDevice = localDevice
        self.fetching = fetching
        self.transfers = transfers
        self.hashingWorkers = hashingWorkers
        self.filesAtOnce = filesAtOnce
        self.time = time
        self.diskTime = diskTime
        self.utcOffset = utcOffset
        self.knownDevices = knownDevices
        self.logger = logger
    }

    package var threads: any DiskThreads { fetching.threads }

    /// What a device is called; the start of its id if it has no name.
    package func name(of device: DeviceID) -> String {
        knownDevices().first { $0.id == device && !$0.name.isEmpty }?.name ?? device.shortID.description
    }
}

/// What a step works with: the folder as it was when the step began. A value; nothing in it leads back to whoever runs
/// the step.
package struct FolderContext: Sendable {
    package let settings: FolderConfiguration
    package let place: FolderPlace
    package let index: FolderIndex
    package let peers: PeerBoard
    let scrub: ScrubBoard
    let writing: WritingBoard
    package let tools: FolderTools
    /// Why the folder does not propagate deletions now; nil if it does.
    let deletionHalt: FolderHalt?
    /// What scans found wrong with which names.
    let foundProblems: FolderStatusBoard.Problems

    package var id: FolderID { settings.id }
    package var root: RootDirectory { place.root }
    package var selection: Selection { place.selection }
    package var logger: Logger { tools.logger }
    /// Unix seconds by the wall clock.
    package var now: Int64 { tools.time.wall().seconds }

    package var rules: FolderRules {
        var rules = FolderRules(settings, device: tools.localDevice.shortID)
        if let author = index.store.author { rules.author = author }
        rules.disk = DiskRules(root.traits)
        rules.otherDisks = root.otherDisks.mapValues(DiskRules.init)
        rules.attributes = AttributeRules(settings.attributes)
        rules.renamesCaseClashes = settings.caseClash == .rename
        return rules
    }

    /// As the user set it, and where the disk keeps none.
    func ignoresPermissions(at path: String) -> Bool {
        settings.ignoresPermissions || !root.traits(at: path).keepsPermissions
    }

    /// Throws the halt of a folder that stopped before it propagated deletions: what such a folder says of its files may be
    /// wrong.
    func requireNoDeletionHalt() throws(FolderHalt) { if let deletionHalt { throw deletionHalt } }

    /// Runs `body` on a thread for disk work. Throws what `body` throws, or `CancellationError`.
    package func onDisk<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await tools.threads.runIfActive(body)
    }

    /// Throws `busy` if a program has the file open for writing, be it through no mount.
    func refuseWritten(_ path: RelativePath, _ operation: FileAccessError.Operation) async throws {
        let root = root
        guard try await onDisk({ root.beingWritten(among: [path]) }).isEmpty else {
            throw FileAccessError(.busy, operation, path: path.text)
        }
    }

    var scanOptions: ScanOptions {
        var options = ScanOptions()
        options.ignoresPermissions = settings.ignoresPermissions
        options.workers = tools.hashingWorkers > 0 ? .threads(tools.hashingWorkers) : .callingTask
        options.now = tools.diskTime
        options.attributes = attributeWriter.map { AttributeReading($0.access, $0.rules.filter) }
        return options
    }

    /// The folder with another selection, for the rest of a step that wrote `.stignore`.
    package func with(_ place: FolderPlace) -> FolderContext {
        FolderContext(
            settings: settings, place: place, index: index.with(place.selection), peers: peers, scrub: scrub,
            writing: writing, tools: tools,
            deletionHalt: deletionHalt, foundProblems: foundProblems)
    }
}

extension DiskRules {
    init(_ traits: DiskTraits) {
        self.init(keepsPermissions: traits.keepsPermissions, hasCoarseTimes: traits.hasCoarseTimes)
    }
}

extension FolderRules {
    init(_ settings: FolderConfiguration, device: ShortID) {
        let kind: FolderKind =
            switch settings.kind {
            case .sendReceive: .sendReceive
            case .sendOnly: .sendOnly
            case .receiveOnly: .receiveOnly
            }
        self.init(
            kind: kind, device: device, ignoresPermissions: settings.ignoresPermissions,
            conflictLimit: settings.maxConflicts ?? -1, conflictPolicy: ConflictPolicy(settings.conflicts.policy),
            deletionPolicy: ConflictPolicy(settings.conflicts.deletedPolicy))
    }
}

/// One thing that is done in a folder while nothing else changes it. Decides and does; what is to follow from it is in
/// the work that it is given, which is heeded also if the step throws half-way.
package protocol FolderStep: Sendable {
    associatedtype Output: Sendable

    /// - Parameter work: what is remembered from step to step, and what is to happen after this one.
    /// - Throws: `FolderHalt` if the folder cannot go on; `FolderError` for what is wrong with a request; what the index,
    ///   the selection and the disk say; `CancellationError`.
    func run(_ folder: FolderContext, _ work: inout FolderWork) async throws -> Output
}

extension ConflictPolicy {
    init(_ policy: FolderConflicts.Policy) {
        self =
            switch policy {
            case .newest: .newest
            case .mine: .mine
            case .theirs: .theirs
            case .both: .both
            case .command: .command
            }
    }
}
