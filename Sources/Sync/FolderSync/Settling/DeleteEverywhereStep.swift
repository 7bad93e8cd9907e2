import BlockExchange
import ControlAPI
import FileAccess
import IndexStore
import Names
import Phrases
import Reconciliation
import Selection

/// Deletes what is at and below some paths on all devices, selected here or not.
///
/// What is on this disk goes first, then the deletion is announced: cut off in between, what is selected is announced as
/// deleted by the next scan, and the rest is deleted nowhere yet.
package struct DeleteEverywhereStep: FolderStep {
    package let paths: [String]
    package var isDryRun = false

    package init(paths: [String], isDryRun: Bool = false) {
        self.paths = paths
        self.isDryRun = isDryRun
    }

    /// - Throws: `FolderError` for a folder that only receives and for names that nobody has; `FolderHalt` while deletions are
    ///   held back.
    package func run(_ folder: FolderContext, _ work: inout FolderWork) async throws -> RemovalOutcome {
        let outcome = try await delete(folder, &work)
        if !isDryRun {
            work.effects.counts.need = try await folder.index.neededTotals()
            work.effects.counts.extraneous = try await folder.countExtraneous()
        }
        return outcome
    }

    /// The same without counting what is needed and what is not selected then, which costs a pass over the folder.
    func delete(_ folder: FolderContext, _ work: inout FolderWork) async throws -> RemovalOutcome {
        guard folder.rules.kind != .receiveOnly else { throw FolderError.receivesOnly(.delete) }
        try folder.requireNoDeletionHalt()
        var removal = Removal(folder: folder, isDryRun: isDryRun, work: work)
        defer { work = removal.work }
        for path in PathSet.topmost(paths) {
            var names: [String] = []
            try await folder.index.eachDescendant(of: path) { names += $0.filter(\.isPresent).map(\.path) }
            if try await folder.index.global(path)?.isPresent == true { names.append(path) }
            // What is in a directory goes before it.
            names.sort { $1.utf8.lexicographicallyPrecedes($0.utf8) }
            guard !names.isEmpty else { throw FolderError.noDeviceHas(path) }
            for start in stride(from: 0, to: names.count, by: FolderIndex.pageLimit) {
                try await removal.remove(Array(names[start..<min(start + FolderIndex.pageLimit, names.count)]))
            }
        }
        return removal.finished
    }
}

/// Deletes names everywhere, those in a directory before it.
private struct Removal {
    let folder: FolderContext
    let isDryRun: Bool
    /// What is to follow, for the step that deletes.
    private(set) var work: FolderWork
    private var outcome: RemovalOutcome
    private var holders: [DeviceID: Int64] = [:]
    /// Directories in which something stays.
    private var occupied: Set<NameKey> = []

    init(folder: FolderContext, isDryRun: Bool, work: FolderWork) {
        self.folder = folder
        self.isDryRun = isDryRun
        self.work = work
        outcome = RemovalOutcome(folder: folder.id.rawValue, isDryRun: isDryRun)
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
        let notes = try await folder.index.store.fetched(names, in: folder.id)
        for facts in try await folder.index.facts(names) {
            try Task.checkCancellation()
            guard let global = facts.global, !global.isDeleted, !global.isInvalid else { continue }
            if occupied.contains(facts.name) { occupy(above: facts.name); continue }
            do {
                note(facts, global, try await removeHere(facts, notes[facts.name]))
            } catch let error as FileAccessError {
                stay(facts, global, error)
                continue
            }
            let deletion = LocalChanges.deletingEverywhere(
                global, local: facts.localVersion, rules: folder.rules, unixSeconds: folder.now)
            tombstones.append(.set(LocalEntry(deletion, nil)))
        }
        guard !isDryRun, !tombstones.isEmpty else { return }
        let root = folder.root
        try await folder.onDisk { try root.synchronizeFileSystem() }
        try await folder.index.apply(tombstones, &work)
    }

    /// What was here and went. Throws `changedOnDisk` for what is other than others have, unless it is what was
    /// fetched there of an earlier version of theirs.
    private func removeHere(_ facts: NameFacts, _ note: FetchedFile?) async throws -> RemovedFile {
        let (root, archive, isDryRun) = (folder.root, folder.archive, isDryRun)
        let path = try RelativePath(parsing: facts.name)
        let local = facts.local
        let isCurrent = local.map { $0.file.version == facts.global?.version } ?? false
        return try await folder.onDisk {
            guard let status = try root.status(of: path) else { return RemovedFile(wasThere: false) }
            if status.type == .directory {
                guard facts.global?.kind == .directory else {
                    throw FileAccessError(.isADirectory, .remove, path: path.text)
                }
                guard !isDryRun else { return RemovedFile(wasThere: true) }
                for entry in try root.list(path) {
                    guard let name = entry.name, let item = try? path.appending(name), item.isTemporary, !item.isSwap
                    else { continue }
                    _ = try root.removeTemporary(item)
                }
                _ = try root.removeDirectory(path, durability: .deferred)
                return RemovedFile(wasThere: true)
            }
            guard isCurrent || note.map(status.isAs) ?? false,
                let expected = local.flatMap({ FileAccess.FileStatus($0) }), status.isUnchanged(since: expected),
                expected.type != .regular || expected.changed != nil
            else { throw FileAccessError(.changedOnDisk, .remove, path: path.text) }
            guard !isDryRun else { return RemovedFile(wasThere: true) }
            var removed = try archive.removeUserFile(path, expecting: expected, purpose: .deleting)
            // An earlier version is not what was deleted on the other devices.
            if !isCurrent { removed.archived = nil }
            return removed
        }
    }

    private mutating func note(_ facts: NameFacts, _ global: FileInfo, _ removed: RemovedFile) {
        if outcome.names.count < RemovalOutcome.nameLimit { outcome.names.append(facts.name) }
        guard global.kind != .directory else {
            outcome.directories += 1
            return
        }
        outcome.files += 1
        outcome.bytes &+= global.size
        if removed.wasThere { outcome.localFiles += 1 }
        if let archived = removed.archived, outcome.archived.count < RemovalOutcome.nameLimit {
            outcome.archived.append(RemovalOutcome.Archived(path: facts.name, at: archived.archived))
        }
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
        let message: Phrase =
            switch reason {
            case .changedHere:
                Phrase(
                    "differs from the version on other devices; run `synctrain extraneous resolve` or `synctrain scan` first"
                )
            case .unknown: Phrase("it contains files that are not part of the folder; move them elsewhere first")
            case .failed: error.text
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
}
