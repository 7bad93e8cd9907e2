/// A call that is about to change what is on the disk. A descriptor is open for as long as the interposer is asked;
/// names are single components in the directory before them.
package enum DiskChange: Sendable {
    /// A file is opened, and made if there is none.
    case create(directory: CInt, name: String)
    case makeDirectory(directory: CInt, name: String)
    case makeSymlink(directory: CInt, name: String)
    case link(directory: CInt, name: String, toDirectory: CInt, toName: String)
    /// What is at the target, if anything, is replaced, or swapped with the source, or keeps the call from succeeding.
    case rename(directory: CInt, name: String, toDirectory: CInt, toName: String, kind: RenameKind)
    case unlink(directory: CInt, name: String)
    case removeDirectory(directory: CInt, name: String)
    case write(file: CInt, offset: Int64, count: Int)
    case truncate(file: CInt, size: Int64)
    case setPermissions(file: CInt)
    /// Extended attributes, owner or group.
    case setAttributes(file: CInt)
    case setTimes(file: CInt)
    case setTimesByName(directory: CInt, name: String)
    /// A file's contents or a directory's names are made durable.
    case synchronize(file: CInt)
    case synchronizeFileSystem

    package enum RenameKind: Sendable {
        case replacing
        case keeping
        case swapping
    }
}

/// What becomes of a call.
package enum DiskVerdict: Sendable {
    case proceed
    /// The caller is told that it succeeded, and the disk is left as it is.
    case pretend
    /// The caller is told that it failed with this errno, and the disk is left as it is.
    case fail(CInt)
}

/// Stands between a root and its disk and is asked before every call that changes something beneath the root, so that
/// simulations can let disks fill, fail and forget. Without one, which is so in every real agent, calls go straight on.
package protocol DiskInterposer: Sendable {
    func verdict(on change: DiskChange) -> DiskVerdict

    /// How what the disk finds under `path` is written, for simulated disks on which several names lead to one file; `path` itself
    /// where nothing is found.
    func spelling(of path: String, in directory: CInt) -> String

    /// What the kernel is to say of a directory; nil to ask it.
    func kind(of directory: CInt) -> DirectoryKind?
}

extension DiskInterposer {
    package func spelling(of path: String, in directory: CInt) -> String { path }
    package func kind(of directory: CInt) -> DirectoryKind? { nil }
}
