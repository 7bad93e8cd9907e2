import BlockExchange
import SyncTestKit

@testable import IndexStore

/// What the index must say, worked out from all announcements anew each time, without SQL and without increments.
struct IndexModel {
    /// What others announced, by name.
    var announced: [String: [DeviceID: FileInfo]] = [:]
    var local: [String: LocalEntry] = [:]
    var ignored: Set<String> = []
    /// What this device had before it was ignored, for as long as others announce it.
    var had: Set<String> = []

    /// The global version: of what is valid (if anything is) and of which nothing later is known, live before deleted,
    /// then the newest, then the greatest vector; of equal versions that of the lowest device id, this device last.
    func winner(of name: String) -> FileInfo? {
        var candidates = (announced[name] ?? [:]).sorted { $0.key < $1.key }.map(\.value)
        if let own = local[name] { candidates.append(own.file) }
        if candidates.contains(where: { !$0.isInvalid }) { candidates.removeAll { $0.isInvalid } }
        var latest: [FileInfo] = []
        for candidate in candidates {
            let isOutdated = candidates.contains { $0.version.compare(candidate.version) == .greater }
            let isRepeated = latest.contains { $0.version == candidate.version }
            if !isOutdated, !isRepeated { latest.append(candidate) }
        }
        return latest.max { left, right in
            if left.isDeleted != right.isDeleted { return left.isDeleted }
            let (old, new) = (
                (left.modifiedSeconds, left.modifiedNanoseconds), (right.modifiedSeconds, right.modifiedNanoseconds)
            )
            if old != new { return old < new }
            return left.version.compare(right.version) == .concurrentLesser
        }
    }

    var names: [String] { Set(announced.filter { !$0.value.isEmpty }.keys).union(local.keys).sorted(by: precedes) }

    func below(_ directory: String) -> Aggregate {
        var sum = Aggregate.zero
        for name in names where directory.isEmpty || name.hasPrefix(directory + "/") {
            if let winner = winner(of: name) { sum += Aggregate(of: winner) }
        }
        return sum
    }

    /// Whether this device selects what is there for somebody of `name`.
    func isSelected(_ name: String) -> Bool {
        guard let winner = winner(of: name), !winner.isDeleted, !winner.isInvalid else { return false }
        return local[name].map { !$0.flags.contains(.ignored) } ?? !ignored.contains(name)
    }

    /// Whether that is on this disk, and vouched for.
    func isPresent(_ name: String) -> Bool {
        guard isSelected(name), let own = local[name] else { return false }
        return own.status != nil && !own.file.isInvalid && own.file.version == winner(of: name)?.version
    }

    /// Whether that is on this disk, selected or not.
    func isHere(_ name: String) -> Bool {
        if isPresent(name) { return true }
        guard let winner = winner(of: name), !winner.isDeleted, !winner.isInvalid, let own = local[name],
            own.flags == .ignored, own.status != nil, own.file.version == winner.version
        else { return false }
        return Self.isSame(own.file, as: winner)
    }

    private static func isSame(_ file: FileInfo, as winner: FileInfo) -> Bool {
        file.kind == winner.kind && file.isDeleted == winner.isDeleted && file.size == winner.size
            && file.symlinkTarget == winner.symlinkTarget && file.blocks.map(\.hash) == winner.blocks.map(\.hash)
    }

    func sum(below directory: String, of isCounted: (String) -> Bool) -> Aggregate {
        var sum = Aggregate.zero
        for name in names where (directory.isEmpty || name.hasPrefix(directory + "/")) && isCounted(name) {
            if let winner = winner(of: name) { sum += Aggregate(of: winner) }
        }
        return sum
    }

    func entry(_ name: String) -> GlobalEntry {
        let winner = winner(of: name)
        let holders = (announced[name] ?? [:]).filter { _, file in
            guard let winner, !file.isInvalid, file.version == winner.version else { return false }
            return Self.isSame(file, as: winner)
        }
        return GlobalEntry(
            folder: music, path: name, file: winner?.withoutBlocks.withoutSequence, holders: holders.keys.sorted(),
            local: local[name].map { own in
                LocalEntry(file: own.file.withoutBlocks.withoutSequence, flags: own.flags, status: own.status)
            },
            below: below(name), selected: sum(below: name, of: isSelected), present: sum(below: name, of: isPresent),
            isSelected: isSelected(name), isVerified: isPresent(name),
            isHere: isHere(name))
    }

    /// Every name that is to be listed, with the directories above it, in the order of a walk.
    var listed: [GlobalEntry] {
        var paths: Set<String> = []
        for name in names {
            guard let winner = winner(of: name), !winner.isDeleted, !winner.isInvalid else { continue }
            let parts = name.split(separator: "/")
            for count in 1...parts.count { paths.insert(parts.prefix(count).joined(separator: "/")) }
        }
        return paths.sorted(by: precedes).map { entry($0) }
    }

    /// What this device announces, by name, without sequences.
    var own: [String: FileInfo] {
        var own: [String: FileInfo] = [:]
        for name in names {
            let winner = winner(of: name)
            if let winner, !winner.isInvalid, local[name]?.flags.contains(.ignored) == true {
                own[name] = unvouched(winner).withoutSequence
            } else if let entry = local[name] {
                var file = entry.file.isInvalid ? unvouched(entry.file) : entry.file.withBlocksHash
                if entry.flags.contains(.receiveOnlyChanged) { file.version = VersionVector() }
                own[name] = file.withoutSequence
            } else if ignored.contains(name), let winner, !winner.isInvalid {
                own[name] = unvouched(winner).withoutSequence
            }
        }
        return own
    }

    /// What becomes of what this device has when other names are ignored.
    mutating func reselect(_ names: Set<String>) {
        for name in had.intersection(ignored).subtracting(names) where local[name] == nil {
            guard let winner = winner(of: name), !winner.isInvalid else { continue }
            var file = unvouched(winner).withoutSequence
            file.symlinkTarget = []
            local[name] = LocalEntry(file: file, flags: .mustRescan)
        }
        ignored = names
        for (name, entry) in local {
            if names.contains(name) {
                if isStandingDeletion(name, entry) { continue }
                local[name]?.flags.insert(.ignored)
                local[name]?.file.isInvalid = true
                if !isOnDisk(entry), isVouchedForByOthers(name) {
                    local[name] = nil
                    had.insert(name)
                }
            } else if entry.flags.contains(.ignored) {
                local[name]?.flags.remove(.ignored)
                local[name]?.flags.insert(.mustRescan)
            }
        }
    }

    /// Whether it is a deletion that wins, and that nobody else has taken over or somebody has not.
    private func isStandingDeletion(_ name: String, _ entry: LocalEntry) -> Bool {
        guard entry.flags.isEmpty, entry.file.isDeleted, !entry.file.isInvalid,
            winner(of: name)?.version == entry.file.version
        else { return false }
        let others = (announced[name] ?? [:]).values.filter { !$0.isInvalid }
        return others.contains { !$0.isDeleted } || !others.contains { $0.version == entry.file.version }
    }

    /// What is said of a name that this device has nothing to say of any more: nothing if that can be told from what
    /// others say, else that it does not have it.
    mutating func forget(_ name: String) {
        guard let entry = local[name] else { return }
        if ignored.contains(name), isVouchedForByOthers(name) {
            local[name] = nil
            had.insert(name)
        } else if entry.status != nil || !entry.file.isInvalid {
            var file = entry.file.withoutBlocks
            file.size = 0
            file.blockSize = 0
            file.symlinkTarget = []
            file.carriedFields = []
            file.isInvalid = true
            local[name] = LocalEntry(file: file, flags: ignored.contains(name) ? .ignored : .mustRescan)
        }
    }

    mutating func announce(_ file: FileInfo, by device: DeviceID) {
        let before = winner(of: file.name)
        announced[file.name, default: [:]][device] = file
        settle(file.name, before: before)
        guard ignored.contains(file.name), let entry = local[file.name], entry.flags.isEmpty, entry.file.isDeleted,
            !entry.file.isInvalid, isVouchedForByOthers(file.name), !isStandingDeletion(file.name, entry)
        else { return }
        local[file.name] = nil
        had.insert(file.name)
    }

    mutating func drop(_ device: DeviceID) {
        for name in announced.keys {
            let before = winner(of: name)
            announced[name]?[device] = nil
            settle(name, before: before)
        }
    }

    /// Of what this device had, and nobody vouches for any more, it says itself that it does not have it.
    private mutating func settle(_ name: String, before: FileInfo?) {
        let winner = winner(of: name)
        guard had.contains(name), local[name] == nil, winner?.isInvalid != false, let last = winner ?? before
        else { return }
        var file = unvouched(last).withoutSequence
        file.symlinkTarget = []
        local[name] = LocalEntry(file: file, flags: ignored.contains(name) ? .ignored : .mustRescan)
    }

    private func isVouchedForByOthers(_ name: String) -> Bool {
        announced[name]?.values.contains { !$0.isInvalid } ?? false
    }

    /// What this device needs of `name`, whether it keeps it or not.
    func needed(_ name: String) -> NeededEntry? {
        guard let winner = winner(of: name), !winner.isInvalid, !winner.version.isEmpty else { return nil }
        if let own = local[name] {
            if !own.file.isInvalid, own.file.version == winner.version { return nil }
        } else if winner.isDeleted {
            return nil
        }
        return NeededEntry(
            file: winner.withBlocksHash.withoutBlockList.withoutSequence,
            local: local[name].map { listed($0, hasHash: true) }, holders: entry(name).holders,
            rivals: rivals(of: name, below: winner.version))
    }

    private func rivals(of name: String, below version: VersionVector) -> [VersionVector] {
        let others = announced[name] ?? [:]
        return others.keys.sorted().compactMap { device in
            guard let file = others[device], file.kind == .file, !file.isDeleted, !file.isInvalid,
                file.version != version
            else { return nil }
            return file.version
        }
    }

    func neededTotals(_ names: [String]) -> NeededTotals {
        var totals = NeededTotals()
        for entry in names.compactMap(needed) where !entry.isChangedHere {
            totals.items += Aggregate(of: entry.file)
            if entry.file.isDeleted, entry.local?.file.isDeleted == false { totals.deletions += 1 }
        }
        return totals
    }

    func isOnDisk(_ entry: LocalEntry) -> Bool { entry.status != nil && !entry.file.isDeleted }

    /// What is on disk below `directory`, each directory before what is in it.
    func onDisk(below directory: String) -> [LocalEntry] {
        let below = local.values.filter { entry in
            isOnDisk(entry) && (directory.isEmpty || entry.file.name.hasPrefix(directory + "/"))
        }
        return below.sorted { precedes($0.file.name, $1.file.name) }
    }

    /// As it comes out of a listing.
    func listed(_ entry: LocalEntry, hasHash: Bool = false) -> LocalEntry {
        let file = hasHash ? entry.file.withBlocksHash.withoutBlockList : entry.file.withoutBlocks
        return LocalEntry(file: file.withoutSequence, flags: entry.flags, status: entry.status)
    }

    var localTotal: Aggregate {
        var sum = Aggregate.zero
        for entry in local.values where entry.status != nil {
            var file = entry.file
            file.isInvalid = false
            sum += Aggregate(of: file)
        }
        return sum
    }

    private func unvouched(_ file: FileInfo) -> FileInfo {
        var file = file.withoutBlocks
        file.isInvalid = true
        file.size = 0
        file.blockSize = 0
        file.carriedFields = []
        return file
    }
}

/// The order of a walk: by components, each by its bytes.
func precedes(_ left: String, _ right: String) -> Bool {
    left.split(separator: "/").lexicographicallyPrecedes(right.split(separator: "/")) {
        $0.utf8.lexicographicallyPrecedes($1.utf8)
    }
}

extension FileInfo {
    var withoutSequence: FileInfo {
        var file = self
        file.sequence = 0
        return file
    }
}

extension LocalEntry {
    var withoutSequence: LocalEntry {
        var entry = self
        entry.file.sequence = 0
        return entry
    }
}

extension NeededEntry {
    var withoutSequences: NeededEntry {
        var entry = self
        entry.file.sequence = 0
        entry.local?.file.sequence = 0
        return entry
    }
}

extension GlobalEntry {
    var withoutSequences: GlobalEntry {
        var entry = self
        entry.file?.sequence = 0
        entry.local?.file.sequence = 0
        return entry
    }
}
