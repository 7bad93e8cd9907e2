import CLinux
import Glibc

extension RootDirectory {
    /// Gives the file or symbolic link at `source` a second name, under which its bytes stay when something else takes
    /// the place of the first.
    ///
    /// A second link where the file system has them, else a copy with the same time and permissions. Throws
    /// `changedOnDisk` if what is there is not what was `expected`, and `exists` if the target's name is taken.
    ///
    /// - Parameters:
    ///   - root: Where `target` is; nil for this root. It may be on another disk.
    ///   - isReplacing: Whether a file that has the target's name gives way.
    ///   - durability: `.immediate` makes the second name durable. A copy is durable in any case.
    package func preserve(
        _ source: RelativePath, in root: RootDirectory? = nil, as target: RelativePath, expecting expected: FileStatus,
        isReplacing: Bool = false, durability: Durability = .immediate
    ) throws(FileAccessError) {
        let root = root ?? self
        let from = try directory(source.parent)
        let to = try root.directory(target.parent)
        try from.check(source.name, isStill: expected)
        let aside = RelativePath.temporaryName(for: target.name)
        var linked = Self.link(source.name, in: from, as: isReplacing ? aside : target.name, in: to)
        if isReplacing, case .failure(let error) = linked, error.number == EEXIST {
            // What a call that was cut short has left.
            try to.unlink(aside).orThrow(.remove, path: to.displayPath(of: aside))
            linked = Self.link(source.name, in: from, as: aside, in: to)
        }
        switch linked {
        case .success:
            if isReplacing {
                try to.move(aside, to: target.name, in: to, replacing: .anything)
                // Both names of one file already: then nothing is moved.
                _ = to.unlink(aside)
            }
            if durability == .immediate { try to.synchronize() }
        case .failure(let error) where [EPERM, EOPNOTSUPP, EMLINK, EXDEV].contains(error.number):
            try copy(source, to: target, in: root, expecting: expected, isReplacing: isReplacing)
        case .failure(let error): throw FileAccessError(error, .link, path: target.text)
        }
    }

    /// Moves the file at `source` into another root, whose directory for it exists. At no moment it is in neither.
    ///
    /// Throws `changedOnDisk` if what is there is not what was `expected`, and `exists` if the target's name is taken. A
    /// root on another disk gets a copy, durable before the file goes here.
    package func move(
        _ source: RelativePath, into root: RootDirectory, as target: RelativePath, expecting expected: FileStatus,
        isReplacing: Bool = false, durability: Durability = .immediate
    ) throws(FileAccessError) {
        let from = try directory(source.parent)
        let to = try root.directory(target.parent)
        try from.check(source.name, isStill: expected)
        do throws(FileAccessError) {
            try from.move(source.name, to: target.name, in: to, replacing: isReplacing ? .anything : .nothing)
        } catch {
            guard error.errno == EXDEV else { throw error }
            try copy(source, to: target, in: root, expecting: expected, isReplacing: isReplacing)
            try remove(source, expecting: expected, durability: durability)
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

    private static func link(
        _ name: String, in from: Directory, as target: String, in to: Directory
    ) -> Result<CInt, SystemError> {
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

    /// Puts a copy of a file of one root into the place of `target` in another, durable on return.
    ///
    /// - Parameter expected: What must be at `source` from beginning to end; else throws `changedOnDisk`.
    package func copy(
        _ source: RelativePath, to target: RelativePath, in root: RootDirectory, expecting expected: FileStatus,
        isReplacing: Bool = false
    ) throws(FileAccessError) {
        let replacement = isReplacing ? Replacement.anything : .nothing
        if expected.type == .symlink {
            return try root.createSymlink(target, target: try readSymlink(source), replacing: replacement)
        }
        let staged = try stageCopy(of: source, for: target, in: root, expecting: expected)
        _ = try staged.commit(
            replacing: replacement, permissions: expected.permissions & 0o777, modified: expected.modified)
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
        let times = [
            timespec(tv_sec: 0, tv_nsec: CLINUX_UTIME_OMIT),
            timespec(tv_sec: time_t(time.seconds), tv_nsec: Int(time.nanoseconds)),
        ]
        let name = path.name
        let parent = directory.descriptor
        let set = name.withCString { text in
            parent.changing(.setTimesByName(directory: parent.number, name: name)) {
                utimensat(parent.number, text, times, AT_SYMLINK_NOFOLLOW)
            }
        }
        _ = try set.orThrow(.setModificationTime, path: path.text)
    }
}
