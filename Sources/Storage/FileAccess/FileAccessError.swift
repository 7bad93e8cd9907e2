/// Why the disk did not do what it was asked.
///
/// What a system call's errno means is decided in `FileAccessError+Syscall.swift`.
package struct FileAccessError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable, CaseIterable {
        case notFound = "not-found"
        case permission
        case noSpace = "no-space"
        case quota
        case readOnly = "read-only"
        case tooManyOpenFiles = "too-many-open-files"
        case outOfMemory = "out-of-memory"
        case exists
        case changedOnDisk = "changed-on-disk"
        case notADirectory = "not-a-directory"
        case isADirectory = "is-a-directory"
        case notARegularFile = "not-a-regular-file"
        case directoryNotEmpty = "directory-not-empty"
        /// A part of the path is a symbolic link or leads out of the root.
        case outsideRoot = "outside-root"
        case nameTooLong = "name-too-long"
        case tooLarge = "too-large"
        case crossesFileSystems = "crosses-file-systems"
        /// Someone else holds what is needed at this moment.
        case busy
        case notSupported = "not-supported"
        case invalidPath = "invalid-path"
        /// The disk does not take such a name, or would keep it as another.
        case nameRefused = "name-refused"
        /// The disk lists names otherwise than they were written.
        case changesNames = "changes-names"
        /// The disk with the file is gone: unmounted, unplugged, or a network share that forgot it.
        case diskGone = "disk-gone"
        case io
        /// The staged file was committed or discarded before.
        case finished
        case failed
    }

    /// What was being done, in words that fit behind "cannot".
    package enum Operation: String, Sendable, CaseIterable {
        case open = "open"
        case create = "create"
        /// Makes a file in the directory that the error's path names.
        case createIn = "create a file in"
        case createDirectory = "create the directory"
        case createSymlink = "create the symbolic link"
        case inspect = "look at"
        case list = "list"
        case read = "read"
        case readSymlink = "read the symbolic link"
        case write = "write to"
        case truncate = "set the size of"
        case synchronize = "make durable"
        case setPermissions = "set the permissions of"
        case setModificationTime = "set the time of"
        case rename = "move into place"
        case link = "link into place"
        case remove = "remove"
        case removeDirectory = "remove the directory"
        case lock = "lock"
        case measureSpace = "measure the free space at"
    }

    package let code: Code
    package let operation: Operation
    /// The path in question: relative to the root, or as the caller gave it.
    package let path: String
    /// What the system call said; nil if it was not a system call that objected.
    package let errno: Int32?

    /// Nothing is there, or something that is not a directory is in the way.
    package var isAbsence: Bool { code == .notFound || code == .notADirectory }

    /// Also for those who find out by themselves what a call of this target would have refused.
    package init(_ code: Code, _ operation: Operation, path: String, errno: Int32? = nil) {
        self.code = code
        self.operation = operation
        self.path = path
        self.errno = errno
    }

    /// Whether the same call may succeed later without anyone doing anything.
    package var isTransient: Bool {
        switch code {
        case .tooManyOpenFiles, .outOfMemory, .busy: true
        default: false
        }
    }

    /// A sentence for people that ends with what to do; control characters of the path are escaped.
    package var message: String {
        if code == .permission, operation == .createIn {
            return "\(quoted(path)) is not writable by this user; `ls -ld` shows its owner and permissions, `chmod` or "
                + "`chown` changes them"
        }
        return "cannot \(operation.rawValue) \(quoted(path)): \(reason)"
    }

    /// The same with the path told from another place than the root.
    ///
    /// - Parameter place: what stands before the path, such as `library:` or `/tmp/out/`; an absolute path stays as it is.
    package func message(from place: String) -> String {
        guard !path.hasPrefix("/") else { return message }
        return FileAccessError(code, operation, path: place + path, errno: errno).message
    }

    package var description: String { message }

    private var reason: String {
        switch code {
        case .notFound: "it does not exist; check the path, or rescan the folder if it was there before"
        case .permission:
            "permission denied; check the owner of it and of the directory above (ls -ld), and correct it with "
                + "chown or chmod"
        case .noSpace: "the disk is full; free some space, or deselect files that other devices hold"
        case .quota: "this user's disk quota is exceeded; free some space, or ask for a larger quota"
        case .readOnly:
            "the file system is mounted read-only; remount it for writing (check dmesg for disk errors first)"
        case .tooManyOpenFiles:
            "too many open files; retrying. If this persists, raise the limit (ulimit -n, LimitNOFILE=)"
        case .outOfMemory: "out of memory; retrying. If this persists, close other programs"
        case .exists: "a file of that name exists and was not replaced; rescan the folder"
        case .changedOnDisk: "the file was changed on this disk meanwhile and was not replaced; rescan the folder"
        case .notADirectory: "part of the path is a file instead of a directory; move that file elsewhere"
        case .isADirectory: "it is a directory; move it elsewhere or remove it first"
        case .notARegularFile:
            "it is a pipe, socket, device or link, which are not synced; move it elsewhere or ignore it"
        case .directoryNotEmpty: "the directory is not empty; move or remove its files first"
        case .outsideRoot:
            "part of the path is a symbolic link or is outside the folder; replace the link with a directory, or "
                + "add the link's target as a folder of its own"
        case .nameTooLong: "a name or the whole path is too long for this file system; rename it to something shorter"
        case .tooLarge:
            "the file system or a limit (ulimit -f) does not allow a file this large; raise it or ignore the file"
        case .crossesFileSystems: "source and destination are on different file systems; move both to the same one"
        case .busy: "another program is using it; retrying. If this persists, stop that program"
        case .notSupported:
            "not supported by this kernel or file system; use Linux 5.6 or later and a local file system"
        case .invalidPath: "not a valid path (empty, or with a NUL byte); correct it"
        case .nameRefused:
            "this disk does not allow the name (a character such as : or ?, a dot or space at its end, or a device of Windows "
                + "such as aux); rename it on a device that has it, or move the folder to another disk"
        case .changesNames:
            "this disk lists names in other Unicode characters than they were written in; mount it so that it keeps "
                + "them (sshfs to a Mac: -o modules=iconv,from_code=UTF-8-MAC,to_code=UTF-8), or use another disk"
        case .diskGone: "the disk was removed; connect or mount it again"
        case .io: "disk error; check dmesg and the disk, then try again"
        case .finished: "the staged file was already placed or discarded; stage it again"
        case .failed: "\(errno.map(systemText) ?? "no reason was given"); see the log"
        }
    }
}
