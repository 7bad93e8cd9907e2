import BlockExchange
import SyncTestKit

@testable import Reconciliation

/// Devices in memory, some of whose disks take names for one that differ in case, with the setting that renames one of them.
struct ClashCluster {
    struct Device {
        let id: ShortID
        let folds: Bool
        var rows: [String: LocalVersion] = [:]
        /// What the others have announced, as far as it was heard, by their place.
        var heard: [Int: [String: FileInfo]] = [:]

        var rules: FolderRules {
            var rules = FolderRules(kind: .sendReceive, device: id)
            rules.renamesCaseClashes = folds
            return rules
        }

        /// The contents on its disk, by their names.
        var files: [String: String] {
            var files: [String: String] = [:]
            for (name, row) in rows where row.isLive { files[name] = row.file.blocksHash?.description }
            return files
        }

        /// The winner of all announcements, among those that no other has seen all of.
        func global(_ name: String) -> FileInfo? {
            let all =
                heard.sorted { $0.key < $1.key }.compactMap { $0.value[name] } + [rows[name]?.file].compactMap { $0 }
            let latest = all.filter { file in !all.contains { $0.version.compare(file.version) == .greater } }
            return latest.dropFirst().reduce(latest.first) { best, next in
                best.map { next.wins(over: $0) ? next : $0 }
            }
        }

        var names: [String] { Set(rows.keys).union(heard.values.flatMap(\.keys)).sorted() }

        func side(_ name: String) -> CaseClash.Side {
            CaseClash.Side(local: rows[name], global: global(name), isRenamable: true)
        }

        /// What the disk has in the place of `name` under another spelling.
        func twin(of name: String) -> String? {
            guard folds else { return nil }
            return files.keys.first { $0 != name && $0.lowercased() == name.lowercased() }
        }
    }

    private static let names = ["a.txt", "A.txt", "A.TXT", "b", "B"]

    private(set) var devices: [Device]
    /// Contents that nobody has replaced who had them on his disk.
    private(set) var alive: Set<String> = []
    private var random: SeededGenerator
    private var now: Int64 = 1000
    private var writings = 0

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        let count = random.int(2...4)
        devices = (0..<count).map { Device(id: ShortID(rawValue: UInt64($0 + 1) << 50), folds: $0 > 0) }
    }

    mutating func act() {
        now += Int64(random.int(0...3))
        let index = random.int(0...devices.count - 1)
        switch random.int(0...9) {
        case 0...2: write(index)
        case 3...5: hear(index, from: random.int(0...devices.count - 1), part: random.isOne(in: 2))
        default: pull(index)
        }
    }

    /// False if there is no end.
    mutating func settle() -> Bool {
        for _ in 0..<30 {
            now += 10
            let before = devices.map(\.rows)
            for index in devices.indices {
                for other in devices.indices { hear(index, from: other, part: false) }
                pull(index)
            }
            if devices.map(\.rows) == before { return true }
        }
        return false
    }

    private mutating func write(_ index: Int) {
        let picked = random.pick(Self.names + devices[index].files.keys.sorted())
        let name = devices[index].twin(of: picked) ?? picked
        writings += 1
        let item = Sample.item("content \(writings)", modified: now)
        let row = devices[index].rows[name]
        if let row, row.isLive, let content = row.file.blocksHash?.description { alive.remove(content) }
        let update = LocalChanges.update(
            of: name, observed: .item(item), previous: row, global: devices[index].global(name), isKept: true,
            rules: devices[index].rules, unixSeconds: now)
        guard case .set(let version) = update else { return }
        devices[index].rows[name] = version
        if let content = version.file.blocksHash?.description { alive.insert(content) }
    }

    /// Takes what another announces, or in the order of names only a part of it.
    private mutating func hear(_ index: Int, from other: Int, part: Bool) {
        guard index != other else { return }
        for (name, row) in devices[other].rows where !part || random.isOne(in: 2) {
            devices[index].heard[other, default: [:]][name] = row.file
        }
    }

    private mutating func pull(_ index: Int) {
        for name in devices[index].names {
            let (local, global) = (devices[index].rows[name], devices[index].global(name))
            let action = Reconciler.decide(
                local: local, global: global, isKept: true, rules: devices[index].rules, unixSeconds: now)
            switch action {
            case .record(let version): devices[index].rows[name] = version
            case .adopt(let file, _, _): devices[index].rows[name] = .current(file)
            case .forget: devices[index].rows[name] = nil
            case .delete(let local, let tombstone, let keepsCopy):
                if keepsCopy { setAside(local, index) }
                devices[index].rows[name] = tombstone.map { .current($0) }
            case .fetch(let file, let occupant) where isHeld(file, besides: index):
                if case .conflicting(let local) = occupant { setAside(local, index) }
                if let twin = devices[index].twin(of: name), occupant.local == nil {
                    settle(file, over: twin, index)
                } else {
                    devices[index].rows[name] = .current(file)
                }
            case .nothing, .blocked, .fetch, .rename, .makeDirectory, .makeSymlink: break
            }
        }
    }

    /// Whether somebody else has the content.
    private func isHeld(_ file: FileInfo, besides index: Int) -> Bool {
        devices.indices.contains { other in
            other != index && devices[other].rows.values.contains { $0.isLive && $0.file.blocksHash == file.blocksHash }
        }
    }

    private mutating func setAside(_ local: LocalVersion, _ index: Int) {
        let time = ConflictTime(unixSeconds: now, utcOffset: 0)
        let taken = devices[index].files
        let name = ConflictName.copy(of: local.file.name, at: time, by: devices[index].id) { taken[$0] != nil }
        var copy = local.file
        (copy.name, copy.modifiedBy) = (name, devices[index].id)
        copy.version = VersionVector([.init(id: devices[index].id, value: UInt64(now))])
        devices[index].rows[name] = .current(copy)
    }

    private mutating func settle(_ file: FileInfo, over twin: String, _ index: Int) {
        let device = devices[index]
        let (newcomer, occupant) = (device.side(file.name), device.side(twin))
        guard let loser = CaseClash.loser(newcomer: newcomer, occupant: occupant, rules: device.rules),
            let old = loser == .newcomer ? file : occupant.local?.file
        else { return }
        let places = CaseClash.names(for: old).map { name in
            CaseClash.Place(
                name: name, local: device.rows[name], global: device.global(name), isSelected: true,
                isTaken: device.files[name] != nil || device.twin(of: name) != nil)
        }
        let outcome = CaseClash.outcome(
            for: old, known: device.rows[old.name], places: places, rules: device.rules, unixSeconds: now)
        switch outcome {
        case .stays: return
        case .renamed(let renaming):
            devices[index].rows[renaming.name] = .current(renaming.file(from: old))
            devices[index].rows[old.name] = .current(renaming.tombstone)
        case .isThere(_, let tombstone): devices[index].rows[old.name] = .current(tombstone)
        }
    }
}
