import Glibc

/// The errno of a failed system call.
struct SystemError: Error, Hashable {
    let number: CInt
}

/// Runs a system call again for as long as a signal interrupts it.
///
/// The errno is read before anything else runs, which might overwrite it.
func system<Value: SignedInteger>(_ call: () -> Value) -> Result<Value, SystemError> {
    while true {
        let value = call()
        if value >= 0 { return .success(value) }
        let number = Glibc.errno
        if number != EINTR { return .failure(SystemError(number: number)) }
    }
}

/// The C library's words for an errno.
func systemText(_ number: CInt) -> String {
    guard let text = strerror(number) else { return "error \(number)" }
    return String(cString: text)
}

extension FileAccessError {
    /// What `error` means when it came from the system call behind `operation`.
    init(_ error: SystemError, _ operation: Operation, path: String) {
        self.init(Self.code(of: error.number, in: operation), operation, path: path, errno: error.number)
    }

    static func code(of number: CInt, in operation: Operation) -> Code {
        switch operation {
        // openat2(2) with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS.
        case .open, .create, .createDirectory, .createSymlink, .inspect, .list, .readSymlink, .setPermissions:
            switch number {
            case EXDEV, ELOOP: return .outsideRoot
            // A rename elsewhere in the path made the kernel unsure; only after several tries does it get here.
            case EAGAIN: return .busy
            // open(2) of a socket or of a device without a driver.
            case ENXIO: return .notARegularFile
            // open(2), mkdir(2), symlink(2): FAT and its like of `a:b`; a name that the disk's character set lacks.
            case EINVAL, EILSEQ: return operation.makesName ? .nameRefused : general(number)
            default: break
            }
        // renameat2(2), linkat(2): both names are held by descriptors, so ELOOP cannot come from a link in them.
        case .rename, .link:
            switch number {
            case EXDEV: return .crossesFileSystems
            case ENOTEMPTY: return .directoryNotEmpty
            // linkat(2) where the file system has no hard links.
            case EPERM where operation == .link: return .notSupported
            // RENAME_* where the file system does not know the flag.
            case EINVAL: return .notSupported
            case EMLINK: return .notSupported
            default: break
            }
        // rmdir(2) may say either.
        case .removeDirectory:
            switch number {
            case ENOTEMPTY, EEXIST: return .directoryNotEmpty
            case EINVAL: return .invalidPath
            default: break
            }
        // flock(2).
        case .lock where number == EWOULDBLOCK: return .busy
        // write(2), ftruncate(2): EPERM is a seal or the append-only attribute.
        case .write, .truncate:
            switch number {
            case EFBIG: return .tooLarge
            // A size or offset below zero or beyond what the file system counts.
            case EINVAL, EOVERFLOW: return .tooLarge
            default: break
            }
        // Opening was fine, so the file system simply has no such thing.
        case .synchronize where number == EINVAL || number == EROFS: return .notSupported
        default: break
        }
        return general(number)
    }

    private static func general(_ number: CInt) -> Code {
        switch number {
        case ENOENT: .notFound
        case EACCES, EPERM: .permission
        case ENOSPC: .noSpace
        case EDQUOT: .quota
        case EROFS: .readOnly
        case EMFILE, ENFILE: .tooManyOpenFiles
        case ENOMEM, ENOBUFS: .outOfMemory
        case EEXIST: .exists
        case ENOTDIR: .notADirectory
        case EISDIR: .isADirectory
        case ENOTEMPTY: .directoryNotEmpty
        case ENAMETOOLONG: .nameTooLong
        case EFBIG: .tooLarge
        case EBUSY, ETXTBSY, EAGAIN: .busy
        case ENOSYS, EOPNOTSUPP: .notSupported
        case ESTALE, ENODEV, ENXIO, ENOTCONN, EHOSTDOWN: .diskGone
        case EIO, EREMOTEIO, EUCLEAN: .io
        default: .failed
        }
    }
}

extension FileAccessError.Operation {
    /// Whether it gives something a name that was not there.
    fileprivate var makesName: Bool {
        switch self {
        case .create, .createDirectory, .createSymlink: true
        default: false
        }
    }
}

extension Result where Failure == SystemError {
    /// The value, or the error with what was being done.
    func orThrow(_ operation: FileAccessError.Operation, path: @autoclosure () -> String) throws(FileAccessError)
        -> Success
    {
        switch self {
        case .success(let value): return value
        case .failure(let error): throw FileAccessError(error, operation, path: path())
        }
    }
}
