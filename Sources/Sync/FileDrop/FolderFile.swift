import ControlAPI
import FileAccess

/// A file of a folder that is to be sent: all of it is on this disk.
package struct FolderFile: Sendable {
    private static let states: Set<Entry.State> = [.present, .modified, .conflict, .extraneous, .downloaded]

    let root: RootDirectory
    let path: RelativePath

    /// - Parameters:
    ///   - entry: what the folder has under the name.
    ///   - root: of the folder; no link leads out of it.
    ///   - text: the name as the request has it.
    /// - Throws: `ControlError` (`failed`, `noSuchPath`) if it is not a file, or is not whole on this disk.
    package init(_ entry: Entry, in root: RootDirectory, named text: String) throws(ControlError) {
        switch entry.kind {
        case .file: break
        case .directory: throw .directoryToSend(text)
        case .symlink:
            throw ControlError(.noSuchPath, "\(text) is not a regular file; choose another one.", path: text)
        }
        guard Self.states.contains(entry.state), let path = RelativePath(entry.path) else {
            throw ControlError(
                .noSuchPath, "\(text) is not on this disk, or not all of it. Fetch it first.", path: text)
        }
        (self.root, self.path) = (root, path)
    }
}

extension ControlError {
    static func directoryToSend(_ path: String) -> ControlError {
        ControlError(
            .failed, "\(path) is a directory; pack it into one file first, with tar for example.", path: path)
    }
}
