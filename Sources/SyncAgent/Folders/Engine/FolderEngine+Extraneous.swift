import BlockExchange
import ControlAPI
import FileAccess
import IndexStore
import Reconciliation
import Selection

/// Settling what is on this disk and not selected. Nothing is touched that nobody chose something for.
extension FolderEngine {
    /// Files that one request settles.
    private static let resolutionLimit = 100_000

    func resolve(
        _ paths: [String], _ action: ExtraneousResolution.Action, directory: String?, isDryRun: Bool
    ) async throws -> ResolutionOutcome {
        try await exclusively { [self] in
            if isHaltedOverDeletions, let halt = activity.snapshot.halt { throw halt }
            let place = try await currentPlace()
            let found = try await extraneousFiles(Self.topmost(paths), place)
            var resolution = ExtraneousSettling(engine: self, place: place, action: action, isDryRun: isDryRun)
            switch action {
            case .select, .ignore: try await resolution.edit(Self.topmost(paths), found)
            case .delete: try await resolution.delete(found)
            case .moveTo:
                guard let directory, directory.hasPrefix("/") else {
                    throw ControlError(.invalidRequest, "say which directory to move them to, as an absolute path")
                }
                try await resolution.move(found, below: Self.topmost(paths), to: directory)
            case .keepMine, .keepTheirs, .keepBoth: try await resolution.keep(found)
            }
            var outcome = resolution.outcome
            let waiting = namesWaiting(for: found)
            if !waiting.isEmpty, [.delete, .ignore, .moveTo].contains(action) {
                outcome.deletedElsewhere = Array(waiting.prefix(ResolutionOutcome.nameLimit))
            }
            if !isDryRun {
                try await countExtraneous()
                // The deletion of what was there before may have waited for this answer.
                scanSoon(state.withLock { $0.heldNames.keys.sorted() }.compactMap { RelativePath($0) })
            }
            return outcome
        }
    }

    /// Kept names from which one of `found` was moved away, and whose deletion nobody has heard of yet.
    private func namesWaiting(for found: [ExtraneousFile]) -> [String] {
        let held = state.withLock { $0.heldNames }
        guard !held.isEmpty else { return [] }
        var places: Set<String> = []
        for file in found {
            var place: RelativePath? = file.path
            while let path = place, places.insert(path.text).inserted { place = path.parent }
        }
        return Self.topmost(held.filter { places.contains($0.value) }.keys.sorted())
    }

    /// The files and links at and below `paths`, none of which may be kept.
    private func extraneousFiles(_ paths: [String], _ place: FolderPlace) async throws -> [ExtraneousFile] {
        let limit = Self.resolutionLimit
        let names = try await environment.fetching.threads.runIfActive {
            var names: [(RelativePath, FileAccess.FileStatus)] = []
            for path in paths {
                let start = try RelativePath(parsing: path)
                guard let status = try place.root.status(of: start), !start.isInternal, status.type != .other else {
                    throw ControlError(.noSuchPath, "there is no \(path) on this disk", path: path)
                }
                let isKept = !place.selection.isLeftOut(path)
                guard status.type == .directory || !isKept else {
                    throw ControlError(
                        .invalidRequest, "\(path) is selected; `synctrain extraneous list` shows what is not",
                        path: path)
                }
                var waiting = [(start, status)]
                while let (next, status) = waiting.popLast() {
                    if status.type != .directory {
                        if !place.selection.isLeftOut(next.text) || next.isTemporary || status.type == .other {
                            continue
                        }
                        names.append((next, status))
                        guard names.count <= limit else {
                            throw ControlError(
                                .tooLarge, "more than \(limit) files in \(path); take a part of it", path: path)
                        }
                        continue
                    }
                    for entry in try place.root.list(next) {
                        guard let name = entry.name, let item = try? next.appending(name), !item.isInternal,
                            let status = try place.root.status(of: item)
                        else { continue }
                        waiting.append((item, status))
                    }
                }
            }
            return names.sorted { $0.0.text.utf8.lexicographicallyPrecedes($1.0.text.utf8) }
        }
        var found: [ExtraneousFile] = []
        let shared = session.configuration
        let rule = try await session.copyRule()
        for start in stride(from: 0, to: names.count, by: 1000) {
            let part = names[start..<min(start + 1000, names.count)]
            for ((path, status), facts) in zip(part, try await facts(part.map(\.0.text))) {
                found.append(
                    ExtraneousFile(
                        path: path, status: status, facts: facts,
                        reason: Freeing.reason(
                            against: facts.localVersion, global: facts.global,
                            copies: rule.copies(facts.holders), minimumCopies: shared.minimumCopies,
                            sight: SpaceFreeing.sight(status, facts.local))))
            }
        }
        return found
    }
}

/// A file or link on this disk that is not kept.
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
        case nil, .tooFewCopies, .uncertainCopies, .unsettled: return nil
        default: return global
        }
    }
}

/// Does what people chose for files that are not kept.
struct ExtraneousSettling {
    let engine: FolderEngine
    let place: FolderPlace
    let isDryRun: Bool
    private(set) var outcome: ResolutionOutcome
    private var forgotten: [LocalChange] = []

    init(engine: FolderEngine, place: FolderPlace, action: ExtraneousResolution.Action, isDryRun: Bool) {
        self.engine = engine
        self.place = place
        self.isDryRun = isDryRun
        outcome = ResolutionOutcome(folder: engine.folder.rawValue, action: action, isDryRun: isDryRun)
    }

    /// `select` and `ignore`.
    mutating func edit(_ paths: [String], _ files: [ExtraneousFile]) async throws {
        if outcome.action == .select, let clash = files.first(where: { $0.other != nil }) {
            throw ControlError(
                .alreadyExists,
                "\(clash.path.text) is on other devices with other contents; choose with --keep mine, theirs or both",
                path: clash.path.text)
        }
        for file in files { note(file) }
        let isSelecting = outcome.action == .select
        let change = try await engine.change(paths, isDryRun: isDryRun) { editor in
            try isSelecting ? editor.selecting(paths) : editor.leavingAlone(paths)
        }
        outcome.added = change.outcome.added
        outcome.removed = change.outcome.removed
    }

    mutating func delete(_ files: [ExtraneousFile]) async throws {
        for file in files {
            let (engine, place, isDryRun) = (engine, place, isDryRun)
            try await settle(file, isRemoving: true) {
                guard !isDryRun else { return }
                _ = try engine.removeUserFile(file.path, expecting: file.status, purpose: .deleting, in: place)
            }
        }
        try await finish(files)
    }

    mutating func move(_ files: [ExtraneousFile], below paths: [String], to directory: String) async throws {
        let folder = engine.session.configuration.path
        guard directory != folder, !directory.hasPrefix(folder + "/") else {
            throw ControlError(
                .invalidRequest, "\(directory) lies in the folder itself; choose one outside of it", path: directory)
        }
        let (place, isDryRun) = (place, isDryRun)
        let other = isDryRun ? nil : try await onDisk { try RootDirectory(creating: directory) }
        for file in files {
            let target = try Self.target(of: file.path, below: paths)
            try await settle(file, isRemoving: false) {
                guard let other else { return }
                guard try file.status.type != .regular || !place.root.isBeingWritten(file.path) else {
                    throw FileAccessError(.busy, .rename, path: file.path.text)
                }
                if let parent = target.parent { try other.createDirectories(parent) }
                try place.root.move(file.path, into: other, as: target, expecting: file.status)
            }
        }
        try await finish(files)
    }

    /// A chosen path goes under its last component, with what is in it below.
    private static func target(of path: RelativePath, below paths: [String]) throws -> RelativePath {
        for chosen in paths {
            guard let start = RelativePath(chosen) else { continue }
            if path == start { return try RelativePath(parsing: start.name) }
            if path.text.hasPrefix(chosen + "/") {
                return try RelativePath(parsing: start.name + path.text.dropFirst(chosen.count))
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
                    "other devices have no other version of it; --select, --delete, --ignore or --move-to settle it")
            } else if outcome.action != .keepMine, file.facts.holders.isEmpty {
                stay(file, Freeing.Reason.noOtherCopy.rawValue, "no device holds the other version whole; wait for one")
            } else {
                chosen.append(file)
            }
        }
        var selected: [String] = []
        for file in chosen {
            switch outcome.action {
            case .keepTheirs:
                let (engine, place, isDryRun) = (engine, place, isDryRun)
                let isDone = try await settle(file, isRemoving: true) {
                    guard !isDryRun else { return }
                    _ = try engine.removeUserFile(file.path, expecting: file.status, purpose: .deleting, in: place)
                }
                if isDone { selected.append(file.path.text) }
            case .keepBoth:
                let (place, isDryRun) = (place, isDryRun)
                let copy = try engine.conflictCopy(
                    of: file.path, by: engine.environment.localDevice.shortID, in: place.root)
                let isDone = try await settle(file, isRemoving: false) {
                    guard !isDryRun else { return }
                    try place.root.rename(file.path, to: copy, replacing: .nothing, expecting: file.status)
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
            try await engine.apply(changes, place)
        }
        try await finish(chosen)
        let paths = selected
        let change = try await engine.change(paths, isDryRun: isDryRun) { try $0.selecting(paths) }
        outcome.added = change.outcome.added
        outcome.removed = change.outcome.removed
        guard !isDryRun else { return }
        try await engine.look(at: paths.compactMap { RelativePath($0) }, isAsked: true)
        engine.indexChanged(at: paths)
    }

    // MARK: -

    /// Does something with one file; what the disk refuses stays and is named. Gives whether it was done.
    @discardableResult
    private mutating func settle(
        _ file: ExtraneousFile, isRemoving: Bool, _ body: @escaping @Sendable () throws -> Void
    ) async throws -> Bool {
        try Task.checkCancellation()
        do {
            try await onDisk(body)
        } catch let error as FileAccessError {
            let reason: Freeing.Reason =
                switch error.code {
                case .busy: .inUse
                case .changedOnDisk, .isADirectory: .changedHere
                default: .failed
                }
            stay(file, reason.rawValue, reason == .failed ? error.message : reason.message(minimumCopies: 1))
            return false
        }
        note(file)
        if isRemoving, let reason = file.reason {
            outcome.noteLost(
                StayingName(
                    path: file.path.text, size: file.size, reason: reason.rawValue,
                    message: "not held by other devices as it is here"))
        }
        forgotten.append(.forget(file.path.text))
        return true
    }

    private mutating func note(_ file: ExtraneousFile) { outcome.note(file.path.text, size: file.size) }

    private mutating func stay(_ file: ExtraneousFile, _ reason: String, _ message: String) {
        guard outcome.staying.count < ResolutionOutcome.nameLimit else { return }
        outcome.staying.append(
            StayingName(path: file.path.text, size: file.size, reason: reason, message: message))
    }

    /// Tells the index what is gone, once that is durable, and removes directories in which nothing is left.
    private mutating func finish(_ files: [ExtraneousFile]) async throws {
        guard !isDryRun, !forgotten.isEmpty else { return }
        let (root, selection) = (place.root, place.selection)
        var parents: Set<RelativePath> = []
        for file in files {
            var parent = file.path.parent
            while let directory = parent, selection.isLeftOut(directory.text), parents.insert(directory).inserted {
                parent = directory.parent
            }
        }
        let directories = parents.sorted { $0.text.utf8.count > $1.text.utf8.count }
        let gone = try await onDisk {
            var gone: [RelativePath] = []
            for directory in directories {
                do throws(FileAccessError) {
                    if try root.removeDirectory(directory, durability: .deferred) { gone.append(directory) }
                } catch {
                    guard [.directoryNotEmpty, .notADirectory].contains(error.code) else { throw error }
                }
            }
            try root.synchronizeFileSystem()
            return gone
        }
        forgotten += gone.map { .forget($0.text) }
        try await engine.apply(forgotten, place)
        forgotten = []
    }

    private func onDisk<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await engine.environment.fetching.threads.runIfActive(body)
    }
}
