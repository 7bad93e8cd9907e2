import AgentContext
import Arithmetic
import ControlAPI
import Cryptography
import FileAccess
import GhostDrop
import Synchronization

/// A file on its way into a directory: bytes come in order under a temporary name, which stays on disk until the file is
/// whole, so that another attempt goes on with it.
///
/// The temporary name is made of the announced size and digest: only an attempt to send the same file finds it. All calls
/// block; one task at a time.
final class IncomingFile: Sendable {
    private struct Written: ~Copyable {
        /// Nil once the digest was taken.
        var hasher: SHA256Hasher?
        var byteCount: Int64 = 0
    }

    /// Names that are tried before giving up: as many files of one name as nobody wants in a directory.
    private static let nameLimit = 1000

    /// For so many seconds what came of a file waits for the next attempt: 14 days.
    static let partialLifetime: Int64 = 14 * 86_400

    let size: Int64
    private let directory: RootDirectory
    private let name: String
    private let digest: SHA256Digest
    private let staged: StagedFile
    private let space: SpaceReservations
    private let written = Mutex(Written(hasher: SHA256Hasher()))

    /// - Parameters:
    ///   - name: as the sender announced it; whatever it is, the file gets a harmless one in the directory.
    ///   - space: what other files still need of the disk.
    /// - Throws: `FileAccessError`, `busy` while the same file is being received already.
    init(_ directory: RootDirectory, name: String, size: Int64, digest: SHA256Digest, space: SpaceReservations) throws {
        self.directory = directory
        self.space = space
        self.size = size
        self.digest = digest
        self.name = DropName.local(name)
        staged = try directory.stage(
            try RelativePath(parsing: self.name), temporaryKey: "drop-\(size)-\(digest)")
    }

    /// Removes from `directory` what came of files that nobody has gone on with for `partialLifetime`; one that is being
    /// received stays.
    static func removeExpired(from directory: RootDirectory, now: WallTime) throws(FileAccessError) {
        for entry in try directory.list(nil) {
            guard let path = entry.name.flatMap({ RelativePath($0) }), isPartial(path),
                let status = try directory.status(of: path), status.type == .regular,
                now.seconds.subtractingClamped(status.modified.seconds) > partialLifetime
            else { continue }
            _ = try directory.removeTemporary(path)
        }
    }

    /// Whether the name is one that `init` gives.
    private static func isPartial(_ path: RelativePath) -> Bool {
        guard let key = path.temporaryTarget?.text else { return false }
        let parts = key.split(separator: "-", omittingEmptySubsequences: false)
        return parts.count == 3 && parts[0] == "drop" && Int64(parts[1]) != nil
            && parts[2].utf8.count == SHA256Digest.byteCount * 2 && parts[2].allSatisfy(\.isHexDigit)
    }

    /// Bytes from an earlier attempt, not verified.
    var presentByteCount: Int64 { min(staged.resumedByteCount, size) }

    /// Whether what is still to come has room on the disk. Throws `noSpace`.
    func checkSpace() throws {
        // bounded: both are from zero on
        let missing = UInt64(max(0, size - presentByteCount))
        let available = try directory.freeSpace().available
        let free = available - min(available, directory.reservedByteCount(in: space))
        guard missing <= free else { throw noSpace(for: missing, free: free) }
    }

    private func noSpace(for missing: UInt64, free: UInt64) -> ControlError {
        ControlError(
            .noSpace,
            "Not enough space for \(name) in \(directory.path): it needs \(ByteText.size(Int64(clamping: missing))) more, and "
                + "\(ByteText.size(Int64(clamping: free))) are free for it. Free some space and send it again.",
            path: name)
    }

    /// Begins behind the first `byteCount` bytes of the earlier attempt; what is there beyond them is given up. Reserves room
    /// for what is still to come. Throws `noSpace`, or what the disk says.
    func begin(after byteCount: Int64) throws {
        try staged.truncate(to: byteCount)
        // bounded: both are from zero on
        let missing = UInt64(max(0, size - byteCount))
        if let shortage = try staged.reserve(missing, in: space) { throw noSpace(for: missing, free: shortage.free) }
        written.withLock { written in
            written.hasher = SHA256Hasher()
            written.byteCount = 0
        }
        while writtenByteCount < byteCount {
            let offset = writtenByteCount
            let bytes = try staged.read(count: Int(min(1 << 20, byteCount - offset)), at: offset)
            guard !bytes.isEmpty else { throw FileAccessError(.changedOnDisk, .read, path: name) }
            note(bytes)
        }
    }

    /// How many bytes there are, from the file's beginning on.
    var writtenByteCount: Int64 { written.withLock { $0.byteCount } }

    /// Appends bytes; those beyond the announced size are refused.
    func append(_ bytes: [UInt8]) throws {
        let offset = writtenByteCount
        // bounded: both are from zero on
        guard Int64(bytes.count) <= size - offset else { throw FileAccessError(.tooLarge, .write, path: name) }
        try staged.write(bytes, at: offset)
        note(bytes)
    }

    private func note(_ bytes: [UInt8]) {
        written.withLock { written in
            bytes.withUnsafeBytes { written.hasher?.update($0) }
            written.byteCount += Int64(bytes.count)
        }
    }

    /// Makes the file durable under its name, or with a number behind it if that is taken; gives the path. Nil, and
    /// nothing of it is kept, if it is not the file that was announced.
    func finish() throws -> String? {
        let actual = written.withLock { written -> SHA256Digest? in
            guard let hasher = written.hasher.take() else { return nil }
            return hasher.finalize()
        }
        guard writtenByteCount == size, actual == digest else {
            try staged.discard()
            return nil
        }
        for number in 0..<Self.nameLimit {
            let name = number == 0 ? self.name : DropName.numbered(self.name, number)
            do {
                _ = try staged.commit(
                    as: try RelativePath(parsing: name), replacing: .nothing, permissions: nil, modified: nil)
                return directory.path == "/" ? "/\(name)" : "\(directory.path)/\(name)"
            } catch let error as FileAccessError where error.code == .exists {
                continue
            }
        }
        throw FileAccessError(.exists, .rename, path: name)
    }

    /// Keeps what has come, for another attempt; nothing is kept of a file of which nothing came.
    func suspend() {
        do {
            if writtenByteCount > 0 { try staged.synchronize() } else if presentByteCount == 0 { try staged.discard() }
        } catch {
            // What is not durable is asked for again after a loss of power; the digest finds what is damaged.
        }
    }
}
