import CLinux
import Glibc
import MountProtocol
import MountRules
import Synchronization

final class FileDescriptor: Sendable {
    let number: CInt

    init(_ number: CInt) { self.number = number }

    deinit { Glibc.close(number) }
}

/// A file that the agent reads, and under which handle in which of its lives.
final class AbsentFile: Sendable {
    let node: UInt64
    let path: String
    let version: UInt64
    /// The program that opened it.
    let caller: MountCaller
    let place: Mutex<(handle: UInt64, generation: Int)>

    init(node: UInt64, path: String, version: UInt64, handle: UInt64, generation: Int, caller: MountCaller) {
        self.node = node
        self.path = path
        self.version = version
        self.caller = caller
        place = Mutex((handle, generation))
    }
}

/// An open file on this disk. What fails gives an errno.
final class OpenFile: Sendable {
    let descriptor: FileDescriptor
    let node: UInt64
    /// What the agent calls it, and in which of its lives, if it was opened for writing.
    let written: (handle: UInt64, generation: Int)?
    /// Whether every write goes to the end of the file.
    let appends: Bool

    init(
        _ descriptor: FileDescriptor, node: UInt64, written: (handle: UInt64, generation: Int)? = nil,
        appends: Bool = false
    ) {
        self.descriptor = descriptor
        self.node = node
        self.written = written
        self.appends = appends
    }

    /// What the disk says of it, whatever its name is by now.
    var status: stat? {
        var status = stat()
        return fstat(descriptor.number, &status) == 0 ? status : nil
    }

    var stamp: KeptPages.Stamp? {
        status.map { status in
            KeptPages.Stamp(
                device: UInt64(status.st_dev), inode: UInt64(status.st_ino), size: Int64(status.st_size),
                modified: Clock.nanoseconds(status.st_mtim), changed: Clock.nanoseconds(status.st_ctim))
        }
    }

    /// Whether nobody is known to have the file open for writing. File systems without leases do not know.
    var hasNoWriters: Bool { clinux_has_writers(descriptor.number) == 0 }

    enum Transfer {
        /// So many bytes; fewer than there were after an error, which comes with the rest.
        case done(Int)
        case failed(CInt)
    }

    /// Fills the buffer, but for what is behind the end of the file.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Transfer {
        var done = 0
        while done < buffer.count {
            let (place, overflows) = offset.addingReportingOverflow(Int64(done))
            guard !overflows else { return .failed(EOVERFLOW) }
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            let count = pread(descriptor.number, rest.baseAddress, rest.count, off_t(place))
            if count < 0, errno == EINTR { continue }
            if count < 0 { return .failed(errno == EAGAIN ? EIO : errno) }
            if count == 0 { break }
            // bounded: what is left of the buffer
            done += count
        }
        return .done(done)
    }

    /// - Parameter isPage: whether the bytes are a page of a mapping, which goes to where it is.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64, isPage: Bool) -> Transfer {
        // Others may have written since the kernel knew the end.
        let start = appends && !isPage ? status.map { Int64($0.st_size) } ?? offset : offset
        var done = 0
        while done < bytes.count {
            let (place, overflows) = start.addingReportingOverflow(Int64(done))
            guard !overflows else { return .failed(EFBIG) }
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            let count = pwrite(descriptor.number, rest.baseAddress, rest.count, off_t(place))
            if count < 0, errno == EINTR { continue }
            // Some programs take EAGAIN for an empty file.
            if count < 0, done == 0 { return .failed(errno == EAGAIN ? EIO : errno) }
            if count <= 0 { break }
            done += count
        }
        return .done(done)
    }

    func synchronize() -> CInt { fsync(descriptor.number) == 0 ? 0 : errno }

    /// 0 if all of it was done.
    func apply(_ change: MountChange) -> CInt {
        if let size = change.size, ftruncate(descriptor.number, off_t(size)) != 0 { return errno }
        if let permissions = change.permissions, fchmod(descriptor.number, mode_t(permissions)) != 0 { return errno }
        if let time = change.modified {
            guard let status else { return EIO }
            let times = [status.st_atim, timespec(tv_sec: Int(time.seconds), tv_nsec: Int(time.nanoseconds))]
            if futimens(descriptor.number, times) != 0 { return errno }
        }
        return 0
    }
}
