import ControlAPI
import FolderSync

/// Notes of files.
struct NoteRequests: RequestGroup {
    let finder: FolderFinder

    func add(to table: inout EndpointHandlers) {
        table.on(Endpoints.notes) { try await notes($0) }
        table.on(Endpoints.changeNotes) { try await changeNotes($0) }
    }

    private func notes(_ path: PathReference) async throws -> Notes {
        let (folder, path) = try finder.resolve(path)
        return try await folder.namingErrors {
            try await NoteReading(folder: try folder.runner.reading()).notes(of: path)
        }
    }

    private func changeNotes(_ request: NoteChange) async throws -> Notes {
        guard !request.set.isEmpty || !request.remove.isEmpty else {
            throw ControlError(.invalidRequest, "give a note to set or remove")
        }
        let (folder, path) = try finder.resolve(request.path)
        return try await folder.namingErrors {
            try await folder.runner.perform(
                ChangeNotesStep(path: path, set: request.set, remove: request.remove))
        }
    }
}
