import AgentContext
import AsyncTools
import BlockExchange
import ControlAPI
import FileAccess
import FolderScanner
import IndexStore
import Names
import Phrases
import Reconciliation
import Selection

/// Settles what is on this disk and not selected. Nothing is touched that nobody chose something for.
package struct ResolveExtraneousStep: FolderStep {
    /// Files that one request settles.
    private static let fileLimit = 100_000

    package let paths: [String]
    package let action: ExtraneousResolution.Action
    /// Where to move them, absolute; nil but for `moveTo`.
    package var directory: String?
    package var isDryRun = false

    package init(
        paths: [String], action: ExtraneousResolution.Action, directory: String? = nil, isDryRun: Bool = false
    ) {
        self.paths = paths
        self.action = action
        self.directory = directory
        self.isDryRun = isDryRun
    }

    /// - Throws: `FolderError` for what cannot be done; `FolderHalt` while deletions are held back.
    package func run(_ folder: FolderContext, _ work: inout FolderWork) async throws -> ResolutionOutcome {
        try folder.requireNoDeletionHalt()
        let topmost = PathSet.topmost(paths)
        let found = try await files(at: topmost, folder)
        var settling = ExtraneousSettling(folder: folder, action: action, isDryRun: isDryRun, work: work)
        defer { work = settling.work }
        switch action {
        case .select, .ignore: try await settling.edit(topmost, found)
        case .delete: try await settling.delete(found, at: topmost)
        case .moveTo:
            guard let directory, directory.utf8.first == UInt8(ascii: "/") else { throw FolderError.noTargetDirectory }
            try await settling.move(found, below: topmost, to: directory)
        case .keepMine, .keepTheirs, .keepBoth: try await settling.keep(found)
        }
        settling.end(found)
        if !isDryRun { try await settling.countExtraneous() }
        return settling.outcome
    }

    /// The files and links at and below `paths`, none of which may be selected.
    private func files(at paths: [String], _ folder: FolderContext) async throws -> [ExtraneousFile] {
        let (root, selection) = (folder.root, folder.selection)
        let names = try await folder.onDisk {
            var names: [(RelativePath, FileAccess.FileStatus)] = []
            for path in paths {
                let start = try RelativePath(parsing: path)
                guard let status = try root.status(of: start), !start.isInternal, status.type != .other else {
                    throw FolderError.notOnDisk(path)
                }
                guard status.type == .directory || selection.isLeftOut(path) else { throw FolderError.selected(path) }
                var waiting = [(start, status)]
                while let (next, status) = waiting.popLast() {
                    if status.type != .directory {
                        if !selection.isLeftOut(next.text) || next.isTemporary || status.type == .other { continue }
                        names.append((next, status))
                        guard names.count <= Self.fileLimit else {
                            throw FolderError.tooManyFiles(path, limit: Self.fileLimit)
                        }
                        continue
                    }
                    for entry in try root.list(next) {
                        guard let name = entry.name, let item = try? next.appending(name), !item.isInternal,
                            let status = try root.status(of: item)
                        else { continue }
                        waiting.append((item, status))
                    }
                }
            }
            return names.sorted { $0.0.text.utf8.lexicographicallyPrecedes($1.0.text.utf8) }
        }
        var found: [ExtraneousFile] = []
        let rule = try await folder.copyCounting().rule
        for start in stride(from: 0, to: names.count, by: FolderIndex.pageLimit) {
            let part = names[start..<min(start + FolderIndex.pageLimit, names.count)]
            for ((path, status), facts) in zip(part, try await folder.index.facts(part.map(\.0.text))) {
                found.append(
                    ExtraneousFile(
                        path: path, status: status, facts: facts,
                        reason: Freeing.reason(
                            against: facts.localVersion, global: facts.global,
                            copies: rule.possibleCopies(facts.holders),
                            minimumCopies: folder.settings.minimumCopies,
                            sight: SpaceFreeing.sight(status, facts.local))))
            }
        }
        return found
    }
}

/// Lists what is on this disk and not selected. Reads only; needs no turn.
package struct ExtraneousListing: Sendable {
    package let folder: FolderContext

    package init(folder: FolderContext) {
        self.folder = folder
    }

    /// Gives how many files and links there are.
    ///
    /// - Throws: what `FolderScanner.extraneous` throws; `IndexStoreError`; what `emit` throws; `CancellationError`.
    package func list(emit: @Sendable (Entry) async throws -> Void) async throws -> Int64 {
        let scanner = FolderScanner(
            root: folder.root, selection: folder.selection, known: NothingKnown(), options: ScanOptions())
        let entries = BoundedQueue<Entry>(limit: 64)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                defer { entries.finish() }
                try await scanner.extraneous { batch in
                    let found = try await folder.extraneous(among: batch.entries)
                    for entry in try await self.entries(found) { await entries.sendOrDrop(entry) }
                }
            }
            var count: Int64 = 0
            while let entry = await entries.next() {
                if entry.kind != .directory { count += 1 }
                try await emit(entry)
            }
            try await group.waitForAll()
            return count
        }
    }

    /// What was found, with what others have in its place and what can be done about it.
    private func entries(_ found: [ExtraneousEntry]) async throws -> [Entry] {
        let rule = try await folder.copyCounting().rule
        return zip(found, try await folder.index.facts(found.map(\.name))).compactMap { found, facts in
            var entry = Entry(extraneous: found, in: folder.id)
            guard let path = RelativePath(found.name), entry.kind != .directory else { return entry }
            let file = ExtraneousFile(
                path: path, status: found.status, facts: facts,
                reason: Freeing.reason(
                    against: facts.localVersion, global: facts.global, copies: rule.possibleCopies(facts.holders),
                    minimumCopies: folder.settings.minimumCopies,
                    sight: SpaceFreeing.sight(found.status, facts.local)))
            entry.choices = ["select", "delete", "ignore", "move-to"]
            guard let other = file.other else { return entry }
            entry.choices = ["delete", "ignore", "move-to", "keep-mine", "keep-theirs", "keep-both"]
            entry.other = Entry.OtherVersion(
                size: other.size,
                modified: WallTime(seconds: other.modifiedSeconds, nanoseconds: other.modifiedNanoseconds).rfc3339,
                modifiedBy: other.modifiedBy.description, holders: facts.holders.map(\.description))
            return entry
        }
    }
}

extension Entry {
    fileprivate init(extraneous found: ExtraneousEntry, in folder: FolderID) {
        let kind: Kind =
            switch found.status.type {
            case .directory: .directory
            case .symlink: .symlink
            case .regular, .other: .file
            }
        let modified = found.status.modified
        self.init(
            kind: kind, folder: folder.rawValue, path: found.name, size: kind == .file ? found.status.size : 0,
            modified: WallTime(seconds: modified.seconds, nanoseconds: modified.nanoseconds).rfc3339,
            state: .extraneous, selected: .no)
    }
}

/// A file or link on this disk that is not selected.
struct ExtraneousFile: Sendable {
    let path: RelativePath
    let status: FileAccess.FileStatus
    let facts: NameFacts
    /// Why it is not the very same that others hold; nil if it is.
    let reason: Freeing.Reason?

    var size: Int64 { status.type == .regular ? status.size : 0 }

    /// The version of others that it is not, if there is one.
    var other: FileInfo? {
        guard let global = facts.global, !global.isDeleted, !global.isInvalid else { return nil }
        switch reason {
        case nil, .tooFewCopies, .uncertainCopies, .failedCopies, .promised, .unsettled: return nil
        default: return global
        }
    }
}

/// Does what people chose for files that are not selected.
struct ExtraneousSettling {
    let folder: FolderContext
    let isDryRun: Bool
    private(set) var outcome: ResolutionOutcome
    /// What is to follow, for the step that settles.
    private(set) var work: FolderWork
    private var forgotten: [LocalChange] = []

    init(folder: FolderContext, action: ExtraneousResolution.Action, isDryRun: Bool, work: FolderWork) {
        self.folder = folder
        self.isDryRun = isDryRun
        self.work = work
        outcome = ResolutionOutcome(folder: folder.id.rawValue, action: action, isDryRun: isDryRun)
    }

    mutating func countExtraneous() async throws {
        // By the lines that were just written, if any were.
        var now = folder
        if let place = work.effects.place { now = folder.with(place) }
        work.effects.counts.extraneous = try await now.countExtraneous()
    }

    /// Says which deletions waited for this answer, and has them looked at.
    mutating func end(_ files: [ExtraneousFile]) {
        let held = work.memory.heldNames
        if [.delete, .ignore, .moveTo].contains(outcome.action) {
            // Selected names from which one of `files` was moved away, and whose deletion nobody has been told of yet.
            var places: Set<NameKey> = []
            for file in files {
                var place: RelativePath? = file.path
                while let path = place, places.insert(path.text) { place = path.parent }
            }
            let waiting = PathSet.topmost(held.filter { places.contains($0.value) }.keys.map(\.text))
            if !waiting.isEmpty {
                outcome.deletedElsewhere = Array(waiting.prefix(ResolutionOutcome.nameLimit))
            }
        }
        if !isDryRun { for name in held.keys { work.effects.rescan(name.text) } }
    }

    /// `select` and `ignore`.
    mutating func edit(_ paths: [String], _ files: [ExtraneousFile]) async throws {
        if outcome.action == .select, let clash = files.first(where: { $0.other != nil }) {
            throw FolderError.differsElsewhere(clash.path.text)
        }
        for file in files { note(file) }
        let isSelecting = outcome.action == .select
        try await change(paths, in: folder) { try isSelecting ? $0.selecting(paths) : $0.leavingAlone(paths) }
    }

    /// Deletes the files, and the directories at and below `paths` in which nothing is left.
    mutating func delete(_ files: [ExtraneousFile], at paths: [String]) async throws {
        for file in files {
            let (archive, isDryRun) = (folder.archive, isDryRun)
            try await settle(file, isRemoving: true) {
                guard !isDryRun else { return }
                try archive.removeUserFile(file.path, expecting: file.status, purpose: .deleting)
            }
        }
        var directories: [RelativePath] = []
        for path in paths { directories += try await folder.unselectedDirectories(at: path, by: folder.selection) }
        try await finish(files, and: directories)
    }

    mutating func move(_ files: [ExtraneousFile], below paths: [String], to directory: String) async throws {
        let path = folder.settings.path
        guard !directory.isAtOrBelow(path) else {
            throw FolderError.targetInsideFolder(directory)
        }
        let root = folder.root
        let other = isDryRun ? nil : try await folder.onDisk { try RootDirectory(creating: directory) }
        for file in files {
            let target = try Self.target(of: file.path, below: paths)
            try await settle(file, isRemoving: false) {
                guard let other else { return }
                guard try file.status.type != .regular || !root.isBeingWritten(file.path) else {
                    throw FileAccessError(.busy, .rename, path: file.path.text)
                }
                if let parent = target.parent { try other.createDirectories(parent) }
                try root.move(file.path, into: other, as: target, expecting: file.status)
            }
        }
        try await finish(files)
    }

    /// A chosen path goes under its last component, with what is in it below.
    private static func target(of path: RelativePath, below paths: [String]) throws -> RelativePath {
        for chosen in paths {
            guard let start = RelativePath(chosen) else { continue }
            if path == start { return try RelativePath(parsing: start.name) }
            if path.isBelow(start) {
                return try RelativePath(parsing: start.name + path.text.behind(chosen))
            }
        }
        return try RelativePath(parsing: path.name)
    }

    /// `keep-mine`, `keep-theirs` and `keep-both`.
    mutating func keep(_ files: [ExtraneousFile]) async throws {
        var chosen: [ExtraneousFile] = []
        for file in files {
            if file.other == nil {
                stay(
                    file, "no-other-version",
                    Phrase("other devices have no other version; use --select, --delete, --ignore or --move-to"))
            } else if outcome.action != .keepMine, file.facts.holders.isEmpty {
                stay(
                    file, Freeing.Reason.noOtherCopy.rawValue,
                    Phrase("no device has a complete copy of the other version; wait for one"))
            } else {
                chosen.append(file)
            }
        }
        var selected: [String] = []
        for file in chosen {
            switch outcome.action {
            case .keepTheirs:
                let (archive, isDryRun) = (folder.archive, isDryRun)
                let isDone = try await settle(file, isRemoving: true) {
                    guard !isDryRun else { return }
                    try archive.removeUserFile(file.path, expecting: file.status, purpose: .deleting)
                }
                if isDone { selected.append(file.path.text) }
            case .keepBoth:
                let (root, isDryRun) = (folder.root, isDryRun)
                let copy = try folder.conflictCopy(of: file.path, by: folder.tools.localDevice.shortID)
                let isDone = try await settle(file, isRemoving: false) {
                    guard !isDryRun else { return }
                    try root.rename(file.path, to: copy, replacing: .nothing, expecting: file.status)
                }
                if isDone { selected += [file.path.text, copy.text] }
            default:
                note(file)
                selected.append(file.path.text)
            }
        }
        guard !selected.isEmpty else { return }
        if outcome.action == .keepMine, !isDryRun {
            // Until the look below it is a change of what the others have; if that does not come, it is extraneous yet.
            let changes = chosen.compactMap { file in
                file.other.map { LocalChange.set(LocalEntry(LocalChanges.succeeding($0), .unknown)) }
            }
            try await folder.index.apply(changes, &work)
        }
        try await finish(chosen)
        let paths = selected
        let changed = try await change(paths, in: folder) { try $0.selecting(paths) }
        guard !isDryRun else { return }
        _ = try await ScanStep(paths: paths.compactMap { RelativePath($0) }, isRequested: true).run(changed, &work)
        work.effects.pull.add(paths)
    }

    /// Edits the ignore file; gives the folder with its new selection.
    @discardableResult
    private mutating func change(
        _ paths: [String], in folder: FolderContext,
        _ edit: @escaping @Sendable (SelectionEditor) throws -> SelectionEdit
    ) async throws -> FolderContext {
        let change = try await SelectionChangeStep(paths: paths, isSelecting: true, isDryRun: isDryRun, edit: edit)
            .run(folder, &work)
        outcome.added = change.outcome.added
        outcome.removed = change.outcome.removed
        return change.folder
    }

    // MARK: -

    /// Does something with one file; what the disk refuses stays and is named. Gives whether it was done.
    @discardableResult
    private mutating func settle(
        _ file: ExtraneousFile, isRemoving: Bool, _ body: @escaping @Sendable () throws -> Void
    ) async throws -> Bool {
        try Task.checkCancellation()
        do {
            try await folder.onDisk(body)
        } catch let error as FileAccessError {
            let reason: Freeing.Reason =
                switch error.code {
                case .busy: .inUse
                case .changedOnDisk, .isADirectory: .changedHere
                default: .failed
                }
            stay(file, reason.rawValue, reason == .failed ? error.text : reason.message(minimumCopies: 1))
            return false
        }
        note(file)
        if isRemoving, let reason = file.reason {
            outcome.noteLost(
                StayingName(
                    path: file.path.text, size: file.size, reason: reason.rawValue,
                    message: Phrase("other devices do not have this version")))
        }
        forgotten.append(.forget(file.path.text))
        return true
    }

    private mutating func note(_ file: ExtraneousFile) { outcome.note(file.path.text, size: file.size) }

    private mutating func stay(_ file: ExtraneousFile, _ reason: String, _ message: Phrase) {
        guard outcome.staying.count < ResolutionOutcome.nameLimit else { return }
        outcome.staying.append(
            StayingName(path: file.path.text, size: file.size, reason: reason, message: message))
    }

    /// Tells the index what is gone, once that is durable, and removes directories in which nothing is left.
    private mutating func finish(_ files: [ExtraneousFile], and emptied: [RelativePath] = []) async throws {
        guard !isDryRun, !forgotten.isEmpty || !emptied.isEmpty else { return }
        let (root, selection) = (folder.root, folder.selection)
        var parents = Set(emptied)
        for file in files {
            var parent = file.path.parent
            while let directory = parent, selection.isLeftOut(directory.text), parents.insert(directory).inserted {
                parent = directory.parent
            }
        }
        let directories = parents.sorted { $0.text.utf8.count > $1.text.utf8.count }
        let gone = try await folder.onDisk {
            var gone: [RelativePath] = []
            for directory in directories {
                do throws(FileAccessError) {
                    if try root.removeDirectory(directory, durability: .deferred) { gone.append(directory) }
                } catch {
                    guard [.directoryNotEmpty, .notADirectory, .busy].contains(error.code) else { throw error }
                }
            }
            try root.synchronizeFileSystem()
            return gone
        }
        forgotten += gone.map { .forget($0.text) }
        try await folder.index.apply(forgotten, &work)
        forgotten = []
    }
}
