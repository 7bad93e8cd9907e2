// Paths compared and divided as the bytes that they are, those relative to a folder and absolute ones alike.
//
// `hasPrefix`, `hasSuffix`, `split`, `lastIndex(of:)`, `count` and `==` of texts go by Characters: to them a `/` with a combining mark
// behind it is no `/`, and two spellings of a name are one. To a disk and to other devices they are two.

private let separator = UInt8(ascii: "/")

extension String {
    /// Whether this is below `directory`; everything is below the empty path, a folder's root.
    package func isBelow(_ directory: String) -> Bool { self[...].isBelow(directory[...]) }

    package func isAtOrBelow(_ directory: String) -> Bool { self[...].isAtOrBelow(directory[...]) }

    /// What a path that is at or below `directory` has behind it, with the `/` between them; empty for `directory` itself.
    package func behind(_ directory: String) -> Substring { Substring(utf8.dropFirst(directory.utf8.count)) }

    /// This without `rest` at its end; nil if it does not end with it.
    package func without(suffix rest: Substring) -> Substring? {
        let count = utf8.count - rest.utf8.count
        guard count >= 0, utf8.dropFirst(count).elementsEqual(rest.utf8) else { return nil }
        return Substring(utf8.prefix(count))
    }

    /// What is between the `/`, without empty parts.
    package var pathComponents: [Substring] { utf8.split(separator: separator).map { Substring($0) } }

    /// The directory that this is in; empty at the top.
    package var parentPath: Substring { self[...].parentPath }
}

extension Substring {
    package func isBelow(_ directory: Substring) -> Bool {
        guard !directory.isEmpty else { return !isEmpty }
        return utf8.starts(with: directory.utf8) && utf8.dropFirst(directory.utf8.count).first == separator
    }

    package func isAtOrBelow(_ directory: Substring) -> Bool {
        utf8.elementsEqual(directory.utf8) || isBelow(directory)
    }

    package var parentPath: Substring { utf8.lastIndex(of: separator).map { self[..<$0] } ?? "" }
}
