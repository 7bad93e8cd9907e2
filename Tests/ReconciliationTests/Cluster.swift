import BlockExchange
import Cryptography
import SyncTestKit

@testable import Reconciliation

/// Replicas, their users, and what became of everything that was ever written.
struct Cluster {
    static let files = ["a", "b", "c.txt", "d/x", "d/y", "d/e/z", "g/x"]
    static let directories = ["d", "d/e", "g"]
    /// These may be anything, and nothing is ever below them.
    static let shifting = ["s", "d/t"]

    var replicas: [Replica]
    var random: SeededGenerator
    var now: Int64 = 1_000
    private(set) var written: Set<String> = []
    /// Contents that somebody replaced or deleted who had them on disk.
    private(set) var superseded: Set<String> = []
    private(set) var log: [String] = []
    /// Whether the log tells what the devices do, and not only their users.
    var isTracing = false

    init(_ replicas: [Replica], seed: UInt64) {
        self.replicas = replicas
        random = SeededGenerator(seed: seed)
        for index in self.replicas.indices { self.replicas[index].clockSkew = Int64(random.int(-300...300)) }
    }

    /// `count` plain replicas.
    init(_ count: Int, seed: UInt64) {
        self.init((1...count).map { Replica(id: ShortID(rawValue: UInt64($0) << 59)) }, seed: seed)
    }

    // MARK: users

    struct Habits {
        var deletes = true
        var renames = true
        var shifts = true
        /// Selects and deselects often, and does much to the few names that this is about.
        var selects = false
    }

    mutating func act(_ habits: Habits = Habits()) throws {
        now += Int64(random.int(1...20))
        let index = random.int(0...replicas.count - 1)
        let user = "user of \(replicas[index].id)"
        switch random.int(0...(habits.selects ? 18 : 10)) {
        case 0...4:
            let name = random.pick(habits.selects ? ["a", "d/x"] : Self.files + existingFiles(index))
            guard makeParents(of: name, index) else { return }
            if let item = replicas[index].disk[name] {
                guard item.kind == .file else { return }
                superseded.insert(item.content)
            }
            let content = "content \(written.count)"
            written.insert(content)
            replicas[index].disk[name] = DiskItem(
                kind: .file, content: content, permissions: random.pick([0o644, 0o600]), modified: userTime(index))
            log.append("\(user) writes \(name): \(content)")
        case 5 where habits.deletes:
            guard let name = pick(existingFiles(index)) else { return }
            remove(name, index)
            log.append("\(user) deletes \(name)")
        case 6 where habits.deletes:
            guard let name = pick(Self.directories.filter { replicas[index].disk[$0] != nil }) else { return }
            for child in replicas[index].below(name) { remove(child, index) }
            remove(name, index)
            log.append("\(user) deletes all of \(name)")
        case 7 where habits.renames:
            guard let from = pick(existingFiles(index)), case let to = random.pick(Self.files), from != to,
                makeParents(of: to, index), replicas[index].disk[from]?.kind == .file
            else { return }
            if replicas[index].disk[to] != nil { remove(to, index) }
            let item = replicas[index].disk.removeValue(forKey: from)
            replicas[index].disk[to] = item
            log.append("\(user) renames \(from) to \(to)")
        case 8 where habits.renames:
            let from = random.pick(["d/e", "g"])
            let to = from == "g" ? "d/e" : "g"
            guard let directory = replicas[index].disk[from], replicas[index].disk[to] == nil,
                makeParents(of: to, index)
            else { return }
            for child in replicas[index].below(from) {
                let item = replicas[index].disk.removeValue(forKey: child)
                replicas[index].disk[to + child.dropFirst(from.count)] = item
            }
            replicas[index].disk[to] = directory
            replicas[index].disk[from] = nil
            log.append("\(user) renames all of \(from) to \(to)")
        case 9:
            guard let name = pick(replicas[index].disk.keys.sorted()) else { return }
            let (permissions, time): (UInt32, Int64) = (random.pick([0o644, 0o755, 0o700]), userTime(index))
            if random.isOne(in: 2) {
                replicas[index].disk[name]?.permissions = permissions
            } else {
                replicas[index].disk[name]?.modified = time
            }
            log.append("\(user) touches \(name)")
        case 10 where habits.shifts:
            let name = random.pick(Self.shifting)
            guard makeParents(of: name, index) else { return }
            if replicas[index].disk[name] != nil { remove(name, index) }
            let content = "content \(written.count)"
            switch random.int(0...2) {
            case 0:
                written.insert(content)
                replicas[index].disk[name] = DiskItem(kind: .file, content: content, modified: userTime(index))
            case 1: replicas[index].disk[name] = DiskItem(kind: .directory, permissions: 0o755)
            default: replicas[index].disk[name] = DiskItem(kind: .symlink, content: content)
            }
            log.append("\(user) makes \(name) a \(String(describing: replicas[index].disk[name]?.kind))")
        case 11...18 where habits.selects:
            let name = random.pick(["a", "d", "d/x"])
            // What the user did before is found under the old selection: the agent is told of a new one.
            _ = try scan(index)
            var leftOut = replicas[index].leftOut
            if leftOut.remove(name) == nil { leftOut.insert(name) }
            replicas[index].select(leavingOut: leftOut)
            log.append("\(user) (de)selects \(name): left out \(replicas[index].leftOut.sorted())")
            guard random.isOne(in: 2) else { return }
            // … and frees the space of what somebody else has, before or after the agent has looked again.
            if random.isOne(in: 2) { _ = try scan(index) }
            for file in existingFiles(index) where !replicas[index].isKept(file) {
                let isElsewhere = replicas.indices.contains {
                    $0 != index && replicas[$0].disk[file]?.content == replicas[index].disk[file]?.content
                        && replicas[$0].isKept(file)
                }
                if isElsewhere {
                    replicas[index].disk[file] = nil
                    log.append("\(user) frees \(file)")
                }
            }
        default: return
        }
    }

    private func userTime(_ index: Int) -> Int64 { now + replicas[index].clockSkew }

    private mutating func pick(_ names: [String]) -> String? { names.isEmpty ? nil : random.pick(names) }

    private func existingFiles(_ index: Int) -> [String] {
        replicas[index].disk.filter { $0.value.kind == .file }.keys.sorted()
    }

    private mutating func makeParents(of name: String, _ index: Int) -> Bool {
        var above = Replica.parent(of: name)
        var missing: [String] = []
        while let parent = above {
            if let item = replicas[index].disk[parent] {
                guard item.kind == .directory else { return false }
            } else {
                missing.append(parent)
            }
            above = Replica.parent(of: parent)
        }
        for parent in missing { replicas[index].disk[parent] = DiskItem(kind: .directory, permissions: 0o755) }
        return true
    }

    private mutating func remove(_ name: String, _ index: Int) {
        if let item = replicas[index].disk[name], item.kind == .file { superseded.insert(item.content) }
        replicas[index].disk[name] = nil
    }

    // MARK: engines

    /// One device does one thing, perhaps not to its end.
    mutating func step() throws {
        let index = random.int(0...replicas.count - 1)
        now += 1
        switch random.int(0...4) {
        case 0, 1: _ = try scan(index)
        case 2: _ = try pull(index, dies: true)
        default:
            let from = random.int(0...replicas.count - 1)
            if from != index { tell(from, index, all: false) }
        }
    }

    mutating func scan(_ index: Int) throws -> Bool {
        let before = isTracing ? replicas[index].rows : [:]
        defer {
            if isTracing {
                for (name, row) in replicas[index].rows.sorted(by: { $0.key < $1.key }) where before[name] != row {
                    log.append(
                        "  \(replicas[index].id) finds \(name) \(row.file.isDeleted ? "deleted " : "")\(row.file.version) "
                            + "\(row.flags.rawValue) \(replicas[index].disk[name]?.content ?? "")")
                }
            }
        }
        let scanned = try replicas[index].scan(now: now)
        let outlived = try replicas[index].outlive(now: now)
        return scanned || outlived
    }

    /// Passes on what `from` has to say, all or some of it; returns whether anything was new.
    @discardableResult
    mutating func tell(_ from: Int, _ to: Int, all: Bool) -> Bool {
        let sender = replicas[from].id
        var isNew = false
        let known = replicas[to].told[sender] ?? [:]
        let news = replicas[from].stamps.filter { known[$0.key] ?? 0 < $0.value }.sorted { $0.key < $1.key }
        for (name, stamp) in news where all || !random.isOne(in: 3) {
            replicas[to].told[sender, default: [:]][name] = stamp
            guard let said = replicas[from].announcement(name) else { continue }
            replicas[to].hear(said, from: sender)
            isNew = true
        }
        return isNew
    }

    /// Scans, plans and carries out; with `dies` perhaps only a part of it.
    mutating func pull(_ index: Int, dies: Bool) throws -> Bool {
        // As in the agent: what was not noted before is found first, and a selection counts from then on.
        var hasChanged = try scan(index)
        let items = replicas[index].items()
        let plan = replicas[index].plan(items, now: now)
        let isOtherOrder = items.count > 1 && random.isOne(in: 4)
        guard !isOtherOrder || plan == replicas[index].plan(items.shuffled(using: &random), now: now) else {
            throw Violation("the plan depends on the order of names")
        }
        let end = dies && random.isOne(in: 3) ? random.int(0...plan.steps.count) : plan.steps.count
        let contents = plan.fetchedByteCount > 0 ? servedContents(besides: index) : [:]
        var isComplete = end == plan.steps.count
        for step in plan.steps.prefix(end) {
            let forgets = dies && random.isOne(in: 12)
            let outcome = try replicas[index].apply(step, contents: contents, forgets: forgets, now: now)
            if isTracing {
                let before = step.occupant?.local ?? replicas[index].rows[step.name ?? ""]
                log.append(
                    "  \(replicas[index].id) \(outcome)\(forgets ? " and dies" : ""): "
                        + "\(String(describing: step).prefix(22)) \(step.name ?? "") \(step.outcome.map(\.file.version)) "
                        + "over \(step.occupant.map { String(describing: $0).prefix(30) } ?? "") "
                        + "\(before.map { "\($0.file.version) \($0.flags.rawValue)" } ?? "")")
            }
            if outcome == .done { hasChanged = true } else { isComplete = false }
            if forgets { isComplete = false }
        }
        if isComplete, !plan.isEmpty {
            // Of the same winners: that this device has another version now may let one of them win that lost before.
            let rest = replicas[index].plan(
                items.map { item in
                    let name = item.global?.name ?? item.local?.file.name ?? ""
                    return PlanItem(local: replicas[index].rows[name], global: item.global, isKept: item.isKept)
                }, now: now)
            guard rest.isEmpty else { throw Violation("after the plan is carried out there is \(rest.steps)") }
        }
        return hasChanged
    }

    /// What the others can send: files that are on their disks as their indexes say.
    func servedContents(besides index: Int) -> [SHA256Digest: String] {
        var contents: [SHA256Digest: String] = [:]
        for other in replicas.indices where other != index {
            for (name, item) in replicas[other].disk where item.kind == .file {
                guard let row = replicas[other].rows[name], row.isValid, item.matches(row.file),
                    let hash = row.file.blocksHash
                else { continue }
                contents[hash] = item.content
            }
        }
        return contents
    }

    /// Lets everything happen that has to, in an order of chance, until nothing happens any more.
    mutating func settle() throws {
        for _ in 0..<40 {
            var hasChanged = false
            for index in replicas.indices.shuffled(using: &random) {
                now += 1
                for from in replicas.indices.shuffled(using: &random) where from != index {
                    if tell(from, index, all: true) { hasChanged = true }
                }
                if try pull(index, dies: false) { hasChanged = true }
            }
            if !hasChanged { return }
        }
        throw Violation("it never ends")
    }

    // MARK: what must be so

    /// Contents that nobody has any more although nobody who had them replaced or deleted them.
    var lost: [String] {
        var there: Set<String> = []
        for replica in replicas {
            for item in replica.disk.values where item.kind == .file { there.insert(item.content) }
        }
        return written.subtracting(superseded).subtracting(there).sorted()
    }

    /// Names under which two replicas that keep them have different things.
    func differences(_ indexes: [Int]) -> [String] {
        var names: Set<String> = []
        for index in indexes { names.formUnion(replicas[index].disk.keys) }
        return names.sorted().filter { name in
            let keeping = indexes.filter { replicas[$0].isKept(name) }
            let items = keeping.map { index -> DiskItem? in
                var item = replicas[index].disk[name]
                if item?.kind != .file { item?.modified = 0 }
                if item?.kind.isSymlink == true { item?.permissions = 0 }
                return item
            }
            return items.contains { $0 != items[0] }
        }
    }
}
