import AgentConfiguration
import BlockExchange
import ControlAPI
import FileAccess
import Selection

/// The verbs of folders: each path goes to the folder that it lies in.
extension Agent {
    // MARK: selection

    public func select(_ change: SelectionChange) async throws -> SelectionAnswer {
        try await answering {
            guard !change.paths.isEmpty else { throw ControlError(.invalidRequest, "give at least one path") }
            let parts = try parts(of: change.paths)
            for part in parts where part.paths.contains("") {
                let id = part.folder.id
                throw ControlError(
                    .invalidRequest,
                    "use the folder mode to select a whole folder: `synctrain folder mode \(id) "
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
            let runner = part.folder.runner
            guard !change.isSelecting else {
                return try await runner.perform(
                    SelectStep(paths: part.paths, whileSpace: change.whileSpace ?? false, isDryRun: isDryRun))
            }
            return try await runner.perform(
                DeselectStep(paths: part.paths, local: change.local ?? .free, isDryRun: isDryRun))
        }
    }

    public func selection(
        folder: String?, emit: @Sendable (SelectedPath) async throws -> Void
    ) async throws {
        try await eachFolder(folder) { try await SelectionReading(folder: try $0.runner.reading()).list(emit: emit) }
    }

    public func explain(_ path: PathReference) async throws -> ExplainedPath {
        try await answering {
            let (folder, path) = try resolve(path)
            return try await refusing(in: folder) {
                try await SelectionReading(folder: try folder.runner.reading()).explain(path)
            }
        }
    }

    public func setFolderMode(_ change: FolderModeChange) async throws -> SelectionAnswer {
        try await answering {
            guard let mode = FolderConfiguration.Mode(rawValue: change.mode) else {
                throw ControlError(
                    .invalidRequest, "unknown folder mode \(change.mode); use selective or full")
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
                        try await folder.runner.convert(to: mode, isDryRun: change.isDryRun)
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
                try await perform(action.action, in: folder.runner, isDryRun: action.isDryRun)
            }
        }
    }

    private func perform(
        _ action: FolderAction.Kind, in runner: FolderRunner, isDryRun: Bool
    ) async throws -> FolderActionOutcome {
        switch action {
        case .override: try await runner.perform(OverrideStep(isDryRun: isDryRun))
        case .revert: try await runner.revert(isDryRun: isDryRun)
        case .confirm: try await runner.confirm(isDryRun: isDryRun)
        case .repair: try await runner.repair(isDryRun: isDryRun)
        }
    }

    public func scan(_ request: ScanRequest) async throws -> ScanSummary {
        try await answering {
            let whole = folders.all.filter { !$0.configuration.isPaused }.map { FolderPart(folder: $0, paths: [""]) }
            let parts = request.paths.isEmpty ? whole : try parts(of: request.paths.map(namingFolders))
            var found: [ScanSummary.Folder] = []
            for part in parts {
                found.append(
                    try await refusing(in: part.folder) { try await scan(part) })
            }
            return ScanSummary(folders: found)
        }
    }

    private func scan(_ part: FolderPart) async throws -> ScanSummary.Folder {
        let paths = part.paths.contains("") ? nil : try part.paths.map { try RelativePath(parsing: $0) }
        let summary = try await part.folder.runner.perform(ScanStep(paths: paths, isRequested: true))
        part.folder.boards.inbox.pullEverything()
        return summary
    }

    public func extraneous(folder: String?, emit: @Sendable (Entry) async throws -> Void) async throws {
        let names = configuration.withLock { configuration in
            Dictionary(
                configuration.devices.map { ($0.id.shortID.description, $0.name) } + [
                    (localDevice.shortID.description, configuration.name)
                ], uniquingKeysWith: { first, _ in first })
        }
        try await eachFolder(folder) { folder in
            let count = try await ExtraneousListing(folder: try folder.runner.reading()).list { entry in
                var entry = entry
                if let device = entry.other?.modifiedBy { entry.other?.device = names[device] }
                try await emit(entry)
            }
            folder.boards.status.set(extraneous: count)
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
                        try await part.folder.runner.perform(
                            ResolveExtraneousStep(
                                paths: part.paths, action: resolution.action, directory: directory,
                                isDryRun: resolution.isDryRun))
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
                for part in parts {
                    _ = try await part.folder.runner.perform(DeleteEverywhereStep(paths: part.paths, isDryRun: true))
                }
            }
            var outcomes: [RemovalOutcome] = []
            for part in parts {
                var outcome = try await refusing(in: part.folder) {
                    try await part.folder.runner.perform(
                        DeleteEverywhereStep(paths: part.paths, isDryRun: request.isDryRun))
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
                throw ControlError(.invalidRequest, "size and age must be at least 0")
            }
            let chosen = try request.folder.map { [try session($0)] } ?? folders.all
            var answers: [SpaceAnswer.Folder] = []
            for folder in chosen where request.folder != nil || !folder.configuration.isPaused {
                answers.append(
                    try await refusing(in: folder) {
                        try await folder.runner.perform(
                            FreeStep(
                                until: request.until, unusedFor: request.unusedFor, isDryRun: request.isDryRun))
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
        try await eachFolder(folder) { folder in
            let context = try folder.runner.reading()
            let reader = reader(folder)
            try await context.index.eachNeeded { page in
                for needed in page where !needed.file.isDeleted && !needed.isChangedHere {
                    guard let entry = try await context.index.global(needed.path), entry.isPresent else { continue }
                    try await emit(try await reader.entry(entry))
                }
            }
        }
    }

    public func syncNow(_ request: SyncRequest) async throws {
        try await answering {
            let chosen = try request.folder.map { [try session($0)] } ?? folders.all
            for id in Set(chosen.flatMap(\.configuration.devices)) { await devices.device(id)?.seek() }
            for folder in chosen where !folder.configuration.isPaused {
                folder.runner.pullNow()
            }
        }
    }

    // MARK: folders and their paths

    /// Some paths of one folder.
    struct FolderPart {
        let folder: Folder
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

    private func session(_ id: String) throws(ControlError) -> Folder {
        guard let folder = folders.folder(FolderID(id)) else {
            throw ControlError(
                .noSuchFolder, "\(id): no such folder; `synctrain folder list` shows the folders", path: id)
        }
        return folder
    }

    func eachFolder(
        _ id: String?, _ body: (Folder) async throws -> Void
    ) async throws {
        try await answering {
            for folder in try id.map({ [try session($0)] }) ?? folders.all {
                try await refusing(in: folder) { try await body(folder) }
            }
        }
    }

    /// Says of what is refused, by the folder or its ignore file, which folder's it is.
    func refusing<Result>(
        in folder: Folder, _ body: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await body()
        } catch let error as IgnoreError {
            throw ControlError(error, folder: folder.configuration)
        } catch let error as FolderError {
            throw ControlError(error, folder: folder.configuration)
        }
    }
}
