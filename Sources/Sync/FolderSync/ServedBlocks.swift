import BlockExchange
import Cryptography
import IndexStore
import Synchronization

/// The block hashes of the large files that peers asked for last: a peer asks for one block after the other, and the index
/// would read the hashes of all of them each time. Bounded.
final class ServedBlocks: Sendable {
    private struct File {
        let name: String
        /// Of the announcement that the hashes are from.
        let sequence: Int64
        let blockSize: Int64
        let hashes: [SHA256Digest]
    }

    private static let fileLimit = 4
    /// Hashes of one file; beyond this the bytes themselves are hashed.
    private static let hashLimit = 16_384
    /// Requests for less than this are cheaper to hash than to look up.
    private static let worthwhileByteCount: Int32 = 64 << 10

    /// The one that was asked for last comes last.
    private let files = Mutex<[File]>([])

    /// What the index announces for the block that `request` asks for; nil if that is not known without much reading.
    ///
    /// - Parameters:
    ///   - sequence: of the file's announcement, as it is now.
    ///   - whole: gives the entry with its blocks.
    func hash(
        of request: BlockRequest, sequence: Int64, _ whole: () async throws -> LocalEntry?
    ) async throws -> SHA256Digest? {
        guard request.hash != nil, request.size >= Self.worthwhileByteCount else { return nil }
        if let file = touch(request.name, sequence) { return Self.hash(of: request, in: file) }
        guard let entry = try await whole(), entry.file.sequence == sequence else { return nil }
        let blocks = entry.file.blocks
        guard blocks.count <= Self.hashLimit, let first = blocks.first else { return nil }
        let file = File(
            name: request.name, sequence: sequence, blockSize: Int64(first.size), hashes: blocks.map(\.hash))
        files.withLock { files in
            files.removeAll { $0.name == file.name }
            if files.count == Self.fileLimit { files.removeFirst() }
            files.append(file)
        }
        return Self.hash(of: request, in: file)
    }

    private func touch(_ name: String, _ sequence: Int64) -> File? {
        files.withLock { files in
            guard let position = files.firstIndex(where: { $0.name == name && $0.sequence == sequence }) else {
                return nil
            }
            files.append(files.remove(at: position))
            return files.last
        }
    }

    private static func hash(of request: BlockRequest, in file: File) -> SHA256Digest? {
        // bounded: checked to be in the file, above
        guard file.blockSize > 0, request.offset >= 0, request.offset % file.blockSize == 0,
            // bounded: checked to be in the file, above
            request.offset / file.blockSize < Int64(file.hashes.count)
        else { return nil }
        // bounded: checked to be in the file, above
        return file.hashes[Int(request.offset / file.blockSize)]
    }
}
