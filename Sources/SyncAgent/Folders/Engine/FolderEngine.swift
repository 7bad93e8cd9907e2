import AgentConfiguration
import BlockExchange
import ControlAPI
import FileAccess
import FolderScanner
import FolderWatcher
import IndexStore
import Logging
import NIOPosix
import Reconciliation
import Selection
import Synchronization

/// What a folder's engine needs of the agent around it.
struct FolderEngineEnvironment: Sendable {
    var localDevice: DeviceID
    var index: IndexStore
    var fetching: FetchEnvironment
    var transfers: TransferRegistry
    var events: EventHub
    /// The program that watches directories; nil for none.
    var watchProgram: String?
    /// Files that are hashed at the same time, and files that are fetched at the same time. One each makes every run of
    /// the same inputs the same.
    var hashingWorkers = 2
    var filesAtOnce = 32
    var time: AgentTime
    /// The clock of the disk's times.
    var diskTime: @Sendable () -> FileTime = ScanOptions.realTime
    /// Seconds by which local time is ahead of UTC at a time in unix seconds: names of conflict copies have local time.
    var utcOffset: @Sendable (Int64) -> Int64 = { _ in 0 }
    /// The devices that this one knows, itself among them, and what they are called.
    var knownDevices: @Sendable () -> [(id: DeviceID, name: String)] = { [] }
    var logger: Logger
}

/// Keeps one folder in step with the cluster: looks at this disk, tells the index, decides what is to be done, and does
/// it. One thing at a time; links bring in what peers announce meanwhile.
final class FolderEngine: Sendable {
    /// How long a folder that halted rests before it is looked at again.
    private static let haltPause: Duration = .seconds(60)

    /// How long what was reported waits for what belongs to it.
    private static let reportPause: Duration = .milliseconds(100)

    let session: FolderSession
    let environment: FolderEngineEnvironment
    let activity = FolderActivity()
    let logger: Logger

    struct State: Sendable {
        var agenda = FolderAgenda(rescanInterval: nil)
        /// The selection that the index's announcements are in line with.
        var appliedSelection: Selection?
        var deletionGuard = DeletionGuard()
        /// Deletions that would halt the folder are taken for meant, once.
        var confirmsDeletions = false
        var watcher: FolderWatcher?
        /// Whether what peers announce is taken in; see `firstLook`.
        var takesAnnouncements = false
        /// Temporary files that may be of use to a fetch yet.
        var temporaries: Set<RelativePath> = []
        /// Names of which the last pull said that they could not be had.
        var failedPulls: Set<String> = []
        /// The same of the pull that is under way.
        var failingPulls: Set<String> = []
        /// Whether nothing is needed but for names that the agenda has: only these need be looked at then.
        var isInStep = false
        /// What others announced as deleted and may be wanted here; the newest of each name.
        var announcedDeletions: [String: FileInfo] = [:]
        /// What the folder's command is to decide.
        var undecided: Set<UndecidedConflict> = []
        /// Deletions made here that a change made elsewhere wins over, as they are planned; with the version that wins.
        var contestedDeletions: [String: VersionVector] = [:]
        var settings = Settings()
        /// Renames that the watcher saw and no look has seen yet.
        var reportedRenames: [Relocation.Move] = []
        /// Names of which nothing is told until their user says what is to become of what was there, and where that is.
        var heldNames: [String: String] = [:]
        /// A group may be half in its place: `settleGroups` ends that.
        var hasUnsettledGroups = true
        /// How many files of selected directories others have moved to which directories so far.
        var movedParts: [String: [String: Int64]] = [:]
    }

    /// What `run` is set up by.
    struct Settings: Equatable, Sendable {
        var isPaused = false
        var isWatched = true
        var path = ""
        var versions = FolderVersions()
    }

    let state = Mutex(State())
    /// One step at a time, whoever asks for it.
    let turn = Budget(limit: 1)
    private let wake = Signal()
    private let pullWake = Signal()
    /// The command has something to decide.
    let decisionWake = Signal()
    private let stopped = Signal()
    /// What `run` does is to be set up anew.
    private let restart = Signal()
    /// The root may be another directory than the one that is watched.
    private let rootChanged = Signal()

    init(_ session: FolderSession, _ environment: FolderEngineEnvironment) {
        self.session = session
        self.environment = environment
        var logger = environment.logger
        logger[metadataKey: "folder"] = "\(session.id)"
        self.logger = logger
        configure(session.configuration)
    }

    var index: IndexStore { environment.index }
    var folder: FolderID { session.id }

    // MARK: what happens elsewhere

    /// The settings changed.
    func configure(_ configuration: FolderConfiguration) {
        let settings = Settings(
            isPaused: configuration.isPaused, isWatched: configuration.isWatched, path: configuration.path,
            versions: configuration.versions)
        let isOther = state.withLock { state in
            state.agenda.rescanInterval =
                configuration.rescanInterval > 0 ? .seconds(configuration.rescanInterval) : nil
            state.agenda.scanEverything()
            defer { state.settings = settings }
            return state.settings != settings
        }
        if isOther { restart.notify() }
        wake.notify()
    }

    /// A peer came or went, or announced more than can be named.
    func indexChanged() {
        state.withLock { $0.agenda.pullSoon() }
        pullWake.notify()
    }

    /// A peer announced these names, or they were changed here.
    func indexChanged(at names: some Collection<String>) {
        state.withLock { $0.agenda.pullSoon(names) }
        pullWake.notify()
    }

    /// More deletions than this that wait to be weighed against what is here are left to the winner's rule alone.
    private static let deletionLimit = 10_000

    /// More renames than this that wait for a look are found by what the disk says of files.
    private static let renameLimit = 1000

    /// A peer announced deletions. What was changed here meanwhile wins over them, but by a rule that not all devices
    /// share; see `LocalChanges.outliving`.
    func deletionsAnnounced(_ files: [FileInfo]) {
        noticeMoves(files)
        guard rules.kind == .sendReceive else { return }
        state.withLock { state in
            for file in files
            where file.isDeleted && !file.isInvalid && state.announcedDeletions.count < Self.deletionLimit {
                state.announcedDeletions[file.name] = file
            }
        }
    }

    /// Returns when the folder was looked at since the agent started, or after ten seconds.
    ///
    /// A process that was killed may have put a version into its place and not noted it. The look takes the file for that
    /// version as long as the index has it; once a newer one is announced, it would be taken for a change made here.
    func firstLook() async {
        for _ in 0..<200 {
            let activity = activity.snapshot
            if state.withLock({ $0.takesAnnouncements }) || activity.hasLooked || activity.halt != nil { break }
            let local = (try? await index.totals(of: folder).local) ?? .zero
            if session.configuration.isPaused || local == .zero { break }
            guard (try? await environment.time.clock.sleep(for: .milliseconds(50))) != nil else { return }
        }
        state.withLock { $0.takesAnnouncements = true }
    }

    func scanSoon(_ paths: [RelativePath]) {
        state.withLock { $0.agenda.scan(paths) }
        wake.notify()
    }

    /// The watcher reported these names.
    private func scanReported(_ paths: [RelativePath]) {
        let due = environment.time.monotonic() + Self.reportPause
        state.withLock { $0.agenda.scanReported(paths, at: due) }
        wake.notify()
    }

    /// These names were not what a plan took them for.
    func doubt(_ paths: Set<RelativePath>) {
        guard !paths.isEmpty else { return }
        let now = environment.time.monotonic()
        state.withLock { $0.agenda.doubt(paths, at: now) }
        wake.notify()
    }

    func scanEverythingSoon() {
        state.withLock { $0.agenda.scanEverything() }
        wake.notify()
    }

    func wakeUp() {
        wake.notify()
        pullWake.notify()
    }

    /// Ends `run`, in the middle of what it does, and returns when it has ended.
    func stop() async {
        stopped.notify()
        // Taken for good: nothing is begun any more.
        _ = await turn.take(1)
        turn.close()
    }

    /// Whether something that this device keeps is missing here.
    var needsAnything: Bool { activity.snapshot.need != NeededTotals() }

    /// What the folder does now, or has to do next.
    var condition: FolderState {
        let activity = activity.snapshot
        if activity.isSyncing { return .syncing }
        if activity.isScanning { return .scanning }
        if !activity.hasLooked { return .starting }
        return state.withLock { $0.agenda.hasWork } ? .syncing : .idle
    }

    // MARK: running

    /// Works until stopped or cancelled. A pause ends what is under way; what was staged is kept.
    func run() async {
        var isStopped = false
        while !Task.isCancelled, !isStopped {
            let isPaused = session.configuration.isPaused
            isStopped = await withTaskGroup(of: Bool.self) { group in
                if !isPaused {
                    for job in [look, pulls, followLinks, watch, cleanVersionsOnSchedule, decideConflicts] {
                        group.addTask {
                            await job()
                            return false
                        }
                    }
                }
                group.addTask {
                    await self.restart.wait()
                    return false
                }
                group.addTask {
                    await self.stopped.wait()
                    return true
                }
                let isStopped = await group.next() ?? true
                group.cancelAll()
                return isStopped
            }
            activity.set(hasLooked: false)
        }
    }

    private func look() async {
        while !Task.isCancelled {
            let now = environment.time.monotonic()
            switch state.withLock({ $0.agenda.nextLook(at: now) }) {
            case .at(let paths): await performLook(paths)
            case .wait(let deadline): await rest(until: deadline, now, wake)
            }
        }
    }

    private func pulls() async {
        var batchesSeen = 0
        while !Task.isCancelled {
            let now = environment.time.monotonic()
            switch state.withLock({ $0.agenda.nextPull(at: now) }) {
            case .now(let names):
                // While an index comes in, each batch would cost a pass over all that is kept.
                await session.quietMoment(since: &batchesSeen, clock: environment.time.clock)
                await step { try await self.pull(names) }
            case .wait(let deadline): await rest(until: deadline, now, pullWake)
            }
        }
    }

    private func performLook(_ paths: [RelativePath]?) async {
        await step { try await self.turn.withUnits(1) { try await self.look(at: paths) } }
        activity.set(hasLooked: true)
        pullWake.notify()
    }

    /// Does one thing that is due now, a look before a pull; false if nothing is due. For simulations, which decide
    /// themselves who does something next, in the place of `run`.
    func performDue() async -> Bool {
        let now = environment.time.monotonic()
        if case .at(let paths) = state.withLock({ $0.agenda.nextLook(at: now) }) {
            await performLook(paths)
            return true
        }
        guard case .now(let names) = state.withLock({ $0.agenda.nextPull(at: now) }) else { return false }
        await step { try await self.pull(names) }
        return true
    }

    private func rest(until deadline: MonotonicTime?, _ now: MonotonicTime, _ wake: Signal) async {
        if condition == .idle { session.engineChanged() }
        guard let deadline else { return await wake.wait() }
        await wake.wait(atMost: max(deadline - now, .milliseconds(10)), clock: environment.time.clock)
    }

    /// Who has what is needed may be there now.
    private func followLinks() async {
        for await _ in environment.fetching.linksChanged() where !state.withLock({ $0.isInStep }) { indexChanged() }
        await Signal().wait()
    }

    /// Runs one step; what goes wrong is kept for `status`, and tried again.
    private func step<Result>(_ body: () async throws -> Result) async {
        do {
            _ = try await body()
        } catch is CancellationError {
            return
        } catch {
            halted(by: error)
        }
    }

    /// Runs one step for somebody who waits for what comes of it. Only a halt of the folder is kept for `status`: what is
    /// wrong with a request says nothing about the folder.
    func exclusively<Result: Sendable>(_ body: @Sendable () async throws -> Result) async throws -> Result {
        try await turn.withUnits(1) {
            do {
                if case .success(let place) = session.place() { try await settleGroups(place) }
                return try await body()
            } catch let halt as FolderHalt {
                halted(by: halt)
                throw halt
            }
        }
    }

    private func halted(by error: any Error) {
        let halt =
            error as? FolderHalt
            ?? FolderHalt(
                reason: .error, message: "\(error)",
                isIndexIncomplete: (error as? IndexStoreError)?.isAboutStoring ?? false)
        if activity.snapshot.halt != halt { logger.error("\(halt.message)") }
        activity.set(halt: halt)
        let now = environment.time.monotonic()
        state.withLock { $0.agenda.halted(at: now, pause: Self.haltPause) }
        session.engineChanged()
    }

    /// The folder's place, with the index's announcements in line with the selection that it has now. Throws
    /// `FolderHalt` if there is none.
    func currentPlace() async throws -> FolderPlace {
        let place = try session.place().get()
        guard place.root.isInPlace else {
            throw FolderHalt(
                reason: .rootMissing,
                message:
                    "\(session.configuration.path) is gone: is its disk mounted? Nothing is synced until it is back")
        }
        let applied = state.withLock { $0.appliedSelection }
        if applied != place.selection {
            let selection = place.selection
            logger.debug("the selection changed")
            try await index.reselect(folder, isIgnored: { selection.isLeftOut($0) })
            let watcher = state.withLock { state in
                state.appliedSelection = selection
                // Something that is kept from now on may be on this disk already.
                if applied != nil { state.agenda.scanEverything() }
                return state.watcher
            }
            watcher?.selectionChanged()
            session.ownIndexChanged()
        }
        if !isHaltedOverDeletions { ended(activity.snapshot.halt) }
        return place
    }

    /// Whether the folder stands still until deletions are confirmed or undone.
    var isHaltedOverDeletions: Bool {
        [.rootEmptied, .massDeletion].contains(activity.snapshot.halt?.reason)
    }

    /// What the folder halted over is no more.
    func ended(_ halt: FolderHalt?) {
        guard halt != nil else { return }
        activity.set(halt: nil)
        rootChanged.notify()
        session.engineChanged()
    }

    // MARK: watching

    private func watch() async {
        guard let program = environment.watchProgram, session.configuration.isWatched else {
            activity.setWatch("off")
            return await Signal().wait()
        }
        while !Task.isCancelled {
            // The selection need not be readable: that it was mended is what one watches for.
            guard let root = try? RootDirectory(path: session.configuration.path) else {
                activity.setWatch("off")
                await rootChanged.wait()
                continue
            }
            let watcher = FolderWatcher(
                root: root, program: program,
                isWatched: { [weak self] directory in
                    guard let directory else { return true }
                    let selection = self?.state.withLock { $0.appliedSelection }
                    return selection?.mayContainSelected(directory.text) ?? false
                }, clock: environment.time.clock, logger: logger)
            state.withLock { $0.watcher = watcher }
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await watcher.run { report in await self.take(report) } }
                group.addTask { await self.rootChanged.wait() }
                await group.next()
                group.cancelAll()
            }
            state.withLock { $0.watcher = nil }
        }
    }

    private func take(_ report: WatchReport) async {
        switch report {
        case .changed(let changes):
            let paths = changes.compactMap(\.path)
            if paths.count == changes.count { scanReported(paths) } else { scanEverythingSoon() }
        case .renamed(let from, let to, _):
            state.withLock { state in
                guard state.reportedRenames.count < Self.renameLimit else { return }
                state.reportedRenames.append(Relocation.Move(from: from.text, to: to.text))
            }
            scanReported([from, to])
        case .ignoreFileChanged, .markerChanged: scanEverythingSoon()
        case .rescan(let path, let reason):
            logger.debug("looking again: \(reason)")
            // All was looked at, or is about to be, when the folder was started.
            if let path { scanSoon([path]) } else { scanEverythingSoon() }
        case .state(.stopped): activity.setWatch("off")
        case .state(.starting): activity.setWatch("starting")
        case .state(.running(let watched)): activity.setWatch("watching", watched: watched)
        case .state(.impaired(let impairment)):
            activity.setWatch(
                impairment.watched > 0 ? "partial" : "failed", impairment.message, watched: impairment.watched)
            logger.warning("\(impairment.message)")
        }
    }
}
