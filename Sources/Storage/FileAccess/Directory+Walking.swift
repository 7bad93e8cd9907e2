import CLinux
import Glibc

/// What a walk needs: everything is reached from the handle of the directory that holds it, by one name, so that a
/// directory which is moved meanwhile takes the walk along instead of sending it elsewhere.
extension Directory {
    /// The entry of `name`, one component of a path; nil if nothing is called so, letter by letter.
    package func entry(named name: String) throws(FileAccessError) -> DirectoryEntry? {
        guard RelativePath(name) != nil, !name.utf8.contains(UInt8(ascii: "/")) else {
            throw FileAccessError(.invalidPath, .inspect, path: displayPath(of: name))
        }
        guard let status = try status(ofName: name) else { return nil }
        if foldsNames, try spelling(of: name) != .exact { return nil }
        return DirectoryEntry(nameBytes: Array(name.utf8), type: status.type)
    }

    /// Opens the directory that `entry`, which this directory listed, names; a link to one is refused.
    package func directory(_ entry: DirectoryEntry) throws(FileAccessError) -> Directory {
        let name = try text(of: entry, .open)
        guard let path = RelativePath(displayPath(of: name)) else {
            throw FileAccessError(.nameTooLong, .open, path: displayPath(of: name))
        }
        let opened = try Descriptor.openHeld(name, in: descriptor, flags: O_RDONLY | O_DIRECTORY)
            .orThrow(.open, path: path.text)
        return try Directory(opened, path: path, rootPath: rootPath, disks: disks)
    }

    /// Opens the regular file that `entry`, which this directory listed, names; anything else is refused with
    /// `notARegularFile` or `isADirectory`.
    package func open(reading entry: DirectoryEntry) throws(FileAccessError) -> OpenFile {
        let name = try text(of: entry, .open)
        return try OpenFile.open(reading: name, in: descriptor, path: displayPath(of: name))
    }

    /// The bytes that a symbolic link, which this directory listed, holds; it is not followed.
    package func readSymlink(_ entry: DirectoryEntry) throws(FileAccessError) -> [UInt8] {
        let name = try text(of: entry, .readSymlink)
        return try descriptor.readSymlink(name).orThrow(.readSymlink, path: displayPath(of: name))
    }

    /// The name as text; one that is not UTF-8 cannot be synced and is never opened.
    private func text(
        of entry: DirectoryEntry, _ operation: FileAccessError.Operation
    ) throws(FileAccessError) -> String {
        guard let name = entry.name else {
            throw FileAccessError(.invalidPath, operation, path: displayPath(of: entry.displayName))
        }
        return name
    }
}
