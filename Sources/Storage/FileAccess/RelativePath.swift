import Glibc
import Phrases

/// The path of something inside a folder: relative, canonical, separated by `/`, so that it can name nothing outside.
///
/// Every value holds: 1 to 4095 bytes of UTF-8 (Linux counts 4096 with the ending NUL); 1 to 256 components of 1 to 255
/// bytes; no component is `.` or `..`; no NUL byte. Values are compared, ordered and hashed byte by byte, as the disk
/// does, not by Unicode's equivalence as `String` does. Whether the text is NFC is the business of whoever announces
/// it.
package struct RelativePath: Sendable, CustomStringConvertible {
    package static let byteCountLimit = 4095
    package static let componentByteCountLimit = 255
    package static let componentCountLimit = 256

    /// The path's text.
    package let text: String

    /// Takes `text` as it is; throws what is wrong with it.
    package init(parsing text: String) throws(RelativePathError) {
        if let reason = Self.flaw(of: text) { throw RelativePathError(reason: reason, path: text) }
        self.text = text
    }

    /// Takes `text` as it is; nil if it is no such path.
    package init?(_ text: String) {
        guard Self.flaw(of: text) == nil else { return nil }
        self.text = text
    }

    /// For text that is known to hold to the rules, being part of a path that does.
    private init(unchecked text: Substring) { self.text = String(text) }

    private static func flaw(of text: String) -> RelativePathError.Reason? {
        text.withBytes { bytes in
            guard let first = bytes.first, let last = bytes.last else { return .empty }
            guard bytes.count <= byteCountLimit else { return .tooLong }
            guard first != separator else { return .absolute }
            guard last != separator else { return .trailingSeparator }
            guard !bytes.contains(0) else { return .nulByte }
            var componentCount = 0
            var start = 0
            while start <= bytes.count {
                let end = bytes[start...].firstIndex(of: separator) ?? bytes.count
                componentCount += 1
                switch end - start {
                case 0: return .emptyComponent
                case 1 where bytes[start] == dot: return .dotComponent
                case 2 where bytes[start] == dot && bytes[start + 1] == dot: return .dotComponent
                case let count where count > componentByteCountLimit: return .componentTooLong
                default: start = end + 1
                }
            }
            return componentCount > componentCountLimit ? .tooDeep : nil
        }
    }

    private static let separator = UInt8(ascii: "/")
    private static let dot = UInt8(ascii: ".")

    /// The names from the root down; never empty.
    // Split as bytes: among Characters a `/` followed by a combining mark is no `/`.
    package var components: [Substring] { text.utf8.split(separator: Self.separator).map(Substring.init) }

    /// Where the `/` before the last component is.
    private var lastSeparator: String.Index? {
        let offset = text.withBytes { $0.lastIndex(of: Self.separator) }
        return offset.map { text.utf8.index(text.utf8.startIndex, offsetBy: $0) }
    }

    /// The last component.
    package var name: String {
        guard let lastSeparator else { return text }
        return String(text[text.utf8.index(after: lastSeparator)...])
    }

    /// The directory that holds this; nil at the top of the folder.
    package var parent: RelativePath? {
        lastSeparator.map { RelativePath(unchecked: text[..<$0]) }
    }

    /// This path and then `component`, which may be several joined by `/`.
    package func appending(_ component: String) throws(RelativePathError) -> RelativePath {
        // Checked alone too: "/x" behind "a" would be an empty component, not an absolute path.
        _ = try RelativePath(parsing: component)
        return try RelativePath(parsing: "\(text)/\(component)")
    }

    /// The same place with another last component.
    package func replacingName(with name: String) throws(RelativePathError) -> RelativePath {
        guard let parent else { return try RelativePath(parsing: name) }
        return try parent.appending(name)
    }

    /// Whether this is somewhere below `ancestor` (`a/b` is below `a`; `ab` and `a` are not).
    package func isBelow(_ ancestor: RelativePath) -> Bool {
        let mine = text.utf8
        let theirs = ancestor.text.utf8
        guard mine.count > theirs.count + 1 else { return false }
        return mine.starts(with: theirs) && mine[mine.index(mine.startIndex, offsetBy: theirs.count)] == Self.separator
    }

    package var description: String { text }
}

extension RelativePath: Hashable, Comparable {
    package static func == (left: Self, right: Self) -> Bool {
        left.text.utf8.count == right.text.utf8.count && left.text.byteOrder(to: right.text) == 0
    }

    package static func < (left: Self, right: Self) -> Bool { left.text.byteOrder(to: right.text) < 0 }

    package func hash(into hasher: inout Hasher) {
        text.withBytes { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // Ends the text, which holds no 0xFF, so that two paths in a row are not one longer path.
        hasher.combine(0xFF as UInt8)
    }
}

extension String {
    /// Gives the bytes in one piece; `UTF8View` hands them out one call at a time where it is not specialized.
    func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        if let result = utf8.withContiguousStorageIfAvailable(body) { return result }
        var text = self
        return text.withUTF8(body)
    }

    /// Below zero if these bytes come before those of `other`, zero if they are the same.
    fileprivate func byteOrder(to other: String) -> Int {
        withBytes { left in
            other.withBytes { right in
                guard let first = left.baseAddress, let second = right.baseAddress else {
                    return left.count - right.count
                }
                let order = Int(memcmp(first, second, Swift.min(left.count, right.count)))
                return order != 0 ? order : left.count - right.count
            }
        }
    }
}

/// Why a text is not a path inside a folder.
package struct RelativePathError: PhrasedError, Hashable, Sendable, CustomStringConvertible {
    package enum Reason: String, Sendable, CaseIterable {
        case empty
        case absolute
        case trailingSeparator = "trailing-separator"
        case emptyComponent = "empty-component"
        case dotComponent = "dot-component"
        case nulByte = "nul-byte"
        case componentTooLong = "component-too-long"
        case tooLong = "too-long"
        case tooDeep = "too-deep"
    }

    package let reason: Reason
    /// The text in question.
    package let path: String

    package var text: Phrase {
        let (flaw, remedy): (Phrase, Phrase) =
            switch reason {
            case .empty: (Phrase("it is empty"), Phrase("name a file or directory of the folder"))
            case .absolute: (Phrase("it begins with /"), Phrase("omit the folder's own path"))
            case .trailingSeparator: (Phrase("it ends with /"), Phrase("remove the last /"))
            case .emptyComponent: (Phrase("it contains //"), Phrase("write one / between names"))
            case .dotComponent: (Phrase("it contains . or .."), Phrase("write the path from the folder's root"))
            case .nulByte: (Phrase("it contains a NUL byte"), Phrase("rename the file"))
            case .componentTooLong: (Phrase("a name in it is longer than 255 bytes"), Phrase("use a shorter name"))
            case .tooLong: (Phrase("it is longer than 4095 bytes"), Phrase("use shorter names or fewer directories"))
            case .tooDeep: (Phrase("it is more than 256 names deep"), Phrase("use fewer directories"))
            }
        return Phrase("\(quoted(path)) is not a path inside a folder: \(flaw); \(remedy)")
    }

    package var description: String { message }
}

/// `text` in quotes and at most about 200 characters of it, with control characters written as `\u{…}`.
func quoted(_ text: String) -> String {
    var result = "“"
    for (index, scalar) in text.unicodeScalars.enumerated() {
        guard index < 200 else {
            result += "…"
            break
        }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator:
            result += "\\u{\(String(scalar.value, radix: 16))}"
        default: result.unicodeScalars.append(scalar)
        }
    }
    return result + "”"
}
