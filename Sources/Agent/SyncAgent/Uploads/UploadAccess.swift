import BlockExchange
import ControlAPI
import FileAccess
import FolderSync

/// Whether files can be uploaded to a folder.
enum UploadAccess {
    /// - Throws: `ControlError` with the reason why not.
    static func check(_ folder: Folder) throws(ControlError) {
        let (configuration, id) = (folder.configuration, folder.id.rawValue)
        guard !configuration.isPaused else {
            throw ControlError(.folderHalted, "\(id) is paused; resume it to add files", path: id)
        }
        switch ProgramChanges.access(to: folder) {
        case .writable: break
        case .receivesOnly:
            throw ControlError(
                .noPermission, "\(id) is receive-only here, so changes are not sent; add files on a device that sends",
                path: id)
        case .reader:
            throw ControlError(
                .noPermission,
                "the other devices of \(id) take no changes from this one (role: read); ask an administrator of the folder for the role write",
                path: id)
        }
        if case .failure(let halt) = folder.boards.places.current { throw ControlError(halt, path: id) }
    }
}

/// Where the bytes of an upload are, as it was stored.
struct UploadPlace {
    let path: RelativePath

    init?(_ record: UploadTable.Record) {
        guard let path = RelativePath(record.path) else { return nil }
        self.path = path
    }

    static func invalid(_ record: UploadTable.Record) -> ControlError {
        ControlError(.notFound, "The upload of \(record.wanted.prefix(200)) cannot be resumed. Begin it again.")
    }
}

extension UploadTable.Record {
    var folderID: FolderID { FolderID(folder) }
}
