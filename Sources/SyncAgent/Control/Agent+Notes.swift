import ControlAPI

/// Notes of files, as clients ask for them.
extension Agent {
    public func notes(_ path: PathReference) async throws -> Notes {
        try await answering {
            let (folder, path) = try resolve(path)
            return try await refusing(in: folder) {
                try await NoteReading(folder: try folder.runner.reading()).notes(of: path)
            }
        }
    }

    public func changeNotes(_ request: NoteChange) async throws -> Notes {
        try await answering {
            guard !request.set.isEmpty || !request.remove.isEmpty else {
                throw ControlError(.invalidRequest, "give a note to set or remove")
            }
            let (folder, path) = try resolve(request.path)
            return try await refusing(in: folder) {
                try await folder.runner.perform(
                    ChangeNotesStep(path: path, set: request.set, remove: request.remove))
            }
        }
    }
}
