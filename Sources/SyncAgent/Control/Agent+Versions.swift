import ControlAPI

/// Archived versions and conflicts.
extension Agent {
    public func versions(
        _ path: PathReference?, emit: @Sendable (ArchivedVersion) async throws -> Void
    ) async throws {
        guard let path else {
            return try await eachFolder(nil) { folder in
                try await VersionReading(folder: try folder.runner.reading()).list(below: "", emit: emit)
            }
        }
        try await answering {
            let (folder, path) = try resolve(namingFolders(path))
            try await refusing(in: folder) {
                try await VersionReading(folder: try folder.runner.reading()).list(below: path, emit: emit)
            }
        }
    }

    public func restoreVersion(_ request: VersionRestore) async throws -> RestoredVersion {
        try await answering {
            let (folder, path) = try resolve(request.path)
            return try await refusing(in: folder) {
                try await folder.runner.perform(
                    RestoreVersionStep(path: path, time: request.at, isConfirmed: request.isConfirmed))
            }
        }
    }

    public func conflicts(folder: String?, emit: @Sendable (Conflict) async throws -> Void) async throws {
        try await eachFolder(folder) { folder in
            let conflicts = try await ConflictReading(folder: try folder.runner.reading()).list()
            folder.boards.status.set(conflicts: Int64(conflicts.count))
            for conflict in conflicts { try await emit(conflict) }
        }
    }

    public func conflictDetails(_ path: PathReference) async throws -> ConflictList {
        try await answering {
            let (folder, path) = try resolve(path)
            return ConflictList(
                conflicts: try await refusing(in: folder) {
                    try await ConflictReading(folder: try folder.runner.reading()).details(path)
                })
        }
    }

    public func resolveConflicts(_ resolution: ConflictResolution) async throws -> ConflictAnswer {
        try await answering {
            // What cannot be meant is said before anything is done.
            let places = try resolution.paths.map { try resolve($0) }
            var answer = ConflictAnswer(outcomes: [])
            for (folder, path) in places {
                answer.outcomes += try await refusing(in: folder) {
                    try await folder.runner.perform(ResolveConflictsStep(path: path, keep: resolution.keep))
                }
            }
            return answer
        }
    }
}
