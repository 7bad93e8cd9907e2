import BlockExchange
import Cryptography
import Reconciliation
import SyncTestKit

/// One device of a cluster: the index that it announces, and those that its neighbours have announced to it.
///
/// In place of the store and of the folder's steps, it holds both in memory, decides by the same rules (`FileInfo.wins`,
/// `Reconciler`, `LocalChanges`), and has a file at the moment at which it decides to download it.
struct ClusterDevice {
    /// A neighbour's index, as far as it came.
    private struct Copy {
        var position: IndexPosition?
        var files: [String: FileInfo] = [:]
    }

    /// Who announced a winner: a link's number, or this device.
    private static let own = -1

    private struct Winner {
        var file: FileInfo
        var announcer: Int
    }

    private struct LogEntry {
        var sequence: Int64
        var name: String
    }

    let id: DeviceID
    let indexID: IndexID
    /// False for a device on which nothing is selected.
    let isFull: Bool
    /// Links of this device, in the order in which they were made.
    private(set) var links: [Int] = []
    /// How many links the change of a name passed on its way here.
    private(set) var hops: [String: Int] = [:]
    private(set) var conflictCopyCount = 0

    private let rules: FolderRules
    private var local: [String: LocalVersion] = [:]
    private var winners: [String: Winner] = [:]
    private var copies: [Int: Copy] = [:]
    /// What was announced, in order; an entry that a later one of the same name replaces is skipped.
    private var log: [LogEntry] = []
    private var sequences: [String: Int64] = [:]

    init(number: Int, isFull: Bool) {
        id = DeviceID(digest: SHA256.digest("device \(number)".utf8))
        indexID = IndexID(rawValue: UInt64(number) + 1)
        self.isFull = isFull
        rules = FolderRules(device: id.shortID)
    }

    mutating func addLink(_ link: Int) { links.append(link) }

    var ownPosition: IndexPosition { IndexPosition(indexID: indexID, sequence: log.last?.sequence ?? 0) }

    /// What is stored of the neighbour at the end of `link`.
    func position(of link: Int) -> IndexPosition? { copies[link]?.position }

    /// The names that it has, with what decides whether two devices have the same.
    var contents: [String: VersionVector] { local.mapValues(\.file.version) }

    // MARK: this device's index

    /// The entries after `sequence`, in order, at most `limit`.
    func updates(after sequence: Int64, limit: Int) -> [FileInfo] {
        var files: [FileInfo] = []
        var (low, high) = (0, log.count)
        while low < high {
            let middle = (low + high) / 2
            if log[middle].sequence > sequence { high = middle } else { low = middle + 1 }
        }
        for entry in log[low...] where sequences[entry.name] == entry.sequence {
            guard files.count < limit, var file = announced(entry.name) else { break }
            file.sequence = entry.sequence
            files.append(file)
        }
        return files
    }

    private func announced(_ name: String) -> FileInfo? {
        if isFull { return local[name]?.file }
        // As `IndexStore.localUpdates` has it: what is not selected is announced with the winner's version, not vouched for.
        guard var file = winners[name]?.file else { return nil }
        file.isInvalid = true
        file.size = 0
        file.blockSize = 0
        file.blocks = []
        file.carriedFields = []
        return file
    }

    private mutating func announce(_ name: String) {
        let sequence = ownPosition.sequence + 1
        log.append(LogEntry(sequence: sequence, name: name))
        sequences[name] = sequence
    }

    // MARK: the user

    /// Has `file` from the start.
    mutating func hold(_ file: FileInfo) {
        if isFull { local[file.name] = LocalVersion(file: file, isOnDisk: true) }
        winners[file.name] = Winner(file: file, announcer: Self.own)
        announce(file.name)
    }

    /// The user has written a file.
    mutating func write(_ name: String, _ item: ObservedItem, at unixSeconds: Int64) {
        hops[name] = 0
        look(at: name, item, at: unixSeconds)
    }

    private mutating func look(at name: String, _ item: ObservedItem, at unixSeconds: Int64) {
        let update = LocalChanges.update(
            of: name, observed: .item(item), previous: local[name], global: winners[name]?.file, isKept: true,
            rules: rules, unixSeconds: unixSeconds)
        if case .set(let version) = update { set(version) }
    }

    private mutating func set(_ version: LocalVersion) {
        local[version.file.name] = version
        announce(version.file.name)
        consider(version.file, from: Self.own)
    }

    // MARK: neighbours

    mutating func settle(_ settlement: IndexExchange.Settlement, link: Int) {
        let id = settlement.position.indexID
        if settlement.namesWhatIsStored {
            copies[link]?.position?.indexID = id
        } else if copies[link]?.position?.indexID != id {
            copies[link] = Copy(position: IndexPosition(indexID: id, sequence: 0))
        }
    }

    /// Stores a part of a neighbour's index. Gives the names in it.
    ///
    /// - Parameter hops: those of the neighbour.
    mutating func store(_ batch: IndexBatch, link: Int, hops: [String: Int]) -> [String] {
        if batch.isFullIndex, batch.isFirst { copies[link]?.files = [:] }
        for file in batch.files {
            copies[link, default: Copy()].files[file.name] = file
            copies[link]?.position?.sequence = file.sequence
            if let winner = consider(file, from: link), winner.announcer == link {
                self.hops[file.name] = (hops[file.name] ?? 0) + 1
            }
        }
        return batch.files.map(\.name)
    }

    /// Takes an announcement into account. Gives the winner if that has changed.
    @discardableResult
    private mutating func consider(_ file: FileInfo, from announcer: Int) -> Winner? {
        let before = winners[file.name]
        if before?.announcer == announcer {
            winners[file.name] = strongest(file.name)
        } else if before.map({ file.wins(over: $0.file) }) ?? true {
            winners[file.name] = Winner(file: file, announcer: announcer)
        }
        let after = winners[file.name]
        return after?.file.version == before?.file.version ? nil : after
    }

    private func strongest(_ name: String) -> Winner? {
        var strongest = local[name].map { Winner(file: $0.file, announcer: Self.own) }
        for link in links {
            guard let file = copies[link]?.files[name] else { continue }
            if strongest.map({ file.wins(over: $0.file) }) ?? true {
                strongest = Winner(file: file, announcer: link)
            }
        }
        return strongest
    }

    /// Does what the rules say about `name`, and announces what comes of it.
    mutating func reconcile(_ name: String, at unixSeconds: Int64) {
        guard let winner = winners[name] else { return }
        guard isFull else {
            if winner.announcer != Self.own, !winner.file.isInvalid { follow(name, winner.file) }
            return
        }
        let action = Reconciler.decide(
            local: local[name], global: winner.file, isKept: true, rules: rules, unixSeconds: unixSeconds)
        if case .fetch(let file, replacing: .conflicting(let loser)) = action {
            keep(loser.file, beside: file, at: unixSeconds)
        }
        for version in action.outcome { set(version) }
    }

    /// Announces the version of a name that is not selected, once.
    private mutating func follow(_ name: String, _ file: FileInfo) {
        winners[name] = Winner(file: file, announcer: Self.own)
        announce(name)
    }

    private mutating func keep(_ loser: FileInfo, beside winner: FileInfo, at unixSeconds: Int64) {
        let name = ConflictName.copy(
            of: loser.name, at: ConflictTime(unixSeconds: unixSeconds), by: winner.modifiedBy,
            isTaken: { local[$0] != nil })
        conflictCopyCount += 1
        let item = ObservedItem(
            kind: .file, size: loser.size, permissions: loser.permissions, modifiedSeconds: loser.modifiedSeconds,
            modifiedNanoseconds: loser.modifiedNanoseconds, blockSize: loser.blockSize, blocks: loser.blocks,
            blocksHash: loser.blocksHash)
        look(at: name, item, at: unixSeconds)
    }
}
