import Glibc
import KernelFiles

/// A process of this machine, as /proc has it. What it says may be over by the time that it is read.
package struct RunningProgram: Equatable, Sendable {
    package var process: Int32
    /// At most 15 bytes of it.
    package var name: String

    package init(process: Int32, name: String) { (self.process, self.name) = (process, name) }

    /// The process that a thread belongs to; nil if it is gone or may not be seen.
    package init?(thread: Int32) {
        guard thread > 0, let status = KernelFile.text(at: "/proc/\(thread)/status"),
            let process = Self.field("Tgid:", status).flatMap({ Int32($0) }),
            let name = KernelFile.text(at: "/proc/\(process)/comm")
        else { return nil }
        self.init(process: process, name: String(name.prefix { $0 != "\n" }))
    }

    /// Whether a process is there and not stopped by a signal or a debugger; nil if nobody can tell.
    package static func isRunning(_ process: Int32) -> Bool? {
        guard process > 0 else { return nil }
        guard let status = KernelFile.text(at: "/proc/\(process)/status") else {
            return kill(process, 0) == 0 || errno == EPERM ? nil : false
        }
        // Stopped, traced, dead, a zombie.
        return field("State:", status).flatMap(\.first).map { !"TtXxZ".contains($0) }
    }

    /// Whether a process is stopped by a signal, so that SIGCONT lets it continue; false if it is gone or may not be seen.
    package static func isStopped(_ process: Int32) -> Bool {
        guard process > 0, let status = KernelFile.text(at: "/proc/\(process)/status") else { return false }
        return field("State:", status)?.first == "T"
    }

    private static func field(_ name: String, _ status: String) -> Substring? {
        for line in status.split(separator: "\n") where line.hasPrefix(name) {
            return line.dropFirst(name.count).drop { $0 == "\t" || $0 == " " }
        }
        return nil
    }
}
