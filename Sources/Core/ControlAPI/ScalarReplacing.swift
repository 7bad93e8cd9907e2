extension StringProtocol {
    /// The text with each scalar that `replacements` has replaced by what stands there; for quoting texts of others.
    ///
    /// `replacing(_:with:)`, `split(separator:)` and loops over a text compare Characters: to them a `'` with a combining mark behind it
    /// is another Character than `'`. A shell, a parser or a file system sees the `'`.
    package func replacingScalars(_ replacements: [Unicode.Scalar: String]) -> String {
        var text = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            if let replacement = replacements[scalar] {
                text.append(contentsOf: replacement.unicodeScalars)
            } else {
                text.append(scalar)
            }
        }
        return String(text)
    }
}
