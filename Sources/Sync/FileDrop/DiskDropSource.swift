import AsyncTools
import BlockExchange
import ControlAPI
import Cryptography
import FileAccess
import Glibc
import Names
import Synchronization

// bounded-names: size offset: of an own file, and positions in it

/// A file on this disk that is being sent, read in blocks.
final class DiskDropSource: DropSource {
    private static let blockByteCount = 64 << 10
    private static let hashedByteCount = 1 << 20

    /// The last part of the path that the user gave.
    let name: String
    let size: Int64
    private let file: OpenFile
    private let status: FileStatus
    private let threads: any DiskThreads
    private let block = Mutex<(offset: Int64, bytes: [UInt8])>((0, []))

    /// Opens what a request names: the regular file at an absolute path, which is the user's own and may lead through
    /// links, or a file of a folder.
    ///
    /// - Throws: `ControlError`.
    init(_ text: String, environment: DropEnvironment) async throws {
        threads = environment.threads
        if text.utf8.first == UInt8(ascii: "/") {
            name = String(text.pathComponents.last ?? "")
            (file, status) = try await threads.runIfActive { try Self.open(text) }
        } else {
            let found = try await environment.folderFile(text)
            name = found.path.name
            (file, status) = try await threads.runIfActive { try Self.open(found.path, in: found.root, named: text) }
        }
        size = status.size
    }

    private static func open(_ path: String) throws(ControlError) -> (OpenFile, FileStatus) {
        guard let resolved = realpath(path, nil) else {
            let words = String(cString: strerror(errno))
            throw ControlError(.noSuchPath, "\(path) cannot be sent: \(words). Check the path.", path: path)
        }
        defer { free(resolved) }
        let place = String(cString: resolved)
        let directory = place.parentPath
        guard let name = RelativePath(String(place.pathComponents.last ?? "")) else {
            throw ControlError(.noSuchPath, "\(path) is not a regular file; choose another one.", path: path)
        }
        let root: RootDirectory
        do throws(FileAccessError) {
            root = try RootDirectory(path: directory.isEmpty ? "/" : String(directory))
        } catch {
            throw ControlError(error, path: path)
        }
        return try open(name, in: root, named: path)
    }

    private static func open(
        _ path: RelativePath, in root: RootDirectory, named text: String
    ) throws(ControlError) -> (OpenFile, FileStatus) {
        do throws(FileAccessError) {
            let file = try root.open(reading: path)
            return (file, try file.status())
        } catch {
            throw error.code == .isADirectory ? .directoryToSend(text) : ControlError(error, path: text)
        }
    }

    func digest() async throws -> SHA256Digest {
        let digest = try await threads.runIfActive { [file, size] in
            var hasher = SHA256Hasher()
            var offset: Int64 = 0
            while offset < size {
                let bytes = try file.read(count: Int(min(Int64(Self.hashedByteCount), size - offset)), at: offset)
                guard !bytes.isEmpty else { break }
                bytes.withUnsafeBytes { hasher.update($0) }
                offset += Int64(bytes.count)
            }
            return hasher.finalize()
        }
        guard try await isUnchanged() else {
            throw ControlError(.failed, "\(name) is being written to; send it once it is complete.", isRetryable: true)
        }
        return digest
    }

    /// Whether the file is as it was when it was opened.
    private func isUnchanged() async throws -> Bool {
        try await threads.runIfActive { [file, status] in try file.status().isUnchanged(since: status) }
    }

    func read(_ range: Range<Int64>) async throws -> [UInt8] {
        if let bytes = cached(range) { return bytes }
        let count = max(Int64(Self.blockByteCount), range.upperBound - range.lowerBound)
        let bytes = try await threads.runIfActive { [file] in
            try file.read(count: Int(count), at: range.lowerBound)
        }
        if bytes.count <= Self.blockByteCount { block.withLock { $0 = (range.lowerBound, bytes) } }
        return Array(bytes.prefix(range.count))
    }

    private func cached(_ range: Range<Int64>) -> [UInt8]? {
        block.withLock { block in
            let end = block.offset + Int64(block.bytes.count)
            guard range.lowerBound >= block.offset, range.upperBound <= end else { return nil }
            return Array(block.bytes[Int(range.lowerBound - block.offset)..<Int(range.upperBound - block.offset)])
        }
    }
}
