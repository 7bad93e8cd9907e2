import FileAccess
import Foundation
import Glibc

/// A folder on the real disk for one test: `root/` is what the code under test gets, `outside/` what it must never touch.
/// Removed when the test lets go of it.
package final class TemporaryTree: Sendable {
    private let directory: TemporaryDirectory
    package let root: RootDirectory

    package init() throws {
        directory = try TemporaryDirectory()
        for name in ["root", "outside"] {
            try FileManager.default.createDirectory(
                atPath: "\(directory.path)/\(name)", withIntermediateDirectories: false)
        }
        root = try RootDirectory(path: "\(directory.path)/root")
    }

    package var url: URL { directory.url }

    /// The path of something in the root.
    package func path(_ relative: String) -> String { "\(directory.path)/root/\(relative)" }

    package func outside(_ relative: String) -> String { "\(directory.path)/outside/\(relative)" }

    package func makeDirectory(_ relative: String) throws {
        try FileManager.default.createDirectory(atPath: path(relative), withIntermediateDirectories: true)
    }

    /// Writes into the file that is there, or makes one and the directories above it.
    package func write(_ text: String, to relative: String) throws { try write(Array(text.utf8), to: relative) }

    package func write(_ bytes: [UInt8], to relative: String) throws {
        if let slash = relative.utf8.lastIndex(of: UInt8(ascii: "/")) { try makeDirectory(String(relative[..<slash])) }
        guard let file = fopen(path(relative), "w") else { throw Self.systemError }
        defer { fclose(file) }
        guard fwrite(bytes, 1, bytes.count, file) == bytes.count else { throw Self.systemError }
    }

    package func link(_ relative: String, to target: String) throws { try check(symlink(target, path(relative))) }

    package func remove(_ relative: String) throws { try FileManager.default.removeItem(atPath: path(relative)) }

    package func move(_ relative: String, to other: String) throws {
        try check(rename(path(relative), path(other)))
    }

    package func setPermissions(_ mode: mode_t, _ relative: String) throws { try check(chmod(path(relative), mode)) }

    package func setModified(_ seconds: Int, _ relative: String) throws {
        let time = timespec(tv_sec: seconds, tv_nsec: 5)
        try check(utimensat(AT_FDCWD, path(relative), [time, time], AT_SYMLINK_NOFOLLOW))
    }

    package func text(_ relative: String) -> String? { try? String(contentsOfFile: path(relative), encoding: .utf8) }

    package func names(_ relative: String = "") -> Set<String> {
        Set((try? FileManager.default.contentsOfDirectory(atPath: path(relative))) ?? [])
    }

    /// How many descriptors of this process lead beneath it.
    package var openDescriptorCount: Int {
        let all = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return all.count { number in
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")
            return target?.hasPrefix(directory.path) ?? false
        }
    }

    private func check(_ result: CInt) throws { if result != 0 { throw Self.systemError } }

    private static var systemError: POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
}
