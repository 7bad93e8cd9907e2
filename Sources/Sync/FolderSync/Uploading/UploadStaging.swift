import Arithmetic
import BlockExchange
import ControlAPI
import Cryptography
import FileAccess
import Selection

/// The bytes of a file that is uploaded, beside the place that it is to have. Takes no turn: nobody else knows the file.
package struct UploadStaging: Sendable {
    private let folder: FolderContext
    /// Names the upload's temporary file: 64 hexadecimal digits.
    private let key: String

    package init(folder: FolderContext, key: String) {
        self.folder = folder
        self.key = key
    }

    /// Where a file goes that is to be at `path`: there, or under a free name if that is taken and `clash` says so.
    ///
    /// - Throws: `RelativePathError`; `FolderError` for a name that is taken or not allowed; `FileAccessError`;
    ///   `IndexStoreError`; `CancellationError`.
    package func place(for path: String, _ clash: UploadClash) async throws -> RelativePath {
        let wanted = try UploadName.parse(path)
        if let obstacle = try await folder.onDisk({ try folder.obstacle(to: wanted) }) {
            throw FolderError.nameTaken(obstacle.path.text)
        }
        guard try await folder.isTaken(wanted) else { return wanted }
        guard clash == .rename else { throw FolderError.nameTaken(path) }
        for other in UploadName.others(than: wanted) where try await !folder.isTaken(other) { return other }
        throw FolderError.nameTaken(path)
    }

    /// The lines that would be added to `.stignore` to select a path; none if it is selected.
    ///
    /// - Throws: `IgnoreError` where a line decides otherwise that commands do not edit; `FolderHalt`; `FileAccessError`.
    package func linesToAdd(for path: RelativePath) async throws -> [String] {
        guard folder.selection.isLeftOut(path.text) else { return [] }
        return try await folder.onDisk { try folder.selectionEditor().selecting([path.text]).added }
    }

    /// Bytes that may still be written to the disk, above the floor that pulls leave free as well, and what they still need.
    ///
    /// - Throws: `FileAccessError`; `CancellationError`.
    package func freeBytes() async throws -> Int64 {
        Int64(clamping: try await folder.onDisk { try folder.unreservedBytes() })
    }

    /// How many bytes have arrived for the file that is to be at `path`.
    ///
    /// - Throws: `FileAccessError`, `busy` while they are being written; `CancellationError`.
    package func byteCount(for path: RelativePath) async throws -> Int64 {
        try await folder.onDisk { try open(path).resumedByteCount }
    }

    /// Adds bytes at the end of those that have arrived; gives how many there are then.
    ///
    /// - Throws: `ControlError` (`rangeNotSatisfiable`) if that is not at `offset`, or they are more than `size`; `FolderError`
    ///   for a disk without room; `FileAccessError`; `CancellationError`.
    package func add(_ bytes: [UInt8], at offset: Int64, of size: Int64, for path: RelativePath) async throws -> Int64 {
        try await folder.onDisk {
            let staged = try open(path)
            let count = staged.resumedByteCount
            guard offset == count else { throw ControlError.wrongUploadOffset(count, offset) }
            guard Int64(bytes.count) <= size.subtractingClamped(min(count, size)) else {
                throw ControlError(
                    .tooLarge, "The file has \(ByteText.size(size)), and more was sent. Begin the upload again.")
            }
            let floor = folder.root.spaceFloor(folder.freeSpaceFloor(of: try folder.root.freeSpace()))
            let shortage = try staged.reserve(UInt64(bytes.count), above: floor, in: folder.tools.fetching.space)
            guard shortage == nil else { throw FolderError.noSpace(path.text) }
            try staged.write(bytes, at: offset)
            return count.addingClamped(Int64(bytes.count))
        }
    }

    /// The file, with all of its bytes, once their digest was found to be the one that is expected. Nobody can change it while it is
    /// held.
    ///
    /// - Parameter path: where it is to be, in the directory in which its bytes are.
    /// - Throws: `ControlError` (`rangeNotSatisfiable` if bytes are missing, `digestDiffers`); `FileAccessError`;
    ///   `CancellationError`.
    package func checked(size: Int64, digest: SHA256Digest, for path: RelativePath) async throws -> StagedUpload {
        let staged = try await folder.onDisk { try open(path) }
        guard staged.resumedByteCount == size else {
            throw ControlError.wrongUploadOffset(staged.resumedByteCount, size)
        }
        var blocks = SHA256Hasher()
        var offset: Int64 = 0
        while offset < size {
            let start = offset
            let (block, count) = try await folder.onDisk {
                let bytes = try staged.read(count: UploadLimits.block, at: start)
                return (SHA256.digest(bytes), bytes.count)
            }
            guard count > 0 else { break }
            block.bytes.withUnsafeBytes { blocks.update($0) }
            offset += Int64(count)
        }
        guard blocks.finalize() == digest else {
            throw ControlError(
                .digestDiffers, "The file that arrived is not the one that was sent. Upload it again.", path: path.text)
        }
        return StagedUpload(file: staged, path: path, root: folder.root)
    }

    /// Removes what has arrived, and an empty directory that is not selected and that other devices have: it was made for the file.
    ///
    /// - Throws: `FileAccessError`; `IndexStoreError`; `CancellationError`.
    package func discard(for path: RelativePath) async throws {
        let parent = path.parent.flatMap { folder.selection.isLeftOut($0.text) ? $0 : nil }
        let global = if let parent { try await folder.index.facts(parent.text)?.global } else { FileInfo?.none }
        let isElsewhere = global.map { !$0.isDeleted && !$0.isInvalid } ?? false
        try await folder.onDisk {
            guard let temporary = path.temporary(key: key) else { return }
            _ = try folder.root.removeTemporary(temporary)
            guard let parent, isElsewhere else { return }
            // Not empty, or gone.
            _ = try? folder.root.removeDirectory(parent, durability: .deferred)
        }
    }

    /// Blocks its thread.
    private func open(_ path: RelativePath) throws -> StagedFile {
        if let parent = path.parent { try folder.root.createDirectories(parent) }
        return try folder.root.stage(path, temporaryKey: key)
    }
}

/// A file that was uploaded, ready to be put into its place.
package struct StagedUpload: Sendable {
    let file: StagedFile
    let path: RelativePath
    let root: RootDirectory
}

extension FolderContext {
    /// Whether something has the name on this disk, or on other devices.
    func isTaken(_ path: RelativePath) async throws -> Bool {
        let root = root
        if try await onDisk({ try root.status(of: path) }) != nil { return true }
        guard let global = try await index.facts(path.text)?.global else { return false }
        return !global.isDeleted && !global.isInvalid
    }
}

extension ControlError {
    fileprivate static func wrongUploadOffset(_ count: Int64, _ offset: Int64) -> ControlError {
        ControlError(
            .rangeNotSatisfiable, "\(count) bytes of the file have arrived. Go on there, not at byte \(offset).")
    }
}
