import Glibc
import Synchronization

/// The file that an agent in the background logs to by standard error: at a size it is put aside, in place of the one that was put
/// aside before, and another one is begun. So there are two at most.
final class LogFile: Sendable {
    /// Bytes from which on another file is begun.
    static let byteLimit = 16 << 20

    private let path: String
    private let byteCount: Mutex<Int>

    /// Nil where standard error is not that file, but a terminal, the journal or somebody else's file.
    init?(_ path: String) {
        var (named, written) = (stat(), stat())
        guard stat(path, &named) == 0, fstat(STDERR_FILENO, &written) == 0,
            (named.st_dev, named.st_ino) == (written.st_dev, written.st_ino), written.st_mode & S_IFMT == S_IFREG
        else { return nil }
        self.path = path
        byteCount = Mutex(Int(written.st_size))
    }

    /// Where the file before is.
    static func putAside(_ path: String) -> String { path + ".1" }

    /// To be called after each line, from any thread. Where another file cannot be begun, this one grows on, and that is tried again
    /// after as much.
    func wrote(_ count: Int) {
        byteCount.withLock { byteCount in
            byteCount += count
            guard byteCount >= Self.byteLimit else { return }
            byteCount = 0
            begin()
        }
    }

    private func begin() {
        guard rename(path, Self.putAside(path)) == 0 else { return }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            rename(Self.putAside(path), path)
            return
        }
        dup2(descriptor, STDERR_FILENO)
        close(descriptor)
    }
}
