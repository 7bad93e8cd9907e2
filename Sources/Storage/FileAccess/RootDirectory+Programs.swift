import CLinux
import Glibc

/// What programs do with files of a folder, done for them: nothing is staged, and nothing is made durable unless they ask.
extension RootDirectory {
    /// Opens a regular file for reading and writing, so that it can be handed to another process.
    ///
    /// - Parameters:
    ///   - creating: the permissions of a new file, whose directory must exist; nil if the file must exist.
    ///   - isExclusive: whether a file that exists is refused with `exists`.
    package func open(
        writing path: RelativePath, creating permissions: UInt32? = nil, isExclusive: Bool = false
    ) throws(FileAccessError) -> OpenFile {
        let flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
        guard let permissions else {
            let opened = Descriptor.openHeld(path.text, in: descriptor, flags: flags)
            return try regular(try opened.orThrow(.open, path: path.text), path)
        }
        let made = Descriptor.openHeld(
            path.text, in: descriptor, flags: flags | O_CREAT | O_EXCL, permissions: mode_t(permissions & 0o777))
        switch made {
        case .success(let opened):
            let file = OpenFile(opened, path: path.text)
            // What the agent's umask took is the program's to decide. Most often it is nothing, and setting them is seen by watchers.
            if try file.status().permissions != permissions { try file.setPermissions(permissions) }
            return file
        case .failure(let error) where error.number == EEXIST && !isExclusive: return try open(writing: path)
        case .failure(let error): throw FileAccessError(error, .create, path: path.text)
        }
    }

    private func regular(_ opened: Descriptor, _ path: RelativePath) throws(FileAccessError) -> OpenFile {
        switch try opened.status().orThrow(.inspect, path: path.text).type {
        case .regular: return OpenFile(opened, path: path.text)
        case .directory: throw FileAccessError(.isADirectory, .open, path: path.text)
        case .symlink, .other: throw FileAccessError(.notARegularFile, .open, path: path.text)
        }
    }

    /// Makes a directory with these permissions; what is there is refused with `exists`. Directories above are made as needed.
    package func makeDirectory(_ path: RelativePath, permissions: UInt32) throws(FileAccessError) {
        guard try status(of: path) == nil else { throw FileAccessError(.exists, .createDirectory, path: path.text) }
        try createDirectories(path, durability: .deferred)
        try setPermissions(permissions, of: path)
    }
}
