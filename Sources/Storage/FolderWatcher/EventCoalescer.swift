import FileAccess

/// What happened to a name in a watched directory.
enum FolderEvent: Hashable, Sendable {
    /// A new file, link, or directory that is not watched; `isComplete` unless a file waits to be written and closed.
    case created(RelativePath, isComplete: Bool)
    case written(RelativePath)
    /// Closed after writing.
    case closed(RelativePath)
    /// Its permissions, times or the like changed.
    case touched(RelativePath)
    case removed(RelativePath, isDirectory: Bool)
    /// One half of a rename; the other, if it is in a watched directory, has the same cookie and comes later.
    case movedAway(RelativePath, cookie: UInt32, isDirectory: Bool)
    case movedHere(RelativePath, cookie: UInt32, isDirectory: Bool)
    /// A directory of which all changes are seen from now on.
    case appeared(RelativePath)
    /// Something whose name is no text changed in the directory; nil is the root.
    case unnamed(in: RelativePath?)
    /// Events may have been lost below the directory, or anywhere if nil.
    case lost(RelativePath?, RescanReason)
}

/// Turns events into reports: waits until names have settled, pairs the halves of renames, and keeps within bounds.
///
/// Pure: times are handed in, as time passed since any fixed moment. `take(at:)` gives what is due; there is nothing
/// to do before `nextDue`.
struct EventCoalescer: Sendable {
    private let settings: WatchSettings
    /// By name, or by directory for a wider scope; nil is the root, whose scope is `children`.
    private var pending: [RelativePath?: Pending] = [:]
    /// How many entries of `pending` are wider than one name.
    private var wideCount = 0
    private var departures: [UInt32: Departure] = [:]
    private var renames: [Rename] = []
    private var rescans: [RelativePath?: Rescan] = [:]
    /// Nothing is due before this; nil if nothing is pending. May be early, never late.
    private(set) var nextDue: Duration?

    init(settings: WatchSettings) { self.settings = settings }

    /// How many names, renames and rescans wait to be reported.
    var pendingCount: Int { pending.count + departures.count + renames.count + rescans.count }

    /// Whether the file was written to and not yet closed, as far as is known.
    func isBeingWritten(_ path: RelativePath) -> Bool { pending[path]?.isBeingWritten ?? false }

    // MARK: events

    mutating func note(_ event: FolderEvent, at now: Duration) {
        switch event {
        case .created(let path, let isComplete):
            guard Self.isOfInterest(path) else { return }
            let isNew = pending[path] == nil
            if isComplete { change(.item, path, at: now) } else { write(path, at: now) }
            if isNew { pending[path]?.isNew = true }
        case .written(let path):
            if Self.isOfInterest(path) { write(path, at: now) }
        case .closed(let path):
            guard Self.isOfInterest(path) else { return }
            pending[path]?.isBeingWritten = false
            change(.item, path, at: now)
        case .touched(let path):
            if Self.isOfInterest(path) { change(.item, path, at: now) }
        case .removed(let path, let isDirectory):
            guard Self.isOfInterest(path) else { return }
            pending[path]?.isBeingWritten = false
            change(isDirectory ? .tree : .item, path, at: now)
        case .appeared(let path):
            if Self.isOfInterest(path) { change(.tree, path, at: now) }
        case .unnamed(let directory): change(.children, directory, at: now)
        case .movedAway(let path, let cookie, let isDirectory): moveAway(path, cookie, isDirectory, at: now)
        case .movedHere(let path, let cookie, let isDirectory): moveHere(path, cookie, isDirectory, at: now)
        case .lost(let directory, let reason):
            if rescans[nil] == nil || directory == nil {
                rescans[directory] = Rescan(reason: reason, due: now + settings.settle)
                consider(now + settings.settle)
            }
        }
        if pendingCount > settings.pendingLimit { collapse(at: now) }
    }

    /// Files being fetched and the folder's own directories are nobody's business, but for two names.
    private static func isOfInterest(_ path: RelativePath) -> Bool {
        if path.isInternal { return isSpecial(path) }
        return !path.isTemporary
    }

    private static func isSpecial(_ path: RelativePath?) -> Bool { path == ignoreFile || path == marker }

    private static let ignoreFile = RelativePath(".stignore")
    private static let marker = RelativePath(".stfolder")

    private mutating func write(_ path: RelativePath, at now: Duration) {
        guard pending[path] != nil || pendingCount < settings.pendingLimit || cover(of: path) == nil else { return }
        update(path, at: now) { $0.isBeingWritten = true }
    }

    private mutating func change(_ scope: Scope, _ path: RelativePath?, at now: Duration) {
        // What covers the name is reported later than now, so the name needs no report of its own.
        if !Self.isSpecial(path), pending[path]?.isBeingWritten != true {
            if rescans[nil] != nil {
                forget(path)
                return
            }
            if let path, let cover = cover(of: path), cover != path {
                forget(path)
                update(cover, at: now) { $0.settledAt = $0.settledAt ?? now }
                return
            }
        }
        let widens = scope > .item && (pending[path]?.scope ?? .item) == .item
        update(path, at: now) { entry in
            entry.scope = max(entry.scope, scope)
            if !entry.isBeingWritten { entry.settledAt = entry.settledAt ?? now }
        }
        if widens { wideCount += 1 }
    }

    private mutating func update(_ path: RelativePath?, at now: Duration, _ body: (inout Pending) -> Void) {
        var entry = pending[path] ?? Pending(scope: .item, firstAt: now, lastAt: now)
        entry.lastAt = now
        body(&entry)
        pending[path] = entry
        consider(due(entry))
    }

    private mutating func forget(_ path: RelativePath?) {
        if let entry = pending.removeValue(forKey: path), entry.scope > .item { wideCount -= 1 }
    }

    /// The pending directory whose report covers `path`; may be `path` itself.
    private func cover(of path: RelativePath) -> RelativePath?? {
        guard wideCount > 0 else { return nil }
        if let entry = pending[path], entry.scope == .tree { return .some(path) }
        var directory = path.parent
        if let entry = pending[directory], entry.scope >= .children { return .some(directory) }
        while let ancestor = directory {
            if let entry = pending[ancestor], entry.scope == .tree { return .some(ancestor) }
            directory = ancestor.parent
        }
        return nil
    }

    // MARK: renames

    private mutating func moveAway(_ path: RelativePath, _ cookie: UInt32, _ isDirectory: Bool, at now: Duration) {
        guard Self.isOfInterest(path) else { return }
        guard !path.isInternal else {
            change(.item, path, at: now)
            return
        }
        if let earlier = departures[cookie] { expire(earlier) }
        let departure = Departure(path: path, isDirectory: isDirectory, at: now, due: now + settings.settle)
        departures[cookie] = departure
        consider(departure.due)
    }

    private mutating func moveHere(_ path: RelativePath, _ cookie: UInt32, _ isDirectory: Bool, at now: Duration) {
        guard Self.isOfInterest(path) else { return }
        let scope = isDirectory ? Scope.tree : .item
        guard !path.isInternal, let departure = departures[cookie], departure.isDirectory == isDirectory,
            departure.path != path
        else {
            pending[path]?.isBeingWritten = false
            change(path.isInternal ? .item : scope, path, at: now)
            return
        }
        departures.removeValue(forKey: cookie)
        let source = departure.path
        let carried = pending[source]
        let isCovered = rescans[nil] != nil || cover(of: source) != nil
        forget(source)
        if isDirectory { rebase(from: source, to: path) }
        if var carried {
            carried.lastAt = now
            if !carried.isBeingWritten { carried.settledAt = carried.settledAt ?? now }
            forget(path)
            if carried.scope > .item { wideCount += 1 }
            pending[path] = carried
            consider(due(carried))
        }
        // A change of the source that its cover took in now belongs to the target.
        if isCovered, carried?.isBeingWritten != true { change(scope, path, at: now) }
        if carried?.isNew == true {
            // Nobody was told of the old name: as with editors that write a file aside and move it into place.
            if carried?.isBeingWritten != true { change(scope, path, at: now) }
            change(.item, source, at: now)
        } else {
            rename(from: source, to: path, isDirectory: isDirectory, at: now)
        }
    }

    private mutating func rename(from: RelativePath, to: RelativePath, isDirectory: Bool, at now: Duration) {
        let scope = isDirectory ? Scope.tree : .item
        let due = now + settings.settle
        guard let last = renames.indices.last, renames[last].to == from, renames[last].isDirectory == isDirectory
        else {
            renames.append(Rename(from: from, to: to, isDirectory: isDirectory, due: due))
            consider(due)
            return
        }
        // Moved on: one rename; there and back: none, but all the names are looked at.
        change(.item, from, at: now)
        if renames[last].from == to {
            renames.removeLast()
            change(scope, to, at: now)
        } else {
            renames[last].to = to
        }
    }

    private mutating func rebase(from: RelativePath, to: RelativePath) {
        for (path, entry) in pending {
            guard let path, path.isBelow(from) else { continue }
            pending.removeValue(forKey: path)
            let rest = String(path.text.utf8.dropFirst(from.text.utf8.count + 1)) ?? ""
            // Too long by now: such a name cannot be synced, and the rename is reported.
            guard let moved = try? to.appending(rest) else {
                if entry.scope > .item { wideCount -= 1 }
                continue
            }
            if let replaced = pending.updateValue(entry, forKey: moved), replaced.scope > .item { wideCount -= 1 }
        }
    }

    private mutating func expire(_ departure: Departure) {
        pending[departure.path]?.isBeingWritten = false
        change(departure.isDirectory ? .tree : .item, departure.path, at: departure.at)
    }

    // MARK: reports

    /// What is due at `now`: renames as they came, then rescans, then the names that have settled.
    mutating func take(at now: Duration) -> [WatchReport] {
        guard let nextDue, nextDue <= now else { return [] }
        let horizon = now + settings.slack
        for (cookie, departure) in departures.sorted(by: { $0.key < $1.key }) where departure.due <= horizon {
            departures.removeValue(forKey: cookie)
            expire(departure)
        }
        let dueRescans = rescans.filter { $0.value.due <= horizon }
        let dueNames = pending.filter { due($0.value) <= horizon }
        // An early wake-up: a name was changed again since its time was set.
        let isAnythingDue = !dueRescans.isEmpty || !dueNames.isEmpty || renames.contains { $0.due <= horizon }
        defer { recomputeNextDue() }
        guard isAnythingDue else { return [] }

        var reports = renames.map { WatchReport.renamed(from: $0.from, to: $0.to, isDirectory: $0.isDirectory) }
        renames = []
        reports += dueRescans.sorted { Self.precedes($0.key, $1.key) }.map { .rescan($0.key, $0.value.reason) }
        for directory in dueRescans.keys { rescans.removeValue(forKey: directory) }
        return reports + settledNames(dueNames, rescansAll: dueRescans[nil] != nil)
    }

    private mutating func settledNames(_ due: [RelativePath?: Pending], rescansAll: Bool) -> [WatchReport] {
        var reports: [WatchReport] = []
        var changes: [WatchedChange] = []
        for (path, entry) in due.sorted(by: { Self.precedes($0.key, $1.key) }) {
            forget(path)
            if path == Self.ignoreFile {
                reports.append(.ignoreFileChanged)
            } else if path == Self.marker {
                reports.append(.markerChanged)
            } else if !rescansAll, let change = entry.change(path) {
                changes.append(change)
            }
        }
        let wide = due.filter { $0.value.scope > .item }
        if rescansAll || !wide.isEmpty {
            // What the rescan or a wider scope covers and is not being written needs no report of its own.
            for (path, entry) in pending where !entry.isBeingWritten && !Self.isSpecial(path) {
                if rescansAll || Self.isCovered(path, by: wide) { forget(path) }
            }
            changes.removeAll { Self.isCovered($0.path, by: wide) }
        }
        if !changes.isEmpty { reports.append(.changed(changes)) }
        return reports
    }

    /// Whether the scope of another entry of `wide` takes in `path`.
    private static func isCovered(_ path: RelativePath?, by wide: [RelativePath?: Pending]) -> Bool {
        guard let path, !wide.isEmpty else { return false }
        if wide[path] == nil, let entry = wide[path.parent], entry.scope >= .children { return true }
        var directory = path.parent
        while let ancestor = directory {
            if let entry = wide[ancestor], entry.scope == .tree { return true }
            directory = ancestor.parent
        }
        return false
    }

    private static func precedes(_ left: RelativePath?, _ right: RelativePath?) -> Bool {
        guard let right else { return false }
        guard let left else { return true }
        return left < right
    }

    private func due(_ entry: Pending) -> Duration {
        let limit = entry.firstAt + settings.writeLimit
        guard !entry.isBeingWritten, let settledAt = entry.settledAt else { return limit }
        return min(entry.lastAt + settings.settle, settledAt + settings.settleLimit, limit)
    }

    private mutating func consider(_ due: Duration) { nextDue = min(nextDue ?? due, due) }

    private mutating func recomputeNextDue() {
        nextDue = nil
        for entry in pending.values { consider(due(entry)) }
        for departure in departures.values { consider(departure.due) }
        for rename in renames { consider(rename.due) }
        for rescan in rescans.values { consider(rescan.due) }
    }

    // MARK: bounds

    /// Makes room: names become their directories, these become trees further and further up, and in the end the
    /// whole folder is rescanned.
    private mutating func collapse(at now: Duration) {
        let enough = settings.pendingLimit / 2
        for (_, departure) in departures.sorted(by: { $0.key < $1.key }) { expire(departure) }
        departures = [:]
        for rename in renames {
            change(rename.isDirectory ? .tree : .item, rename.from, at: now)
            change(rename.isDirectory ? .tree : .item, rename.to, at: now)
        }
        renames = []
        var depth = 0
        for (path, entry) in pending where !Self.isSpecial(path) {
            depth = max(depth, path?.components.count ?? 0)
            guard let path, entry.scope == .item else { continue }
            widen(path, to: path.parent, .children)
        }
        while pending.count > enough || rescans.count > enough, depth > 0 {
            for path in pending.keys where !Self.isSpecial(path) {
                if let path, path.components.count >= depth { widen(path, to: path.parent, .tree) }
            }
            depth -= 1
        }
        guard pending.count > enough || rescans.count > enough || pending[nil]?.scope == .tree else { return }
        let special = pending.filter { Self.isSpecial($0.key) }
        pending = special
        wideCount = 0
        rescans = [nil: Rescan(reason: rescans[nil]?.reason ?? .tooManyChanges, due: now + settings.settleLimit)]
        consider(now + settings.settleLimit)
    }

    private mutating func widen(_ path: RelativePath, to directory: RelativePath?, _ scope: Scope) {
        // Looked up now: a name below may have made its scope wider since the collapse began.
        guard let entry = pending[path], scope == .tree || entry.scope == .item else { return }
        forget(path)
        let settledAt = entry.settledAt ?? entry.lastAt
        var wide = pending[directory] ?? Pending(scope: .item, firstAt: entry.firstAt, lastAt: entry.lastAt)
        if wide.scope == .item { wideCount += 1 }
        wide.scope = max(wide.scope, scope)
        wide.firstAt = min(wide.firstAt, entry.firstAt)
        wide.lastAt = max(wide.lastAt, entry.lastAt)
        wide.settledAt = min(wide.settledAt ?? settledAt, settledAt)
        wide.isBeingWritten = false
        wide.isNew = false
        pending[directory] = wide
        consider(due(wide))
    }
}

extension EventCoalescer {
    fileprivate enum Scope: Comparable {
        case item
        case children
        case tree
    }

    fileprivate struct Pending {
        var scope: Scope
        var firstAt: Duration
        var lastAt: Duration
        /// When it was first at rest since it was last written; nil while nothing says that it is.
        var settledAt: Duration?
        var isBeingWritten = false
        /// Made since the last report, so that nobody knows the name yet.
        var isNew = false

        init(scope: Scope, firstAt: Duration, lastAt: Duration) {
            self.scope = scope
            self.firstAt = firstAt
            self.lastAt = lastAt
        }

        func change(_ path: RelativePath?) -> WatchedChange? {
            switch scope {
            case .item: path.map { .item($0) }
            case .children: .children(of: path)
            case .tree: path.map { .tree($0) }
            }
        }
    }

    /// A name that was moved somewhere else.
    fileprivate struct Departure {
        let path: RelativePath
        let isDirectory: Bool
        let at: Duration
        let due: Duration
    }

    fileprivate struct Rename {
        var from: RelativePath
        var to: RelativePath
        let isDirectory: Bool
        let due: Duration
    }

    fileprivate struct Rescan {
        let reason: RescanReason
        let due: Duration
    }
}
