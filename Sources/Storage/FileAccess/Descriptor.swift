import CLinux
import Glibc

/// A file descriptor with one owner: closed when the owner goes.
final class Descriptor: Sendable {
    let number: CInt
    /// Asked before the disk is changed; handed on to all that is opened from here.
    let interposer: (any DiskInterposer)?
    /// Whether directories from here on are made writable where a change needs it; handed on likewise.
    let unlocksDirectories: Bool

    init(owning number: CInt, interposer: (any DiskInterposer)? = nil, unlocksDirectories: Bool = false) {
        self.number = number
        self.interposer = interposer
        self.unlocksDirectories = unlocksDirectories
    }

    deinit { _ = close(number) }

    /// Opens `path` beneath the directory `directory` without passing through a link or leaving the directory.
    static func openHeld(
        _ path: String, in directory: Descriptor, flags: CInt, permissions: mode_t = 0
    ) -> Result<Descriptor, SystemError> {
        let path = directory.spelling(of: path)
        if flags & O_CREAT != 0, let error = directory.objection(to: .create(directory: directory.number, name: path)) {
            return .failure(error)
        }
        var result = Result<CInt, SystemError>.failure(SystemError(number: EAGAIN))
        // openat2(2): EAGAIN says that a rename elsewhere raced with the walk and the kernel cannot tell; try again.
        for _ in 0..<16 {
            result = path.withCString { path in
                system {
                    clinux_openat2(
                        directory.number, path, flags | O_CLOEXEC, permissions, CLINUX_RESOLVE_HELD)
                }
            }
            guard case .failure(let error) = result, error.number == EAGAIN else { break }
        }
        return result.map {
            Descriptor(
                owning: $0, interposer: directory.interposer, unlocksDirectories: directory.unlocksDirectories)
        }
    }

    /// Opens a path of this machine, following links as any program does.
    static func openAnywhere(
        _ path: String, flags: CInt, interposer: (any DiskInterposer)? = nil, unlocksDirectories: Bool = false
    ) -> Result<Descriptor, SystemError> {
        path.withCString { path in
            system { clinux_openat2(AT_FDCWD, path, flags | O_CLOEXEC, 0, 0) }
        }.map { Descriptor(owning: $0, interposer: interposer, unlocksDirectories: unlocksDirectories) }
    }

    /// The name or path that leads to what the disk has under `path`; `path` itself on a real disk, which finds out by itself.
    func spelling(of path: String) -> String { interposer?.spelling(of: path, in: number) ?? path }

    /// Runs a call that changes the disk, unless an interposer has something against it.
    func changing<Value: SignedInteger>(
        _ change: @autoclosure () -> DiskChange, _ call: () -> Value
    ) -> Result<Value, SystemError> {
        guard let interposer else { return system(call) }
        switch interposer.verdict(on: change()) {
        case .proceed: return system(call)
        case .pretend: return .success(0)
        case .fail(let number): return .failure(SystemError(number: number))
        }
    }

    /// Runs a call that changes names in this directory, or in this and another.
    ///
    /// Where the permissions of a directory of this user's forbid that and the root unlocks directories, they are widened
    /// for as long as the call takes: a read-only directory of a folder still gets what other devices have in it.
    func changingNames<Value: SignedInteger>(
        and other: Descriptor? = nil, _ change: @autoclosure () -> DiskChange, _ call: () -> Value
    ) -> Result<Value, SystemError> {
        let result = changing(change(), call)
        guard case .failure(let error) = result, error.number == EACCES else { return result }
        func again() -> Result<Value, SystemError> { changing(change(), call) }
        return whileWritable { other?.whileWritable(again) ?? again() } ?? other?.whileWritable(again) ?? result
    }

    /// Runs `body` while this directory may be written to by its owner; nil if it may be anyway, or is not to be made so,
    /// or cannot.
    func whileWritable<Result>(_ body: () -> Result) -> Result? {
        let needed = mode_t(0o300)
        guard unlocksDirectories, case .success(let status) = rawStatus(), status.st_mode & S_IFMT == S_IFDIR,
            status.st_mode & needed != needed,
            case .success = setPermissions(status.st_mode & 0o7777 | needed)
        else { return nil }
        defer { _ = setPermissions(status.st_mode & 0o7777) }
        return body()
    }

    private func setPermissions(_ permissions: mode_t) -> Result<CInt, SystemError> {
        changing(.setPermissions(file: number)) { fchmod(number, permissions) }
    }

    /// What an interposer has against a call that cannot be pretended, because its result is used.
    private func objection(to change: @autoclosure () -> DiskChange) -> SystemError? {
        guard let interposer, case .fail(let number) = interposer.verdict(on: change()) else { return nil }
        return SystemError(number: number)
    }

    /// What the disk says about the open file, times of change and owner included.
    func rawStatus() -> Result<stat, SystemError> {
        var status = stat()
        return system { fstat(number, &status) }.map { _ in status }
    }

    func status() -> Result<FileStatus, SystemError> { rawStatus().map(FileStatus.init) }

    /// What the symbolic link `name` in this directory holds.
    func readSymlink(_ name: String) -> Result<[UInt8], SystemError> {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        return spelling(of: name).withCString { name in system { readlinkat(number, name, &target, target.count) } }
            .map { count in target.prefix(count).map { UInt8(bitPattern: $0) } }
    }

    /// Makes contents and status of the open file or directory durable.
    func synchronize() -> Result<Void, SystemError> {
        changing(.synchronize(file: number)) { fsync(number) }.map { _ in }
    }

    /// Sets the permissions of what a descriptor opened with O_PATH stands for, which `fchmod` refuses to do.
    func setPermissionsByPath(_ permissions: mode_t) -> Result<Void, SystemError> {
        // The kernel's link leads to the open file itself, whatever its name is by now.
        "/proc/self/fd/\(number)".withCString { path in
            changing(.setPermissions(file: number)) { chmod(path, permissions) }
        }.map { _ in }
    }
}
