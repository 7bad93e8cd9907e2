import Glibc
import KernelFiles

/// The right to be the only agent that works in a directory: held until this value goes or the process ends.
///
/// It is a lock on the directory itself (`flock`), which leaves nothing on the disk and which other programs do not heed. Anybody who can
/// read a directory can lock it: another user's lock takes nothing from this user.
package final class RootClaim: Sendable {
    package enum Attempt: Sendable {
        case granted(RootClaim)
        /// Another process has it; its id, where the system tells.
        case held(by: Int32?)
        /// A process of another user has locked the directory, or one that ended and left the lock to another: no agent of this user.
        case lockedByOther(Int32)
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
        var attempt = Attempt.unsupported
        // Twice: a process that is not there any more may just have ended.
        for _ in 0..<2 {
            switch system({ flock(directory.number, LOCK_EX | LOCK_NB) }) {
            case .success: return .granted(RootClaim(directory, status))
            case .failure(let error) where error.number == EWOULDBLOCK:
                attempt = refusal(
                    by: holders(of: status).map { ($0, KernelFile.text(at: "/proc/\($0)/status", limit: 4096)) },
                    user: getuid())
            case .failure: return .unsupported
            }
            if case .held = attempt { break }
        }
        return attempt
    }

    /// Whether this is about the directory that `root` has open.
    package func isOf(_ root: RootDirectory) -> Bool { (try? root.status().isSameFile(as: status)) ?? false }

    /// What it means that these have the directory locked. Of several, any may be the one: only the number of the directory tells them.
    ///
    /// - Parameters:
    ///   - holders: processes, and what proc_pid_status(5) says of each; nil if there is none that this user can see.
    ///   - user: whose agent asks. An agent of root counts as one of the user's: it may have been started by `sudo`.
    static func refusal(by holders: [(process: Int32, status: String?)], user: UInt32) -> Attempt {
        let own = holders.first { _, status in
            guard let status else { return false }
            let lines = status.split(separator: "\n").lazy.map { $0.split { $0 == ":" || $0 == "\t" } }
            // The real one: a program that runs with the rights of another is still the user's who started it.
            let real = lines.first { $0.first == "Uid" }?.dropFirst().first.flatMap { UInt32($0) }
            return real == nil || real == user || real == 0
        }
        if let own { return .held(by: own.process) }
        return holders.first.map { .lockedByOther($0.process) } ?? .held(by: nil)
    }

    /// The processes that have a lock on a directory of this number, as far as the system says.
    private static func holders(of status: FileStatus) -> [Int32] {
        // proc_locks(5): "1: FLOCK  ADVISORY  WRITE 708 08:01:1234 0 EOF"
        (KernelFile.text(at: "/proc/locks") ?? "").split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard words.count > 5, words[1] == "FLOCK", words[5].split(separator: ":").last == "\(status.inode)",
                let process = Int32(words[4]), process > 0
            else { return nil }
            return process
        }
    }
}
