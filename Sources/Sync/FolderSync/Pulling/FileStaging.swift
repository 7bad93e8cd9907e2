import AgentContext
import AsyncTools
import BlockExchange
import Fetching
import FileAccess
import IndexStore
import NIOCore
import Reconciliation
import Selection

/// Fetches files of one folder, several at a time, and hands them on to be put into their places many together.
struct FileStaging: Sendable {
    /// A file that is to be fetched, or one that is to go together with others of its group.
    struct Item: Sendable {
        /// The version that was planned; its blocks are read when its turn comes.
        var file: FileInfo
        var holders: [DeviceID]
        /// What the plan saw at its place.
        var replacement = Replacement.nothing
        /// What becomes of that.
        var fate = ReplacedFate.discarded
        /// What it changes together with: all items of a group come one after the other.
        var group: FileGroup?
        /// What the index is to say once the file is gone; nil for one that is to be fetched.
        var removal: LocalChange?
        /// The name that it gets here and then everywhere, because this disk has no room for its own.
        var renaming: CaseClash.Renaming?

        /// Where it is put; nil for what is no path.
        var path: RelativePath? { RelativePath(renaming?.name ?? file.name) }
    }

    private static let filesPerPlacement = 512
    /// Small files that are asked for, written and staged together.
    private static let filesPerBatch = 64
    private static let bytesPerBatch: Int64 = 1 << 20
    private static let batchesAtOnce = 6

    let folder: FolderID
    let root: RootDirectory
    let index: IndexStore
    let environment: FetchEnvironment
    let transfers: TransferRegistry
    /// Bytes that must stay free on the disk.
    let freeSpaceFloor: UInt64
    /// One, for a simulation that must run the same way each time.
    let filesAtOnce: Int
    /// Puts staged files into their places while nothing else changes the folder: `FilePlacer`, within a step.
    let place: @Sendable (_ units: [StagedUnit]) async throws -> [(Int, PlacementOutcome)]

    /// Gives an outcome for each item, in their order. Throws only for what concerns all: the index, a cancellation.
    func pull(_ items: [Item]) async throws -> [PlacementOutcome] {
        guard filesAtOnce > 1 else { return try await pullInOrder(items) }
        let staged = BoundedQueue<StagedUnit>(limit: Self.filesPerPlacement)
        return try await withThrowingTaskGroup(of: [(Int, PlacementOutcome)].self) { group in
            group.addTask {
                defer { staged.finish() }
                return try await stageAll(items, into: staged)
            }
            group.addTask { try await placeAll(staged) }
            var outcomes = [PlacementOutcome](repeating: .outdated, count: items.count)
            for try await part in group {
                for (position, outcome) in part { outcomes[position] = outcome }
            }
            return outcomes
        }
    }

    /// Does nothing at the same time as anything else, so that every run with the same inputs is the same.
    private func pullInOrder(_ items: [Item]) async throws -> [PlacementOutcome] {
        var outcomes = [PlacementOutcome](repeating: .outdated, count: items.count)
        let staged = BoundedQueue<StagedUnit>(limit: max(1, items.count))
        for portion in Self.portions(of: items) {
            for (position, outcome) in try await stage(portion.map { ($0, items[$0]) }, into: staged) {
                outcomes[position] = outcome
            }
        }
        staged.finish()
        for (position, outcome) in try await placeAll(staged) { outcomes[position] = outcome }
        return outcomes
    }

    // MARK: fetching

    private func stageAll(_ items: [Item], into staged: BoundedQueue<StagedUnit>) async throws -> [(
        Int, PlacementOutcome
    )] {
        // Groups of which all goes, at the end: until then their blocks are of use to what is fetched.
        let portions = Self.portions(of: items)
        let last = portions.suffix(portions.reversed().prefix { $0.allSatisfy { items[$0].removal != nil } }.count)
        let outcomes = try await stageAll(portions.dropLast(last.count), items, into: staged)
        for portion in last { _ = try await stage(portion.map { ($0, items[$0]) }, into: staged) }
        return outcomes
    }

    private func stageAll(
        _ portions: some Sequence<[Int]> & Sendable, _ items: [Item], into staged: BoundedQueue<StagedUnit>
    ) async throws -> [(Int, PlacementOutcome)] {
        try await withThrowingTaskGroup(of: (weight: Int, outcomes: [(Int, PlacementOutcome)]).self) { group in
            var outcomes: [(Int, PlacementOutcome)] = []
            var running = 0
            for portion in portions {
                // One alone counts one, many together what leaves room for a few of their kind.
                let weight = portion.count == 1 ? 1 : max(1, filesAtOnce / Self.batchesAtOnce)
                while running > 0, running + weight > filesAtOnce, let done = try await group.next() {
                    outcomes += done.outcomes
                    running -= done.weight
                }
                running += weight
                group.addTask { (weight, try await stage(portion.map { ($0, items[$0]) }, into: staged)) }
            }
            for try await done in group { outcomes += done.outcomes }
            return outcomes
        }
    }

    /// Positions of what is fetched together, in the items' order so far as small files do not wait for each other. A
    /// group is in one portion.
    static func portions(of items: [Item]) -> [[Int]] {
        var portions: [[Int]] = []
        var batch: [Int] = []
        var byteCount: Int64 = 0
        for unit in units(of: items) {
            guard unit.allSatisfy({ isSmall(items[$0]) }), unit.contains(where: { items[$0].removal == nil })
            else {
                portions.append(unit)
                continue
            }
            batch += unit
            byteCount += unit.reduce(0) { $0 + (items[$1].removal == nil ? items[$1].file.size : 0) }
            if batch.count >= filesPerBatch || byteCount >= bytesPerBatch {
                portions.append(batch)
                batch = []
                byteCount = 0
            }
        }
        if !batch.isEmpty { portions.append(batch) }
        return portions
    }

    private static func isSmall(_ item: Item) -> Bool {
        item.removal != nil || (0...SmallFileFetch.byteLimit).contains(item.file.size)
    }

    /// Positions of what changes at once.
    private static func units(of items: [Item]) -> [[Int]] {
        var units: [[Int]] = []
        for (position, item) in items.enumerated() {
            if let group = item.group, let last = units.last?.last, items[last].group == group {
                units[units.count - 1].append(position)
            } else {
                units.append([position])
            }
        }
        return units
    }

    /// The outcomes of those that are not on their way to be committed.
    private func stage(
        _ items: [(position: Int, item: Item)], into staged: BoundedQueue<StagedUnit>
    ) async throws -> [(Int, PlacementOutcome)] {
        var parts: [FileGroup: Parts] = [:]
        for (_, item) in items {
            if let group = item.group { parts[group, default: Parts()].count += 1 }
        }
        var outcomes: [(Int, PlacementOutcome)] = []
        /// What of a group is to wait for the others, as it comes.
        func settle(_ position: Int, _ item: Item, _ result: StageResult) async throws {
            guard let group = item.group, var part = parts[group] else {
                switch result {
                case .ready(let ready): guard await staged.send([ready]) else { throw CancellationError() }
                case .outcome(let outcome): outcomes.append((position, outcome))
                }
                return
            }
            switch result {
            case .ready(let ready): part.ready.append(ready)
            case .outcome(let outcome):
                outcomes.append((position, outcome))
                part.obstacle = part.obstacle ?? item.file.name
            }
            part.count -= 1
            parts[group] = part
            guard part.count == 0 else { return }
            parts[group] = nil
            if let obstacle = part.obstacle {
                // What came of it stays staged, for the next time.
                outcomes += part.ready.map { ($0.position, .held(by: obstacle)) }
            } else {
                guard await staged.send(part.ready) else { throw CancellationError() }
            }
        }
        var rest: [(position: Int, item: Item)] = []
        for (position, item) in items {
            if item.removal != nil {
                try await settle(position, item, removal(item, position))
            } else if let reason = unreachable(item) {
                try await settle(position, item, .outcome(reason))
            } else {
                rest.append((position, item))
            }
        }
        let small = rest.filter { Self.isSmall($0.item) }
        if small.count > 1 {
            let (done, left) = try await stageTogether(small)
            for (item, ready) in done { try await settle(ready.position, item, .ready(ready)) }
            rest = left + rest.filter { !Self.isSmall($0.item) }
        }
        for (position, item) in rest {
            // One that is not available holds the others back: they need not be asked for.
            if let group = item.group, let obstacle = parts[group]?.obstacle {
                try await settle(position, item, .outcome(.held(by: obstacle)))
            } else {
                try await settle(position, item, try await stage(item, position))
            }
        }
        return outcomes
    }

    /// What came of a group so far.
    private struct Parts {
        /// How many have not come.
        var count = 0
        var ready: [StagedPlacement] = []
        var obstacle: String?
    }

    private enum StageResult {
        case ready(StagedPlacement)
        case outcome(PlacementOutcome)
    }

    private func removal(_ item: Item, _ position: Int) -> StageResult {
        guard let path = RelativePath(item.file.name) else { return .outcome(.outdated) }
        return .ready(
            StagedPlacement(
                position: position, content: .version(item.file), path: path, root: root,
                replacement: item.replacement, commit: nil, fate: item.fate, group: item.group, removal: item.removal))
    }

    /// Fetches small files together; gives those that came, and those that are to be fetched one by one.
    private func stageTogether(
        _ items: [(position: Int, item: Item)]
    ) async throws -> (done: [(Item, StagedPlacement)], left: [(position: Int, item: Item)]) {
        var left: [(position: Int, item: Item)] = []
        var chosen: [(position: Int, item: Item)] = []
        var small: [SmallFileFetch.Item] = []
        let files = try await index.files(folder, items.map(\.item.file.name))
        for (entry, file) in zip(items, files) {
            if let file, file.version == entry.item.file.version, let path = entry.item.path {
                chosen.append(entry)
                small.append(SmallFileFetch.Item(file: file, path: path, holders: entry.item.holders))
            } else {
                left.append(entry)
            }
        }
        let shown = Dictionary(
            small.map {
                let size = $0.file.size
                return (
                    $0.file.name,
                    transfers.begin(folder: folder, path: $0.file.name, bytesTotal: size, isStored: true)
                )
            },
            uniquingKeysWith: { first, _ in first })
        defer { shown.values.forEach(transfers.end) }
        let fetch = SmallFileFetch(
            folder: folder, root: root, environment: environment, freeSpaceFloor: freeSpaceFloor,
            isInOrder: filesAtOnce == 1,
            came: { [transfers] name, byteCount, holder in
                if let transfer = shown[name] { transfers.progressed(transfer, by: byteCount, from: holder) }
            })
        var done: [(Item, StagedPlacement)] = []
        for (position, bytes) in try await fetch.run(small).enumerated() {
            let entry = chosen[position]
            if let bytes {
                let ready = ready(small[position].file, small[position].path, bytes, entry.item, entry.position)
                done.append((entry.item, ready))
            } else {
                left.append(entry)
            }
        }
        return (done, left)
    }

    private func ready(
        _ file: FileInfo, _ path: RelativePath, _ bytes: StagedFile, _ item: Item, _ position: Int
    ) -> StagedPlacement {
        let commit = StagedCommit(
            bytes, replacing: item.replacement, permissions: file.hasNoPermissions ? nil : file.permissions & 0o777,
            modified: FileTime(seconds: file.modifiedSeconds, nanoseconds: file.modifiedNanoseconds))
        return StagedPlacement(
            position: position, content: .version(item.renaming?.file(from: file) ?? file), path: path, root: root,
            replacement: item.replacement, commit: commit, fate: item.fate, group: item.group,
            renaming: item.renaming)
    }

    private func stage(_ item: Item, _ position: Int) async throws -> StageResult {
        do {
            let path = try RelativePath(parsing: item.renaming?.name ?? item.file.name)
            if let reason = unreachable(item) { return .outcome(reason) }
            guard let file = try await index.file(folder, item.file.name), file.version == item.file.version else {
                return .outcome(.outdated)
            }
            let transfer = transfers.begin(folder: folder, path: file.name, bytesTotal: file.size, isStored: true)
            defer { transfers.end(transfer) }
            let fetch = StagedFetch(
                folder: folder, file: file, holders: item.holders, target: FetchTarget(root: root, path: path),
                environment: environment, freeSpaceFloor: freeSpaceFloor, purpose: Self.purpose(of: item))
            let bytes = try await fetch.run { count, holder in
                transfers.progressed(transfer, by: count, from: holder)
            }
            return .ready(ready(file, path, bytes, item, position))
        } catch let error as CancellationError {
            throw error
        } catch {
            // The link that it came over has gone or is held, and what is left may not carry it.
            if case FetchError.held = error, let reason = unreachable(item) { return .outcome(reason) }
            return .outcome(PlacementOutcome(error))
        }
    }

    private static func purpose(of item: Item) -> SlowLinkPolicy.Purpose { .kept(byteCount: item.file.size) }

    /// Why nobody can be asked for it, if so: else each would wait for a holder to come back.
    private func unreachable(_ item: Item) -> PlacementOutcome? {
        guard item.file.size > 0 else { return nil }
        let sources = environment.sources(of: folder, item.holders, for: Self.purpose(of: item))
        if let obstacle = sources.obstacle { return .waiting(obstacle) }
        return sources.permitted.isEmpty ? .unavailable : nil
    }

    private func placeAll(_ staged: BoundedQueue<StagedUnit>) async throws -> [(Int, PlacementOutcome)] {
        var outcomes: [(Int, PlacementOutcome)] = []
        while let first = await staged.next() {
            var units = [first]
            var count = first.count
            while count < Self.filesPerPlacement, let more = staged.nextIfReady() {
                units.append(more)
                count += more.count
            }
            outcomes += try await place(units)
        }
        return outcomes
    }
}
