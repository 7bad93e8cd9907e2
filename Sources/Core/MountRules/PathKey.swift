/// A name or path as the key of a dictionary or set, by its bytes: to the kernel two names that differ in normalization alone are two,
/// and `String` takes them for one.
package struct PathKey: Hashable, Sendable, ExpressibleByStringLiteral {
    package let text: String

    package init(_ text: String) { self.text = text }

    package init(stringLiteral text: String) { self.text = text }

    package static func == (left: Self, right: Self) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // Ends the text, which holds no 0xFF.
        hasher.combine(0xFF as UInt8)
    }
}

extension Dictionary where Key == PathKey {
    package subscript(path: String) -> Value? {
        get { self[PathKey(path)] }
        _modify { yield &self[PathKey(path)] }
    }

    subscript(path: String, default value: @autoclosure () -> Value) -> Value {
        get { self[PathKey(path), default: value()] }
        _modify { yield &self[PathKey(path), default: value()] }
    }
}

extension Set<PathKey> {
    func contains(_ path: String) -> Bool { contains(PathKey(path)) }

    /// Whether the path was not in it before.
    @discardableResult
    mutating func insert(_ path: String) -> Bool { insert(PathKey(path)).inserted }
}
