/// Names that editors give to what is theirs alone while they save a file. Pure.
package enum EditorNames {
    /// How long such a name is told to nobody, unless it gets another name before.
    package static let pause = Duration.seconds(10)

    private static let prefixes = [".~lock.", ".goutputstream-", "~$", ".#", ".nfs"]
    private static let suffixes = [".swp", ".swpx", ".swx", ".swo", ".tmp", ".part", ".lock", "~"]

    /// - Parameter name: the last part of a path.
    package static func isTemporary(_ name: String) -> Bool {
        // Vim tries with this number whether a directory can be written to.
        if name == "4913" { return true }
        let bytes = name.utf8
        return prefixes.contains { bytes.starts(with: $0.utf8) }
            || suffixes.contains { bytes.count > $0.utf8.count && bytes.reversed().starts(with: $0.utf8.reversed()) }
    }
}
