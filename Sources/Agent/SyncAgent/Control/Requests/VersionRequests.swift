import ControlAPI
import FolderSync

/// Archived versions and conflicts.
struct VersionRequests: RequestGroup {
    let finder: FolderFinder

    func add(to table: inout EndpointHandlers) {
        table.on(Endpoints.versions) { try await versions($0, emit: $1) }
        table.on(Endpoints.deleted) { reference, emit in
            let (folder, path) = try finder.resolve(finder.naming(reference))
            try await folder.namingErrors {
                try await VersionReading(folder: try folder.runner.reading()).deleted(below: path) {
                    try await emit($0)
                }
            }
        }
        table.on(Endpoints.versionBytes) { query in
            let (folder, path) = try finder.resolve(query.path)
            return try await folder.namingErrors {
                try await VersionReading(folder: try folder.runner.reading())
                    .bytes(of: path, at: query.at, limit: VersionQuery.byteLimit)
            }
        }
        table.on(Endpoints.restoreVersion) { try await restoreVersion($0) }
        table.on(Endpoints.conflicts) { try await conflicts(folder: $0, emit: $1) }
        table.on(Endpoints.conflictDetails) { try await conflictDetails($0) }
        table.on(Endpoints.resolveConflicts) { try await resolveConflicts($0) }
    }

    private func versions(
        _ reference: PathReference?, emit: @Sendable (ArchivedVersion) async throws -> Void
    ) async throws {
        guard let reference else {
            return try await finder.each(nil) { folder in
                try await VersionReading(folder: try folder.runner.reading()).list(below: "", emit: emit)
            }
        }
        let (folder, path) = try finder.resolve(finder.naming(reference))
        try await folder.namingErrors {
            try await VersionReading(folder: try folder.runner.reading()).list(below: path, emit: emit)
        }
    }

    private func restoreVersion(_ request: VersionRestore) async throws -> RestoredVersion {
        let (folder, path) = try finder.resolve(request.path)
        return try await folder.namingErrors {
            try await folder.runner.perform(
                RestoreVersionStep(path: path, time: request.at, isConfirmed: request.isConfirmed))
        }
    }

    private func conflicts(folder: String?, emit: @Sendable (Conflict) async throws -> Void) async throws {
        try await finder.each(folder) { folder in
            let conflicts = try await ConflictReading(folder: try folder.runner.reading()).list()
            folder.boards.status.set(conflicts: Int64(conflicts.count))
            for conflict in conflicts { try await emit(conflict) }
        }
    }

    private func conflictDetails(_ path: PathReference) async throws -> ConflictList {
        let (folder, path) = try finder.resolve(path)
        return ConflictList(
            conflicts: try await folder.namingErrors {
                try await ConflictReading(folder: try folder.runner.reading()).details(path)
            })
    }

    private func resolveConflicts(_ resolution: ConflictResolution) async throws -> ConflictAnswer {
        // What cannot be meant is said before anything is done.
        let places = try resolution.paths.map { try finder.resolve($0) }
        var answer = ConflictAnswer(outcomes: [])
        for (folder, path) in places {
            answer.outcomes += try await folder.namingErrors {
                try await folder.runner.perform(ResolveConflictsStep(path: path, keep: resolution.keep))
            }
        }
        return answer
    }
}
