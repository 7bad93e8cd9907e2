import Phrases

/// Why the disk did not do what it was asked.
///
/// What a system call's errno means is decided in `FileAccessError+Syscall.swift`.
package struct FileAccessError: PhrasedError, Hashable, Sendable, CustomStringConvertible {
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
        /// A directory that is to be an archive of old versions is missing, or is none.
        case noArchive = "no-archive"
        case io
        /// The staged file was committed or discarded before.
        case finished
        case failed
    }

    /// What was being done.
    package enum Operation: Sendable, CaseIterable {
        case open, create
        /// Makes a file in the directory that the error's path names.
        case createIn
        case createDirectory, createSymlink
        case inspect, list, read, readSymlink, write
        /// Sets the size.
        case truncate
        /// Makes durable.
        case synchronize
        case setPermissions, setModificationTime
        /// Moves or links into place.
        case rename, link
        case remove, removeDirectory, lock, measureSpace
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
    package var text: Phrase {
        let name = quoted(path)
        guard code != .permission || operation != .createIn else {
            return Phrase(
                "\(name) is not writable by this user; `ls -ld` shows its owner and permissions, `chmod` or "
                    + "`chown` changes them")
        }
        let reason = reason
        return switch operation {
        case .open: Phrase("cannot open \(name): \(reason)")
        case .create: Phrase("cannot create \(name): \(reason)")
        case .createIn: Phrase("cannot create a file in \(name): \(reason)")
        case .createDirectory: Phrase("cannot create the directory \(name): \(reason)")
        case .createSymlink: Phrase("cannot create the symbolic link \(name): \(reason)")
        case .inspect: Phrase("cannot look at \(name): \(reason)")
        case .list: Phrase("cannot list \(name): \(reason)")
        case .read: Phrase("cannot read \(name): \(reason)")
        case .readSymlink: Phrase("cannot read the symbolic link \(name): \(reason)")
        case .write: Phrase("cannot write to \(name): \(reason)")
        case .truncate: Phrase("cannot set the size of \(name): \(reason)")
        case .synchronize: Phrase("cannot make durable \(name): \(reason)")
        case .setPermissions: Phrase("cannot set the permissions of \(name): \(reason)")
        case .setModificationTime: Phrase("cannot set the time of \(name): \(reason)")
        case .rename: Phrase("cannot move into place \(name): \(reason)")
        case .link: Phrase("cannot link into place \(name): \(reason)")
        case .remove: Phrase("cannot remove \(name): \(reason)")
        case .removeDirectory: Phrase("cannot remove the directory \(name): \(reason)")
        case .lock: Phrase("cannot lock \(name): \(reason)")
        case .measureSpace: Phrase("cannot measure the free space at \(name): \(reason)")
        }
    }

    /// The same with the path told from another place than the root.
    ///
    /// - Parameter place: what stands before the path, such as `library:` or `/tmp/out/`; an absolute path stays as it is.
    package func text(from place: String) -> Phrase {
        guard !path.hasPrefix("/") else { return text }
        return FileAccessError(code, operation, path: place + path, errno: errno).text
    }

    package func message(from place: String) -> String { text(from: place).english }

    package var description: String { message }

    private var reason: Phrase {
        switch code {
        case .notFound: Phrase("it does not exist; check the path")
        case .permission:
            Phrase(
                "permission denied; check the owner of it and of the directory above (ls -ld), and correct it with "
                    + "chown or chmod")
        case .noSpace: Phrase("the disk is full; free some space, or deselect files that other devices hold")
        case .quota: Phrase("this user's disk quota is exceeded; free some space, or ask for a larger quota")
        case .readOnly:
            Phrase("the file system is mounted read-only; remount it for writing (check dmesg for disk errors first)")
        case .tooManyOpenFiles:
            Phrase("too many open files; retrying. If this persists, raise the limit (ulimit -n, LimitNOFILE=)")
        case .outOfMemory: Phrase("out of memory; retrying. If this persists, close other programs")
        case .exists: Phrase("a file of that name exists and was not replaced; rescan the folder")
        case .changedOnDisk:
            Phrase("the file was changed on this disk meanwhile and was not replaced; rescan the folder")
        case .notADirectory: Phrase("part of the path is a file instead of a directory; move that file elsewhere")
        case .isADirectory: Phrase("it is a directory; move it elsewhere or remove it first")
        case .notARegularFile:
            Phrase("it is a pipe, socket, device or link, which are not synced; move it elsewhere or ignore it")
        case .directoryNotEmpty: Phrase("the directory is not empty; move or remove its files first")
        case .outsideRoot:
            Phrase(
                "part of the path is a symbolic link or is outside the folder; replace the link with a directory, or "
                    + "add the link's target as a folder of its own")
        case .nameTooLong:
            Phrase("a name or the whole path is too long for this file system; rename it to something shorter")
        case .tooLarge:
            Phrase(
                "the file system or a limit (ulimit -f) does not allow a file this large; raise it or ignore the file")
        case .crossesFileSystems:
            Phrase("source and destination are on different file systems; move both to the same one")
        case .busy where errno == nil && [.rename, .remove].contains(operation):
            // What `RootDirectory.isBeingWritten` has found; what the kernel refuses has a number.
            Phrase("a program has it open for writing; close it first")
        case .busy: Phrase("another program is using it; retrying. If this persists, stop that program")
        case .notSupported:
            Phrase("not supported by this kernel or file system; use Linux 5.6 or later and a local file system")
        case .invalidPath: Phrase("not a valid path (empty, or with a NUL byte); correct it")
        case .nameRefused:
            Phrase(
                "this disk does not allow the name (a character such as : or ?, a dot or space at its end, or a device of Windows "
                    + "such as aux); rename it on a device that has it, or move the folder to another disk")
        case .changesNames:
            Phrase(
                "this disk lists names in other Unicode characters than they were written in; mount it so that it keeps "
                    + "them (sshfs to a Mac: -o modules=iconv,from_code=UTF-8-MAC,to_code=UTF-8), or use another disk")
        case .diskGone: Phrase("the disk was removed; connect or mount it again")
        case .noArchive:
            Phrase(
                "no archive of old versions is there (no `.synctrain-archive`); mount its disk, or set versions-path to an empty "
                    + "directory. If old versions of this folder are there, create that file beside them")
        case .io: Phrase("disk error; check dmesg and the disk, then try again")
        case .finished: Phrase("the staged file was already placed or discarded; stage it again")
        case .failed:
            errno.map { Phrase("\(systemText($0)); see the log") } ?? Phrase("no reason was given; see the log")
        }
    }
}
