import Cryptography

/// The names of archived versions: `STEM~YYYYMMDD-HHMMSS.EXTENSION`, as Syncthing has them.
///
/// The extension begins at the last dot of the last component, even where that is its first character.
package enum VersionName {
    private static let tagLength = 16
    /// Hexadecimal digits of the hash of a name whose stem is cut.
    private static let hashLength = 12

    /// The name of the version of `name` that was archived at `time`. A stem that would make the component too long is cut
    /// at the end of a character, and a hash of the whole component follows it.
    package static func tagged(_ name: String, at time: ConflictTime) -> String {
        guard isCut(name) else { return ConflictName.tagged(name, "~\(time)") }
        let hash = SHA256.digest(Array(ConflictName.Path(name).component.utf8)).description.prefix(hashLength)
        return ConflictName.tagged(name, "-\(hash)~\(time)")
    }

    /// What versions of `name` say that they are versions of: `name`, or what is left of it if its stem is cut. No other name in the
    /// directory has the same.
    package static func family(of name: String) -> String {
        guard isCut(name) else { return name }
        return parse(tagged(name, at: ConflictTime(unixSeconds: 0)))?.original ?? name
    }

    /// Whether `name` may be what `family(of:)` gives for a longer one.
    package static func mayBeCut(_ name: String) -> Bool {
        let path = ConflictName.Path(name)
        // A stem may be cut by as much as one long character.
        guard path.component.utf8.count >= 200 else { return false }
        return [path.stem, path.component].contains { text in
            let end = text.utf8.suffix(hashLength + 1)
            return end.first == UInt8(ascii: "-") && end.dropFirst().allSatisfy(isHexadecimal)
        }
    }

    private static func isCut(_ name: String) -> Bool {
        ConflictName.Path(name).component.utf8.count + tagLength > ConflictName.componentByteCountLimit
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }

    /// The file that `name` is a version of, and when it was archived; nil if it is not such a name. A stem that was cut is
    /// not made whole again: then it is the file's `family`.
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
        guard bytes.count >= tagLength, bytes[bytes.count - tagLength] == UInt8(ascii: "~"),
            let time = ConflictTime(String(decoding: bytes.suffix(tagLength - 1), as: UTF8.self))
        else { return nil }
        return (String(decoding: bytes.dropLast(tagLength), as: UTF8.self), time)
    }
}
