import AgentConfiguration
import BlockExchange
import ControlAPI
import Selection

/// What can be asked of one folder. Paths are canonical and relative to its root; `""` is the root.
///
/// The functions throw what they meet: `IgnoreError`, `ControlError` and the errors of storage and disk.
protocol FolderControl: Sendable {
    /// Edits `.stignore`. On return the totals of `status` are those of the new selection.
    func select(_ paths: [String], whileSpace: Bool, isDryRun: Bool) async throws -> SelectionOutcome
    /// The same, and frees the space of what is not kept any more.
    func deselect(_ paths: [String], _ local: LocalFiles, isDryRun: Bool) async throws -> SelectionOutcome
    func selection(emit: @Sendable (SelectedPath) async throws -> Void) async throws
    func explain(_ path: String) async throws -> ExplainedPath
    /// Edits `.stignore` alone; the configuration is the caller's.
    func convert(to mode: FolderConfiguration.Mode, isDryRun: Bool) async throws -> SelectionOutcome
    func perform(_ action: FolderAction.Kind, isDryRun: Bool) async throws -> FolderActionOutcome
    func scan(_ paths: [String]) async throws -> ScanSummary.Folder
    func extraneous(emit: @Sendable (Entry) async throws -> Void) async throws
    func resolve(
        _ paths: [String], _ action: ExtraneousResolution.Action, directory: String?, isDryRun: Bool
    ) async throws -> ResolutionOutcome
    func remove(_ paths: [String], isDryRun: Bool) async throws -> RemovalOutcome
    func notes(of path: String) async throws -> Notes
    func changeNotes(of path: String, set: [String: String], remove: [String]) async throws -> Notes
    func refused(emit: @Sendable (RefusedChange) async throws -> Void) async throws
    /// `devices` nil for those of all.
    func settleRefused(
        _ paths: [String], _ action: RefusalRequest.Action, of devices: Set<DeviceID>?, isDryRun: Bool
    ) async throws -> RefusalOutcome
    func free(until byteCount: Int64, unusedFor: Int64?, isDryRun: Bool) async throws -> SpaceAnswer.Folder
    func needs(emit: @Sendable (Entry) async throws -> Void) async throws
    func syncNow() async throws
    func versions(below path: String, emit: @Sendable (ArchivedVersion) async throws -> Void) async throws
    /// `at` in seconds since 1970; nil for the last version.
    func restoreVersion(_ path: String, at: Int64?, isConfirmed: Bool) async throws -> RestoredVersion
    func conflicts(emit: @Sendable (Conflict) async throws -> Void) async throws
    func conflictDetails(_ path: String) async throws -> [ConflictDetails]
    /// What goes wrong with one conflict is in its outcome.
    func resolveConflicts(_ path: String, keep: ConflictResolution.Keep) async throws -> [ConflictAnswer.Outcome]
}

/// The verbs of folders: each path goes to the folder that it lies in.
extension Agent {
    // MARK: selection

    public func select(_ change: SelectionChange) async throws -> SelectionAnswer {
        try await answering {
            guard !change.paths.isEmpty else { throw ControlError(.invalidRequest, "say which paths") }
            let parts = try parts(of: change.paths)
            for part in parts where part.paths.contains("") {
                let id = part.folder.id
                throw ControlError(
                    .invalidRequest,
                    "a whole folder is not selected by a line but by its mode: `synctrain folder mode \(id) "
                        + "\(change.isSelecting ? "full" : "selective")`", path: "\(id):")
            }
            // What one folder refuses must not be half done in others.
            if !change.isDryRun, parts.count > 1 {
                for part in parts { _ = try await select(part, change, isDryRun: true) }
            }
            var outcomes: [SelectionOutcome] = []
            for part in parts { outcomes.append(try await select(part, change, isDryRun: change.isDryRun)) }
            return SelectionAnswer(folders: outcomes)
        }
    }

    private func select(
        _ part: FolderPart, _ change: SelectionChange, isDryRun: Bool
    ) async throws -> SelectionOutcome {
        try await refusing(in: part.folder) {
            let control = try control(of: part.folder)
            guard !change.isSelecting else {
                return try await control.select(
                    part.paths, whileSpace: change.whileSpace ?? false, isDryRun: isDryRun)
            }
            return try await control.deselect(part.paths, change.local ?? .free, isDryRun: isDryRun)
        }
    }

    public func selection(
        folder: String?, emit: @Sendable (SelectedPath) async throws -> Void
    ) async throws {
        try await eachFolder(folder) { try await $0.selection(emit: emit) }
    }

    public func explain(_ path: PathReference) async throws -> ExplainedPath {
        try await answering {
            let (folder, path) = try resolve(path)
            return try await refusing(in: folder) { try await control(of: folder).explain(path) }
        }
    }

    public func setFolderMode(_ change: FolderModeChange) async throws -> SelectionAnswer {
        try await answering {
            guard let mode = FolderConfiguration.Mode(rawValue: change.mode) else {
                throw ControlError(
                    .invalidRequest, "there is no folder mode \(change.mode); use selective or full")
            }
            let folder = try session(change.folder)
            return try await gate.withUnits(1) {
                let old = folder.configuration.mode
                func set(_ mode: FolderConfiguration.Mode) async throws {
                    guard !change.isDryRun, folder.configuration.mode != mode else { return }
                    try await apply(try edited([.setFolderMode(folder.id, mode)]))
                }
                // A folder whose mode is selective is never without lines.
                if mode == .full { try await set(.full) }
                do {
                    let outcome = try await refusing(in: folder) {
                        try await control(of: folder).convert(to: mode, isDryRun: change.isDryRun)
                    }
                    try await set(mode)
                    return SelectionAnswer(folders: [outcome])
                } catch {
                    try await set(old)
                    throw error
                }
            }
        }
    }

    // MARK: work

    public func perform(_ action: FolderAction) async throws -> FolderActionOutcome {
        try await answering {
            let folder = try session(action.folder)
            return try await refusing(in: folder) {
                try await control(of: folder).perform(action.action, isDryRun: action.isDryRun)
            }
        }
    }

    public func scan(_ request: ScanRequest) async throws -> ScanSummary {
        try await answering {
            let whole = folders.all.filter { !$0.configuration.isPaused }.map { FolderPart(folder: $0, paths: [""]) }
            let parts = request.paths.isEmpty ? whole : try parts(of: request.paths.map(namingFolders))
            var found: [ScanSummary.Folder] = []
            for part in parts {
                found.append(
                    try await refusing(in: part.folder) { try await control(of: part.folder).scan(part.paths) })
            }
            return ScanSummary(folders: found)
        }
    }

    public func extraneous(folder: String?, emit: @Sendable (Entry) async throws -> Void) async throws {
        let names = configuration.withLock { configuration in
            Dictionary(
                configuration.devices.map { ($0.id.shortID.description, $0.name) } + [
                    (localDevice.shortID.description, configuration.name)
                ], uniquingKeysWith: { first, _ in first })
        }
        try await eachFolder(folder) { control in
            try await control.extraneous { entry in
                var entry = entry
                if let device = entry.other?.modifiedBy { entry.other?.device = names[device] }
                try await emit(entry)
            }
        }
    }

    public func resolve(_ resolution: ExtraneousResolution) async throws -> ResolutionAnswer {
        try await answering {
            let parts = try parts(of: resolution.paths)
            for part in parts { try Self.refuseRoot(part, "settle what is in it one by one") }
            let directory = try resolution.directory.map { try setup.places.expanded($0) }
            var outcomes: [ResolutionOutcome] = []
            for part in parts {
                outcomes.append(
                    try await refusing(in: part.folder) {
                        try await control(of: part.folder).resolve(
                            part.paths, resolution.action, directory: directory, isDryRun: resolution.isDryRun)
                    })
            }
            return ResolutionAnswer(folders: outcomes)
        }
    }

    public func remove(_ request: RemovalRequest) async throws -> RemovalAnswer {
        try await answering {
            let parts = try parts(of: request.paths)
            for part in parts { try Self.refuseRoot(part, "name what is in it") }
            // What one folder refuses must not be half done in others.
            if !request.isDryRun, parts.count > 1 {
                for part in parts { _ = try await control(of: part.folder).remove(part.paths, isDryRun: true) }
            }
            var outcomes: [RemovalOutcome] = []
            for part in parts {
                var outcome = try await refusing(in: part.folder) {
                    try await control(of: part.folder).remove(part.paths, isDryRun: request.isDryRun)
                }
                for place in outcome.holders.indices {
                    guard let id = try? DeviceID(parsing: outcome.holders[place].id) else { continue }
                    let state = devices.device(id)?.state
                    outcome.holders[place].name = state?.name ?? ""
                    outcome.holders[place].isConnected = state?.session != nil
                }
                outcomes.append(outcome)
            }
            return RemovalAnswer(folders: outcomes)
        }
    }

    public func free(_ request: SpaceRequest) async throws -> SpaceAnswer {
        try await answering {
            guard request.until >= 0, (request.unusedFor ?? 0) >= 0 else {
                throw ControlError(.invalidRequest, "a size and an age are 0 or more")
            }
            let chosen = try request.folder.map { [try session($0)] } ?? folders.all
            var answers: [SpaceAnswer.Folder] = []
            for folder in chosen where request.folder != nil || !folder.configuration.isPaused {
                answers.append(
                    try await refusing(in: folder) {
                        try await control(of: folder).free(
                            until: request.until, unusedFor: request.unusedFor, isDryRun: request.isDryRun)
                    })
            }
            return SpaceAnswer(folders: answers)
        }
    }

    private static func refuseRoot(_ part: FolderPart, _ remedy: String) throws(ControlError) {
        guard part.paths.contains("") else { return }
        throw ControlError(
            .invalidRequest, "\(part.folder.id): is a whole folder; \(remedy)", path: "\(part.folder.id):")
    }

    public func needs(folder: String?, emit: @Sendable (Entry) async throws -> Void) async throws {
        try await eachFolder(folder) { try await $0.needs(emit: emit) }
    }

    public func syncNow(_ request: SyncRequest) async throws {
        try await answering {
            let chosen = try request.folder.map { [try session($0)] } ?? folders.all
            for id in Set(chosen.flatMap(\.configuration.devices)) { await devices.device(id)?.seek() }
            for folder in chosen where !folder.configuration.isPaused {
                try await refusing(in: folder) { try await control(of: folder).syncNow() }
            }
        }
    }

    // MARK: folders and their paths

    /// Some paths of one folder.
    struct FolderPart {
        let folder: FolderSession
        var paths: [String]
    }

    /// The paths of each folder, folders and paths in the order in which they come first.
    func parts(of references: [PathReference]) throws -> [FolderPart] {
        var parts: [FolderPart] = []
        var places: [FolderID: Int] = [:]
        for reference in references {
            let (folder, path) = try resolve(reference)
            if let place = places[folder.id] {
                parts[place].paths.append(path)
            } else {
                places[folder.id] = parts.count
                parts.append(FolderPart(folder: folder, paths: [path]))
            }
        }
        return parts
    }

    /// A text that is a folder's id means the folder; a file of that name is `./name`.
    func namingFolders(_ reference: PathReference) -> PathReference {
        guard folders.folder(FolderID(reference.text)) != nil else { return reference }
        return PathReference(text: reference.text + ":", workingDirectory: reference.workingDirectory)
    }

    private func session(_ id: String) throws(ControlError) -> FolderSession {
        guard let folder = folders.folder(FolderID(id)) else {
            throw ControlError(
                .noSuchFolder, "there is no folder \(id); `synctrain folder list` names those there are", path: id)
        }
        return folder
    }

    func eachFolder(
        _ id: String?, _ body: (any FolderControl) async throws -> Void
    ) async throws {
        try await answering {
            for folder in try id.map({ [try session($0)] }) ?? folders.all {
                try await refusing(in: folder) { try await body(control(of: folder)) }
            }
        }
    }

    /// Says of an ignore file that is refused which folder's it is.
    func refusing<Result>(
        in folder: FolderSession, _ body: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await body()
        } catch let error as IgnoreError {
            throw ControlError(error, folder: folder.configuration)
        }
    }

    func control(of folder: FolderSession) throws(ControlError) -> any FolderControl {
        guard let engine = folder.engine else {
            throw ControlError(.failed, "the folder \(folder.id) is being removed", path: folder.id.rawValue)
        }
        return engine
    }
}

extension ControlError {
    /// What is wrong with an ignore file of `folder`, or with what was asked of it.
    init(_ error: IgnoreError, folder: FolderConfiguration) {
        let code: Code =
            switch error.code {
            case .invalidPath: .invalidRequest
            case .inexpressiblePath: .inexpressiblePath
            case .overruled: .overruled
            default: .selectionUnusable
            }
        self.init(code, "\(folder.id): \(error)", path: folder.id.rawValue)
    }
}
