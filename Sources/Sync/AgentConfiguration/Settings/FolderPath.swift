/// Absolute paths of folders, compared by their text and byte by byte, as Linux does.
enum FolderPath {
    /// `text` without double and trailing slashes; `~/…` below `userHome`.
    static func clean(_ text: String, userHome: String?) throws(SettingProblem) -> String {
        try clean(try expanded(text, userHome: userHome))
    }

    /// `text` with `~` and `~/` at its beginning replaced by `userHome`.
    static func expanded(_ text: String, userHome: String?) throws(SettingProblem) -> String {
        guard text == "~" || text.utf8.starts(with: "~/".utf8) else { return text }
        guard let userHome else {
            throw SettingProblem(
                .invalidValue,
                "`\(text)`: this user's home directory is unknown; enter a full path, for example /home/me/Library")
        }
        return (userHome == "/" && text.utf8.count > 1 ? "" : userHome) + Substring(text.utf8.dropFirst())
    }

    /// The full path `path` without double and trailing slashes.
    static func clean(_ path: String) throws(SettingProblem) -> String {
        guard path.utf8.first == UInt8(ascii: "/") else {
            throw SettingProblem(
                .invalidValue, "`\(path)` is not absolute; enter a full path, for example /home/me/Library")
        }
        guard path.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw SettingProblem(.invalidValue, "the path has a control character; choose a directory without one")
        }
        let parts = path.utf8.split(separator: UInt8(ascii: "/"))
        guard parts.allSatisfy({ !$0.elementsEqual(".".utf8) && !$0.elementsEqual("..".utf8) }) else {
            throw SettingProblem(.invalidValue, "the path `\(path)` contains `.` or `..`; remove them")
        }
        guard !parts.isEmpty else {
            throw SettingProblem(.invalidValue, "`/` cannot be a folder; choose a directory below it")
        }
        guard path.utf8.count < 4096, parts.allSatisfy({ $0.count <= 255 }) else {
            throw SettingProblem(.invalidValue, "the path is longer than Linux allows; choose a shorter one")
        }
        return "/" + parts.map { String(Substring($0)) }.joined(separator: "/")
    }

    /// Whether `path` is `directory` or lies in it, both cleaned.
    static func isSameOrInside(_ path: String, _ directory: String) -> Bool {
        let path = Array(path.utf8), directory = Array(directory.utf8)
        guard path.starts(with: directory) else { return false }
        return path.count == directory.count || directory == [UInt8(ascii: "/")]
            || path[directory.count] == UInt8(ascii: "/")
    }
}
