/// Texts with places `{1}`, `{2}`, ….
enum Template {
    /// The template with its places filled; a place for which there is nothing stays as it is.
    ///
    /// - Parameter value: what belongs to a place, whose index is one less than the number in it.
    static func filled(_ template: String, _ value: (_ index: Int) -> String?) -> String {
        var filled = ""
        var rest = template[...]
        while let brace = rest.firstIndex(of: "{") {
            filled += rest[..<brace]
            let digits = rest[rest.index(after: brace)...].prefix { $0.isASCII && $0.isNumber }
            if digits.endIndex < rest.endIndex, rest[digits.endIndex] == "}", digits.count < 4,
                let number = Int(digits), number > 0, let text = value(number - 1)
            {
                filled += text
                rest = rest[rest.index(after: digits.endIndex)...]
            } else {
                filled += "{"
                rest = rest[rest.index(after: brace)...]
            }
        }
        return filled + rest
    }
}
