import ControlAPI
import Glibc
import NIOCore

/// The place of the control socket: a directory of mode 0700, the socket of mode 0600, and beside it a lock that says
/// whether a live agent has it, so that the socket of a dead one can be replaced without a race.
struct ControlSocket: Sendable {
    let path: String

    /// Where the socket is bound before it has its mode and its name.
    var provisionalPath: String { path + ".new" }
    private var lockPath: String { path + ".lock" }

    /// The lock, held until released or the process ends.
    struct Claim: Sendable {
        fileprivate let descriptor: Int32

        func release() { close(descriptor) }
    }

    /// Makes the directory and takes the lock.
    func claim() throws(ControlError) -> Claim {
        try makeDirectory()
        let descriptor = open(lockPath, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure("The lock \(lockPath) cannot be opened") }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            defer { close(descriptor) }
            guard errno == EWOULDBLOCK else { throw failure("The lock \(lockPath) cannot be taken") }
            throw ControlError(
                .busy, "An agent is already running on \(path). Stop it with `synctrain agent stop`.", path: path)
        }
        // Left by an agent that was killed between binding and renaming.
        unlink(provisionalPath)
        return Claim(descriptor: descriptor)
    }

    /// What it means that the socket could not be bound.
    func bindFailure(_ error: any Error) -> ControlError {
        let what = "The control socket \(path) cannot be made"
        guard let error = error as? IOError else {
            // SwiftNIO binds a path of at most 103 bytes.
            return ControlError(.failed, "\(what): \(error). Choose a shorter --home.", path: path)
        }
        let reason = String(cString: strerror(error.errnoCode))
        return switch error.errnoCode {
        case EACCES, EPERM:
            ControlError(
                .noPermission, "\(what): \(reason). Check who owns its directory and its permissions.", path: path)
        case EROFS:
            ControlError(.noPermission, "\(what): \(reason). Choose a writable directory with --home.", path: path)
        case ENOSPC, EDQUOT: ControlError(.noSpace, "\(what): \(reason). Free some space.", path: path)
        case ENAMETOOLONG: ControlError(.failed, "\(what): \(reason). Choose a shorter --home.", path: path)
        default:
            ControlError(
                .failed, "\(what): \(reason). Choose a directory on a local disk with --home.", path: path)
        }
    }

    /// Gives the bound socket its mode and then its name, so that nobody finds it without the former. What a dead agent
    /// left there is replaced; what is no socket is not.
    func publish() throws(ControlError) {
        var found = stat()
        if lstat(path, &found) == 0, found.st_mode & S_IFMT != S_IFSOCK {
            unlink(provisionalPath)
            throw ControlError(
                .alreadyExists, "\(path) exists and is not a socket. Move it elsewhere and start the agent again.",
                path: path)
        }
        guard chmod(provisionalPath, 0o600) == 0, rename(provisionalPath, path) == 0 else {
            let error = failure("The control socket \(path) cannot be created")
            unlink(provisionalPath)
            throw error
        }
    }

    /// Takes the socket's name away: an agent that is ending is not to be found.
    func retract() { unlink(path) }

    private func makeDirectory() throws(ControlError) {
        guard path.utf8.first == UInt8(ascii: "/"), let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else {
            throw ControlError(.failed, "The control socket needs an absolute path, not \(path).", path: path)
        }
        let directory = String(path[..<slash])
        guard !directory.isEmpty else { return }
        if mkdir(directory, 0o700) == 0 { return }
        guard errno == EEXIST else { throw failure("The directory \(directory) cannot be created") }
        var found = stat()
        guard lstat(directory, &found) == 0 else { throw failure("The directory \(directory) cannot be read") }
        guard found.st_mode & S_IFMT == S_IFDIR, found.st_uid == geteuid() else {
            throw ControlError(
                .noPermission, "\(directory) does not belong to this user. Choose another directory with --home.",
                path: directory)
        }
        guard found.st_mode & 0o077 == 0 || chmod(directory, 0o700) == 0 else {
            throw failure("Other users cannot be denied access to \(directory)")
        }
    }

    private func failure(_ what: String) -> ControlError {
        let number = errno
        return ControlError(
            number == EACCES || number == EPERM || number == EROFS ? .noPermission : .failed,
            "\(what): \(String(cString: strerror(number))). Check its directory.", path: path)
    }
}
