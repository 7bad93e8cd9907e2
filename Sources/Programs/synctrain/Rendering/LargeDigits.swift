/// Six digits that can be read across a desk.
enum LargeDigits {
    /// Five rows of three places; a `#` is filled.
    private static let shapes: [[Character]] = [
        Array("#### ## ## ####"), Array(" # ##  #  # ###"), Array("###  #####  ###"), Array("###  # ##  ####"),
        Array("# ## ####  #  #"), Array("####  ###  ####"), Array("####  #### ####"), Array("###  #  # #  # "),
        Array("#### ##### ####"), Array("#### ####  ####"),
    ]

    /// The columns that six digits take.
    static let width = 4 + 6 * 7 + 5 * 2 + 4

    /// `123456` as `123 456`.
    static func spaced(_ code: String) -> String { code.prefix(3) + " " + code.dropFirst(3) }

    /// Lines of blocks, two columns for each place, a gap in the middle.
    static func lines(_ code: String) -> [String] {
        let digits = code.compactMap(\.wholeNumberValue).filter { shapes.indices.contains($0) }
        return (0..<5).map { row in
            var line = "    "
            for (place, digit) in digits.enumerated() {
                if place > 0 { line += place == 3 ? "      " : "  " }
                for column in 0..<3 { line += shapes[digit][row * 3 + column] == "#" ? "██" : "  " }
            }
            while line.hasSuffix(" ") { line.removeLast() }
            return line
        }
    }
}
