import Cryptography

/// Syncthing's conventions about names on disk (facts/bep-v1.md, section 6).
extension RelativePath {
    /// Whether this is the folder's marker, its ignore file, its old versions, or below one of them: never synced.
    package var isInternal: Bool {
        text.withBytes { bytes in
            guard bytes.first == UInt8(ascii: ".") else { return false }
            let first = bytes.prefix { $0 != UInt8(ascii: "/") }
            return Self.internalNames.contains { first.elementsEqual($0.utf8) }
        }
    }

    /// The agent's own name that has the place of this one on a disk that folds case; nil if none has, and for that name itself.
    package var internalTwin: RelativePath? {
        guard !isInternal, let first = components.first?.lowercased(), Self.internalNames.contains(first) else {
            return nil
        }
        return RelativePath(first)
    }

    /// Whether this is a file that is still being fetched, by us or by a Syncthing that shared this disk: never synced.
    package var isTemporary: Bool {
        text.withBytes { bytes in
            let name = bytes.suffix(from: bytes.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0)
            guard name.first == UInt8(ascii: ".") || name.first == UInt8(ascii: "~") else { return false }
            return Self.temporaryPrefixes.contains { name.starts(with: $0.utf8) }
        }
    }

    /// What a temporary file of ours is to become; nil for anything else, and where the name was too long to be in that
    /// of its temporary file.
    package var temporaryTarget: RelativePath? {
        guard name.utf8.count <= 160, name.hasPrefix(Self.temporaryPrefix), name.hasSuffix(Self.temporarySuffix)
        else { return nil }
        let target = String(name.dropFirst(Self.temporaryPrefix.count).dropLast(Self.temporarySuffix.count))
        return Self.isHashKey(target) ? nil : try? replacingName(with: target)
    }

    /// Where `self` is put together before it is moved into place: in the same directory.
    package var temporaryPath: RelativePath? { try? replacingName(with: Self.temporaryName(for: name)) }

    /// The temporary file of bytes that are to be at `self` and are known by a key; see `RootDirectory.stage(_:temporaryKey:)`.
    package func temporary(key: String) -> RelativePath? { try? replacingName(with: Self.temporaryName(forKey: key)) }

    /// The name under which the file called `name` is put together; at most 160 bytes long, or 80 if `name` is longer
    /// than 145 bytes.
    package static func temporaryName(for name: String) -> String { temporaryName(forKey: temporaryKey(for: name)) }

    static func temporaryName(forKey key: String) -> String { temporaryPrefix + key + temporarySuffix }

    /// What stands for a name in those of its temporary files: the name itself, or its SHA-256 if it is too long.
    static func temporaryKey(for name: String) -> String {
        name.utf8.count > 160 - temporaryPrefix.utf8.count - temporarySuffix.utf8.count
            ? SHA256.digest(name.utf8).description : name
    }

    static func isHashKey(_ key: String) -> Bool {
        key.utf8.count == SHA256Digest.byteCount * 2 && key.utf8.allSatisfy(\.isHexDigit)
    }

    static let temporaryPrefix = ".syncthing."
    private static let temporarySuffix = ".tmp"

    private static let internalNames = [".stfolder", ".stignore", ".stversions"]
    private static let temporaryPrefixes = [".syncthing.", "~syncthing~"]
}

extension UInt8 {
    fileprivate var isHexDigit: Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(self)
    }
}
