import Glibc

/// Small files at paths of this machine, such as the configuration and the keys: trusted paths, links are followed.
package enum AtomicFile {
    /// Replaces the file at `path`, so that it holds either the old or the new contents whatever happens meanwhile;
    /// durable on return. A symbolic link stays and the file that it leads to is replaced.
    package static func write(path: String, contents: [UInt8], permissions: UInt32) throws(FileAccessError) {
        let (directory, name) = try split(resolved(path))
        let staged = try RootDirectory(path: directory).stage(name, resuming: false)
        try staged.write(contents, at: 0)
        _ = try staged.commit(replacing: .anything, permissions: permissions, modified: nil)
    }

    /// The contents of the file at `path`; a file longer than `byteCountLimit` is refused with `tooLarge`.
    package static func read(path: String, byteCountLimit: Int = 1 << 20) throws(FileAccessError) -> [UInt8] {
        let (directory, name) = try split(resolved(path))
        let file = try RootDirectory(path: directory).open(reading: name)
        let contents = try file.read(count: byteCountLimit + 1, at: 0)
        guard contents.count <= byteCountLimit else { throw FileAccessError(.tooLarge, .read, path: path) }
        return contents
    }

    /// The directory and name of a file's path, as a root and a path beneath it: "x" is in ".", "/x" in "/".
    package static func split(_ path: String) throws(FileAccessError) -> (directory: String, name: RelativePath) {
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let name = slash.map { String(path[path.utf8.index(after: $0)...]) } ?? path
        guard let name = RelativePath(name) else {
            let isTooLong = name.utf8.count > RelativePath.componentByteCountLimit
            throw FileAccessError(isTooLong ? .nameTooLong : .invalidPath, .open, path: path)
        }
        guard let slash else { return (".", name) }
        return (slash == path.startIndex ? "/" : String(path[..<slash]), name)
    }

    /// Where the links in `path` lead; the path itself if there is nothing yet.
    private static func resolved(_ path: String) throws(FileAccessError) -> String {
        // Before a "." or ".." at its end is resolved to the name of a directory.
        _ = try split(path)
        guard !path.utf8.contains(0), let real = path.withCString({ realpath($0, nil) }) else { return path }
        defer { free(real) }
        return String(cString: real)
    }
}
