import BlockExchange
import Cryptography
import FileAccess
import FolderScanner
import IndexStore

/// Recognizes a damaged file under the name that its user gave it. Changes nothing.
struct RenamedDamage: Sendable {
    struct Found: Sendable {
        /// The damage, by the name that the file has now.
        var file: DamagedFile
        /// What the index has at the name that it had: the content that it should have.
        var content: FileInfo
    }

    let folder: FolderContext

    /// - Parameters:
    ///   - status: the file at `name`, as it was when it was read.
    ///   - contents: what was read.
    /// - Returns: nil for a file that is not damaged, or was edited since it was found to be.
    /// - Throws: `IndexStoreError`; `FileAccessError`; `CancellationError`.
    func find(
        _ name: String, _ status: FileAccess.FileStatus, _ contents: FileContents
    ) async throws -> Found? {
        guard let known = try await candidate(name, status), contents.blocksHash != known.damaged.expected else {
            return nil
        }
        if contents.blocksHash == known.damaged.found { return found(known, name) }
        // A new name may be read in blocks of another size.
        guard contents.blockSize != known.local.file.effectiveBlockSize else { return nil }
        return try await isAsFound(known, name) ? found(known, name) : nil
    }

    /// The same for a file that the disk cannot read, with what the disk says of it.
    func find(unreadable name: String) async throws -> (status: FileAccess.FileStatus, found: Found)? {
        let root = folder.root
        guard let path = RelativePath(name), let status = try await folder.onDisk({ try? root.status(of: path) }),
            status.type == .regular, let known = try await candidate(name, status), try await isAsFound(known, name)
        else { return nil }
        return (status, found(known, name))
    }

    private typealias Candidate = (damaged: DamagedFile, local: LocalEntry)

    /// The damaged file that had another name and has the number, the size and the time of what is at `name`.
    private func candidate(_ name: String, _ status: FileAccess.FileStatus) async throws -> Candidate? {
        guard status.inode != 0, let damaged = folder.scrub.damaged(inode: status.inode), damaged.name != name,
            let local = try await folder.index.store.local(folder.id, damaged.name),
            local.file.blocksHash == damaged.expected, let known = FileAccess.FileStatus(local),
            known.inode == status.inode, known.size == status.size,
            known.modified.isKept(as: status.modified, beside: nil)
        else { return nil }
        return (damaged, local)
    }

    /// Whether the file still has the bytes that the scrub found.
    private func isAsFound(_ known: Candidate, _ name: String) async throws -> Bool {
        let root = folder.root
        guard let path = RelativePath(name), let now = try await folder.onDisk({ try? root.status(of: path) }) else {
            return false
        }
        let check = FileCheck(
            root: root, path: path, entry: LocalEntry(file: known.local.file, status: IndexedStatus(now)),
            threads: folder.tools.threads, read: folder.tools.readBlock)
        let outcome = try await check.run { _ in try Task.checkCancellation() }
        return outcome.verdict == .damaged && outcome.foundHash == known.damaged.found
    }

    private func found(_ known: Candidate, _ name: String) -> Found {
        var file = known.damaged
        file.name = name
        return Found(file: file, content: known.local.file)
    }
}
