import CLinux
import Glibc

/// One name in a directory.
package struct DirectoryEntry: Hashable, Sendable {
    /// The name; nil if it is not UTF-8 and so cannot be synced.
    package let name: String?
    /// What the directory says about it; the file itself was not looked at.
    package let type: FileType
    private let otherBytes: [UInt8]

    init(nameBytes: [UInt8], type: FileType) {
        name = String(validating: nameBytes, as: UTF8.self)
        otherBytes = name == nil ? nameBytes : []
        self.type = type
    }

    /// The name as it is on the disk.
    package var nameBytes: [UInt8] { name.map { Array($0.utf8) } ?? otherBytes }

    /// Whether the name is UTF-8; if not, show it with `displayName` and leave it alone.
    package var isNameText: Bool { name != nil }

    /// The name for people: what is not UTF-8 is shown as U+FFFD.
    package var displayName: String { name ?? String(decoding: otherBytes, as: UTF8.self) }
}

/// An open directory beneath a root.
package final class Directory: Sendable {
    let descriptor: Descriptor
    /// Where it is beneath the root; nil for the root itself.
    package let path: RelativePath?
    let rootPath: String
    /// What its disk is like.
    package let traits: DiskTraits
    let disks: KnownDisks

    /// - Throws: as `DiskQuestion.ask`, where its disk is met for the first time.
    init(
        _ descriptor: Descriptor, path: RelativePath?, rootPath: String, disks: KnownDisks
    ) throws(FileAccessError) {
        self.descriptor = descriptor
        self.path = path
        self.rootPath = rootPath
        self.disks = disks
        traits =
            if let path { try disks.traits(of: descriptor, at: path) } else { disks.root ?? DiskTraits() }
    }

    /// The root of a disk that is being asked what it is like.
    init(_ descriptor: Descriptor, rootPath: String) {
        self.descriptor = descriptor
        path = nil
        self.rootPath = rootPath
        disks = KnownDisks()
        traits = DiskTraits(foldsCase: true)
    }

    /// Whether its disk takes several spellings for one name.
    package var foldsNames: Bool { traits.foldsNames }

    /// Where its disk does, the names for which files are being put together.
    var claims: FoldedClaims? { foldsNames ? disks.claims : nil }

    /// The path for messages.
    var displayPath: String { path?.text ?? rootPath }

    /// The path of `name` in here, for messages.
    func displayPath(of name: String) -> String { path.map { "\($0.text)/\(name)" } ?? name }

    package func status() throws(FileAccessError) -> FileStatus {
        try descriptor.status().orThrow(.inspect, path: displayPath)
    }

    /// Makes names added to and removed from this directory durable.
    package func synchronize() throws(FileAccessError) {
        try descriptor.synchronize().orThrow(.synchronize, path: displayPath)
    }

    /// Calls `body` with each name, in no order, without `.` and `..`, until it gives false.
    ///
    /// Holds one entry at a time, whatever the size of the directory. Names added or removed meanwhile may be missing.
    package func forEachEntry(_ body: (DirectoryEntry) -> Bool) throws(FileAccessError) {
        // A descriptor of its own: the position in the directory is the descriptor's.
        let own = try Descriptor.openHeld(".", in: descriptor, flags: O_RDONLY | O_DIRECTORY)
            .orThrow(.list, path: displayPath)
        let duplicate = try system { fcntl(own.number, F_DUPFD_CLOEXEC, 0) }.orThrow(.list, path: displayPath)
        guard let stream = fdopendir(duplicate) else {
            let error = SystemError(number: Glibc.errno)
            _ = close(duplicate)
            throw FileAccessError(error, .list, path: displayPath)
        }
        defer { closedir(stream) }
        while true {
            Glibc.errno = 0
            guard let record = readdir(stream) else {
                let error = SystemError(number: Glibc.errno)
                guard error.number != 0 else { return }
                throw FileAccessError(error, .list, path: displayPath)
            }
            guard let entry = entry(record), !body(entry) else { continue }
            return
        }
    }

    /// All names, in no order, without `.` and `..`.
    package func list() throws(FileAccessError) -> [DirectoryEntry] {
        var entries: [DirectoryEntry] = []
        try forEachEntry { entry in
            entries.append(entry)
            return true
        }
        return entries
    }

    /// The status of what `entry` names, links not followed; nil if it is gone.
    package func status(of entry: DirectoryEntry) throws(FileAccessError) -> FileStatus? {
        guard !entry.isNameText else { return try status(ofName: entry.displayName) }
        let result = (entry.nameBytes + [0]).withUnsafeBufferPointer { bytes in
            bytes.withMemoryRebound(to: CChar.self) { rawStatus($0.baseAddress) }
        }
        return try present(result, name: entry.displayName)
    }

    private func entry(_ record: UnsafeMutablePointer<dirent>) -> DirectoryEntry? {
        // The record is as long as its name needs; to copy a whole `dirent` would read past it.
        guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { return nil }
        let name = UnsafeRawPointer(record) + offset
        let bytes = UnsafeRawBufferPointer(start: name, count: strlen(name.assumingMemoryBound(to: CChar.self)))
        if bytes.elementsEqual(".".utf8) || bytes.elementsEqual("..".utf8) { return nil }
        let type: FileType
        switch Int(record.pointee.d_type) {
        case Int(DT_REG): type = .regular
        case Int(DT_DIR): type = .directory
        case Int(DT_LNK): type = .symlink
        case Int(DT_UNKNOWN):
            // Some file systems do not keep types in directories. Gone meanwhile is as good as never listed.
            guard case .success(let status) = rawStatus(name.assumingMemoryBound(to: CChar.self)) else { return nil }
            type = status.type
        default: type = .other
        }
        return DirectoryEntry(nameBytes: Array(bytes), type: type)
    }

    // MARK: by name, which is one component of a path or comes from the directory itself

    private func rawStatus(_ name: UnsafePointer<CChar>?) -> Result<FileStatus, SystemError> {
        guard let name else { return .failure(SystemError(number: EINVAL)) }
        var status = stat()
        return system { fstatat(descriptor.number, name, &status, AT_SYMLINK_NOFOLLOW) }
            .map { _ in FileStatus(status) }
    }

    private func present(
        _ result: Result<FileStatus, SystemError>, name: String
    ) throws(FileAccessError) -> FileStatus? {
        if case .failure(let error) = result, error.number == ENOENT { return nil }
        return try result.orThrow(.inspect, path: displayPath(of: name))
    }

    /// The status of one name in here, links not followed; nil if nothing has it.
    package func status(ofName name: String) throws(FileAccessError) -> FileStatus? {
        try present(descriptor.spelling(of: name).withCString { rawStatus($0) }, name: name)
    }

    func unlink(_ name: String) -> Result<Void, SystemError> {
        let name = descriptor.spelling(of: name)
        return name.withCString { text in
            descriptor.changingNames(.unlink(directory: descriptor.number, name: name)) {
                unlinkat(descriptor.number, text, 0)
            }
        }.map { _ in }
    }

    func removeDirectory(_ name: String) -> Result<CInt, SystemError> {
        let name = descriptor.spelling(of: name)
        return name.withCString { text in
            descriptor.changingNames(.removeDirectory(directory: descriptor.number, name: name)) {
                unlinkat(descriptor.number, text, AT_REMOVEDIR)
            }
        }
    }

    func renameTo(
        _ target: String, in destination: Directory, from name: String, flags: UInt32
    ) -> Result<Void, SystemError> {
        let kind: DiskChange.RenameKind =
            switch flags {
            case CLINUX_RENAME_EXCHANGE: .swapping
            case CLINUX_RENAME_NOREPLACE: .keeping
            default: .replacing
            }
        let (name, target) = spellings(of: name, and: target, in: destination, isReplacing: kind == .replacing)
        let change = DiskChange.rename(
            directory: descriptor.number, name: name, toDirectory: destination.descriptor.number, toName: target,
            kind: kind)
        return name.withCString { name in
            target.withCString { target in
                descriptor.changingNames(and: destination.descriptor, change) {
                    clinux_renameat2(descriptor.number, name, destination.descriptor.number, target, flags)
                }
            }
        }.map { _ in }
    }

    /// Both names of a rename as the disk has them. What gives a file the name that it has, in other letters, changes the letters.
    private func spellings(
        of name: String, and target: String, in destination: Directory, isReplacing: Bool
    ) -> (String, String) {
        guard descriptor.interposer != nil else { return (name, target) }
        let (source, found) = (descriptor.spelling(of: name), destination.descriptor.spelling(of: target))
        let isSame =
            isReplacing && source.utf8.elementsEqual(found.utf8) && !found.utf8.elementsEqual(target.utf8)
            && path?.text == destination.path?.text
        return (source, isSame ? target : found)
    }

    /// Swaps what two names of this directory stand for, at one instant.
    func exchange(_ name: String, with other: String) -> Result<Void, SystemError> {
        renameTo(other, in: self, from: name, flags: CLINUX_RENAME_EXCHANGE)
    }

    /// Moves `name` to `target` in `destination`, if what is there is as `replacement` says. Throws `nameRefused` if the disk cannot
    /// have the new name.
    func move(
        _ name: String, to target: String, in destination: Directory, replacing replacement: Replacement
    ) throws(FileAccessError) {
        do throws(FileAccessError) {
            try moveOrFail(name, to: target, in: destination, replacing: replacement)
        } catch {
            // A share of Samba says of a name that its character set makes too long that nothing is there.
            guard error.code == .notFound, (try? status(ofName: name)) != nil,
                case .success(let directory) = destination.descriptor.rawStatus(), directory.st_nlink > 0
            else { throw error }
            throw FileAccessError(.nameRefused, .rename, path: destination.displayPath(of: target))
        }
    }

    private func moveOrFail(
        _ name: String, to target: String, in destination: Directory, replacing replacement: Replacement
    ) throws(FileAccessError) {
        let path = destination.displayPath(of: target)
        switch replacement {
        case .nothing:
            let result = renameTo(target, in: destination, from: name, flags: CLINUX_RENAME_NOREPLACE)
            if case .failure(let error) = result, error.number == EINVAL || error.number == ENOSYS {
                try moveByLinking(name, to: target, in: destination)
            } else {
                try result.orThrow(.rename, path: path)
            }
        case .anything:
            try renameTo(target, in: destination, from: name, flags: 0).orThrow(.rename, path: path)
        case .exactly(let expected): try destination.replace(target, by: name, in: self, expecting: expected)
        }
    }

    /// Moves a file or directory without replacing anything where the file system does not know RENAME_NOREPLACE.
    func moveByLinking(_ name: String, to target: String, in destination: Directory) throws(FileAccessError) {
        let path = destination.displayPath(of: target)
        let linkName = destination.descriptor.spelling(of: target)
        let change = DiskChange.link(
            directory: descriptor.number, name: descriptor.spelling(of: name),
            toDirectory: destination.descriptor.number, toName: linkName)
        let linked = descriptor.spelling(of: name).withCString { name in
            linkName.withCString { target in
                destination.descriptor.changingNames(change) {
                    linkat(descriptor.number, name, destination.descriptor.number, target, 0)
                }
            }
        }
        // No second names either, as on exFAT; and no directory ever has one.
        if case .failure(let error) = linked, [EPERM, EOPNOTSUPP, ENOSYS].contains(error.number) {
            return try moveByClaiming(name, to: target, in: destination)
        }
        _ = try linked.orThrow(.link, path: path)
        try unlink(name).orThrow(.remove, path: displayPath(of: name))
    }

    /// The same where there are no second names: takes the target's name with something empty, which fails if anything has it, and
    /// replaces that. What somebody else writes into it in the instant between is lost.
    func moveByClaiming(_ name: String, to target: String, in destination: Directory) throws(FileAccessError) {
        let path = destination.displayPath(of: target)
        guard let source = try status(ofName: name) else {
            throw FileAccessError(.notFound, .rename, path: displayPath(of: name))
        }
        let isDirectory = source.type == .directory
        if isDirectory {
            let parent = destination.descriptor
            let name = parent.spelling(of: target)
            let made = name.withCString { text in
                parent.changingNames(.makeDirectory(directory: parent.number, name: name)) {
                    mkdirat(parent.number, text, 0o700)
                }
            }
            _ = try made.orThrow(.rename, path: path)
        } else {
            _ = try Descriptor.openHeld(
                target, in: destination.descriptor, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, permissions: 0o600
            ).orThrow(.rename, path: path)
        }
        do throws(FileAccessError) {
            try renameTo(target, in: destination, from: name, flags: 0).orThrow(.rename, path: path)
        } catch {
            if isDirectory {
                _ = destination.removeDirectory(target)
            } else if let claim = try? destination.status(ofName: target), claim.size == 0 {
                _ = destination.unlink(target)
            }
            throw error
        }
    }

    /// Throws `changedOnDisk` unless `name` is what `expected` says, and `isADirectory` if that is a directory.
    func check(_ name: String, isStill expected: FileStatus) throws(FileAccessError) {
        guard let now = try status(ofName: name), now.isUnchanged(since: expected) else {
            throw FileAccessError(.changedOnDisk, .rename, path: displayPath(of: name))
        }
        guard now.type != .directory else {
            throw FileAccessError(.isADirectory, .rename, path: displayPath(of: name))
        }
    }
}
