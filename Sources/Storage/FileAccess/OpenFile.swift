import CLinux
import Glibc

/// An open regular file, read and written at offsets, so that several tasks may use it at once.
///
/// Every call blocks its thread until the disk has answered. The file is closed with the last reference.
package final class OpenFile: Sendable {
    let descriptor: Descriptor
    /// The path it was opened by, for messages.
    package let path: String

    init(_ descriptor: Descriptor, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    /// Opens what `name`, a path beneath `directory`, leads to if that is a regular file; `path` is for messages.
    static func open(
        reading name: String, in directory: Descriptor, path: String
    ) throws(FileAccessError) -> OpenFile {
        // Without O_NONBLOCK a pipe would hold this thread until someone writes into it.
        let opened = try Descriptor.openHeld(
            name, in: directory, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
        ).orThrow(.open, path: path)
        switch try opened.status().orThrow(.inspect, path: path).type {
        case .regular: return OpenFile(opened, path: path)
        case .directory: throw FileAccessError(.isADirectory, .open, path: path)
        case .symlink, .other: throw FileAccessError(.notARegularFile, .open, path: path)
        }
    }

    /// For handing the open file to another process; open for as long as this object is held.
    package var number: CInt { descriptor.number }

    package func status() throws(FileAccessError) -> FileStatus {
        try descriptor.status().orThrow(.inspect, path: path)
    }

    /// Tells the disk that the file will be read from beginning to end, so that it reads further ahead.
    package func adviseSequentialReading() {
        // Advice only: a file system that knows nothing of it reads as well.
        _ = posix_fadvise(descriptor.number, 0, 0, POSIX_FADV_SEQUENTIAL)
    }

    /// Has the next reads come from the disk and not from memory, where what the disk has lost may still be whole. What is not on
    /// the disk yet stays in memory.
    package func dropCachedPages() {
        // Advice only: a file system that keeps its pages is read as well.
        _ = posix_fadvise(descriptor.number, 0, 0, POSIX_FADV_DONTNEED)
    }

    /// Reads from `offset` (in bytes) until `buffer` is full or the file ends; gives the count of bytes read.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(FileAccessError) -> Int {
        try checkRange(offset, count: buffer.count, .read)
        var done = 0
        while done < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            let count = try system { pread(descriptor.number, rest.baseAddress, rest.count, off_t(offset) + done) }
                .orThrow(.read, path: path)
            if count == 0 { break }
            done += count
        }
        return done
    }

    /// Up to `count` bytes from `offset` on; fewer only where the file ends.
    package func read(count: Int, at offset: Int64) throws(FileAccessError) -> [UInt8] {
        try checkRange(offset, count: count, .read)
        var result = Result<Int, FileAccessError>.success(0)
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
            do throws(FileAccessError) {
                initializedCount = try read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
            } catch {
                result = .failure(error)
            }
        }
        _ = try result.get()
        return bytes
    }

    /// Writes all of `bytes` from `offset` on, extending the file if need be; on an error a part may be written.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(FileAccessError) {
        try checkRange(offset, count: bytes.count, .write)
        var done = 0
        while done < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            let change = DiskChange.write(file: descriptor.number, offset: offset + Int64(done), count: rest.count)
            let count = try descriptor.changing(change) {
                pwrite(descriptor.number, rest.baseAddress, rest.count, off_t(offset) + done)
            }.orThrow(.write, path: path)
            // No file system should do this; going on would go on for ever.
            guard count > 0 else { throw FileAccessError(.io, .write, path: path) }
            done += count
        }
    }

    /// Writes all of `bytes` from `offset` on.
    package func write(_ bytes: [UInt8], at offset: Int64) throws(FileAccessError) {
        let result = bytes.withUnsafeBytes { buffer in
            Result { () throws(FileAccessError) in try write(buffer, at: offset) }
        }
        try result.get()
    }

    /// Makes `count` bytes from `offset` on read as zeros without taking space for them, where the file system can.
    package func writeHole(at offset: Int64, count: Int) throws(FileAccessError) {
        guard count > 0 else { return }
        try checkRange(offset, count: count, .write)
        let end = offset + Int64(count)
        if try status().size < end {
            // A byte at the end extends the file; setting its size could cut off what another task writes beyond.
            try write([0], at: end - 1)
        }
        let punched = descriptor.changing(.write(file: descriptor.number, offset: offset, count: count)) {
            clinux_punch_hole(descriptor.number, offset, Int64(count))
        }
        guard case .failure(let error) = punched else { return }
        guard error.number == EOPNOTSUPP || error.number == ENOSYS else {
            throw FileAccessError(error, .write, path: path)
        }
        let zeros = [UInt8](repeating: 0, count: min(count, 1 << 20))
        var done = 0
        while done < count {
            let part = min(count - done, zeros.count)
            try write(Array(zeros.prefix(part)), at: offset + Int64(done))
            done += part
        }
    }

    /// Cuts the file off at `size` bytes, or extends it to there with a hole.
    package func truncate(to size: Int64) throws(FileAccessError) {
        _ = try descriptor.changing(.truncate(file: descriptor.number, size: size)) {
            ftruncate(descriptor.number, off_t(size))
        }.orThrow(.truncate, path: path)
    }

    /// Makes the file's contents, size, times and permissions durable; its name needs its directory's.
    package func synchronize() throws(FileAccessError) {
        try descriptor.synchronize().orThrow(.synchronize, path: path)
    }

    /// Sets the low nine bits of the mode; the bits that change who a program runs as are never set.
    package func setPermissions(_ permissions: UInt32) throws(FileAccessError) {
        _ = try descriptor.changing(.setPermissions(file: descriptor.number)) {
            fchmod(descriptor.number, mode_t(permissions & 0o777))
        }.orThrow(.setPermissions, path: path)
    }

    /// Sets the time of modification; a file system that counts more coarsely rounds it down.
    package func setModificationTime(_ time: FileTime) throws(FileAccessError) {
        let status = try descriptor.rawStatus().orThrow(.inspect, path: path)
        let times = time.toSet(beside: status)
        _ = try descriptor.changing(.setTimes(file: descriptor.number)) { futimens(descriptor.number, times) }
            .orThrow(.setModificationTime, path: path)
    }

    /// An offset below zero, or an end that no file has, is an error and not a trap: both may come from a peer.
    private func checkRange(
        _ offset: Int64, count: Int, _ operation: FileAccessError.Operation
    ) throws(FileAccessError) {
        let (_, overflows) = offset.addingReportingOverflow(Int64(count))
        if offset < 0 || count < 0 || overflows { throw FileAccessError(.tooLarge, operation, path: path) }
    }
}

/// Whether every byte is zero.
func isAllZero(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let base = bytes.baseAddress, let first = bytes.first else { return true }
    // All equal to the first one: the C library compares the bytes with themselves, one further on, by the vector.
    return first == 0 && memcmp(base, base + 1, bytes.count - 1) == 0
}
