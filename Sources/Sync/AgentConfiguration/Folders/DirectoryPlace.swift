import FileAccess
import Glibc

/// Where a directory is, whatever path leads there: a bind mount shows one directory at two paths.
struct DirectoryPlace: Equatable {
    /// What the system tells directories apart by.
    struct Node: Hashable {
        var device: UInt64
        var inode: UInt64
    }

    enum Relation {
        case same
        /// One is in the other.
        case nested
    }

    /// Of the directory; nil while there is none.
    var node: Node?
    /// Of the directories above it by its path, as far as there are any.
    var above: [Node]
    /// Where on its file system it is: below a directory that is mounted twice, the inodes above do not show it. Nil if the mount
    /// table does not say.
    var origin: MountTable.Origin?

    /// How two directories lie to each other; nil if neither has something of the other. Pure.
    func relation(to other: DirectoryPlace) -> Relation? {
        if let node, node == other.node { return .same }
        if let origin, origin == other.origin { return .same }
        if let origin, let another = other.origin,
            origin.isSameOrInside(another) || another.isSameOrInside(origin)
        {
            return .nested
        }
        let isAround = node.map(other.above.contains) ?? false
        let isInside = other.node.map(above.contains) ?? false
        return isAround || isInside ? .nested : nil
    }
}

extension DirectoryPlace {
    /// - Parameters:
    ///   - path: a full path without links.
    ///   - mounts: what is mounted where: `MountTable.text()`.
    init(path: String, mounts: [UInt8]) {
        node = Self.node(of: path)
        above = []
        var path = path
        origin = MountTable.origin(of: path, in: mounts)
        while path != "/" {
            path = StoredFile.directory(of: path)
            if let node = Self.node(of: path) { above.append(node) }
        }
    }

    private static func node(of path: String) -> Node? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return Node(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    }
}
