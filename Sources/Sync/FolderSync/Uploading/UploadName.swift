import FileAccess
import FolderScanner
import Reconciliation

/// Names of files that somebody uploads. Pure.
enum UploadName {
    /// Names that are tried before it is said that there is none.
    private static let tries = 2..<1000

    /// The path, if a file may be uploaded there.
    ///
    /// - Throws: `RelativePathError` for what is no path; `FolderError` for names that are synctrain's own, and for a name that
    ///   could not be announced.
    static func parse(_ path: String) throws -> RelativePath {
        let name = try RelativePath(parsing: path)
        guard !name.isInternal, name.internalTwin == nil, !name.isTemporary, !InternalContent.contains(path) else {
            throw FolderError.reservedName(path)
        }
        guard NormalForm.isComposed(path) else { throw FolderError.notComposed(path) }
        return name
    }

    /// Other names for a file whose own is taken, the best first: `STEM (2).EXTENSION` and so on.
    static func others(than path: RelativePath) -> some Sequence<RelativePath> {
        tries.lazy.compactMap { RelativePath(ConflictName.ordinary(for: path.text, label: String($0))) }
    }
}
