import Names

/// The directories that programs have listed, and what programs which watch them know of each name: what they were told, or have
/// themselves changed through the mount. What is otherwise by now is asked for name by name, and the difference is what they are to hear.
/// Pure.
package struct SeenDirectories: Sendable {
    /// What the agent is to be asked next.
    package enum Question: Equatable, Sendable {
        /// A name that may be otherwise.
        case look(String)
        /// A directory in which any name may be.
        case list(String)
    }

    /// What came of a change that a program of this mount has made. The kernel tells watchers of those.
    package enum Outcome: Equatable, Sendable {
        case seen(SeenName)
        case nobodys
        /// What is found there next is what came of it.
        case unclear
        /// Nothing, as far as is known.
        case failed
    }

    private struct Directory {
        var names: [NameKey: SeenName]
        var usedAt: UInt64
        /// Nothing has changed while it was listed.
        var isSettled: Bool
    }

    /// Names that wait for being looked at; beyond that their directories are listed.
    static let questionLimit = 1000
    /// More differences in one directory are told as one, of the directory itself.
    package static let foldLimit = 500
    /// How often it is tried to tell one change.
    static let attemptLimit = 3

    private let directoryLimit: Int
    private let nameLimit: Int
    private var directories: [NameKey: Directory] = [:]
    private var nameCount = 0
    private var uses: UInt64 = 0
    /// In order, each once.
    private var doubtful: [String] = []
    private var isDoubtful: Set<NameKey> = []
    private var lists: Set<NameKey> = []
    /// How many changes by programs of this mount are under way at a path, files that are open for writing among them.
    private var busy: [NameKey: Int] = [:]
    /// What such programs have changed since the question at hand was asked; nil where none is.
    private var touched: Set<NameKey>?
    private var unclear: Set<NameKey> = []
    private var attempts: [NameKey: Int] = [:]

    /// Counts what may make a list that is being read wrong.
    package private(set) var mark: UInt64 = 0

    /// - Parameters:
    ///   - directoryLimit: how many directories are remembered; those that were listed longest ago are forgotten.
    ///   - nameLimit: how many names of all of them. Of a directory with more than a half of that nothing is remembered.
    package init(directoryLimit: Int = 4096, nameLimit: Int = 50_000) {
        (self.directoryLimit, self.nameLimit) = (directoryLimit, nameLimit)
    }

    /// Names of one directory that are worth gathering.
    package var listLimit: Int { nameLimit / 2 }

    package var hasQuestion: Bool { !doubtful.isEmpty || !lists.isEmpty }

    package func remembers(_ directory: String) -> Bool { directories[directory] != nil }

    // MARK: what programs list

    /// A program has read all names of a directory.
    ///
    /// - Parameter start: `mark` when it began.
    package mutating func listed(_ directory: String, _ names: [NameKey: SeenName], since start: UInt64) {
        guard names.count <= listLimit else { return forget(directory) }
        uses &+= 1
        if let known = directories[directory] {
            directories[directory]?.usedAt = uses
            if !differing(in: directory, known.names, names).isEmpty { lists.insert(directory) }
            return
        }
        directories[directory] = Directory(names: names, usedAt: uses, isSettled: start == mark)
        nameCount += names.count
        if start != mark { lists.insert(directory) }
        while directories.count > directoryLimit || nameCount > nameLimit, directories.count > 1,
            let oldest = directories.min(by: { $0.value.usedAt < $1.value.usedAt })
        {
            drop(oldest.key.text)
        }
    }

    // MARK: what the agent says has changed

    package mutating func changed(_ path: String) {
        mark &+= 1
        doubt(path)
    }

    package mutating func changedEverywhere() {
        mark &+= 1
        lists.formUnion(directories.keys)
    }

    // MARK: asking

    /// What is to be asked now; nil for nothing. One question at a time: `endQuestion` follows.
    package mutating func takeQuestion() -> Question? {
        guard hasQuestion else { return nil }
        touched = []
        guard !doubtful.isEmpty else { return lists.popFirst().map { .list($0.text) } }
        let path = doubtful.removeFirst()
        isDoubtful.remove(NameKey(path))
        return .look(path)
    }

    /// The question is answered and watchers have been told.
    package mutating func endQuestion() { touched = nil }

    /// Asks it again: nobody has answered.
    package mutating func repeatQuestion(_ question: Question) {
        switch question {
        case .look(let path): doubt(path)
        case .list(let directory): if remembers(directory) { lists.insert(directory) }
        }
    }

    /// What the agent says of a name that was asked for, and what watchers are to hear of that.
    package mutating func found(_ path: String, _ now: SeenName?) -> [WatchedChange] {
        guard let (directory, name) = NodeTable.split(path), let known = directories[directory], !isTouched(path) else {
            return []
        }
        let changes = unclear.remove(NameKey(path)) == nil ? WatchedChange.between(known.names[name], now) : []
        if changes.isEmpty { set(path, now) }
        return changes
    }

    /// What the agent says of all names of a directory that was asked for. Names that are otherwise are looked at next.
    ///
    /// - Returns: whether there are too many to tell one by one: watchers hear that the directory has changed.
    package mutating func relisted(_ directory: String, _ names: [NameKey: SeenName]) -> Bool {
        guard let known = directories[directory] else { return false }
        let doubts = differing(in: directory, known.names, names)
        let own = NameKey(directory)
        let isTouched = touched?.contains { NodeTable.split($0.text).map { NameKey($0.parent) } == own } ?? false
        if known.isSettled, doubts.count <= Self.foldLimit {
            for name in doubts { doubt(NodeTable.join(directory, name)) }
            return false
        }
        guard names.count <= listLimit else {
            forget(directory)
            return false
        }
        nameCount += names.count - known.names.count
        directories[directory]?.names = names
        directories[directory]?.isSettled = !isTouched
        if isTouched { lists.insert(directory) }
        return known.isSettled
    }

    /// Whether a program of this mount has changed the name since the question was asked, or is about to.
    package func isTouched(_ path: String) -> Bool { touched?.contains(path) == true || busy[path] != nil }

    /// Watchers have heard what the name is now.
    package mutating func told(_ path: String, _ now: SeenName?) {
        attempts[path] = nil
        if !isTouched(path) { set(path, now) }
    }

    /// They could not be told. Tried again a few times: somebody else has changed or looked for the name at that moment.
    package mutating func notTold(_ path: String, _ now: SeenName?) {
        let count = attempts[path, default: 0] + 1
        guard count < Self.attemptLimit, attempts.count < Self.questionLimit else { return told(path, now) }
        attempts[path] = count
        doubt(path)
    }

    /// Nobody watches it any more, or it is none.
    package mutating func forget(_ directory: String) {
        guard drop(directory) else { return }
        let below = directory + "/"
        for other in directories.keys.map(\.text) where other.utf8.starts(with: below.utf8) { drop(other) }
    }

    // MARK: what programs of this mount change

    /// A program is about to change a name, or has the file open for writing. Each is followed by `ended` or `renamed`.
    package mutating func began(_ path: String) {
        mark &+= 1
        busy[path, default: 0] += 1
    }

    package mutating func ended(_ path: String, _ outcome: Outcome) {
        finish(path)
        guard busy[path] == nil else { return }
        switch outcome {
        case .seen(let seen): set(path, seen)
        case .nobodys: set(path, nil)
        case .unclear:
            if unclear.count >= Self.questionLimit { unclear = [] }
            unclear.insert(path)
            doubt(path)
        case .failed: doubt(path)
        }
    }

    /// What was at `source` is at `target`.
    ///
    /// - Parameter seen: what it is; nil if that is not known.
    package mutating func renamed(_ source: String, to target: String, as seen: SeenName?) {
        finish(source)
        finish(target)
        let moved = name(source) ?? seen
        set(source, nil, isMoved: true)
        set(target, nil)
        let below = source + "/"
        func place(_ path: String) -> String? {
            if NameKey(path) == NameKey(source) { return target }
            guard path.utf8.starts(with: below.utf8) else { return nil }
            return target + (String(path.utf8.dropFirst(source.utf8.count)) ?? "")
        }
        for path in directories.keys.map(\.text) {
            if let place = place(path) { directories[place] = directories.removeValue(forKey: NameKey(path)) }
        }
        for path in busy.keys.map(\.text) {
            if let place = place(path), let count = busy.removeValue(forKey: NameKey(path)) {
                busy[place, default: 0] += count
            }
        }
        if let moved { set(target, moved) } else { ended(target, .unclear) }
    }

    // MARK: within

    @discardableResult
    private mutating func drop(_ directory: String) -> Bool {
        guard let known = directories.removeValue(forKey: NameKey(directory)) else { return false }
        nameCount -= known.names.count
        lists.remove(NameKey(directory))
        return true
    }

    private func name(_ path: String) -> SeenName? {
        NodeTable.split(path).flatMap { directories[$0.parent]?.names[$0.name] }
    }

    private mutating func finish(_ path: String) {
        mark &+= 1
        touched?.insert(path)
        if let count = busy[path] { busy[path] = count > 1 ? count - 1 : nil }
    }

    private mutating func set(_ path: String, _ now: SeenName?, isMoved: Bool = false) {
        if now?.kind != .directory, !isMoved { forget(path) }
        guard let (directory, name) = NodeTable.split(path), directories[directory] != nil else { return }
        let former =
            if let now {
                directories[directory]?.names.updateValue(now, forKey: NameKey(name))
            } else {
                directories[directory]?.names.removeValue(forKey: NameKey(name))
            }
        nameCount += (now == nil ? 0 : 1) - (former == nil ? 0 : 1)
        // More names by one at a time: the next list of any directory puts that right.
    }

    private mutating func doubt(_ path: String) {
        guard let (directory, _) = NodeTable.split(path), directories[directory] != nil, busy[path] == nil,
            !lists.contains(directory), isDoubtful.insert(path)
        else { return }
        doubtful.append(path)
        guard doubtful.count > Self.questionLimit else { return }
        lists.formUnion(
            doubtful.compactMap { NodeTable.split($0).map { NameKey($0.parent) } }.filter { directories[$0] != nil })
        (doubtful, isDoubtful) = ([], [])
    }

    /// Names of a directory that are otherwise than watchers know, but for those that programs of this mount are changing.
    private func differing(
        in directory: String, _ known: [NameKey: SeenName], _ names: [NameKey: SeenName]
    ) -> [String] {
        let isOpen = busy.isEmpty
        let found = names.filter { name, seen in known[name].map { !$0.isSame(as: seen) } ?? true }.keys
        let gone = known.keys.filter { names[$0] == nil }
        return (Array(found) + gone).map(\.text).filter { isOpen || busy[NodeTable.join(directory, $0)] == nil }
            .sorted()
    }
}
