/// Names that programs give to what is theirs alone while they save a file. Pure.
package enum EditorNames {
    /// How long such a name is told to nobody, unless it gets another name before.
    package static let pause = Duration.seconds(10)

    private static let prefixes = [".~lock.", ".goutputstream-", "~$", ".#", ".nfs"]
    private static let suffixes = [".swp", ".swpx", ".swx", ".swo", ".tmp", ".part", ".lock", "~"]

    /// - Parameter path: relative to the folder's root.
    package static func isTemporary(_ path: String) -> Bool {
        let parts = path.utf8.split(separator: UInt8(ascii: "/"))
        guard let name = parts.last else { return false }
        // Vim tries with this number whether a directory can be written to.
        if name.elementsEqual("4913".utf8) { return true }
        return prefixes.contains { name.starts(with: $0.utf8) }
            || suffixes.contains { name.count > $0.utf8.count && name.reversed().starts(with: $0.utf8.reversed()) }
            || isUnfinished(parts)
    }

    /// Whether it is an object or a pack that Git has not finished: it gets its name once it is whole, and is worth nothing before,
    /// however long that takes.
    ///
    /// - Parameter path: relative to the folder's root.
    package static func isUnfinishedByGit(_ path: String) -> Bool {
        isUnfinished(path.utf8.split(separator: UInt8(ascii: "/")))
    }

    /// `tmp_obj_…`, `tmp_pack_…` and their like in `objects`, or in a directory of it; and all that a push or a fetch has in quarantine
    /// there, in `tmp_objdir-…`.
    private static func isUnfinished(_ parts: [Substring.UTF8View]) -> Bool {
        guard let store = parts.dropLast().lastIndex(where: { $0.elementsEqual("objects".utf8) }) else { return false }
        let below = parts[(store + 1)...]
        if below.count > 1, below.first?.starts(with: "tmp_objdir-".utf8) == true { return true }
        return below.count <= 2 && below.last?.starts(with: "tmp_".utf8) == true
    }
}
