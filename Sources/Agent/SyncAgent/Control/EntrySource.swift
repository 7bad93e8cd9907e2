import ControlAPI
import Fetching
import FileDrop
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

    /// The file that `FOLDER:path` names, if it can be sent.
    ///
    /// - Throws: `ControlError`, and why the folder's directory cannot be used.
    func fileToSend(_ text: String) async throws -> FolderFile {
        let entry = try await stat(PathReference(text: text, workingDirectory: "/"))
        let place = try finder.folder(entry.folder).boards.places.current.get()
        return try FolderFile(entry, in: place.root, named: text)
    }
}
