import BlockExchange
import ControlAPI
import FolderSync
import Selection
import Spelling

/// Finds the folders that requests name, and those that their paths are in.
struct FolderFinder: Sendable {
    /// Some paths of one folder.
    struct Part {
        let folder: Folder
        var paths: [String]
    }

    let folders: FolderRegistry
    /// Where which folders are mounted.
    var mounts: @Sendable () -> [PathResolver.Folder] = { [] }

    var all: [Folder] { folders.all }

    func folder(_ id: String) throws(ControlError) -> Folder {
        guard let folder = folders.folder(FolderID(id)) else {
            throw ControlError.noSuchFolder(id, among: all.map(\.id.rawValue))
        }
        return folder
    }

    /// One folder, or all for nil.
    func chosen(_ id: String?) throws(ControlError) -> [Folder] {
        guard let id else { return all }
        return [try folder(id)]
    }

    func resolve(_ path: PathReference) throws -> (folder: Folder, path: String) {
        let all = all
        let ids = Set(all.map(\.id))
        let resolver = PathResolver(
            folders: all.map { .init(id: $0.id, path: $0.configuration.path) },
            mounts: mounts().filter { ids.contains($0.id) })
        let (id, path) = try resolver.resolve(path)
        return (try folder(id.rawValue), path)
    }

    /// The paths of each folder, folders and paths in the order in which they come first.
    func parts(of references: [PathReference]) throws -> [Part] {
        var parts: [Part] = []
        var places: [FolderID: Int] = [:]
        for reference in references {
            let (folder, path) = try resolve(reference)
            if let place = places[folder.id] {
                parts[place].paths.append(path)
            } else {
                places[folder.id] = parts.count
                parts.append(Part(folder: folder, paths: [path]))
            }
        }
        return parts
    }

    /// Runs `body` for each of `parts`, and adds to what a folder refuses which folder's it is. Of several parts all are tried
    /// first: what one folder refuses must not be half done in others.
    ///
    /// - Parameter isDryRun: whether nothing is to be changed at all.
    func perform<Outcome>(
        _ parts: [Part], isDryRun: Bool, _ body: (Part, _ isDryRun: Bool) async throws -> Outcome
    ) async throws -> [Outcome] {
        if !isDryRun, parts.count > 1 {
            for part in parts { _ = try await part.folder.namingErrors { try await body(part, true) } }
        }
        var outcomes: [Outcome] = []
        for part in parts { outcomes.append(try await part.folder.namingErrors { try await body(part, isDryRun) }) }
        return outcomes
    }

    /// A text that is a folder's id means the folder; a file of that name is `./name`.
    func naming(_ reference: PathReference) -> PathReference {
        guard folders.folder(FolderID(reference.text)) != nil else { return reference }
        return PathReference(text: reference.text + ":", workingDirectory: reference.workingDirectory)
    }

    func each(_ id: String?, _ body: (Folder) async throws -> Void) async throws {
        for folder in try chosen(id) {
            try await folder.namingErrors { try await body(folder) }
        }
    }
}

extension ControlError {
    /// No folder has the id `id`.
    ///
    /// - Parameters:
    ///   - ids: those of all folders.
    ///   - hint: what else may have been meant, behind the advice.
    ///   - path: as it was typed; nil for the id.
    static func noSuchFolder(
        _ id: String, among ids: [String], hint: Phrase = "", path: String? = nil
    ) -> ControlError {
        let near = NearestWord.find(id, in: ids)
        let advice = near.map { Phrase("did you mean `\($0)`?") } ?? Phrase("`synctrain folder list` shows the folders")
        return ControlError(.noSuchFolder, "\(id): no such folder; \(advice)\(hint)", path: path ?? id)
    }
}

extension Folder {
    /// Runs `body` and adds to what the folder or its ignore file refuses which folder's it is.
    func namingErrors<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as IgnoreError {
            throw ControlError(error, folder: configuration)
        } catch let error as FolderError {
            throw ControlError(error, folder: configuration)
        }
    }
}
