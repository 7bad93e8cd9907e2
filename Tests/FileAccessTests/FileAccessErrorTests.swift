import Glibc
import SyncTestKit
import Testing

@testable import FileAccess

@Suite struct FileAccessErrorTests {
    static let meanings: [(Int32, FileAccessError.Operation, FileAccessError.Code)] = [
        (ENOENT, .open, .notFound), (ENOENT, .rename, .notFound), (ENOTDIR, .open, .notADirectory),
        (EXDEV, .open, .outsideRoot), (ELOOP, .open, .outsideRoot), (EXDEV, .inspect, .outsideRoot),
        (ELOOP, .createDirectory, .outsideRoot), (ELOOP, .setPermissions, .outsideRoot), (EAGAIN, .open, .busy),
        (ENXIO, .open, .notARegularFile),
        (EXDEV, .rename, .crossesFileSystems), (EXDEV, .link, .crossesFileSystems), (EEXIST, .rename, .exists),
        (ENOTEMPTY, .rename, .directoryNotEmpty), (EISDIR, .rename, .isADirectory), (EINVAL, .rename, .notSupported),
        (EPERM, .link, .notSupported), (EPERM, .rename, .permission), (ENOTEMPTY, .removeDirectory, .directoryNotEmpty),
        (EEXIST, .removeDirectory, .directoryNotEmpty), (EISDIR, .remove, .isADirectory),
        (EACCES, .open, .permission), (EPERM, .setPermissions, .permission), (EACCES, .create, .permission),
        (ENOSPC, .write, .noSpace), (ENOSPC, .createDirectory, .noSpace), (EDQUOT, .write, .quota),
        (EROFS, .create, .readOnly), (EROFS, .remove, .readOnly), (EMFILE, .open, .tooManyOpenFiles),
        (ENFILE, .open, .tooManyOpenFiles), (ENOMEM, .list, .outOfMemory), (ENAMETOOLONG, .create, .nameTooLong),
        (EFBIG, .write, .tooLarge), (EINVAL, .truncate, .tooLarge), (EIO, .read, .io), (EIO, .synchronize, .io),
        (ENOSPC, .synchronize, .noSpace), (EINVAL, .synchronize, .notSupported), (EWOULDBLOCK, .lock, .busy),
        (EBUSY, .remove, .busy), (ETXTBSY, .write, .busy), (ENOSYS, .open, .notSupported), (ESTALE, .open, .diskGone),
        (ENODEV, .open, .diskGone), (ENXIO, .read, .diskGone), (ENOTCONN, .list, .diskGone), (EBADF, .read, .failed),
    ]

    @Test(arguments: meanings)
    func errnoIsUnderstood(number: Int32, operation: FileAccessError.Operation, code: FileAccessError.Code) {
        let error = FileAccessError(SystemError(number: number), operation, path: "a/b")
        #expect(error.code == code)
        #expect(error.errno == number)
        #expect(error.operation == operation)
        #expect(error.path == "a/b")
    }

    @Test func onlyWhatPassesByItselfIsTransient() {
        let transient = FileAccessError.Code.allCases.filter { FileAccessError($0, .open, path: "a").isTransient }
        #expect(Set(transient) == [.busy, .tooManyOpenFiles, .outOfMemory])
    }

    @Test func aFileThatAProgramHasOpenIsSaidToBe() {
        let text = FileAccessError(.busy, .remove, path: "old.log").message(from: "logs:")
        #expect(text == "cannot remove “logs:old.log”: a program has it open for writing; close it first")
        // A mount point, for one.
        let refused = FileAccessError(.busy, .remove, path: "d", errno: EBUSY).message
        #expect(!refused.contains("open for writing"))
    }

    @Test func everyMessageNamesPathFlawAndRemedy() {
        let messages = FileAccessError.Code.allCases.map { FileAccessError($0, .open, path: "a/b").message }
        #expect(Set(messages).count == messages.count)
        for message in messages {
            #expect(message.hasPrefix("cannot open “a/b”: "))
            #expect(message.contains("; "), "no remedy in: \(message)")
        }
        let disk = FileAccessError(SystemError(number: ENOSPC), .write, path: "a")
        #expect(
            disk.message
                == "cannot write to “a”: the disk is full; free some space, or deselect files that other devices hold")
        #expect(FileAccessError(SystemError(number: EDOM), .read, path: "a").message.contains("Numerical argument"))
    }

    @Test func aNameCannotWriteIntoTheTerminal() {
        let error = FileAccessError(
            .notFound, .open, path: "a\u{1B}[2J\n\u{202E}b" + String(repeating: "x", count: 5000))
        #expect(error.message.contains("“a\\u{1b}[2J\\u{a}\\u{202e}bxxx"))
        #expect(error.message.count < 400)
    }

    @Test func theDisksOwnErrorsCome() throws {
        let full = try Descriptor.openAnywhere("/dev/full", flags: O_RDWR).get()
        let error = failure { try OpenFile(full, path: "x").write([1, 2, 3], at: 0) }
        #expect(error == FileAccessError(.noSpace, .write, path: "x", errno: ENOSPC))

        let directory = try TemporaryTree()
        try directory.write("x", to: "f")
        let readOnly = try Descriptor.openAnywhere(directory.path("f"), flags: O_RDONLY).get()
        #expect(failure { try OpenFile(readOnly, path: "x").write([1], at: 0) }?.errno == EBADF)
        #expect(failure { _ = try RootDirectory(path: "/no/such/directory") }?.code == .notFound)
        #expect(failure { _ = try RootDirectory(path: "/dev/null") }?.code == .notADirectory)
        #expect(failure { _ = try RootDirectory(path: "") }?.code == .invalidPath)
        // A NUL would end the path early for the kernel.
        #expect(failure { _ = try RootDirectory(path: "/tmp\0/x") }?.code == .invalidPath)
        #expect(failure { _ = try RootDirectory(creating: "/tmp\0/x") }?.code == .invalidPath)
        #expect(failure { _ = try RootDirectory(creating: "/dev/null/x") }?.code == .notADirectory)
        #expect(failure { _ = try RootDirectory(path: "/" + String(repeating: "a", count: 256)) }?.code == .nameTooLong)
    }

    @Test func aFileBeyondTheLimitIsTooLarge() throws {
        let directory = try TemporaryTree()
        let staged = try directory.root.stage(relative("big"))
        // The limit is the process's: far above what other tests write. Without the handler its signal would end us.
        var before = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &before)
        var limit = before
        limit.rlim_cur = min(1 << 36, before.rlim_max)
        let handler = signal(SIGXFSZ, SIG_IGN)
        setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
        defer {
            setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &before)
            signal(SIGXFSZ, handler)
        }
        #expect(failure { try staged.write([1], at: 1 << 36) }?.code == .tooLarge)
        #expect(failure { try staged.truncate(to: 1 << 37) }?.code == .tooLarge)
    }

    @Test func whatIsNotPermittedIsSaid() throws {
        let directory = try TemporaryTree()
        let root = directory.root
        try directory.write("secret", to: "closed")
        try directory.makeDirectory("locked/inner")
        try root.setPermissions(0, of: relative("closed"))
        try root.setPermissions(0o500, of: relative("locked"))
        try withoutPrivileges {
            #expect(failure { _ = try root.open(reading: relative("closed")) }?.code == .permission)
            #expect(failure { _ = try root.stage(relative("locked/x")) }?.code == .permission)
            #expect(failure { _ = try root.createDirectories(relative("locked/y")) }?.code == .permission)
        }
        try root.setPermissions(0o700, of: relative("locked"))
        #expect(directory.names("locked") == ["inner"])
    }

    /// A directory of another user that everyone may look into.
    @Test(arguments: [false, true]) func aDirectoryOfAnotherUserIsNamed(unlocks: Bool) throws {
        let directory = try TemporaryTree()
        let root = try RootDirectory(path: directory.root.path, unlocksDirectories: unlocks)
        try directory.makeDirectory("theirs")
        // A user who is not root owns what the test makes, and is held back by its mode alone.
        try root.setPermissions(getuid() == 0 ? 0o755 : 0o555, of: relative("theirs"))
        guard getuid() == 0 || !unlocks else { return }
        try withoutPrivileges {
            let error = failure { _ = try root.stage(relative("theirs/x")) }
            #expect(error?.code == .permission)
            #expect(error?.isTransient == false)
            #expect(error?.message.hasPrefix("“theirs” is not writable by this user; ") == true)
            let told = error?.message(from: "library:")
            #expect(told?.hasPrefix("“library:theirs” is not writable by this user; ") == true)
        }
        #expect(directory.names("theirs").isEmpty)
        try root.setPermissions(0o755, of: relative("theirs"))
    }
}
