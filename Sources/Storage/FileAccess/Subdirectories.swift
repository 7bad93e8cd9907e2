import CLinux
import Glibc

/// The directories in a directory anywhere on this machine, for a person who chooses one.
package struct Subdirectories: Sendable {
    package struct Name: Hashable, Sendable {
        package var name: String
        /// A symbolic link to a directory.
        package var isLink: Bool
        /// Whether this process may list it.
        package var isReadable: Bool
    }

    /// How many names are listed at most.
    package static let nameLimit = 1000
    /// How many names, files among them, are looked at.
    package static let lookLimit = 100_000

    /// By the bytes of their names.
    package private(set) var directories: [Name] = []
    /// How many more there are whose names cannot be shown: not UTF-8, or with control characters.
    package private(set) var unnameable = 0
    /// Whether all names were looked at and are listed.
    package private(set) var isWhole = true
    /// Whether this process may make a directory in it.
    package private(set) var isWritable: Bool

    /// Lists the directory at `path`, which may lead through links.
    ///
    /// - Parameter includesHidden: Also names that begin with a dot.
    /// - Throws: `FileAccessError`: `notFound`, `notADirectory`, `permission` and whatever the disk says.
    package init(of path: String, includesHidden: Bool) throws(FileAccessError) {
        let descriptor = try Descriptor.openAnywhere(path, flags: O_RDONLY | O_DIRECTORY).orThrow(.open, path: path)
        let directory = Directory(descriptor, rootPath: path)
        isWritable = descriptor.mayUse(".", for: W_OK | X_OK)
        var looked = 0
        var (found, unnameable, isWhole) = ([(name: String, isLink: Bool)](), 0, true)
        try directory.forEachEntry { entry in
            looked += 1
            guard looked <= Self.lookLimit else {
                isWhole = false
                return false
            }
            guard includesHidden || entry.nameBytes.first != UInt8(ascii: ".") else { return true }
            guard entry.type == .directory || entry.type == .symlink && descriptor.leadsToDirectory(entry) else {
                return true
            }
            if let name = entry.name, name.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) {
                found.append((name, entry.type == .symlink))
            } else {
                unnameable += 1
            }
            return true
        }
        found.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        self.unnameable = unnameable
        self.isWhole = isWhole && found.count <= Self.nameLimit
        directories = found.prefix(Self.nameLimit).map {
            Name(name: $0.name, isLink: $0.isLink, isReadable: descriptor.mayUse($0.name, for: R_OK | X_OK))
        }
    }
}

extension Descriptor {
    /// Whether this process may use what `name` leads to; false for what is gone.
    fileprivate func mayUse(_ name: String, for access: CInt) -> Bool {
        name.withCString { faccessat(number, $0, access, AT_EACCESS) == 0 }
    }

    fileprivate func leadsToDirectory(_ entry: DirectoryEntry) -> Bool {
        var status = stat()
        let found = (entry.nameBytes + [0]).withUnsafeBufferPointer { bytes in
            bytes.withMemoryRebound(to: CChar.self) { name in
                name.baseAddress.map { fstatat(number, $0, &status, 0) } ?? -1
            }
        }
        return found == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}
