import CLinux
import Glibc

extension RootDirectory {
    /// Gives the file or symbolic link at `source` a second name, under which its bytes stay when something else takes
    /// the place of the first; durable on return.
    ///
    /// A second link where the file system has them, else a copy with the same time and permissions. Throws
    /// `changedOnDisk` if what is there is not what was `expected`, and `exists` if the target's name is taken.
    public func preserve(
        _ source: RelativePath, as target: RelativePath, expecting expected: FileStatus
    ) throws(FileAccessError) {
        let from = try directory(source.parent)
        let to = try directory(target.parent)
        try from.check(source.name, isStill: expected)
        let change = DiskChange.link(
            directory: from.descriptor.number, name: source.name, toDirectory: to.descriptor.number,
            toName: target.name)
        let linked = source.name.withCString { source in
            target.name.withCString { target in
                to.descriptor.changingNames(change) {
                    linkat(from.descriptor.number, source, to.descriptor.number, target, 0)
                }
            }
        }
        switch linked {
        case .success: try to.synchronize()
        case .failure(let error) where [EPERM, EOPNOTSUPP, EMLINK].contains(error.number):
            try copy(source, expecting: expected, to: target, of: self)
        case .failure(let error): throw FileAccessError(error, .link, path: target.text)
        }
    }

    /// Copies a file or symbolic link to a free name of this root or another; durable on return.
    func copy(
        _ source: RelativePath, expecting expected: FileStatus, to target: RelativePath, of other: RootDirectory
    ) throws(FileAccessError) {
        if expected.type == .symlink { return try other.createSymlink(target, target: try readSymlink(source)) }
        let file = try open(reading: source)
        let staged = try other.stage(target, resuming: false)
        var offset: Int64 = 0
        while true {
            let bytes = try file.read(count: 1 << 20, at: offset)
            guard !bytes.isEmpty else { break }
            try staged.write(bytes, at: offset)
            offset += Int64(bytes.count)
        }
        try staged.truncate(to: offset)
        guard try file.status().isUnchanged(since: expected) else {
            try staged.discard()
            throw FileAccessError(.changedOnDisk, .read, path: source.text)
        }
        _ = try staged.commit(
            replacing: .nothing, permissions: expected.permissions & 0o777, modified: expected.modified)
    }

    /// Sets the time of modification of what is at `path`, a link not followed.
    public func setModificationTime(_ time: FileTime, of path: RelativePath) throws(FileAccessError) {
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
