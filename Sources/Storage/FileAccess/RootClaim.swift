import Glibc

/// The right to be the only agent that works in a directory: held until this value goes or the process ends.
///
/// It is a lock on the directory itself (`flock`), which leaves nothing on the disk and which other programs do not heed.
package final class RootClaim: Sendable {
    package enum Attempt: Sendable {
        case granted(RootClaim)
        /// Another process has it; its id, where the system tells.
        case held(by: Int32?)
        /// The file system has no such locks.
        case unsupported
    }

    private let directory: Descriptor
    private let status: FileStatus

    private init(_ directory: Descriptor, _ status: FileStatus) {
        self.directory = directory
        self.status = status
    }

    package static func take(_ root: RootDirectory) -> Attempt {
        // An open file of its own: a copy of the root's descriptor would share its lock.
        guard
            case .success(let directory) = Descriptor.openHeld(".", in: root.descriptor, flags: O_RDONLY | O_DIRECTORY),
            case .success(let status) = directory.status()
        else { return .unsupported }
        switch system({ flock(directory.number, LOCK_EX | LOCK_NB) }) {
        case .success: return .granted(RootClaim(directory, status))
        case .failure(let error) where error.number == EWOULDBLOCK: return .held(by: holder(of: status))
        case .failure: return .unsupported
        }
    }

    /// Whether this is about the directory that `root` has open.
    package func isOf(_ root: RootDirectory) -> Bool { (try? root.status().isSameFile(as: status)) ?? false }

    /// The process that has a lock on a directory; nil if the system does not say.
    private static func holder(of status: FileStatus) -> Int32? {
        // proc_locks(5): "1: FLOCK  ADVISORY  WRITE 708 08:01:1234 0 EOF"
        guard let file = fopen("/proc/locks", "re") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 512)
        while fgets(&line, CInt(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            let words = text.split(separator: " ")
            guard words.count > 5, words[1] == "FLOCK", words[5].split(separator: ":").last == "\(status.inode)",
                let process = Int32(words[4]), process > 0
            else { continue }
            return process
        }
        return nil
    }
}
