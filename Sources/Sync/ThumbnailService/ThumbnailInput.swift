import FileAccess
import Foundation
import Synchronization

// bounded-names: size blockSize offset: of a live file, which BEP's blocks bound to 16 TiB

/// A file with what is known of another one, where the sandbox can see it: holes where nothing is known.
/// Every call blocks its thread until the disk has answered.
final class ThumbnailInput: Sendable {
    let path: String
    private let descriptor: Int32
    private let known = Mutex<Set<Int>>([])
    /// Of the other file, in bytes; and of its blocks.
    let size: Int64
    let blockSize: Int

    /// - Parameter directory: it is made if it is not there.
    init(in directory: String, size: Int64, blockSize: Int) throws {
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        self.size = size
        self.blockSize = max(1, blockSize)
        path = "\(directory)/\(UUID().uuidString)"
        descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw FileAccessError(.failed, .create, path: path) }
    }

    deinit { close(descriptor) }

    /// Takes the file's name away: nobody opens it any more.
    func remove() { unlink(path) }

    /// Makes the file as long as the other is, or as what is known of its beginning.
    func extend(to byteCount: Int64) throws {
        guard ftruncate(descriptor, off_t(byteCount)) == 0 else {
            throw FileAccessError(.failed, .truncate, path: path)
        }
    }

    func add(_ block: Int, _ bytes: [UInt8], at offset: Int64) throws {
        try write(bytes, at: offset)
        known.withLock { _ = $0.insert(block) }
    }

    /// Has the file hold something else altogether.
    func replace(with bytes: [UInt8]) throws {
        known.withLock { $0.removeAll() }
        try extend(to: 0)
        try write(bytes, at: 0)
    }

    /// The blocks that hold a range and are not known.
    func missing(_ range: Range<Int64>) -> [Int] {
        let range = range.clamped(to: 0..<size)
        guard !range.isEmpty else { return [] }
        let blocks = Int(range.lowerBound / Int64(blockSize))...Int((range.upperBound - 1) / Int64(blockSize))
        return known.withLock { known in blocks.filter { !known.contains($0) } }
    }

    /// Nil if not all of them are known.
    func read(_ offset: Int64, _ count: Int) -> [UInt8]? {
        guard offset >= 0, count > 0, Int64(count) <= size - offset,
            missing(offset..<(offset + Int64(count))).isEmpty
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: count)
        var done = 0
        while done < count {
            let got = bytes.withUnsafeMutableBytes { buffer in
                pread(descriptor, buffer.baseAddress.map { $0 + done }, count - done, off_t(offset) + done)
            }
            if got > 0 { done += got } else if got == 0 || errno != EINTR { return nil }
        }
        return bytes
    }

    private func write(_ bytes: [UInt8], at offset: Int64) throws {
        var done = 0
        while done < bytes.count {
            let got = bytes.withUnsafeBytes { buffer in
                pwrite(descriptor, buffer.baseAddress.map { $0 + done }, bytes.count - done, off_t(offset) + done)
            }
            if got >= 0 {
                done += got
            } else if errno != EINTR {
                throw FileAccessError(errno == ENOSPC ? .noSpace : .failed, .write, path: path)
            }
        }
    }
}
