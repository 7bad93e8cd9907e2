import FileAccess

/// Why a file of the user's goes from this disk by its user's own wish.
enum RemovalPurpose: Hashable, Sendable {
    /// To free its space: others hold the very same.
    case freeing
    /// To free its space, though it may be the last of its kind: the user was told and agreed.
    case givingUp
    /// Because it is not wanted any more: it goes to the folder's archive, if there is one.
    case deleting
}

extension FolderEngine {
    /// Removes a file or symbolic link of the user's from this disk because somebody asked for it, and not because another
    /// device replaced or deleted it. Blocks; the change is durable when the caller has called
    /// `synchronizeFileSystem`.
    ///
    /// - parameter expected: what was seen there; anything else stays, and `changedOnDisk` is thrown.
    /// - Throws: `busy` if a program has the file open for writing, and what the archive says.
    /// - Returns: false if nothing was there.
    func removeUserFile(
        _ path: RelativePath, expecting expected: FileAccess.FileStatus, purpose: RemovalPurpose, in place: FolderPlace
    ) throws -> Bool {
        if expected.type == .regular, try place.root.isBeingWritten(path) {
            throw FileAccessError(.busy, .remove, path: path.text)
        }
        guard purpose == .deleting, try place.root.status(of: path) != nil else {
            return try place.root.remove(path, expecting: expected, durability: .deferred)
        }
        try archiveOrRemove(path, expecting: expected, in: place.root, durability: .deferred)
        return true
    }
}
