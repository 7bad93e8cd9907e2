/// A name or path as the key of a dictionary or set, by its bytes.
///
/// `String` is compared and hashed by Unicode's equivalence: of two names that differ in normalization alone, which are two files, a
/// dictionary of texts holds one.
@usableFromInline package struct NameKey: Hashable, Sendable, ExpressibleByStringLiteral {
    @usableFromInline package let text: String

    @inlinable package init(_ text: String) { self.text = text }

    @usableFromInline package init(stringLiteral text: String) { self.text = text }

    @usableFromInline package static func == (left: Self, right: Self) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
    }

    @usableFromInline package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // Ends the text, which holds no 0xFF.
        hasher.combine(0xFF as UInt8)
    }
}

extension Dictionary where Key == NameKey {
    @inlinable package subscript(name: String) -> Value? {
        get { self[NameKey(name)] }
        _modify { yield &self[NameKey(name)] }
    }

    @inlinable package subscript(name: String, default value: @autoclosure () -> Value) -> Value {
        get { self[NameKey(name), default: value()] }
        _modify { yield &self[NameKey(name), default: value()] }
    }
}

extension Set<NameKey> {
    package init(names: some Sequence<String>) { self = Set(names.map { NameKey($0) }) }

    package func contains(_ name: String) -> Bool { contains(NameKey(name)) }

    /// Whether the name was not in it before.
    @discardableResult
    package mutating func insert(_ name: String) -> Bool { insert(NameKey(name)).inserted }
}
