import AgentConfiguration
import BlockExchange
import FileAccess
import Names

/// What a folder's engine has to do, and when: pure, so that its rules can be read and tested as a table.
///
/// Looks at the disk and pulls are taken by two loops, since a pull may take hours and a change made here must not wait
/// for it. A pull is not begun while a look is due: a plan that is made of an old look would be dropped anyway.
package struct FolderAgenda: Sendable {
    enum Look: Equatable, Sendable {
        /// Look at these names and all below them; nil for the whole folder.
        case at([RelativePath]?)
        /// Count what is on this disk and not selected.
        case countExtraneous
        /// Count what is needed.
        case countNeed
        /// Nothing to do before this time, or before something happens.
        case wait(until: MonotonicTime?)
    }

    package enum Pull: Equatable, Sendable {
        /// See what is needed of these names; nil for all that is kept. What is deleted of the `unannounced` ones was
        /// announced together with names that are not among these.
        case now([String]?, unannounced: Set<NameKey> = [])
        case wait(until: MonotonicTime?)
    }

    private enum DuePull {
        case none
        /// By name, whether another device announced it.
        case names([NameKey: Bool])
        case everything
    }

    /// Names that wait to be looked at; once they are too many to be kept, all that the folder has.
    struct WaitingNames {
        private(set) var paths: Set<RelativePath> = []
        private(set) var areAll = false

        var isEmpty: Bool { paths.isEmpty && !areAll }

        mutating func add(_ new: some Sequence<RelativePath>) {
            guard !areAll else { return }
            paths.formUnion(new)
            if paths.count > FolderAgenda.pathLimit { (paths, areAll) = ([], true) }
        }
    }

    /// Names that wait to be looked at, each for its own time; once they are too many to be kept, all that the folder has.
    struct DelayedNames {
        private(set) var due: [RelativePath: MonotonicTime] = [:]
        /// When all that the folder has is looked at; nil while names are kept.
        private var allDue: MonotonicTime?

        /// When the next of them is to be looked at; nil for none.
        var nextDue: MonotonicTime? { allDue ?? due.values.min() }

        mutating func add(_ paths: some Sequence<RelativePath>, at time: MonotonicTime, postponing: Bool = false) {
            guard allDue == nil else { return }
            for path in paths { due[path] = postponing ? time : min(due[path] ?? time, time) }
            if due.count > FolderAgenda.pathLimit { (due, allDue) = ([:], due.values.max()) }
        }

        /// Those whose time has come, which wait no more; nil for all that the folder has.
        mutating func take(at now: MonotonicTime) -> [RelativePath]? {
            guard let allDue else {
                let names = due.filter { $0.value <= now }.map(\.key)
                for name in names { due[name] = nil }
                return names
            }
            guard allDue <= now else { return [] }
            self.allDue = nil
            return nil
        }
    }

    /// More changed names than this are looked at by a scan, or a pull, of everything.
    package static let pathLimit = 2000
    /// How long what was reported waits for what belongs to it, and how long at most while more is reported all the time.
    private static let reportPause: Duration = .milliseconds(100)
    private static let reportPatience: Duration = .seconds(1)
    /// More names than this wait for nothing.
    private static let reportLimit = 1500
    private static let firstRetry: Duration = .seconds(5)
    private static let lastRetry: Duration = .seconds(600)

    /// Time between two looks at the whole folder; nil for none but those that are asked for.
    package var rescanInterval: Duration?
    private(set) var isWholeScanDue = true
    private(set) var dueScans: Set<RelativePath> = []
    private var duePull = DuePull.everything
    /// Whether a pull was taken off the agenda and may still run: what is needed may not be counted yet.
    private(set) var isPulling = false
    /// Names that were not as a plan saw them, since all was well last.
    private var doubted: Set<RelativePath> = []
    /// Names that were still being written when they were looked at.
    private(set) var laterScans = DelayedNames()
    /// Names that were reported, and to which more may belong.
    private(set) var reported = WaitingNames()
    /// When the first and the last of them were.
    private var reports: (first: MonotonicTime, last: MonotonicTime)?
    /// Whether a pull is due of what was announced, and not only of what was found here.
    private var awaitsPull = true
    /// Where names are gone, which others may follow or turn up elsewhere.
    private(set) var goneScans = WaitingNames()
    private var goneScansDue: MonotonicTime?
    /// When what is on this disk and not selected is counted.
    private var extraneousCount = DueCount(firstPause: .seconds(5))
    /// When what is needed is counted, other than by a pull.
    private var needCount = DueCount(firstPause: .seconds(1))
    private var nextRescan: MonotonicTime?
    private var nextRetry: MonotonicTime?
    private var retryPause = FolderAgenda.firstRetry

    init(rescanInterval: Duration?) { self.rescanInterval = rescanInterval }

    mutating func scanEverything() { isWholeScanDue = true }

    /// These names may have changed on this disk.
    package mutating func scan(_ paths: some Sequence<RelativePath>) {
        guard !isWholeScanDue else { return }
        dueScans.formUnion(paths)
        if dueScans.count > Self.pathLimit { scanEverything() }
    }

    /// The same, but not before `due`.
    package mutating func scan(_ paths: some Sequence<RelativePath>, at due: MonotonicTime) {
        laterScans.add(paths, at: due)
    }

    /// The same, however soon they were to be looked at again before.
    mutating func scanAgain(_ paths: some Sequence<RelativePath>, at due: MonotonicTime) {
        laterScans.add(paths, at: due, postponing: true)
    }

    private mutating func scan(_ names: WaitingNames) {
        if names.areAll { scanEverything() } else { scan(names.paths) }
    }

    /// These names were reported to have changed. They are looked at together with all that is reported soon after: the two ends
    /// of a rename come in reports of their own, and a program that makes many files is not held up by a look at each few.
    ///
    /// - Returns: whether the next look is earlier for it.
    @discardableResult
    mutating func scanReported(_ paths: some Sequence<RelativePath>, at now: MonotonicTime) -> Bool {
        let due = reportedDue
        reported.add(paths)
        reports = (reports?.first ?? now, now)
        guard let due, let new = reportedDue else { return true }
        return new < due
    }

    /// What another device announced waits for the look, and so for the first of these names alone.
    private var reportedDue: MonotonicTime? {
        guard let reports else { return nil }
        if awaitsPull { return reports.first + Self.reportPause }
        if reported.areAll || reported.paths.count > Self.reportLimit { return reports.last }
        return min(reports.last + Self.reportPause, reports.first + Self.reportPatience)
    }

    /// Names that are not selected came, went or changed: they are counted soon, with those that follow until then.
    mutating func countExtraneousSoon(at now: MonotonicTime) { extraneousCount.soon(at: now) }

    /// They were counted, which took so long.
    mutating func extraneousCounted(in cost: Duration) { extraneousCount.counted(in: cost) }

    /// Less is needed, or more: that is counted soon, with what follows until then.
    mutating func countNeedSoon(at now: MonotonicTime) { needCount.soon(at: now) }

    /// It was counted, which took so long.
    mutating func needCounted(in cost: Duration) { needCount.counted(in: cost) }

    /// Whether what is needed is still to be counted.
    var awaitsCount: Bool { isPulling || needCount.due != nil }

    /// Names are gone there: they are looked at again at `due`, or together with what is to be looked at before, so that
    /// both ends of a rename are seen at once.
    mutating func scanGone(_ paths: some Sequence<RelativePath>, at due: MonotonicTime) {
        goneScans.add(paths)
        goneScansDue = due
    }

    /// These names were not on the disk what a plan took them for. They are looked at now, but if that has not helped
    /// once, only with the next try: else a name that never is as expected would keep the disk busy for ever.
    mutating func doubt(_ paths: some Sequence<RelativePath>, at now: MonotonicTime) {
        let paths = Set(paths)
        scan(paths.subtracting(doubted))
        let stubborn = paths.intersection(doubted)
        if !stubborn.isEmpty { scan(stubborn, at: now + retryPause) }
        if doubted.count + paths.count <= Self.pathLimit { doubted.formUnion(paths) }
    }

    /// Whether the last pull left something undone that time or another look may mend.
    var awaitsRetry: Bool { nextRetry != nil }

    /// Whether there is something to do now.
    package var hasWork: Bool { isWholeScanDue || !dueScans.isEmpty || !reported.isEmpty || isPullDue }

    private var isPullDue: Bool {
        if case .none = duePull { false } else { true }
    }

    /// The selection, the settings or the links changed: anything may be needed now.
    mutating func pullSoon() {
        duePull = .everything
        awaitsPull = true
        retryPause = Self.firstRetry
    }

    /// The index changed at these names: they may be needed now.
    ///
    /// - Parameter areAnnounced: whether another device changed them, and these are all that it announced with them.
    mutating func pullSoon(_ names: some Collection<String>, areAnnounced: Bool) {
        pullLater(names, areAnnounced: areAnnounced)
        if areAnnounced, !names.isEmpty { awaitsPull = true }
        retryPause = Self.firstRetry
    }

    private mutating func pullLater(_ names: some Collection<String>, areAnnounced: Bool) {
        var due: [NameKey: Bool]
        switch duePull {
        case .everything: return
        case .none: due = [:]
        case .names(let names): due = names
        }
        for name in names { due[name] = areAnnounced || due[name] == true }
        duePull = due.count > Self.pathLimit ? .everything : due.isEmpty ? .none : .names(due)
    }

    /// Takes the next look off the agenda.
    mutating func nextLook(at now: MonotonicTime) -> Look {
        if let nextRescan, now >= nextRescan { isWholeScanDue = true }
        if let names = laterScans.take(at: now) { scan(names) } else { scanEverything() }
        if let due = reportedDue, now >= due || isWholeScanDue {
            scan(reported)
            reported = WaitingNames()
            reports = nil
        }
        if !dueScans.isEmpty || goneScansDue.map({ now >= $0 }) ?? false {
            scan(goneScans)
            goneScans = WaitingNames()
            goneScansDue = nil
        }
        if isWholeScanDue {
            isWholeScanDue = false
            // It counts, too.
            extraneousCount.forget()
            goneScans = WaitingNames()
            goneScansDue = nil
            dueScans = []
            nextRescan = rescanInterval.map { now + $0 }
            // What the scan finds decides what there is to pull.
            duePull = .everything
            return .at(nil)
        }
        if !dueScans.isEmpty {
            let paths = dueScans.sorted()
            dueScans = []
            pullLater(paths.map(\.text), areAnnounced: false)
            return .at(paths)
        }
        if needCount.take(at: now) { return .countNeed }
        if extraneousCount.take(at: now) { return .countExtraneous }
        let counts = [needCount.due, extraneousCount.due]
        return .wait(
            until: ([nextRescan, laterScans.nextDue, goneScansDue, reportedDue] + counts).compactMap { $0 }.min())
    }

    /// Takes the next pull off the agenda. The one before has ended: one loop asks for pulls and does them.
    mutating func nextPull(at now: MonotonicTime) -> Pull {
        isPulling = false
        if let nextRetry, now >= nextRetry {
            self.nextRetry = nil
            duePull = .everything
        }
        guard isPullDue else { return .wait(until: nextRetry) }
        guard !isWholeScanDue, dueScans.isEmpty, reported.isEmpty else { return .wait(until: nil) }
        defer { (duePull, awaitsPull, isPulling) = (.none, false, true) }
        guard case .names(let names) = duePull else { return .now(nil) }
        return .now(
            names.keys.map(\.text).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) },
            unannounced: Set(names.lazy.filter { !$0.value }.map(\.key)))
    }

    /// Something was left undone by an error that may pass: it is tried again, later each time.
    mutating func retryLater(at now: MonotonicTime) {
        guard nextRetry == nil else { return }
        nextRetry = now + retryPause
        retryPause = min(retryPause * 2, Self.lastRetry)
    }

    /// Everything was done: the next error is tried again soon.
    package mutating func succeeded() {
        nextRetry = nil
        retryPause = Self.firstRetry
        doubted = []
    }

    /// The folder cannot be worked on at all; after `pause` all of it is looked at again.
    package mutating func halted(at now: MonotonicTime, pause: Duration) {
        isWholeScanDue = false
        dueScans = []
        (duePull, awaitsPull, isPulling) = (.none, false, false)
        laterScans = DelayedNames()
        goneScans = WaitingNames()
        goneScansDue = nil
        extraneousCount.forget()
        needCount.forget()
        reported = WaitingNames()
        reports = nil
        doubted = []
        nextRetry = nil
        nextRescan = now + pause
    }
}

extension FolderConfiguration {
    /// How long after a scan of everything the next one is due; nil for never.
    var rescanPause: Duration? { rescanInterval > 0 ? .seconds(rescanInterval) : nil }
}
