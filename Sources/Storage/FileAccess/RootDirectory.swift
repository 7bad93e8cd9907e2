import CLinux
import Glibc

/// The directory that a folder lives in, held open: all access to what is beneath starts from here.
///
/// No call passes through a symbolic link or leaves the root, even when links and directories are swapped while it
/// runs: every path is opened with `openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)`, which
/// needs Linux 5.6. A path that would is refused with the code `outsideRoot`. Calls block their thread until the disk
/// has answered; tasks may call at the same time.
package final class RootDirectory: Sendable {
    let descriptor: Descriptor
    /// The path that the root was opened by.
    package let path: String
    /// The disk that the root is on; directories mounted beneath it are on others.
    let device: UInt64
    let disks = KnownDisks()

    /// Opens the directory at `path`, which is trusted and may lead through links.
    ///
    /// - Parameters:
    ///   - interposer: Asked before anything beneath is changed; for simulations.
    ///   - unlocksDirectories: Whether a directory beneath that belongs to this user and is read-only is made writable for
    ///     as long as a change in it takes. For the roots of folders alone: in any other place the user's permissions
    ///     stand, and a change that they forbid fails with `permission`.
    package init(
        path: String, interposer: (any DiskInterposer)? = nil, unlocksDirectories: Bool = false
    ) throws(FileAccessError) {
        guard !path.isEmpty, !path.utf8.contains(0) else { throw FileAccessError(.invalidPath, .open, path: path) }
        descriptor = try Descriptor.openAnywhere(
            path, flags: O_RDONLY | O_DIRECTORY, interposer: interposer, unlocksDirectories: unlocksDirectories
        ).orThrow(.open, path: path)
        device = try descriptor.status().orThrow(.inspect, path: path).device
        self.path = path
    }

    /// Opens the directory at `path`, as another root was opened.
    package convenience init(path: String, like other: RootDirectory) throws(FileAccessError) {
        try self.init(path: path, interposer: other.descriptor.interposer)
    }

    /// Opens the directory at `path` and makes it and those above it if they are missing.
    ///
    /// - Parameters:
    ///   - permissions: What the directories that are made get, less the process's umask; one that is there keeps its own.
    ///   - other: Its interposer is asked here as well.
    package convenience init(
        creating path: String, permissions: UInt32 = 0o777, like other: RootDirectory? = nil
    ) throws(FileAccessError) {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw FileAccessError(.invalidPath, .createDirectory, path: path)
        }
        let bytes = path.utf8
        var end = bytes.startIndex
        while end < bytes.endIndex {
            let nameStart = bytes[end...].firstIndex { $0 != UInt8(ascii: "/") } ?? bytes.endIndex
            guard nameStart < bytes.endIndex else { break }
            end = bytes[nameStart...].firstIndex(of: UInt8(ascii: "/")) ?? bytes.endIndex
            let prefix = String(path[..<end])
            let made = prefix.withCString { prefix in system { mkdir(prefix, mode_t(permissions & 0o777)) } }
            // One that is there may be refused for other reasons than that, as on a disk that is read-only.
            if case .failure(let error) = made, case .failure = Descriptor.openAnywhere(prefix, flags: CLINUX_O_PATH) {
                throw FileAccessError(error, .createDirectory, path: prefix)
            }
        }
        try self.init(path: path, interposer: other?.descriptor.interposer)
    }

    /// The directory at `path` beneath another root, as a root of its own.
    package init(beneath root: RootDirectory, _ path: RelativePath) throws(FileAccessError) {
        descriptor = try Descriptor.openHeld(path.text, in: root.descriptor, flags: O_RDONLY | O_DIRECTORY)
            .orThrow(.open, path: path.text)
        device = try descriptor.status().orThrow(.inspect, path: path.text).device
        self.path = root.path + "/" + path.text
    }

    /// Whether this is `other` or somewhere below it, whatever links and mounts lead there.
    package func isSameOrInside(_ other: RootDirectory) throws(FileAccessError) -> Bool {
        let wanted = try other.descriptor.status().orThrow(.inspect, path: other.path)
        var current = descriptor
        // As deep as paths of Linux can be.
        for _ in 0..<2048 {
            let here = try current.status().orThrow(.inspect, path: path)
            if here.isSameFile(as: wanted) { return true }
            // Out of this root, which `openHeld` would not do.
            let opened = system { openat(current.number, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
            let parent = Descriptor(owning: try opened.orThrow(.inspect, path: path))
            if try parent.status().orThrow(.inspect, path: path).isSameFile(as: here) { return false }
            current = parent
        }
        return true
    }

    /// Whether the path that the root was opened by still leads to it: false once it was moved, removed or unmounted.
    package var isInPlace: Bool {
        guard case .success(let current) = Descriptor.openAnywhere(path, flags: CLINUX_O_PATH | O_DIRECTORY),
            case .success(let there) = current.status(), case .success(let here) = descriptor.status()
        else { return false }
        return there.isSameFile(as: here) && here.linkCount > 0
    }

    // MARK: looking

    /// The status of the root itself.
    package func status() throws(FileAccessError) -> FileStatus {
        try descriptor.status().orThrow(.inspect, path: path)
    }

    /// The status of what is at `path`, a link not followed; nil if nothing is there or a directory above is missing.
    package func status(of path: RelativePath) throws(FileAccessError) -> FileStatus? {
        switch Descriptor.openHeld(path.text, in: descriptor, flags: CLINUX_O_PATH | O_NOFOLLOW) {
        case .success(let file): return try file.status().orThrow(.inspect, path: path.text)
        case .failure(let error) where error.number == ENOENT || error.number == ENOTDIR: return nil
        case .failure(let error): throw FileAccessError(error, .inspect, path: path.text)
        }
    }

    /// How many bytes of the file at `path` take space on its disk: of one that has its size and no contents yet, none; 0 if
    /// nothing is there.
    package func writtenByteCount(of path: RelativePath) throws(FileAccessError) -> Int64 {
        switch Descriptor.openHeld(path.text, in: descriptor, flags: CLINUX_O_PATH | O_NOFOLLOW) {
        // stat(2): in units of 512 bytes, whatever the blocks of the disk.
        case .success(let file): return Int64(try file.rawStatus().orThrow(.inspect, path: path.text).st_blocks) << 9
        case .failure(let error) where error.number == ENOENT || error.number == ENOTDIR: return 0
        case .failure(let error): throw FileAccessError(error, .inspect, path: path.text)
        }
    }

    /// The first of the names above `path` that is there and no directory, links not followed; nil if none is.
    package func obstacle(above path: RelativePath) throws(FileAccessError) -> RelativePath? {
        var names = ""
        for component in path.components.dropLast() {
            names += (names.isEmpty ? "" : "/") + component
            guard let ancestor = RelativePath(names), let status = try status(of: ancestor) else { return nil }
            if status.type != .directory { return ancestor }
        }
        return nil
    }

    /// The status of what is at `path`, and when it was read or changed last, as far as the disk keeps that (`noatime` keeps
    /// only when it was made); nil if nothing is there.
    package func lastUse(of path: RelativePath) throws(FileAccessError) -> (status: FileStatus, time: FileTime)? {
        switch Descriptor.openHeld(path.text, in: descriptor, flags: CLINUX_O_PATH | O_NOFOLLOW) {
        case .success(let file):
            let raw = try file.rawStatus().orThrow(.inspect, path: path.text)
            return (FileStatus(raw), max(FileTime(raw.st_atim), FileTime(raw.st_mtim)))
        case .failure(let error) where error.number == ENOENT || error.number == ENOTDIR: return nil
        case .failure(let error): throw FileAccessError(error, .inspect, path: path.text)
        }
    }

    /// Opens a directory; nil stands for the root.
    package func directory(_ path: RelativePath?) throws(FileAccessError) -> Directory {
        guard let path else {
            return try Directory(descriptor, path: nil, rootPath: self.path, disks: disks)
        }
        let opened = try Descriptor.openHeld(path.text, in: descriptor, flags: O_RDONLY | O_DIRECTORY)
            .orThrow(.open, path: path.text)
        return try Directory(opened, path: path, rootPath: self.path, disks: disks)
    }

    /// The names in a directory, in no order; nil stands for the root.
    package func list(_ directory: RelativePath?) throws(FileAccessError) -> [DirectoryEntry] {
        try self.directory(directory).list()
    }

    /// Opens a regular file for reading; anything else is refused with `notARegularFile` or `isADirectory`.
    package func open(reading path: RelativePath) throws(FileAccessError) -> OpenFile {
        try OpenFile.open(reading: path.text, in: descriptor, path: path.text)
    }

    /// The bytes that a symbolic link holds; it is not followed.
    package func readSymlink(_ path: RelativePath) throws(FileAccessError) -> [UInt8] {
        let link = try Descriptor.openHeld(path.text, in: descriptor, flags: CLINUX_O_PATH | O_NOFOLLOW)
            .orThrow(.readSymlink, path: path.text)
        guard try link.status().orThrow(.inspect, path: path.text).type == .symlink else {
            throw FileAccessError(.failed, .readSymlink, path: path.text, errno: EINVAL)
        }
        // An empty path stands for the descriptor itself.
        return try link.readSymlink("").orThrow(.readSymlink, path: path.text)
    }

    /// How much the disk beneath the root holds.
    package func freeSpace() throws(FileAccessError) -> FreeSpace {
        var status = statvfs()
        _ = try system { fstatvfs(descriptor.number, &status) }.orThrow(.measureSpace, path: path)
        return FreeSpace(status)
    }

    /// Makes everything durable that was written before on the root's file system, by anyone.
    package func synchronizeFileSystem() throws(FileAccessError) {
        _ = try descriptor.changing(.synchronizeFileSystem) { clinux_syncfs(descriptor.number) }
            .orThrow(.synchronize, path: path)
    }

    /// Makes what any program has written or removed at these paths durable: up to seven one by one; more, or if one of them
    /// cannot be opened, with the rest of the root's file system.
    package func makeDurable(_ paths: [RelativePath]) throws(FileAccessError) {
        guard paths.count < Self.groupThreshold else { return try synchronizeFileSystem() }
        do throws(FileAccessError) {
            for path in paths {
                switch try status(of: path)?.type {
                case .regular: try open(reading: path).synchronize()
                case .directory: try directory(path).synchronize()
                default: break
                }
            }
            // In one order: what fails is the same in each run of a simulation.
            for parent in Set(paths.map { $0.parent?.text ?? "" }).sorted() {
                try directory(RelativePath(parent)).synchronize()
            }
        } catch {
            try synchronizeFileSystem()
        }
    }
}
