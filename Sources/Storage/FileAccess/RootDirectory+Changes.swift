import CLinux
import Glibc

extension RootDirectory {
    /// Makes the directory at `path` and those above it that are missing; what is there stays as it is.
    ///
    /// New directories get the permissions that the process's umask leaves.
    @discardableResult
    package func createDirectories(
        _ path: RelativePath, durability: Durability = .immediate
    ) throws(FileAccessError) -> Directory {
        let existing = Descriptor.openHeld(path.text, in: descriptor, flags: O_RDONLY | O_DIRECTORY)
        if case .success(let directory) = existing {
            return try Directory(directory, path: path, rootPath: self.path, disks: disks)
        }
        var parent = descriptor
        for component in path.components {
            let name = parent.spelling(of: String(component))
            let made = name.withCString { text in
                parent.changingNames(.makeDirectory(directory: parent.number, name: name)) {
                    mkdirat(parent.number, text, 0o777)
                }
            }
            switch made {
            case .success:
                if durability == .immediate { try parent.synchronize().orThrow(.synchronize, path: path.text) }
            case .failure(let error):
                guard error.number == EEXIST else {
                    let obstacle = parent.obstacle(error, foldsNames: traits(at: path.text).foldsNames)
                    throw FileAccessError(obstacle, .createDirectory, path: path.text)
                }
            }
            parent = try Descriptor.openHeld(name, in: parent, flags: O_RDONLY | O_DIRECTORY)
                .orThrow(.createDirectory, path: path.text)
        }
        return try Directory(parent, path: path, rootPath: self.path, disks: disks)
    }

    /// Makes a symbolic link that holds `target` (1 to 4095 bytes without NUL), which need not lead anywhere.
    package func createSymlink(
        _ path: RelativePath, target: [UInt8], replacing replacement: Replacement = .nothing,
        durability: Durability = .immediate
    ) throws(FileAccessError) {
        guard !target.isEmpty, !target.contains(0) else {
            throw FileAccessError(.invalidPath, .createSymlink, path: path.text)
        }
        let directory = try directory(path.parent)
        let name = path.name
        let temporary = RelativePath.temporaryName(for: name)
        // What an earlier, interrupted call left; or staged bytes of a file that this link now takes the place of.
        if try directory.status(ofName: temporary) != nil {
            try directory.unlink(temporary).orThrow(.remove, path: directory.displayPath(of: temporary))
        }
        let made = (target + [0]).withUnsafeBufferPointer { target in
            target.withMemoryRebound(to: CChar.self) { target -> Result<CInt, SystemError> in
                guard let target = target.baseAddress else { return .failure(SystemError(number: EINVAL)) }
                let parent = directory.descriptor
                let temporary = parent.spelling(of: temporary)
                return temporary.withCString { text in
                    parent.changingNames(.makeSymlink(directory: parent.number, name: temporary)) {
                        symlinkat(target, parent.number, text)
                    }
                }
            }
        }
        _ = try made.orThrow(.createSymlink, path: path.text)
        do throws(FileAccessError) {
            try directory.move(temporary, to: name, in: directory, replacing: replacement)
        } catch {
            _ = directory.unlink(temporary)
            throw error
        }
        if durability == .immediate { try directory.synchronize() }
    }

    /// Removes a file or symbolic link; gives false if there was none.
    ///
    /// - Parameter expected: What was seen there earlier: if it was changed since, it stays and `changedOnDisk` is
    ///   thrown. nil removes whatever is there.
    @discardableResult
    package func remove(
        _ path: RelativePath, expecting expected: FileStatus?, durability: Durability = .immediate
    ) throws(FileAccessError) -> Bool {
        guard try twin(of: path) == nil, let directory = try parentDirectory(of: path) else { return false }
        let name = path.name
        guard let now = try directory.status(ofName: name) else { return false }
        if now.type == .directory { throw FileAccessError(.isADirectory, .remove, path: path.text) }
        if let expected, !now.isUnchanged(since: expected) {
            throw FileAccessError(.changedOnDisk, .remove, path: path.text)
        }
        if let expected {
            try directory.remove(name, expecting: expected)
        } else {
            let removed = directory.unlink(name)
            if case .failure(let error) = removed, error.number == ENOENT { return false }
            try removed.orThrow(.remove, path: path.text)
        }
        if durability == .immediate { try directory.synchronize() }
        return true
    }

    /// Removes an empty directory; gives false if there was none. Throws `directoryNotEmpty` if it holds anything.
    @discardableResult
    package func removeDirectory(
        _ path: RelativePath, durability: Durability = .immediate
    ) throws(FileAccessError) -> Bool {
        guard try twin(of: path) == nil, let directory = try parentDirectory(of: path) else { return false }
        let removed = directory.removeDirectory(path.name)
        if case .failure(let error) = removed, error.number == ENOENT { return false }
        _ = try removed.orThrow(.removeDirectory, path: path.text)
        if durability == .immediate { try directory.synchronize() }
        return true
    }

    /// Moves a file, link or directory within the root, at one instant. The directory it goes to must exist. On a disk that folds
    /// case, a move may change the case of letters only, not always at one instant (`Directory.respell`); what is at `source` must be
    /// called so there.
    ///
    /// - Parameter expected: What was seen at `source` earlier: if it was changed since, it stays and `changedOnDisk`
    ///   is thrown. nil moves whatever is there.
    package func rename(
        _ source: RelativePath, to target: RelativePath, replacing replacement: Replacement = .nothing,
        expecting expected: FileStatus? = nil, durability: Durability = .immediate
    ) throws(FileAccessError) {
        guard try twin(of: source) == nil else { throw FileAccessError(.notFound, .rename, path: source.text) }
        let from = try directory(source.parent)
        let to = try directory(target.parent)
        guard let now = try from.status(ofName: source.name) else {
            throw FileAccessError(.notFound, .rename, path: source.text)
        }
        if let expected, !now.isUnchanged(since: expected) {
            throw FileAccessError(.changedOnDisk, .rename, path: source.text)
        }
        if try twin(of: target) == source {
            // The target is the source already, in other letters.
            try from.respell(source.name, as: target.name)
        } else {
            try from.move(source.name, to: target.name, in: to, replacing: replacement)
        }
        if let expected, let moved = try to.status(ofName: target.name),
            !moved.isUnchanged(since: expected.beforeRenaming)
        {
            // Changed between the look and the move.
            try to.move(target.name, to: source.name, in: from, replacing: .nothing)
            throw FileAccessError(.changedOnDisk, .rename, path: source.text)
        }
        guard durability == .immediate else { return }
        // The new name first: after a crash in between, the file has two names and not none.
        try to.synchronize()
        if source.parent != target.parent { try from.synchronize() }
    }

    /// Sets the low nine bits of the mode of a file or directory; a symbolic link has none and is refused.
    package func setPermissions(_ permissions: UInt32, of path: RelativePath) throws(FileAccessError) {
        // Opened for no access, so that a directory or file that we may not read can be made readable.
        let file = try Descriptor.openHeld(path.text, in: descriptor, flags: CLINUX_O_PATH | O_NOFOLLOW)
            .orThrow(.setPermissions, path: path.text)
        guard try file.status().orThrow(.inspect, path: path.text).type != .symlink else {
            throw FileAccessError(.notARegularFile, .setPermissions, path: path.text)
        }
        try file.setPermissionsByPath(mode_t(permissions & 0o777)).orThrow(.setPermissions, path: path.text)
    }

    /// Begins or goes on with putting together the file that is to be at `target`, whose directory must exist.
    ///
    /// - Parameter resuming: Whether bytes staged earlier are kept; they are not verified.
    package func stage(_ target: RelativePath, resuming: Bool = true) throws(FileAccessError) -> StagedFile {
        try StagedFile(target: target, in: directory(target.parent), resuming: resuming)
    }

    /// The same with a temporary name made of `key`, for bytes that are known by something else than their target's name.
    ///
    /// - Parameter key: letters, digits and dashes, at most 140 bytes.
    package func stage(_ target: RelativePath, temporaryKey key: String) throws(FileAccessError) -> StagedFile {
        guard key.utf8.count <= 140, key.utf8.allSatisfy({ $0 == UInt8(ascii: "-") || $0.isLetterOrDigit }) else {
            throw FileAccessError(.invalidPath, .create, path: target.text)
        }
        return try StagedFile(target: target, in: directory(target.parent), resuming: true, temporaryKey: key)
    }

    /// The same in the target's directory, opened before: for many files of one directory.
    package func stage(
        _ target: RelativePath, in directory: Directory, resuming: Bool
    ) throws(FileAccessError) -> StagedFile {
        guard directory.path == target.parent else { throw FileAccessError(.invalidPath, .create, path: target.text) }
        return try StagedFile(target: target, in: directory, resuming: resuming)
    }

    func parentDirectory(of path: RelativePath) throws(FileAccessError) -> Directory? {
        do throws(FileAccessError) {
            return try directory(path.parent)
        } catch {
            if error.code == .notFound || error.code == .notADirectory { return nil }
            throw error
        }
    }
}

extension UInt8 {
    fileprivate var isLetterOrDigit: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}
