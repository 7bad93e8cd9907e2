import ControlAPI
import Fetching
import FolderSync
import IndexStore

/// Reads the entries of all folders.
struct EntrySource: Sendable {
    let finder: FolderFinder
    let index: IndexStore
    let fetching: FetchEnvironment
    let transfers: TransferRegistry

    func reader(_ folder: Folder) -> EntryReader {
        EntryReader(
            folder: folder, index: index, place: try? folder.boards.places.current.get(), fetching: fetching,
            transfers: transfers)
    }

    func stat(_ reference: PathReference) async throws -> Entry {
        let (folder, path) = try finder.resolve(reference)
        return try await reader(folder).stat(path)
    }
}
