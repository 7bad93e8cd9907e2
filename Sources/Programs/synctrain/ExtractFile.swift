import ControlAPI
import Foundation
import Glibc

/// A new file for part of another: written beside its place, made durable, then put there whole or not at all.
final class ExtractFile: Sendable {
    private let path: String
    private let temporaryPath: String
    private let replaces: Bool
    private let descriptor: Int32

    /// Throws `alreadyExists` if something is at `path` and is not to be replaced.
    init(path: String, replaces: Bool) throws(ControlError) {
        self.path = path
        self.replaces = replaces
        let directory = (path as NSString).deletingLastPathComponent
        let name = (path as NSString).lastPathComponent
        temporaryPath = (directory as NSString).appendingPathComponent(".\(name.prefix(60)).synctrain-\(getpid())")
        guard replaces || access(path, F_OK) != 0 else { throw Self.inTheWay(path) }
        descriptor = open(temporaryPath, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o666)
        guard descriptor >= 0 else { throw Self.failure(path) }
    }

    deinit { close(descriptor) }

    func write(_ bytes: [UInt8]) throws(ControlError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                throw Self.failure(path)
            }
        }
    }

    /// Makes the bytes durable and gives them their name.
    func publish() throws(ControlError) {
        guard fsync(descriptor) == 0 else { throw Self.failure(path) }
        if replaces {
            guard rename(temporaryPath, path) == 0 else { throw Self.failure(path) }
            return
        }
        // Unlike rename, link does not replace what has come meanwhile.
        guard link(temporaryPath, path) == 0 else {
            throw errno == EEXIST ? Self.inTheWay(path) : Self.failure(path)
        }
        unlink(temporaryPath)
    }

    func discard() { unlink(temporaryPath) }

    private static func inTheWay(_ path: String) -> ControlError {
        ControlError(
            .alreadyExists, "\(path) already exists. Choose another name, or replace it with --force.", path: path)
    }

    private static func failure(_ path: String) -> ControlError {
        let number = errno
        let reason = String(cString: strerror(number))
        return switch number {
        case ENOSPC, EDQUOT:
            ControlError(.noSpace, "No space left for \(path). Free some space and repeat the command.", path: path)
        case EACCES, EPERM, EROFS:
            ControlError(.noPermission, "\(path) cannot be written: \(reason). Choose another place.", path: path)
        case ENOENT:
            ControlError(
                .noSuchPath, "\((path as NSString).deletingLastPathComponent): no such directory; create it first",
                path: path)
        default: ControlError(.failed, "\(path) cannot be written: \(reason).", path: path)
        }
    }
}
