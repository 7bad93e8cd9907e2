/// The bytes of a path, and the names in it that no pattern can bring back.
enum PathBytes {
    static let slash = UInt8(ascii: "/")

    private static let internalNames = [".stfolder", ".stignore", ".stversions"].map { Array($0.utf8) }
    private static let temporaryPrefixes = [".syncthing.", "~syncthing~"].map { Array($0.utf8) }

    /// Whether the path is one of Syncthing's own at the folder's root, or lies in it.
    static func isInternal(_ path: UnsafeBufferPointer<UInt8>) -> Bool {
        guard path.count >= 9, path[0] == UInt8(ascii: "."), path[1] == UInt8(ascii: "s") else { return false }
        return internalNames.contains { name in
            path.starts(with: name) && (path.count == name.count || path[name.count] == slash)
        }
    }

    /// Whether the last component is the name of a file that is still being written.
    static func isTemporary(_ path: UnsafeBufferPointer<UInt8>) -> Bool {
        var start = path.count
        while start > 0, path[start - 1] != slash { start -= 1 }
        guard path.count - start >= 11, path[start] == UInt8(ascii: ".") || path[start] == UInt8(ascii: "~")
        else { return false }
        return temporaryPrefixes.contains { path[start...].starts(with: $0) }
    }

    /// Whether the path stands for the folder's root.
    static func isRoot(_ path: UnsafeBufferPointer<UInt8>) -> Bool {
        path.isEmpty || path.count == 1 && path[0] == UInt8(ascii: ".")
    }
}

extension String {
    /// What is between the `/`, by bytes: to Characters a `/` with a combining mark behind it is no `/`.
    func components(omittingEmpty: Bool = true) -> [Substring] {
        utf8.split(separator: PathBytes.slash, omittingEmptySubsequences: omittingEmpty).map { Substring($0) }
    }

    /// Runs `body` on the text's UTF-8, copying it only if it is not already contiguous.
    func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        if let result = utf8.withContiguousStorageIfAvailable(body) { return result }
        return Array(utf8).withUnsafeBufferPointer(body)
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Where the component that begins at `start` ends: at the next `/` or at the path's end.
    @inline(__always)
    func endOfComponent(from start: Int) -> Int {
        var end = start
        while end < count, self[end] != PathBytes.slash { end += 1 }
        return end
    }

    /// The scalar at `index`, which moves behind it; a byte that starts none counts as one by itself.
    func decodeScalar(at index: inout Int) -> UInt32 {
        let first = self[index]
        index += 1
        guard first >= 0xC0 else { return UInt32(first) }
        let following = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1
        guard index + following <= count else { return UInt32(first) }
        var value = UInt32(first) & (0x3F >> UInt32(following))
        for _ in 0..<following {
            value = value << 6 | UInt32(self[index]) & 0x3F
            index += 1
        }
        return value
    }
}
