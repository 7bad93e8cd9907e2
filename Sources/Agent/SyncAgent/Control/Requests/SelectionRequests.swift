import AgentConfiguration
import AsyncTools
import BlockExchange
import ControlAPI
import FolderSync

/// Selects what a folder keeps, and says why it keeps something.
struct SelectionRequests: RequestGroup {
    let finder: FolderFinder
    let changes: ConfigurationChanges

    func add(to table: inout EndpointHandlers) {
        table.on(Endpoints.select) { try await select($0) }
        table.on(Endpoints.selection) { id, emit in
            try await finder.each(id) {
                try await SelectionReading(folder: try $0.runner.reading()).list(emit: emit)
            }
        }
        table.on(Endpoints.explain) { try await explain($0) }
        table.on(Endpoints.patterns) { id in
            let folder = try finder.folder(id)
            return try await folder.namingErrors {
                try await SelectionReading(folder: try folder.runner.reading()).patterns()
            }
        }
        table.on(Endpoints.setPatterns) { try await setPatterns($0) }
        // `.stignore` and the configuration must not say different things.
        table.on(Endpoints.setFolderMode) { change in try await uncancelled { try await setMode(change) } }
    }

    private func select(_ change: SelectionChange) async throws -> SelectionAnswer {
        guard !change.paths.isEmpty else { throw ControlError(.invalidRequest, "give at least one path") }
        let parts = try finder.parts(of: change.paths)
        for part in parts where part.paths.contains("") {
            let id = part.folder.id
            throw ControlError(
                .invalidRequest,
                "use the folder mode to select a whole folder: `synctrain folder mode \(ShellWord.quoted(id.rawValue)) "
                    + "\(change.isSelecting ? "full" : "selective")`", path: "\(id):")
        }
        return SelectionAnswer(
            folders: try await finder.perform(parts, isDryRun: change.isDryRun) { part, isDryRun in
                guard !change.isSelecting else {
                    return try await part.folder.runner.perform(
                        SelectStep(paths: part.paths, whileSpace: change.whileSpace ?? false, isDryRun: isDryRun))
                }
                return try await part.folder.runner.deselect(
                    DeselectStep(paths: part.paths, local: change.local ?? .free, isDryRun: isDryRun))
            })
    }

    private func explain(_ path: PathReference) async throws -> ExplainedPath {
        let (folder, path) = try finder.resolve(path)
        return try await folder.namingErrors {
            try await SelectionReading(folder: try folder.runner.reading()).explain(path)
        }
    }

    private func setPatterns(_ change: PatternsChange) async throws -> PatternsOutcome {
        let folder = try finder.folder(change.folder)
        return try await folder.namingErrors {
            guard !change.isDryRun, let over = change.over else {
                // Reads only: nothing that changes the folder has to wait for it.
                return try await SelectionReading(folder: try folder.runner.reading()).preview(change.text)
            }
            return try await folder.runner.perform(WritePatternsStep(text: change.text, over: over))
        }
    }

    private func setMode(_ change: FolderModeChange) async throws -> SelectionAnswer {
        guard let mode = FolderConfiguration.Mode(rawValue: change.mode) else {
            throw ControlError(
                .invalidRequest, "unknown folder mode \(change.mode); use selective or full")
        }
        let folder = try finder.folder(change.folder)
        return try await changes.inTurn { turn in
            let old = folder.configuration.mode
            func set(_ mode: FolderConfiguration.Mode) async throws {
                guard !change.isDryRun, folder.configuration.mode != mode else { return }
                try await turn.edit([.setFolderMode(folder.id, mode)])
            }
            // A folder whose mode is selective is never without lines. Where they are lost it does nothing until the mode is set:
            // the cost is counted before anything is fetched.
            let isLost = folder.boards.places.current.failure?.isSelectionMissing ?? false
            if mode == .full, !isLost { try await set(.full) }
            do {
                let outcome = try await folder.namingErrors {
                    try await folder.runner.convert(to: mode, from: old, isDryRun: change.isDryRun)
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
