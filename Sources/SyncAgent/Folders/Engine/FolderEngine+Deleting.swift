import BlockExchange
import ControlAPI
import FileAccess
import IndexStore
import Reconciliation

/// Deleting on all devices on purpose.
extension FolderEngine {
    private static let pageLimit = 1000

    /// Deletes what is at and below `paths` everywhere, kept here or not.
    ///
    /// What is on this disk goes first, then the deletion is announced: cut off in between, what is kept is announced as
    /// deleted by the next look, and the rest is deleted nowhere yet.
    func remove(_ paths: [String], isDryRun: Bool) async throws -> RemovalOutcome {
        try await exclusively { [self] in
            guard rules.kind != .receiveOnly else {
                throw ControlError(
                    .invalidRequest,
                    "\(folder) only receives here: what is done here is not sent; delete it on a device that sends",
                    path: folder.rawValue)
            }
            if isHaltedOverDeletions, let halt = activity.snapshot.halt { throw halt }
            let place = try await currentPlace()
            var removal = Removal(engine: self, place: place, isDryRun: isDryRun)
            for path in Self.topmost(paths) {
                var names: [String] = []
                var after: String?
                while true {
                    let page = try await index.descendants(folder, of: path, after: after, limit: Self.pageLimit)
                    names += page.filter(\.isPresent).map(\.path)
                    guard page.count == Self.pageLimit, let last = page.last else { break }
                    after = last.path
                }
                if try await index.global(folder, path)?.isPresent == true { names.append(path) }
                // What is in a directory goes before it.
                names.sort { $1.utf8.lexicographicallyPrecedes($0.utf8) }
                guard !names.isEmpty else {
                    throw ControlError(
                        .noSuchPath, "no device has \(path) in the folder \(folder); `synctrain search` finds names",
                        path: path)
                }
                for start in stride(from: 0, to: names.count, by: Self.pageLimit) {
                    try await removal.remove(Array(names[start..<min(start + Self.pageLimit, names.count)]))
                }
            }
            if !isDryRun {
                try await countNeed()
                try await countExtraneous()
            }
            return removal.finished
        }
    }
}

/// Deletes names everywhere, those in a directory before it.
private struct Removal {
    let engine: FolderEngine
    let place: FolderPlace
    let isDryRun: Bool
    private var outcome: RemovalOutcome
    private var holders: [DeviceID: Int64] = [:]
    /// Directories in which something stays.
    private var occupied: Set<String> = []

    init(engine: FolderEngine, place: FolderPlace, isDryRun: Bool) {
        self.engine = engine
        self.place = place
        self.isDryRun = isDryRun
        outcome = RemovalOutcome(folder: engine.folder.rawValue, isDryRun: isDryRun)
    }

    /// Names of devices and their links are the caller's to fill in.
    var finished: RemovalOutcome {
        var outcome = outcome
        outcome.holders = holders.sorted { $0.key < $1.key }.map { id, files in
            RemovalOutcome.Holder(id: id.description, name: "", isConnected: false, files: files)
        }
        return outcome
    }

    mutating func remove(_ names: [String]) async throws {
        var tombstones: [LocalChange] = []
        for facts in try await engine.facts(names) {
            try Task.checkCancellation()
            guard let global = facts.global, !global.isDeleted, !global.isInvalid else { continue }
            if occupied.contains(facts.name) { occupy(above: facts.name); continue }
            do {
                let wasHere = try await removeHere(facts)
                note(facts, global, wasHere: wasHere)
            } catch let error as FileAccessError {
                stay(facts, global, error)
                continue
            }
            let deletion = LocalChanges.deletingEverywhere(
                global, local: facts.localVersion, rules: engine.rules,
                unixSeconds: engine.environment.time.wall().seconds)
            tombstones.append(.set(LocalEntry(deletion, nil)))
        }
        guard !isDryRun, !tombstones.isEmpty else { return }
        let root = place.root
        try await onDisk { try root.synchronizeFileSystem() }
        try await engine.apply(tombstones, place)
    }

    /// Whether something was here and went. Throws `changedOnDisk` for what is other than others have.
    private func removeHere(_ facts: NameFacts) async throws -> Bool {
        let (engine, place, isDryRun) = (engine, place, isDryRun)
        let path = try RelativePath(parsing: facts.name)
        let local = facts.local
        let isCurrent = local.map { $0.file.version == facts.global?.version } ?? false
        return try await onDisk {
            guard let status = try place.root.status(of: path) else { return false }
            if status.type == .directory {
                guard facts.global?.kind == .directory else {
                    throw FileAccessError(.isADirectory, .remove, path: path.text)
                }
                guard !isDryRun else { return true }
                for entry in try place.root.list(path) {
                    guard let name = entry.name, let item = try? path.appending(name), item.isTemporary, !item.isSwap
                    else { continue }
                    _ = try place.root.removeTemporary(item)
                }
                _ = try place.root.removeDirectory(path, durability: .deferred)
                return true
            }
            guard isCurrent, let expected = local.flatMap({ FileAccess.FileStatus($0) }),
                status.isUnchanged(since: expected), expected.type != .regular || expected.changed != nil
            else { throw FileAccessError(.changedOnDisk, .remove, path: path.text) }
            guard !isDryRun else { return true }
            return try engine.removeUserFile(path, expecting: expected, purpose: .deleting, in: place)
        }
    }

    private mutating func note(_ facts: NameFacts, _ global: FileInfo, wasHere: Bool) {
        if outcome.names.count < RemovalOutcome.nameLimit { outcome.names.append(facts.name) }
        guard global.kind != .directory else {
            outcome.directories += 1
            return
        }
        outcome.files += 1
        outcome.bytes &+= global.size
        if wasHere { outcome.localFiles += 1 }
        for holder in facts.holders { holders[holder, default: 0] += 1 }
    }

    private mutating func stay(_ facts: NameFacts, _ global: FileInfo, _ error: FileAccessError) {
        occupy(above: facts.name)
        guard outcome.staying.count < RemovalOutcome.nameLimit else { return }
        let reason: Freeing.Reason =
            switch error.code {
            case .changedOnDisk, .isADirectory, .notARegularFile: .changedHere
            case .busy: .inUse
            case .directoryNotEmpty: .unknown
            default: .failed
            }
        let message: String =
            switch reason {
            case .changedHere: "other than what the other devices have; `synctrain extraneous resolve`, or scan, first"
            case .unknown: "files in it are not part of the folder; move them away first"
            case .failed: error.message
            default: reason.message(minimumCopies: 1)
            }
        outcome.staying.append(
            StayingName(path: facts.name, size: global.size, reason: reason.rawValue, message: message))
    }

    private mutating func occupy(above name: String) {
        var parent = RelativePath(name)?.parent
        while let directory = parent {
            occupied.insert(directory.text)
            parent = directory.parent
        }
    }

    private func onDisk<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await engine.environment.fetching.threads.runIfActive(body)
    }
}
