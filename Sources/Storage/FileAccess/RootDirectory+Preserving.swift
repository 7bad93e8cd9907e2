import CLinux
import Glibc

extension RootDirectory {
    /// Gives the file or symbolic link at `source` a second name, under which its bytes stay when something else takes
    /// the place of the first.
    ///
    /// A second link where the file system has them, else a copy with the same time and permissions. Throws
    /// `changedOnDisk` if what is there is not what was `expected`, and `exists` if the target's name is taken. If it throws,
    /// the file has no second name.
    ///
    /// - Parameters:
    ///   - root: Where `target` is; nil for this root. It may be on another disk.
    ///   - durability: `.immediate` makes the second name durable. A copy is durable in any case.
    /// - Returns: What must be at `source` from now on: the disk counts a second name as a change.
    @discardableResult package func preserve(
        _ source: RelativePath, in root: RootDirectory? = nil, as target: RelativePath, expecting expected: FileStatus,
        durability: Durability = .immediate
    ) throws(FileAccessError) -> FileStatus {
        let root = root ?? self
        try checkSpelling(of: source, .link)
        let from = try directory(source.parent)
        let to = try root.directory(target.parent)
        try from.check(source.name, isStill: expected)
        switch Self.link(source.name, in: from, as: target.name, in: to) {
        case .success:
            if durability == .immediate {
                do throws(FileAccessError) {
                    try to.synchronize()
                } catch {
                    _ = to.unlink(target.name)
                    throw error
                }
            }
            let now = try from.status(ofName: source.name)
            return now.flatMap { $0.isUnchanged(since: expected.beforeRenaming) ? $0 : nil } ?? expected
        case .failure(let error) where [EPERM, EOPNOTSUPP, EMLINK, EXDEV].contains(error.number):
            try copy(source, to: target, in: root, expecting: expected)
            return expected
        case .failure(let error): throw FileAccessError(error, .link, path: target.text)
        }
    }

    /// Moves the file at `source` into another root, whose directory for it exists. At no moment it is in neither.
    ///
    /// Throws `changedOnDisk` if what is there is not what was `expected`, and `exists` if the target's name is taken. A
    /// root on another disk gets a copy, durable before the file goes here.
    package func move(
        _ source: RelativePath, into root: RootDirectory, as target: RelativePath, expecting expected: FileStatus,
        durability: Durability = .immediate
    ) throws(FileAccessError) {
        try checkSpelling(of: source, .rename)
        let from = try directory(source.parent)
        let to = try root.directory(target.parent)
        try from.check(source.name, isStill: expected)
        do throws(FileAccessError) {
            try from.move(source.name, to: target.name, in: to, replacing: .nothing)
        } catch {
            guard error.errno == EXDEV else { throw error }
            try copy(source, to: target, in: root, expecting: expected)
            do throws(FileAccessError) {
                try remove(source, expecting: expected, durability: durability)
            } catch {
                // Where the file has not gone, it was not moved.
                if let now = try? from.status(ofName: source.name), now.isUnchanged(since: expected.beforeRenaming) {
                    _ = to.unlink(target.name)
                }
                throw error
            }
            return
        }
        if let moved = try to.status(ofName: target.name), !moved.isUnchanged(since: expected.beforeRenaming) {
            // Changed between the look and the move.
            try to.move(target.name, to: source.name, in: from, replacing: .nothing)
            throw FileAccessError(.changedOnDisk, .rename, path: source.text)
        }
        guard durability == .immediate else { return }
        try to.synchronize()
        try from.synchronize()
    }

    /// Throws `changedOnDisk` if the disk takes `path` for something that is called otherwise: `dir/a` for `DIR/a`, which has the same
    /// number, size and times.
    private func checkSpelling(of path: RelativePath, _ operation: FileAccessError.Operation) throws(FileAccessError) {
        guard try twin(of: path) == nil else { throw FileAccessError(.changedOnDisk, operation, path: path.text) }
    }

    private static func link(
        _ name: String, in from: Directory, as target: String, in to: Directory
    ) -> Result<CInt, SystemError> {
        let (name, target) = (from.descriptor.spelling(of: name), to.descriptor.spelling(of: target))
        let change = DiskChange.link(
            directory: from.descriptor.number, name: name, toDirectory: to.descriptor.number, toName: target)
        return name.withCString { name in
            target.withCString { target in
                to.descriptor.changingNames(change) {
                    linkat(from.descriptor.number, name, to.descriptor.number, target, 0)
                }
            }
        }
    }

    /// Makes a copy of a file of one root at `target` in another, where nothing may be; durable on return. If it throws, there
    /// is none.
    ///
    /// - Parameter expected: What must be at `source` from beginning to end; else throws `changedOnDisk`.
    package func copy(
        _ source: RelativePath, to target: RelativePath, in root: RootDirectory, expecting expected: FileStatus
    ) throws(FileAccessError) {
        if expected.type == .symlink {
            return try root.createSymlink(target, target: try readSymlink(source))
        }
        let staged = try stageCopy(of: source, for: target, in: root, expecting: expected)
        do throws(FileAccessError) {
            _ = try staged.commit(
                replacing: .nothing, permissions: expected.permissions & 0o777, modified: expected.modified)
        } catch {
            if staged.isInPlace { _ = staged.directory.unlink(target.name) } else { try? staged.discard() }
            throw error
        }
    }

    /// Stages a copy of a file of this root for `target` in another. Throws `changedOnDisk` if the source is not what was
    /// `expected` from beginning to end.
    package func stageCopy(
        of source: RelativePath, for target: RelativePath, in root: RootDirectory, expecting expected: FileStatus
    ) throws(FileAccessError) -> StagedFile {
        let file = try open(reading: source)
        let staged = try root.stage(target, resuming: false)
        do throws(FileAccessError) {
            var offset: Int64 = 0
            while true {
                let bytes = try file.read(count: 1 << 20, at: offset)
                guard !bytes.isEmpty else { break }
                try staged.write(bytes, at: offset)
                offset += Int64(bytes.count)
            }
            try staged.truncate(to: offset)
            staged.takeAttributes(of: file)
            guard try file.status().isUnchanged(since: expected) else {
                throw FileAccessError(.changedOnDisk, .read, path: source.text)
            }
        } catch {
            try? staged.discard()
            throw error
        }
        return staged
    }

    /// Sets the time of modification of what is at `path`, a link not followed.
    package func setModificationTime(_ time: FileTime, of path: RelativePath) throws(FileAccessError) {
        let directory = try directory(path.parent)
        let parent = directory.descriptor
        let name = parent.spelling(of: path.name)
        let status = try Descriptor.openHeld(name, in: parent, flags: CLINUX_O_PATH | O_NOFOLLOW)
            .flatMap { $0.rawStatus() }.orThrow(.inspect, path: path.text)
        let times = time.toSet(beside: status)
        let set = name.withCString { text in
            parent.changing(.setTimesByName(directory: parent.number, name: name)) {
                utimensat(parent.number, text, times, AT_SYMLINK_NOFOLLOW)
            }
        }
        _ = try set.orThrow(.setModificationTime, path: path.text)
    }
}
