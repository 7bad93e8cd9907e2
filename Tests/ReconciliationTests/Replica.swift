import BlockExchange
import Cryptography
import Reconciliation

/// Something on a disk that is only a dictionary.
struct DiskItem: Equatable {
    let kind: FileInfo.Kind
    /// A file's bytes or a symbolic link's target.
    let content: String
    var permissions: UInt32
    var modified: Int64
    private let blocks: [BlockInfo]
    let blocksHash: SHA256Digest?

    init(kind: FileInfo.Kind, content: String = "", permissions: UInt32 = 0o644, modified: Int64 = 0) {
        self.kind = kind
        self.content = content
        self.permissions = permissions
        self.modified = modified
        blocks = kind == .file ? Sample.blocks(content) : []
        blocksHash = FileInfo.blocksHash(of: blocks)
    }

    static func == (left: Self, right: Self) -> Bool {
        left.kind == right.kind && left.permissions == right.permissions && left.modified == right.modified
            && left.content == right.content
    }

    var observed: ObservedItem {
        ObservedItem(
            kind: kind, size: kind == .file ? Int64(content.utf8.count) : 0, permissions: permissions,
            modifiedSeconds: modified, blockSize: 131_072, blocks: blocks, blocksHash: blocksHash,
            symlinkTarget: kind.isSymlink ? Array(content.utf8) : [])
    }

    /// Whether it is what the index says.
    func matches(_ file: FileInfo) -> Bool {
        guard !file.isDeleted else { return false }
        switch kind {
        case .file:
            return file.kind == .file && file.blocksHash == blocksHash && file.modifiedSeconds == modified
        case .directory: return file.kind == .directory
        case .symlink, .symlinkToFile, .symlinkToDirectory:
            return file.kind.isSymlink && file.symlinkTarget == Array(content.utf8)
        }
    }
}

/// What is wrong with a step of a plan, or with what a device remembers.
struct Violation: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}

/// One device of the model: a disk, an index, and what it heard of others. The deciding is done by the product's code,
/// the doing by this.
struct Replica {
    let id: ShortID
    var rules: FolderRules
    /// Seconds by which its clock is ahead.
    var clockSkew: Int64 = 0
    /// Decides who wins as Syncthing 2 does, and does not answer deletions.
    var isSyncthing2 = false
    var disk: [String: DiskItem] = [:]
    /// Contents that others' changes replaced or deleted here.
    private(set) var archive: Set<String> = []
    private(set) var rows: [String: LocalVersion] = [:]
    private(set) var heard: [ShortID: [String: FileInfo]] = [:]
    /// Directories and files that are not selected, with all below them.
    private(set) var leftOut: Set<String> = []
    /// When what it says of a name changed last, and what it has taken of others.
    private(set) var stamps: [String: Int] = [:]
    var told: [ShortID: [String: Int]] = [:]
    private var stamp = 0
    private var winners: [String: FileInfo] = [:]
    /// What the last look at the disk saw, and the names about which the index or the selection says something new since.
    private var scanned: [String: DiskItem] = [:]
    private var fresh: Set<String> = []
    /// The largest own counter given, by name.
    private var given: [String: UInt64] = [:]

    init(id: ShortID, kind: FolderKind = .sendReceive) {
        self.id = id
        rules = FolderRules(kind: kind, device: id, conflictLimit: -1)
    }

    func isKept(_ name: String) -> Bool {
        !leftOut.contains { name == $0 || name.hasPrefix($0 + "/") }
    }

    func below(_ name: String) -> [String] { disk.keys.filter { $0.hasPrefix(name + "/") }.sorted() }

    static func parent(of name: String) -> String? {
        name.lastIndex(of: "/").map { String(name[..<$0]) }
    }

    // MARK: index

    var names: [String] { Set(rows.keys).union(winners.keys).sorted() }

    func global(_ name: String) -> FileInfo? { winners[name] }

    mutating func set(_ row: LocalVersion?, of name: String) {
        rows[name] = row
        winners[name] = winner(name)
        fresh.insert(name)
        stamp += 1
        stamps[name] = stamp
    }

    mutating func hear(_ file: FileInfo, from device: ShortID) {
        heard[device, default: [:]][file.name] = file
        fresh.insert(file.name)
        let winner = winner(file.name)
        guard winner != winners[file.name] else { return }
        winners[file.name] = winner
        guard rows[file.name] == nil else { return }
        stamp += 1
        stamps[file.name] = stamp
    }

    mutating func select(leavingOut names: Set<String>) {
        leftOut = names
        fresh.formUnion(disk.keys)
        fresh.formUnion(self.names)
        stamp += 1
        for name in winners.keys where rows[name] == nil { stamps[name] = stamp }
    }

    /// The winner of all announcements of a name: among those that no other valid one has seen all of.
    private func winner(_ name: String) -> FileInfo? {
        var all = heard.keys.sorted().compactMap { heard[$0]?[name] }
        if let own = rows[name]?.file { all.append(own) }
        let valid = all.filter { !$0.isInvalid }
        var best: FileInfo?
        for (index, one) in (valid.isEmpty ? all : valid).enumerated() {
            let rivals = valid.isEmpty ? all : valid
            let isBeaten = rivals.enumerated().contains { other, rival in
                switch rival.version.compare(one.version) {
                case .greater: true
                case .equal: other < index
                case .lesser, .concurrentGreater, .concurrentLesser: false
                }
            }
            if !isBeaten, best.map({ wins(one, over: $0) }) ?? true { best = one }
        }
        return best
    }

    private func wins(_ one: FileInfo, over other: FileInfo) -> Bool {
        guard isSyncthing2, one.version.compare(other.version).isConcurrent else { return one.wins(over: other) }
        if one.modifiedSeconds != other.modifiedSeconds { return one.modifiedSeconds > other.modifiedSeconds }
        return one.version.compare(other.version) == .concurrentGreater
    }

    /// What it tells others of a name.
    func announcement(_ name: String) -> FileInfo? {
        if let row = rows[name] {
            guard !row.isValid else { return row.file }
            var file = Self.unvouched(row.file)
            if row.flags.contains(.receiveOnlyChanged) { file.version = VersionVector() }
            return file
        }
        guard !isKept(name), let winner = global(name), !winner.isInvalid else { return nil }
        return Self.unvouched(winner)
    }

    private static func unvouched(_ file: FileInfo) -> FileInfo {
        var file = file
        file.isInvalid = true
        file.size = 0
        file.blocks = []
        file.blocksHash = nil
        return file
    }

    /// Remembers, and holds against versions that go back.
    private mutating func remember(_ row: LocalVersion) throws {
        let name = row.file.name
        if let before = rows[name], before.isValid, row.isValid, !row.file.version.isEmpty,
            row.file.version.compare(before.file.version) == .lesser
        {
            throw Violation("\(name): \(before.file.version) → \(row.file.version)")
        }
        if row.isLive, row.isValid, disk[name].map({ !$0.matches(row.file) }) ?? true {
            throw Violation("\(name): on disk is \(String(describing: disk[name])), remembered \(row.file)")
        }
        set(row, of: name)
    }

    // MARK: scanning

    /// Looks at everything; returns whether anything was new.
    mutating func scan(now: Int64) throws -> Bool {
        var hasChanged = false
        // Where neither the disk nor anything else changed, the same look would have the same end.
        var names = fresh
        for (name, item) in disk where scanned[name] != item { names.insert(name) }
        for name in scanned.keys where disk[name] == nil { names.insert(name) }
        scanned = disk
        for name in names.sorted() {
            let global = global(name)
            let update = LocalChanges.update(
                of: name, observed: disk[name].map { .item($0.observed) } ?? .missing, previous: rows[name],
                global: global, isKept: isKept(name), rules: rules, unixSeconds: now + clockSkew)
            switch update {
            case .unchanged: continue
            case .forget: set(nil, of: name)
            case .set(let version):
                let counter = version.file.version.value(of: id)
                if version.file.version != global?.version, version.file.version != rows[name]?.file.version,
                    !version.file.version.isEmpty
                {
                    guard counter > given[name] ?? 0 else {
                        throw Violation("\(name): counter \(counter) was given before")
                    }
                    given[name] = counter
                }
                try remember(version)
            }
            hasChanged = true
        }
        return hasChanged
    }

    /// Answers deletions that what is here wins over.
    mutating func outlive(now: Int64) throws -> Bool {
        let names = fresh
        fresh = []
        guard !isSyncthing2 else { return false }
        var hasChanged = false
        for name in names.sorted() {
            for peer in heard.keys.sorted() {
                guard let deletion = heard[peer]?[name],
                    let kept = LocalChanges.outliving(
                        deletion, local: rows[name], rules: rules, unixSeconds: now + clockSkew)
                else { continue }
                given[name] = max(given[name] ?? 0, kept.file.version.value(of: id))
                try remember(kept)
                hasChanged = true
            }
        }
        return hasChanged
    }

    // MARK: pulling

    /// What the index would give as needed: where this device's version is not the global one.
    func items() -> [PlanItem] {
        names.compactMap { name in
            let (row, global) = (rows[name], global(name))
            if let row, row.isValid, row.file.version == global?.version, isKept(name) { return nil }
            return PlanItem(local: row, global: global, isKept: isKept(name))
        }
    }

    func plan(_ items: [PlanItem], now: Int64) -> Plan {
        Plan(items: items, rules: rules, unixSeconds: now + clockSkew)
    }

    enum Outcome { case done, skipped }

    /// Does one step, after checking that the disk is as the plan saw it.
    ///
    /// - parameters:
    ///   - contents: what can be fetched, by its hash.
    ///   - forgets: the device dies before it can note what it did.
    mutating func apply(
        _ step: Action, contents: [SHA256Digest: String], forgets: Bool, now: Int64
    ) throws -> Outcome {
        if rules.kind == .sendOnly, Self.changesDisk(step) { throw Violation("send-only: \(step)") }
        for name in Self.touched(by: step) where !isKept(name) { throw Violation("not kept: \(step)") }
        switch step {
        case .nothing, .blocked: throw Violation("no step: \(step)")
        case .record(let version):
            given[version.file.name] = max(
                given[version.file.name] ?? 0, version.file.version.value(of: id))
            try remember(version)
        case .forget(let name): set(nil, of: name)
        case .adopt(let file, let local, let change):
            guard var item = disk[file.name], item.matches(local.file) else { return .skipped }
            if change.contains(.permissions) { item.permissions = file.permissions }
            if change.contains(.modificationTime) { item.modified = file.modifiedSeconds }
            disk[file.name] = item
        case .fetch(let file, let occupant):
            guard let hash = file.blocksHash, let content = contents[hash], try clear(file, occupant, now: now) else {
                return .skipped
            }
            put(
                DiskItem(
                    kind: .file, content: content, permissions: file.permissions, modified: file.modifiedSeconds),
                file.name)
        case .makeDirectory(let file, let occupant):
            guard try clear(file, occupant, now: now) else { return .skipped }
            put(DiskItem(kind: .directory, permissions: file.permissions), file.name)
        case .makeSymlink(let file, let occupant):
            guard try clear(file, occupant, now: now) else { return .skipped }
            put(DiskItem(kind: .symlink, content: String(decoding: file.symlinkTarget, as: UTF8.self)), file.name)
        case .rename(let from, _, let file, let occupant):
            guard var item = disk[from.file.name], item.matches(from.file), try clear(file, occupant, now: now) else {
                return .skipped
            }
            guard item.blocksHash == file.blocksHash else { throw Violation("another content: \(step)") }
            disk[from.file.name] = nil
            item.permissions = file.permissions
            item.modified = file.modifiedSeconds
            put(item, file.name)
        case .delete(let local, let tombstone, let keepsCopy):
            let name = local.file.name
            guard let item = disk[name], item.matches(local.file) else { return .skipped }
            if item.kind == .directory {
                guard try removeDirectory(local, tombstone, now: now) else { return .skipped }
            } else if keepsCopy {
                moveAway(name, by: tombstone?.modifiedBy ?? id, now: now)
            } else {
                if item.kind == .file { archive.insert(item.content) }
                disk[name] = nil
            }
            if tombstone == nil, !forgets { set(nil, of: name) }
        }
        if !forgets { for row in step.outcome { try remember(row) } }
        return .done
    }

    /// Makes room for `file`; false if the disk is not what the plan saw.
    private mutating func clear(_ file: FileInfo, _ occupant: Occupant, now: Int64) throws -> Bool {
        if let parent = Self.parent(of: file.name), let above = disk[parent], above.kind != .directory {
            throw Violation("\(file.name) is to go below a file")
        }
        switch occupant {
        case .nothing: return disk[file.name] == nil
        case .replaced(let local):
            guard let item = disk[file.name], item.matches(local.file) else { return false }
            guard below(file.name).isEmpty else { return false }
            if item.kind == .file { archive.insert(item.content) }
            disk[file.name] = nil
        case .conflicting(let local):
            guard let item = disk[file.name], item.matches(local.file) else { return false }
            moveAway(file.name, by: file.modifiedBy, now: now)
        }
        return true
    }

    private mutating func moveAway(_ name: String, by device: ShortID, now: Int64) {
        let copy = ConflictName.copy(of: name, at: ConflictTime(unixSeconds: now + clockSkew), by: device) {
            disk[$0] != nil || rows[$0] != nil
        }
        let item = disk.removeValue(forKey: name)
        disk[copy] = item
    }

    /// Puts something where there is nothing, with the directories above it.
    private mutating func put(_ item: DiskItem, _ name: String) {
        var above = Self.parent(of: name)
        while let parent = above, disk[parent] == nil {
            disk[parent] = DiskItem(kind: .directory, permissions: 0o755)
            above = Self.parent(of: parent)
        }
        disk[name] = item
    }

    private mutating func removeDirectory(_ local: LocalVersion, _ tombstone: FileInfo?, now: Int64) throws -> Bool {
        let name = local.file.name
        let found = below(name).map { name in
            DirectoryRemoval.Item(
                name: name, isDirectory: disk[name]?.kind == .directory, isLeftOut: !isKept(name), local: rows[name],
                isUnchanged: rows[name].map { disk[name]?.matches($0.file) ?? false } ?? false)
        }
        switch DirectoryRemoval.verdict(on: found) {
        case .remove(let first):
            for name in first { disk[name] = nil }
            disk[name] = nil
            return true
        case .rescan, .holdsIgnored, .holdsUnsyncable, .holdsDeleted: return false
        case .holdsKept:
            guard let tombstone,
                let kept = LocalChanges.retaining(local, over: tombstone, rules: rules, unixSeconds: now + clockSkew)
            else { return false }
            given[name] = max(given[name] ?? 0, kept.file.version.value(of: id))
            try remember(kept)
            return false
        }
    }

    private static func changesDisk(_ step: Action) -> Bool { !touched(by: step).isEmpty }

    private static func touched(by step: Action) -> [String] {
        switch step {
        case .nothing, .blocked, .record, .forget: []
        case .adopt(let file, _, _), .fetch(let file, _), .makeDirectory(let file, _), .makeSymlink(let file, _):
            [file.name]
        case .rename(let from, _, let file, _): [from.file.name, file.name]
        case .delete(let local, _, _): [local.file.name]
        }
    }
}

extension LocalVersion {
    var isLive: Bool { isOnDisk && !file.isDeleted }
}
