import AsyncTools
import BlockExchange
import FileAccess
import FolderWatcher
import Names
import Reconciliation
import Synchronization

/// What has come up for a folder and waits for its runner. Links, the watcher and clients write it; the runner reads it.
package final class FolderInbox: Sendable {
    /// More deletions than this that wait to be weighed against what is here are left to the winner's rule alone.
    private static let deletionLimit = 10_000
    /// More renames than this that wait for a scan are found by what the disk says of files.
    private static let renameLimit = 1000
    /// How long a share may show a file as it was before it was written.
    private static let sharePause: Duration = .seconds(3)

    private struct State {
        var agenda = FolderAgenda(rescanInterval: nil)
        /// Renames that the watcher saw and no scan has seen yet.
        var renames: [Relocation.Move] = []
        /// What others announced as deleted and may be wanted here; the newest of each name.
        var deletions: [NameKey: FileInfo] = [:]
        /// What fetches that were cut off have left.
        var temporaries: [RelativePath] = []
    }

    private let state = Mutex(State())
    /// Something is to be scanned.
    let scanWake = Signal()
    /// Something is to be pulled.
    let pullWake = Signal()
    /// Another device announced something.
    let announcementArrived = Signal()
    /// Open once the folder was scanned since it was started, or cannot be.
    let firstScan = Latch()

    // MARK: what is to be done

    /// Anything may have changed on this disk.
    func scanEverything() {
        state.withLock { $0.agenda.scanEverything() }
        scanWake.notify()
    }

    package func scan(_ paths: some Sequence<RelativePath>) {
        state.withLock { $0.agenda.scan(paths) }
        scanWake.notify()
    }

    /// A device came or went, or announced more than can be named.
    package func pullEverything() {
        state.withLock { $0.agenda.pullSoon() }
        wakePull()
    }

    /// Another device announced these names, together.
    package func pull(_ names: some Collection<String>) {
        state.withLock { $0.agenda.pullSoon(names, areAnnounced: true) }
        wakePull()
    }

    /// What was reported of this disk is looked at before.
    private func wakePull() {
        scanWake.notify()
        pullWake.notify()
    }

    /// A person asks for everything to be tried now.
    package func pullNow() {
        state.withLock { state in
            state.agenda.succeeded()
            state.agenda.pullSoon()
        }
        wakePull()
    }

    func noteTemporaries(_ paths: [RelativePath]) {
        state.withLock { state in
            let room = FolderMemory.temporaryLimit - state.temporaries.count
            state.temporaries += paths.prefix(max(0, room))
        }
    }

    package func note(deletions: some Sequence<FileInfo>) {
        state.withLock { state in
            for file in deletions where state.deletions.count < Self.deletionLimit {
                state.deletions[file.name] = file
            }
        }
    }

    /// The watcher reported something of the folder.
    ///
    /// - Parameter isOnShare: which paths are on a share: Linux keeps a file that was closed there open for a second, and shows its old
    ///   time and size to who lists the directory meanwhile. So these are looked at once more.
    package func take(
        _ changes: WatchReport, at now: MonotonicTime, isOnShare: (RelativePath) -> Bool = { _ in false }
    ) {
        switch changes {
        case .changed(let changes):
            let paths = changes.compactMap(\.path)
            let shared = paths.filter(isOnShare)
            if !shared.isEmpty { state.withLock { $0.agenda.scanAgain(shared, at: now + Self.sharePause) } }
            if paths.count == changes.count { scanReported(paths, at: now) } else { scanEverything() }
        case .renamed(let from, let to, _):
            state.withLock { state in
                guard state.renames.count < Self.renameLimit else { return }
                state.renames.append(Relocation.Move(from: from.text, to: to.text))
            }
            scanReported([from, to], at: now)
        case .ignoreFileChanged, .markerChanged: scanEverything()
        // All was scanned, or is about to be, when the folder was started.
        case .rescan(let path, _): if let path { scan([path]) } else { scanEverything() }
        // Nothing more is reported of it: the scan finds why, and halts the folder.
        case .state(.impaired(let impairment)): if impairment.code == .rootGone { scanEverything() }
        case .state: break
        }
    }

    /// Programs changed these names through a mount.
    package func written(_ paths: [RelativePath], at now: MonotonicTime) { scanReported(paths, at: now) }

    private func scanReported(_ paths: [RelativePath], at now: MonotonicTime) {
        let isFirst = state.withLock { $0.agenda.scanReported(paths, at: now) }
        // Who waits for the first waits for those that follow it, too.
        if isFirst { scanWake.notify() }
    }

    // MARK: for the runner

    package func set(rescanInterval: Duration?) {
        state.withLock { state in
            state.agenda.rescanInterval = rescanInterval
            state.agenda.scanEverything()
        }
        scanWake.notify()
    }

    package var hasWork: Bool { state.withLock { $0.agenda.hasWork } }

    /// Whether something is due, or a pull is under way that may not have seen yet what it needs.
    var isBusy: Bool { state.withLock { $0.agenda.hasWork || $0.agenda.awaitsCount } }

    func nextScan(at now: MonotonicTime) -> FolderAgenda.Look { state.withLock { $0.agenda.nextLook(at: now) } }

    func nextPull(at now: MonotonicTime) -> FolderAgenda.Pull { state.withLock { $0.agenda.nextPull(at: now) } }

    func takeRenames() -> [Relocation.Move] {
        state.withLock { state in
            defer { state.renames = [] }
            return state.renames
        }
    }

    func takeDeletions() -> [FileInfo] {
        state.withLock { state in
            defer { state.deletions = [:] }
            return state.deletions.values.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        }
    }

    func takeTemporaries() -> [RelativePath] {
        state.withLock { state in
            defer { state.temporaries = [] }
            return state.temporaries
        }
    }

    /// Takes over what is to follow from a step.
    package func take(_ effects: FolderEffects, at now: MonotonicTime) {
        let (scans, pulls) = state.withLock { state in
            for later in effects.laterScans { state.agenda.scan(later.paths, at: later.due) }
            if let gone = effects.goneScans { state.agenda.scanGone(gone.paths, at: gone.due) }
            if !effects.doubted.isEmpty { state.agenda.doubt(effects.doubted, at: now) }
            if !effects.rescans.isEmpty { state.agenda.scan(effects.rescans.sorted()) }
            if effects.scansEverything { state.agenda.scanEverything() }
            if let cost = effects.extraneousCost { state.agenda.extraneousCounted(in: cost) }
            if effects.touchesExtraneous { state.agenda.countExtraneousSoon(at: now) }
            if let cost = effects.needCost { state.agenda.needCounted(in: cost) }
            if effects.touchesNeed { state.agenda.countNeedSoon(at: now) }
            switch effects.pull {
            case .everything: state.agenda.pullSoon()
            case .names(let names): state.agenda.pullSoon(names.map(\.text), areAnnounced: false)
            case .none: break
            }
            if effects.mayUnblockPull, state.agenda.awaitsRetry { state.agenda.pullSoon() }
            let scans =
                !effects.laterScans.isEmpty || effects.goneScans != nil || !effects.doubted.isEmpty
                || !effects.rescans.isEmpty || effects.scansEverything || effects.touchesExtraneous
                || effects.touchesNeed
            if case .none = effects.pull { return (scans, effects.mayUnblockPull) }
            return (scans, true)
        }
        if scans { scanWake.notify() }
        if pulls { wakePull() }
    }

    /// A pull has done everything, or left something undone that time may mend.
    func pullEnded(isComplete: Bool, at now: MonotonicTime) {
        state.withLock { isComplete ? $0.agenda.succeeded() : $0.agenda.retryLater(at: now) }
    }

    package func halted(at now: MonotonicTime, pause: Duration) {
        state.withLock { $0.agenda.halted(at: now, pause: pause) }
    }
}
