import BlockExchange
import ControlAPI
import FileAccess
import IndexStore
import NIOCore
import NIOPosix

/// Puts files of one folder into their places: several are fetched at a time, groups are made durable together, and each
/// group is one transaction of the index.
struct FilePuller: Sendable {
    /// A file that is to be fetched.
    struct Item: Sendable {
        /// The version that was planned; its blocks are read when its turn comes.
        var file: FileInfo
        var holders: [DeviceID]
        /// What the plan saw at its place.
        var replacement: Replacement
        /// Under which name what is there now is kept, if it is the loser of a conflict.
        var conflictCopy: RelativePath?
        /// Whether what is there now goes to the archive, if the folder has one.
        var isArchived = false
    }

    enum Outcome: Sendable {
        case done
        /// Another version won meanwhile; the next round has it.
        case outdated
        /// The disk is not as the plan saw it: the name is looked at anew.
        case changedOnDisk
        /// No device that holds it is connected.
        case unavailable
        /// It may not come over the links to those that are connected.
        case waiting(LinkObstacle)
        case failed(message: String, isDiskFull: Bool)
    }

    private static let filesPerCommit = 512
    /// Small files that are asked for, written and staged together.
    private static let filesPerBatch = 64
    private static let bytesPerBatch: Int64 = 1 << 20
    private static let batchesAtOnce = 6
    /// Names in the archive that are made durable one by one.
    private static let singlyDurable = 8

    let folder: FolderID
    let root: RootDirectory
    let index: IndexStore
    let environment: FetchEnvironment
    let transfers: TransferRegistry
    /// Bytes that must stay free on the disk.
    let freeSpaceFloor: UInt64
    /// One, for a simulation that must run the same way each time.
    let filesAtOnce: Int
    /// Gives what says whether a name is not kept, by the selection as it is then.
    let currentSelection: @Sendable () -> @Sendable (_ name: String) -> Bool
    /// Opens the folder's archive; nil if it has none.
    let archive: @Sendable () throws -> VersionArchive?
    /// Runs a commit while nothing else changes the folder.
    let commitInTurn:
        @Sendable (_ commit: @Sendable () async throws -> [(Int, Outcome)]) async throws -> [(Int, Outcome)]

    private struct Staged: Sendable {
        var position: Int
        var file: FileInfo
        var path: RelativePath
        var commit: StagedCommit
        var conflictCopy: RelativePath?
        var isArchived: Bool
    }

    /// Gives an outcome for each item, in their order. Throws only for what concerns all: the index, a cancellation.
    func pull(_ items: [Item]) async throws -> [Outcome] {
        guard filesAtOnce > 1 else { return try await pullInOrder(items) }
        let staged = BoundedQueue<Staged>(limit: Self.filesPerCommit)
        return try await withThrowingTaskGroup(of: [(Int, Outcome)].self) { group in
            group.addTask {
                defer { staged.finish() }
                return try await stageAll(items, into: staged)
            }
            group.addTask { try await commitAll(staged) }
            var outcomes = [Outcome](repeating: .outdated, count: items.count)
            for try await part in group {
                for (position, outcome) in part { outcomes[position] = outcome }
            }
            return outcomes
        }
    }

    /// Does nothing at the same time as anything else, so that every run with the same inputs is the same.
    private func pullInOrder(_ items: [Item]) async throws -> [Outcome] {
        var outcomes = [Outcome](repeating: .outdated, count: items.count)
        let staged = BoundedQueue<Staged>(limit: max(1, items.count))
        for portion in portions(of: items) {
            for (position, outcome) in try await stage(portion.map { ($0, items[$0]) }, into: staged) {
                outcomes[position] = outcome
            }
        }
        staged.finish()
        for (position, outcome) in try await commitAll(staged) { outcomes[position] = outcome }
        return outcomes
    }

    // MARK: fetching

    private func stageAll(_ items: [Item], into staged: BoundedQueue<Staged>) async throws -> [(Int, Outcome)] {
        try await withThrowingTaskGroup(of: (weight: Int, outcomes: [(Int, Outcome)]).self) { group in
            var outcomes: [(Int, Outcome)] = []
            var running = 0
            for portion in portions(of: items) {
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

    /// Positions of what is fetched together, in the items' order so far as small files do not wait for each other.
    private func portions(of items: [Item]) -> [[Int]] {
        var portions: [[Int]] = []
        var batch: [Int] = []
        var byteCount: Int64 = 0
        for (position, item) in items.enumerated() {
            guard item.file.size <= SmallFileFetch.byteLimit else {
                portions.append([position])
                continue
            }
            batch.append(position)
            byteCount += item.file.size
            if batch.count == Self.filesPerBatch || byteCount >= Self.bytesPerBatch {
                portions.append(batch)
                batch = []
                byteCount = 0
            }
        }
        if !batch.isEmpty { portions.append(batch) }
        return portions
    }

    /// The outcomes of those that are not on their way to be committed.
    private func stage(
        _ items: [(position: Int, item: Item)], into staged: BoundedQueue<Staged>
    ) async throws -> [(Int, Outcome)] {
        var outcomes: [(Int, Outcome)] = []
        var rest: [(position: Int, item: Item)] = []
        for (position, item) in items {
            if let reason = unreachable(item) {
                outcomes.append((position, reason))
            } else {
                rest.append((position, item))
            }
        }
        if rest.count > 1 {
            let (done, left) = try await stageTogether(rest)
            for ready in done where await !staged.send(ready) { throw CancellationError() }
            rest = left
        }
        for (position, item) in rest {
            if let outcome = try await stage(item, position, into: staged) { outcomes.append((position, outcome)) }
        }
        return outcomes
    }

    /// Fetches small files together; gives those that came, and those that are to be fetched one by one.
    private func stageTogether(
        _ items: [(position: Int, item: Item)]
    ) async throws -> (done: [Staged], left: [(position: Int, item: Item)]) {
        var left: [(position: Int, item: Item)] = []
        var chosen: [(position: Int, item: Item)] = []
        var small: [SmallFileFetch.Item] = []
        let files = try await index.files(folder, items.map(\.item.file.name))
        for (entry, file) in zip(items, files) {
            if let file, file.version == entry.item.file.version, let path = RelativePath(file.name) {
                chosen.append(entry)
                small.append(SmallFileFetch.Item(file: file, path: path, holders: entry.item.holders))
            } else {
                left.append(entry)
            }
        }
        let shown = small.map { transfers.begin(folder: folder, path: $0.file.name, bytesTotal: $0.file.size) }
        defer { shown.forEach(transfers.end) }
        let fetch = SmallFileFetch(
            folder: folder, root: root, environment: environment, freeSpaceFloor: freeSpaceFloor,
            isInOrder: filesAtOnce == 1)
        var done: [Staged] = []
        for (position, bytes) in try await fetch.run(small).enumerated() {
            let entry = chosen[position]
            if let bytes {
                done.append(ready(small[position].file, small[position].path, bytes, entry.item, entry.position))
            } else {
                left.append(entry)
            }
        }
        return (done, left)
    }

    private func ready(
        _ file: FileInfo, _ path: RelativePath, _ bytes: StagedFile, _ item: Item, _ position: Int
    ) -> Staged {
        let commit = StagedCommit(
            bytes, replacing: item.replacement, permissions: file.hasNoPermissions ? nil : file.permissions & 0o777,
            modified: FileTime(seconds: file.modifiedSeconds, nanoseconds: file.modifiedNanoseconds))
        return Staged(
            position: position, file: file, path: path, commit: commit, conflictCopy: item.conflictCopy,
            isArchived: item.isArchived)
    }

    /// Nil when the file is on its way to be committed.
    private func stage(_ item: Item, _ position: Int, into staged: BoundedQueue<Staged>) async throws -> Outcome? {
        do {
            let path = try RelativePath(parsing: item.file.name)
            if let reason = unreachable(item) { return reason }
            guard let file = try await index.file(folder, item.file.name), file.version == item.file.version else {
                return .outdated
            }
            let transfer = transfers.begin(folder: folder, path: file.name, bytesTotal: file.size)
            defer { transfers.end(transfer) }
            let fetch = StagedFetch(
                folder: folder, file: file, holders: item.holders, target: FetchTarget(root: root, path: path),
                environment: environment, freeSpaceFloor: freeSpaceFloor, purpose: Self.purpose(of: item))
            let bytes = try await fetch.run { count, holder in
                transfers.progressed(transfer, by: count, from: holder)
            }
            let ready = ready(file, path, bytes, item, position)
            guard await staged.send(ready) else { throw CancellationError() }
            return nil
        } catch let error as CancellationError {
            throw error
        } catch {
            // The link that it came over has gone or is held, and what is left may not carry it.
            if let error = error as? ControlError, [.keptOffBluetooth, .heldByPolicy].contains(error.code),
                let reason = unreachable(item)
            {
                return reason
            }
            return Self.outcome(of: error)
        }
    }

    private static func purpose(of item: Item) -> SlowLinkPolicy.Purpose { .kept(byteCount: item.file.size) }

    /// Why nobody can be asked for it, if so: else each would wait for a holder to come back.
    private func unreachable(_ item: Item) -> Outcome? {
        guard item.file.size > 0 else { return nil }
        let sources = environment.sources(of: folder, item.holders, for: Self.purpose(of: item))
        if let obstacle = sources.obstacle { return .waiting(obstacle) }
        return sources.permitted.isEmpty ? .unavailable : nil
    }

    // MARK: committing

    private func commitAll(_ staged: BoundedQueue<Staged>) async throws -> [(Int, Outcome)] {
        var outcomes: [(Int, Outcome)] = []
        while let first = await staged.next() {
            var group = [first]
            while group.count < Self.filesPerCommit, let more = staged.nextIfReady() { group.append(more) }
            let ready = group
            outcomes += try await commitInTurn { try await commit(ready) }
        }
        return outcomes
    }

    private func commit(_ all: [Staged]) async throws -> [(Int, Outcome)] {
        // Since the plan was made another version may have won, or the selection may have changed.
        let isIgnored = currentSelection()
        let facts = try await index.facts(in: folder, names: all.map(\.file.name))
        var group: [Staged] = []
        var skipped: [(Int, Outcome)] = []
        for (item, facts) in zip(all, facts) {
            if facts.global?.version == item.file.version, !isIgnored(item.file.name) {
                group.append(item)
            } else {
                skipped.append((item.position, .outdated))
            }
        }
        let chosen = group
        if !chosen.isEmpty { try await index.notePlacing(chosen.map(\.file), in: folder) }
        let (outcomes, changes) = try await environment.threads.runIfActive { [root, archive] in
            var outcomes: [(Int, Outcome)] = []
            var ready: [Staged] = []
            let opened = chosen.contains(where: \.isArchived) ? Result { try archive() } : .success(nil)
            // One call makes many names durable; a few are made so one by one.
            let durability: Durability = chosen.count > Self.singlyDurable ? .deferred : .immediate
            var kept: [Int: RelativePath] = [:]
            for item in chosen {
                do {
                    if case .exactly(let seen) = item.commit.replacement {
                        if let copy = item.conflictCopy {
                            try root.preserve(item.path, as: copy, expecting: seen)
                        } else if item.isArchived, let archive = try opened.get() {
                            kept[item.position] = try archive.keep(item.path, expecting: seen, durability: durability)
                        }
                    }
                    ready.append(item)
                } catch {
                    outcomes.append((item.position, Self.outcome(of: error)))
                }
            }
            let archive = try? opened.get()
            if durability == .deferred, !kept.isEmpty { try archive?.synchronize() }
            var changes: [LocalChange] = []
            for (item, result) in zip(ready, root.commit(ready.map(\.commit))) {
                switch result {
                case .success(let status):
                    changes.append(.set(LocalEntry(file: item.file, status: IndexedStatus(status))))
                    outcomes.append((item.position, .done))
                    if let name = kept[item.position] { Self.finish(name, in: archive) }
                case .failure(let error):
                    outcomes.append((item.position, Self.outcome(of: error)))
                    if let name = kept.removeValue(forKey: item.position) { archive?.withdraw(name) }
                }
            }
            // What is not let go now is by the next cleaning.
            try? archive?.expire(ready.filter { kept[$0.position] != nil }.map(\.path))
            return (outcomes, changes)
        }
        // Killed here, the files are in place and the index has only the note: the next look takes them for what they are.
        if !chosen.isEmpty {
            try await index.applyLocal(
                in: folder, changes, placed: chosen.map(\.file.name), isIgnored: isIgnored)
        }
        return skipped + outcomes
    }

    private static func finish(_ name: RelativePath, in archive: VersionArchive?) {
        // Only the time of the file: the version is where it belongs, and goes too early at worst.
        try? archive?.finish(name)
    }

    private static func outcome(of error: any Error) -> Outcome {
        if let error = error as? FileAccessError {
            switch error.code {
            case .changedOnDisk, .exists, .isADirectory, .notADirectory, .notFound: return .changedOnDisk
            default:
                return .failed(
                    message: error.message, isDiskFull: error.code == .noSpace || error.code == .quota)
            }
        }
        let error = ControlError(describing: error)
        return .failed(message: error.message, isDiskFull: error.code == .noSpace)
    }
}
