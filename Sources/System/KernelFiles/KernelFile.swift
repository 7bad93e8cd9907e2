import Glibc

/// Files that the kernel writes as they are read, below /proc and /sys. They have no size; Foundation takes their first page for all
/// of them (`FileManager.contents(atPath:)`, Swift 6.3).
package enum KernelFile {
    /// More than any of them has.
    package static let byteLimit = 16 << 20

    /// Why a file cannot be read.
    package struct Failure: Error {
        package let number: CInt

        /// Whether what the file describes is not there, or has ended while it was read.
        package var isAbsence: Bool { number == ENOENT || number == ESRCH }
    }

    /// All bytes of a file.
    ///
    /// - Parameter limit: bytes that are read at most.
    /// - Throws: `Failure`.
    package static func read(_ path: String, limit: Int = byteLimit) throws(Failure) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure(number: errno) }
        defer { close(descriptor) }
        return try withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 16) { part throws(Failure) in
            var bytes: [UInt8] = []
            while bytes.count < limit {
                let count = Glibc.read(descriptor, part.baseAddress, min(part.count, limit - bytes.count))
                if count < 0, errno == EINTR { continue }
                guard count >= 0 else { throw Failure(number: errno) }
                if count == 0 { break }
                bytes += part[..<count]
            }
            return bytes
        }
    }

    /// The same; nil if the file cannot be read.
    package static func bytes(at path: String, limit: Int = byteLimit) -> [UInt8]? { try? read(path, limit: limit) }

    /// The same as text; what is not UTF-8 is replaced.
    package static func text(at path: String, limit: Int = byteLimit) -> String? {
        bytes(at: path, limit: limit).map { String(decoding: $0, as: UTF8.self) }
    }
}
