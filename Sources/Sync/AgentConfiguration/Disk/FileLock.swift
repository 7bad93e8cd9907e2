import Glibc

/// A lock on a file (flock(2)), held until this value goes. It holds between processes and within one.
final class FileLock: Sendable {
    let descriptor: Int32

    private init(descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Takes the lock on `path`, which is made (0600) if missing and never removed: removing it would let two hold it.
    ///
    /// Nil if another holds it after `attempts` tries 20 ms apart.
    static func take(_ path: String, attempts: Int) throws(ConfigurationError) -> FileLock? {
        // Close-on-exec, because a child that inherits the descriptor would go on holding the lock.
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw StoredFile.failure(.lock, path) }
        let lock = FileLock(descriptor: descriptor)
        var left = attempts
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            guard errno == EWOULDBLOCK else { throw StoredFile.failure(.lock, path) }
            left -= 1
            guard left > 0 else { return nil }
            usleep(20_000)
        }
        return lock
    }

    /// Whether somebody holds the lock on `path`; false if the file does not exist.
    ///
    /// - Throws: `ConfigurationError` if that cannot be seen.
    static func isHeld(_ path: String) throws(ConfigurationError) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return false }
            throw StoredFile.failure(.lock, path)
        }
        defer { close(descriptor) }
        // Shared, so that two that look do not see each other.
        while flock(descriptor, LOCK_SH | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            guard errno == EWOULDBLOCK else { throw StoredFile.failure(.lock, path) }
            return true
        }
        return false
    }
}
