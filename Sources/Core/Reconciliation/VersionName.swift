/// The names of archived versions: `STEM~YYYYMMDD-HHMMSS.EXTENSION`, as Syncthing has them.
///
/// The extension begins at the last dot of the last component, even where that is its first character.
package enum VersionName {
    /// The name of the version of `name` that was archived at `time`. A stem that would make the component too long is cut
    /// at the end of a character.
    package static func tagged(_ name: String, at time: ConflictTime) -> String {
        ConflictName.tagged(name, "~\(time)")
    }

    /// The file that `name` is a version of, and when it was archived; nil if it is not such a name. A stem that was cut is
    /// not made whole again.
    package static func parse(_ name: String) -> (original: String, time: ConflictTime)? {
        let path = ConflictName.Path(name)
        if let (stem, time) = untagged(path.stem), !(stem + path.fileExtension).isEmpty {
            return (path.directory + stem + path.fileExtension, time)
        }
        // Without an extension of the original, there is no dot behind the tag; but there may be one before it.
        guard let (stem, time) = untagged(path.component), !stem.isEmpty else { return nil }
        return (path.directory + stem, time)
    }

    private static func untagged(_ text: String) -> (stem: String, time: ConflictTime)? {
        let bytes = Array(text.utf8)
        guard bytes.count >= 16, bytes[bytes.count - 16] == UInt8(ascii: "~"),
            let time = ConflictTime(String(decoding: bytes.suffix(15), as: UTF8.self))
        else { return nil }
        return (String(decoding: bytes.dropLast(16), as: UTF8.self), time)
    }
}
