import BlockExchange
import Glibc
import Names
import Phrases

/// The few file operations that the agent's own small files need.
enum StoredFile {
    /// All bytes of `path`; nil if there is no such file. A file of more than `byteLimit` bytes is refused unread.
    static func read(_ path: String, byteLimit: Int) throws(ConfigurationError) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw failure(.read, path)
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure(.read, path) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw ConfigurationError(.failed, "not a regular file; move it elsewhere", file: path)
        }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = Glibc.read(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure(.read, path) }
            guard count > 0 else { return bytes }
            bytes += piece.prefix(count)
            guard bytes.count <= byteLimit else {
                throw ConfigurationError(
                    .tooLarge, "the file has more than \(ByteCountText.format(Int64(byteLimit))); make it smaller",
                    file: path)
            }
        }
    }

    /// Writes `bytes` to `path` so that a crash leaves the old or the new file, whole and durable.
    ///
    /// A symbolic link at `path` stays and its target is replaced. An existing file keeps its permissions; a new one
    /// gets `mode`. With `isReplacing` false an existing file is refused with `alreadyExists`.
    static func write(
        _ bytes: [UInt8], to path: String, mode: mode_t, isReplacing: Bool
    ) throws(ConfigurationError) {
        var target = path
        var mode = mode
        var status = stat()
        if lstat(path, &status) == 0 {
            guard isReplacing else {
                throw ConfigurationError(.alreadyExists, "the file already exists; move it elsewhere first", file: path)
            }
            if status.st_mode & S_IFMT == S_IFLNK {
                guard let resolved = realpath(path, nil) else {
                    throw ConfigurationError(
                        .missing, "the symbolic link is broken; create its target or remove the link", file: path
                    )
                }
                defer { free(resolved) }
                target = String(cString: resolved)
                guard stat(target, &status) == 0 else { throw failure(.write, path) }
            }
            mode = status.st_mode & 0o777
        }
        let folder = directory(of: target)
        let staged = "\(folder)/.synctrain.\(UInt64.random(in: 0...UInt64.max))"
        let descriptor = open(staged, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure(.write, target) }
        do throws(ConfigurationError) {
            defer { close(descriptor) }
            guard fchmod(descriptor, mode) == 0 else { throw failure(.write, target) }
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { throw failure(.write, target) }
                rest = rest.dropFirst(count)
            }
            guard fsync(descriptor) == 0 else { throw failure(.write, target) }
            if isReplacing {
                guard rename(staged, target) == 0 else { throw failure(.write, target) }
            } else {
                // link(2), unlike rename(2), fails if someone else made the file meanwhile.
                if link(staged, target) == 0 {
                    unlink(staged)
                } else {
                    guard [EPERM, EOPNOTSUPP, ENOSYS].contains(errno) else { throw failure(.write, target) }
                    // No second names, as on exFAT: something empty takes the name first.
                    let claim = open(target, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
                    guard claim >= 0 else { throw failure(.write, target) }
                    close(claim)
                    guard rename(staged, target) == 0 else {
                        let error = failure(.write, target)
                        unlink(target)
                        throw error
                    }
                }
            }
        } catch {
            unlink(staged)
            throw error
        }
        try makeDurable(directory: folder)
    }

    static func makeDurable(directory: String) throws(ConfigurationError) {
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(.write, directory) }
        defer { close(descriptor) }
        // EINVAL: a file system without fsync of directories.
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw failure(.write, directory) }
    }

    /// Makes `path` and its missing parents with `mode`. An existing empty `path` gets `mode` too.
    static func makeDirectories(_ path: String, mode: mode_t) throws(ConfigurationError) {
        var status = stat()
        if stat(path, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFDIR else {
                throw ConfigurationError(
                    .failed, "a file is in the place of a directory; move it elsewhere", file: path)
            }
            if status.st_mode & 0o777 != mode, status.st_uid == geteuid(), isEmpty(path) { chmod(path, mode) }
            return
        }
        guard errno == ENOENT else { throw failure(.make, path) }
        var made = ""
        for part in path.pathComponents {
            made += "/" + part
            guard mkdir(made, mode) != 0 else { continue }
            guard errno == EEXIST else { throw failure(.make, made) }
        }
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { throw failure(.make, path) }
    }

    private static func isEmpty(_ path: String) -> Bool {
        guard let stream = opendir(path) else { return false }
        defer { closedir(stream) }
        var names = 0
        while readdir(stream) != nil { names += 1 }
        return names <= 2
    }

    static func directory(of path: String) -> String {
        let parent = path.parentPath
        return parent.isEmpty ? "/" : String(parent)
    }

    /// What was to be done with a file.
    enum Deed {
        case lock, lookFor, make, read, use, write

        var failed: Phrase {
            switch self {
            case .lock: Phrase("cannot lock it")
            case .lookFor: Phrase("cannot look for it")
            case .make: Phrase("cannot make it")
            case .read: Phrase("cannot read it")
            case .use: Phrase("cannot use it")
            case .write: Phrase("cannot write it")
            }
        }
    }

    /// The error that `errno` stands for, with what to do about it.
    ///
    /// - Parameter isOfFolder: whether `path` is a folder's directory, or in one; else it is in the agent's home.
    static func failure(_ deed: Deed, _ path: String, isOfFolder: Bool = false) -> ConfigurationError {
        let number = errno
        // The system's own words, in English.
        let reason = "\(deed.failed): \(String(cString: strerror(number)))" as Phrase
        switch number {
        case EACCES, EPERM:
            return ConfigurationError(
                .noPermission, "\(reason); check who owns it and its permissions", file: path)
        case EROFS where isOfFolder:
            return ConfigurationError(
                .noPermission, "\(reason); choose a directory on another disk, or mount this disk writable", file: path)
        case EROFS:
            return ConfigurationError(
                .noPermission, "\(reason); choose a writable directory with --home",
                file: path)
        case ENOSPC, EDQUOT:
            return ConfigurationError(.noSpace, "\(reason); free some space", file: path)
        case EEXIST:
            return ConfigurationError(.alreadyExists, "the file already exists; move it elsewhere first", file: path)
        case ENOENT, ENOTDIR:
            return ConfigurationError(
                .missing, "\(reason); check that its directory exists", file: path)
        default:
            return ConfigurationError(.failed, reason, file: path)
        }
    }
}
