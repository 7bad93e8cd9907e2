import AgentConfiguration
import AgentContext
import AsyncTools
import BlockExchange
import ControlAPI
import FileAccess
import FolderWatcher
import IndexStore
import Logging
import Names
import Reconciliation
import Synchronization

/// Keeps one folder in step with the cluster: scans this disk, tells the index, decides what is to be done, and has it done.
/// One step at a time; links bring in what other devices announce meanwhile.
///
/// It alone gives steps what they work with, and heeds what is to follow from them.
package final class FolderRunner: Sendable {
    /// How long a folder that halted waits before it is scanned again; one whose place cannot be opened, which costs little to
    /// find out, is looked for more often.
    private static let haltPause: Duration = .seconds(60)
    private static let closedPlacePause: Duration = .seconds(5)

    private struct State: Sendable {
        var memory = FolderMemory()
        var setup: RunnerSetup
        var watcher: FolderWatcher?
        /// Whether nothing is needed but for names that the inbox has: only these need be looked at then.
        var isInStep = false
    }

    package let id: FolderID
    let boards: FolderBoards
    package let tools: FolderTools
    let store: IndexStore
    private let events: EventHub
    /// The program that watches directories; nil for none.
    private let watchProgram: String?
    private let logger: Logger
    private let state: Mutex<State>
    /// One step at a time, whoever asks for it.
    private let turn = Budget(limit: 1)
    /// There may be something for the folder's command to decide.
    private let decisionWake = Signal()
    private let stopped = Signal()
    /// What `run` does is to be set up again.
    private let restart = Signal()
    /// The root may be another directory than the one that is watched.
    private let rootChanged = Signal()

    init(boards: FolderBoards, store: IndexStore, tools: FolderTools, events: EventHub, watchProgram: String?) {
        let configuration = boards.places.configuration
        id = configuration.id
        self.boards = boards
        self.store = store
        self.events = events
        self.watchProgram = watchProgram
        var tools = tools
        tools.logger[metadataKey: "folder"] = "\(configuration.id)"
        self.tools = tools
        logger = tools.logger
        state = Mutex(State(setup: RunnerSetup(configuration)))
        boards.inbox.set(rescanInterval: configuration.rescanPause)
        if case .failure(let problem) = boards.places.current { logger.error("\(problem.message)") }
    }

    // MARK: from outside

    /// The settings changed.
    package func configure(_ configuration: FolderConfiguration) {
        let hasOtherFloor = boards.places.configuration.minimumFree != configuration.minimumFree
        let isOfOtherKind = boards.places.configuration.kind != configuration.kind
        boards.places.set(configuration)
        boards.places.refresh()
        boards.inbox.set(rescanInterval: configuration.rescanPause)
        let setup = RunnerSetup(configuration)
        let isOther = state.withLock { state in
            defer { state.setup = setup }
            return state.setup != setup
        }
        if isOther { restart.notify() }
        if hasOtherFloor { pullNow() }
        // What was changed in a folder that only received is announced once it sends.
        if isOfOtherKind { boards.inbox.scanEverything() }
        statusChanged()
    }

    /// Ends `run`, in the middle of what it does. Returns when no step is under way any more, and none is begun after that; `run` itself
    /// may still be on its way out.
    package func stop() async {
        stopped.notify()
        // Taken for good: nothing is begun any more.
        _ = await turn.take(1)
        turn.close()
        // Whatever `run` still does: the same folder may be made again at once.
        boards.places.giveUpClaim()
    }

    /// What the folder does now, or has to do next.
    package var condition: FolderState {
        let status = boards.status.snapshot
        if status.isSyncing { return .syncing }
        if status.isScanning { return .scanning }
        if !status.hasScanned { return .starting }
        return boards.inbox.isBusy ? .syncing : .idle
    }

    private var notes: FolderNotes { FolderNotes(store: store, folder: id, logger: logger) }

    /// What steps remember by now.
    package var memory: FolderMemory { state.withLock { $0.memory } }

    /// The folder as it was seen last, for those who only read. Throws `FolderHalt` if it cannot be worked on.
    package func reading() throws(FolderHalt) -> FolderContext {
        try context(at: boards.places.current.get(), boards.places.configuration)
    }

    /// Runs a step while nothing else changes the folder, for a caller that waits. Only a halt is kept for `status`.
    /// Throws what `FolderStep.run` throws; `FolderHalt` if the folder cannot be read.
    package func perform<Step: FolderStep>(_ step: Step) async throws -> Step.Output {
        do {
            let output = try await turn.withUnits(1) { try await self.execute(step) }
            statusChanged()
            return output
        } catch let halt as FolderHalt {
            await halted(by: halt)
            throw halt
        }
    }

    // MARK: steps

    /// Runs a step within the turn, and heeds what is to follow from it, also if it throws.
    ///
    /// - parameter settings: other settings than the folder's, for this step.
    private func execute<Step: FolderStep>(
        _ step: Step, with settings: FolderConfiguration? = nil
    ) async throws -> Step.Output {
        var work = FolderWork(memory: state.withLock { $0.memory })
        work.memory.note(boards.inbox.takeTemporaries())
        do {
            let folder = try await begin(&work, settings)
            try await SettleGroupsStep().run(folder, &work)
            let output = try await step.run(folder, &work)
            await heed(work)
            return output
        } catch {
            await heed(work)
            throw error
        }
    }

    /// The folder for a step: in its place, with the index's announcements in line with the selection that it has now.
    private func begin(_ work: inout FolderWork, _ settings: FolderConfiguration?) async throws -> FolderContext {
        let places = boards.places
        let place = try await tools.threads.runIfActive {
            if let settings { places.open(with: settings) } else { places.refresh() }
        }.get()
        guard place.root.isInPlace else {
            throw FolderHalt(
                reason: .rootMissing,
                message: Phrase(
                    "\(places.configuration.path) is missing; mount its disk. The folder is not synced until the directory is back"
                ))
        }
        if boards.scrub.isUnread { try await readDamaged() }
        if boards.status.snapshot.completeness == nil {
            boards.status.set(heldDeletions: try await store.heldDeletions(of: id), in: places.configuration)
            boards.status.set(completeness: try await store.completeness(of: id))
        }
        let folder = context(at: place, settings ?? places.configuration)
        // What a lost selection would select is asked about, by a change of the mode, and not applied.
        if place.selection.suffices(for: places.configuration.mode) { try await folder.applySelection(&work) }
        try await PrepareArchiveStep(onlyAfterChange: true).run(folder, &work)
        if folder.deletionHalt == nil, boards.status.snapshot.halt != nil { work.effects.endsHalt = true }
        return folder
    }

    private func context(at place: FolderPlace, _ settings: FolderConfiguration) -> FolderContext {
        let status = boards.status.snapshot
        let index = FolderIndex(
            store: store, folder: id, localDevice: tools.localDevice.shortID,
            announcements: boards.announcements, changes: boards.changes, now: tools.time.wall,
            selection: place.selection)
        return FolderContext(
            settings: settings, place: place, index: index, peers: boards.peers, scrub: boards.scrub,
            writing: boards.writing, tools: tools,
            deletionHalt: status.deletionHalt, foundProblems: status.found)
    }

    private func heed(_ work: FolderWork) async {
        let (effects, hasUndecided) = (work.effects, !work.memory.undecided.isEmpty)
        let watcher = state.withLock { state in
            state.memory = work.memory
            return state.watcher
        }
        if let place = effects.place { boards.places.set(place) }
        if let watcher { effects.tell(watcher) }
        let onlySends = boards.places.configuration.kind == .sendOnly
        if let changed = boards.status.take(effects, at: tools.time.wall(), onlySends: onlySends) {
            await notes.keep(changed)
        }
        boards.inbox.take(effects, at: tools.time.monotonic())
        if effects.endsHalt { await endHalt() }
        if effects.touchesConflicts { await countConflicts() }
        if boards.scrub.hasDamaged { await rereadDamaged() }
        if !effects.changes.isEmpty {
            await notes.record(effects.changes)
            events.post("files-changed", folder: id)
        }
        for event in effects.events { events.post(event.type, folder: id, message: event.message) }
        if hasUndecided { decisionWake.notify() }
    }

    private func countConflicts() async {
        do {
            let copies = try await ConflictReading(folder: try reading()).copies()
            boards.status.set(conflicts: Int64(copies.count))
            statusChanged()
        } catch {
            // Counted again with the next scan.
            logger.debug("conflict copies cannot be counted: \(error)")
        }
    }

    private func endHalt() async {
        guard boards.status.snapshot.halt != nil else { return }
        if boards.status.set(halt: nil) { await notes.keep(heldDeletions: nil) }
        rootChanged.notify()
        statusChanged()
    }

    private func halted(by error: any Error) async {
        let halt =
            error as? FolderHalt
            ?? FolderHalt(
                reason: .error, message: Phrase(of: error),
                isIndexIncomplete: (error as? IndexStoreError)?.isAboutStoring ?? false)
        if boards.status.snapshot.halt != halt { logger.error("\(halt.message)") }
        if boards.status.set(halt: halt) { await notes.keep(heldDeletions: boards.status.snapshot.heldDeletions) }
        let isClosed = [.rootMissing, .markerMissing, .selection].contains(halt.reason)
        boards.inbox.halted(at: tools.time.monotonic(), pause: isClosed ? Self.closedPlacePause : Self.haltPause)
        boards.inbox.firstScan.open()
        statusChanged()
    }

    /// What `status` says of the folder is other than before.
    private func statusChanged() { events.post("folder-changed", folder: id) }

    // MARK: running

    /// Works until stopped or cancelled. A pause ends what is under way; what was staged is kept.
    package func run() async {
        await openIfEmpty()
        var isStopped = false
        while !Task.isCancelled, !isStopped {
            let isPaused = boards.places.configuration.isPaused
            if isPaused {
                boards.places.giveUpClaim()
                boards.inbox.firstScan.open()
            }
            isStopped = await withTaskGroup(of: Bool.self) { group in
                if !isPaused {
                    for job in [scans, pulls, followLinks, watch, cleanArchive, scrubOnSchedule, decideConflicts] {
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
            boards.status.set(hasScanned: false)
            // The one that was due may have been done before the end.
            boards.inbox.scanEverything()
        }
        boards.places.giveUpClaim()
    }

    /// A folder of which nothing is on this disk needs no scan before announcements are taken.
    private func openIfEmpty() async {
        // What cannot be read now is told by the first step.
        if let local = try? await store.totals(of: id).local, local == .zero { boards.inbox.firstScan.open() }
    }

    private func scans() async {
        while !Task.isCancelled {
            let now = tools.time.monotonic()
            switch boards.inbox.nextScan(at: now) {
            case .at(let paths): await scan(paths)
            case .countExtraneous: await attempt { _ = try await self.perform(CountExtraneousStep()) }
            case .countNeed: await attempt { _ = try await self.perform(CountNeedStep()) }
            case .wait(let deadline): await rest(until: deadline, now, boards.inbox.scanWake)
            }
        }
    }

    private func pulls() async {
        while !Task.isCancelled {
            let now = tools.time.monotonic()
            switch boards.inbox.nextPull(at: now) {
            case .now(let names, let unannounced):
                // While an index comes in, each batch would cost a pass over all that is selected.
                await boards.inbox.announcementArrived.quiet(clock: tools.time.clock, now: tools.time.monotonic)
                await attempt { try await self.pull(names, unannounced) }
            case .wait(let deadline): await rest(until: deadline, now, boards.inbox.pullWake)
            }
        }
    }

    private func scan(_ paths: [RelativePath]?) async {
        await attempt {
            try await self.turn.withUnits(1) {
                self.boards.status.set(isScanning: true)
                defer { self.boards.status.set(isScanning: false) }
                self.statusChanged()
                _ = try await self.execute(ScanStep(paths: paths, reported: self.boards.inbox.takeRenames()))
            }
        }
        boards.status.set(hasScanned: true)
        boards.inbox.firstScan.open()
        boards.inbox.pullWake.notify()
    }

    /// Does one thing that is due now, a scan before a pull; false if nothing is due. For simulations, which decide
    /// themselves who does something next, in the place of `run`.
    func performDue() async -> Bool {
        let now = tools.time.monotonic()
        switch boards.inbox.nextScan(at: now) {
        case .at(let paths): await scan(paths)
        case .countExtraneous: await attempt { _ = try await self.perform(CountExtraneousStep()) }
        case .countNeed: await attempt { _ = try await self.perform(CountNeedStep()) }
        case .wait:
            guard case .now(let names, let unannounced) = boards.inbox.nextPull(at: now) else { return false }
            await attempt { try await self.pull(names, unannounced) }
        }
        return true
    }

    private func rest(until deadline: MonotonicTime?, _ now: MonotonicTime, _ wake: Signal) async {
        if condition == .idle { statusChanged() }
        guard let deadline else { return await wake.wait() }
        await wake.wait(atMost: max(deadline - now, .milliseconds(10)), clock: tools.time.clock)
    }

    /// Who has what is needed may be there now.
    private func followLinks() async {
        for await _ in tools.fetching.linksChanged() where !state.withLock({ $0.isInStep }) {
            boards.inbox.pullEverything()
        }
        await Signal().wait()
    }

    /// Runs something; what goes wrong is kept for `status`.
    private func attempt(_ body: () async throws -> Void) async {
        do {
            try await body()
        } catch is CancellationError {
            return
        } catch FolderError.selectionChanged {
            boards.inbox.scanEverything()
        } catch {
            await halted(by: error)
        }
    }

    // MARK: pulling

    /// Does what is needed of `asked`, or of everything, window by window. Files are fetched outside of the turn, so that scans
    /// and changes of the selection go on meanwhile; they get into their places within it.
    private func pull(_ asked: [String]?, _ unannounced: Set<NameKey>) async throws {
        guard boards.status.snapshot.deletionHalt == nil else { return }
        // What was left undone before may have been waiting for these.
        var names = state.withLock { state in
            defer { state.isInStep = false }
            return state.isInStep ? asked : nil
        }
        if try await turn.withUnits(1, { try await self.execute(FollowElsewhereStep(names: asked)) }) { names = nil }
        var account = PullOutcomesStep.Account()
        var (cursor, clearance): (String?, DeletionClearance?) = (nil, nil)
        defer { boards.status.set(isSyncing: false) }
        repeat {
            var attempted: Set<NameKey> = []
            var next: String?
            while true {
                let step = PlanPullStep(
                    names: names, unannounced: unannounced, cursor: cursor, attempted: attempted,
                    deletions: boards.inbox.takeDeletions(), countsNeed: !boards.status.snapshot.isSyncing,
                    clearance: clearance)
                let round = try await turn.withUnits(1) { try await self.execute(step) }
                (names, next, clearance) = (round.names, round.next, round.clearance)
                account.isComplete = account.isComplete && round.isComplete
                if round.isNeeded, !boards.status.snapshot.isSyncing {
                    boards.status.set(isSyncing: true)
                    statusChanged()
                }
                guard !round.fetches.isEmpty else { break }
                attempted.formUnion(Set(names: round.fetches.map(\.file.name)))
                account.add(try await fetch(round.fetches, round.folder))
            }
            cursor = next
        } while cursor != nil
        try await endPull(names, account)
    }

    private func endPull(_ names: [String]?, _ account: PullOutcomesStep.Account) async throws {
        try await turn.withUnits(1) { try await self.execute(EndPullStep(names: names)) }
        boards.status.pullEnded()
        boards.status.set(waiting: account.waiting)
        boards.inbox.pullEnded(isComplete: account.isComplete, at: tools.time.monotonic())
        let isInStep = account.isComplete && boards.status.snapshot.need == NeededTotals()
        state.withLock { $0.isInStep = isInStep }
        if account.isComplete { boards.status.set(isShortOfSpace: false) }
        try await keepFree()
        statusChanged()
    }

    /// Fetches files and puts them into their places.
    private func fetch(
        _ items: [FileStaging.Item], _ folder: FolderContext
    ) async throws -> PullOutcomesStep.Account {
        let staging = FileStaging(
            folder: id, root: folder.root, index: store, environment: tools.fetching, transfers: tools.transfers,
            freeSpaceFloor: folder.freeSpaceFloor(of: try folder.root.freeSpace()), filesAtOnce: tools.filesAtOnce,
            place: { units in try await self.place(units) })
        let outcomes: [PlacementOutcome]
        do {
            outcomes = try await staging.pull(items)
        } catch {
            // What was staged may be of use to the next pull, or of none: it is not to be forgotten.
            boards.inbox.noteTemporaries(items.compactMap { $0.path?.temporaryPath })
            throw error
        }
        return try await turn.withUnits(1) {
            try await self.execute(PullOutcomesStep(items: items, outcomes: outcomes))
        }
    }

    /// Puts staged files into their places, in turn with everything else that changes the folder. Gives an outcome for each,
    /// by its position; what is wrong with one file is its outcome.
    /// Throws `FolderHalt`, `IndexStoreError`, `FileAccessError` or `CancellationError`.
    package func place(_ units: [StagedUnit]) async throws -> [(Int, PlacementOutcome)] {
        try await turn.withUnits(1) { try await self.execute(FilePlacer(units: units)) }
    }

    // MARK: what takes more than one step

    /// What was changed here gives way to what the others have. Throws `FolderError.notReceiveOnly`.
    package func revert(isDryRun: Bool) async throws -> FolderActionOutcome {
        var attempted: Set<NameKey> = []
        var outcome: FolderActionOutcome?
        while true {
            let round = try await perform(RevertStep(attempted: attempted, isDryRun: isDryRun))
            outcome = outcome ?? round.outcome
            guard !round.fetches.isEmpty else { break }
            attempted.formUnion(Set(names: round.fetches.map(\.file.name)))
            _ = try await fetch(round.fetches, round.folder)
        }
        pullNow()
        return outcome ?? FolderActionOutcome(folder: id.rawValue, action: .revert, isDryRun: isDryRun)
    }

    /// Edits the ignore file so that it is one of the other mode. Its being lost is no obstacle: a change of the mode is one
    /// way out of that.
    ///
    /// - Parameter old: the folder's mode before.
    /// Throws what `FolderStep.run` throws, such as `IgnoreError` or `FolderError.selectionChanged`.
    package func convert(
        to mode: FolderConfiguration.Mode, from old: FolderConfiguration.Mode, isDryRun: Bool
    ) async throws -> SelectionOutcome {
        var settings = boards.places.configuration
        settings.mode = .full
        let withoutLines = settings
        let outcome = try await turn.withUnits(1) {
            try await self.execute(ConvertStep(mode: mode, old: old, isDryRun: isDryRun), with: withoutLines)
        }
        statusChanged()
        return outcome
    }

    /// Everything that is needed is tried now.
    package func pullNow() {
        boards.status.set(isShortOfSpace: false)
        boards.inbox.pullNow()
        boards.inbox.scanWake.notify()
    }

    // MARK: on schedule

    /// The longest time from the agent's start to the first look for versions that are to go.
    private static let firstCleaning = 60

    /// Cleans the archive at the intervals that the settings say, until cancelled.
    private func cleanArchive() async {
        let settings = boards.places.configuration.versions
        guard settings.kind != .none, settings.cleanInterval > 0 else { return await Signal().wait() }
        var pause = min(settings.cleanInterval, Self.firstCleaning)
        while (try? await tools.time.clock.sleep(for: .seconds(pause))) != nil {
            do {
                try await perform(CleanArchiveStep())
            } catch is CancellationError {
                break
            } catch {
                logger.warning("old versions were not removed: \(error)")
            }
            pause = settings.cleanInterval
        }
    }

    /// Has the command decide what comes up, one after the other, until cancelled.
    private func decideConflicts() async {
        while !Task.isCancelled { if await !decideNext() { await decisionWake.wait() } }
    }

    /// False if there is nothing to decide. The folder goes on while the command thinks.
    func decideNext() async -> Bool {
        guard let next = (try? await turn.withUnits(1) { state.withLock { $0.memory.takeUndecided() } }) ?? nil else {
            return false
        }
        do {
            try await decide(next)
        } catch is CancellationError {
            return true
        } catch {
            logger.warning("the conflict over \(next.path.text) was not resolved: \(error)")
        }
        return true
    }

    private func decide(_ undecided: UndecidedConflict) async throws {
        let settings = boards.places.configuration.conflicts
        guard !settings.command.isEmpty else { return }
        let description = try await perform(DescribeConflictStep(undecided: undecided))
        let command = ConflictCommand(words: settings.command, seconds: settings.commandSeconds)
        try await ConflictCommand.withMergeDirectory { directory in
            guard let decision = try await command.decide(description, mergingInto: directory) else { return }
            try await perform(
                DecideConflictStep(
                    undecided: undecided, description: description, decision: decision, directory: directory))
        }
        boards.inbox.scanWake.notify()
        boards.inbox.pullWake.notify()
    }

    // MARK: watching

    /// Until cancelled.
    func watch() async {
        guard let watchProgram, boards.places.configuration.isWatched else {
            boards.status.setWatch("off")
            return await Signal().wait()
        }
        let watch = RootWatch(
            program: watchProgram, boards: boards, rootChanged: rootChanged, time: tools.time, logger: logger)
        await watch.run { watcher in state.withLock { $0.watcher = watcher } }
    }
}
