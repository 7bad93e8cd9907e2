/// Names as the bytes that they are.
enum PathOrder {
    static let separator = UInt8(ascii: "/")

    /// Orders names by their bytes: what is below a directory comes after it.
    static func precedes(_ left: String, _ right: String) -> Bool { left.utf8.lexicographicallyPrecedes(right.utf8) }

    static func lastComponent(of name: String) -> Substring.UTF8View {
        guard let slash = name.utf8.lastIndex(of: separator) else { return name[...].utf8 }
        return name[name.utf8.index(after: slash)...].utf8
    }

    /// The directories above `name`, nearest first, without the root.
    static func ancestors(of name: String) -> [String] {
        var ancestors: [String] = []
        var end = name.utf8.endIndex
        while let slash = name.utf8[..<end].lastIndex(of: separator) {
            ancestors.append(String(name[..<slash]))
            end = slash
        }
        return ancestors
    }
}
