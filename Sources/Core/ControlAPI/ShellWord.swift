/// A word as a person types it into a shell.
package enum ShellWord {
    private static let plain = Set("/._-+=:@%".utf8)

    /// `text` in single quotes where the shell would read more into it than the text.
    package static func quoted(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { byte in
            let character = UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || 0x41...0x5A ~= byte || 0x61...0x7A ~= byte
            return character || plain.contains(byte)
        }
        guard !isPlain || text.isEmpty else { return text }
        return "'" + text.replacingScalars(["'": #"'\''"#]) + "'"
    }

    /// A command of this program, to be copied.
    package static func command(_ words: [String]) -> String {
        (["synctrain"] + words.map(quoted)).joined(separator: " ")
    }
}
