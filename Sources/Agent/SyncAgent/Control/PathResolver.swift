import BlockExchange
import ControlAPI

/// Finds which folder, and what in it, a typed path means. Pure.
struct PathResolver: Sendable {
    struct Folder: Sendable {
        var id: FolderID
        /// Absolute, without a slash at its end.
        var path: String
    }

    var folders: [Folder]
    /// Where folders are mounted, which may be several places of one.
    var mounts: [Folder] = []

    /// `FOLDER:relative/path` names a folder by its id; any other text is a path on this machine, which must lie in a
    /// folder or where one is mounted. A text that starts with `/`, `./` or `../` is never read as `FOLDER:…`.
    ///
    /// - Returns: the folder and the canonical path below its root, empty for the root.
    func resolve(_ reference: PathReference) throws(ControlError) -> (folder: FolderID, path: String) {
        let text = reference.text
        if !["/", "./", "../"].contains(where: { text.utf8.starts(with: $0.utf8) }),
            let colon = text.utf8.firstIndex(of: UInt8(ascii: ":"))
        {
            // Folder ids may hold colons themselves: the longest id that fits is meant.
            let candidates = folders.filter { text.utf8.starts(with: ($0.id.rawValue + ":").utf8) }
            if let folder = candidates.max(by: { $0.id.rawValue.utf8.count < $1.id.rawValue.utf8.count }) {
                let rest = text.utf8.dropFirst(folder.id.rawValue.utf8.count + 1)
                return (folder.id, try canonical(String(Substring(rest)), of: text))
            }
            if !text[..<colon].utf8.contains(UInt8(ascii: "/")) {
                throw ControlError.noSuchFolder(
                    String(text[..<colon]), among: folders.map(\.id.rawValue),
                    hint: Phrase(" (a file of that name here: ./\(text))"), path: text)
            }
        }
        let absolute = Self.absolute(text, in: reference.workingDirectory)
        let matches = (folders + mounts).filter { folder in
            (absolute + "/").utf8.starts(with: (folder.path == "/" ? "/" : folder.path + "/").utf8)
        }
        guard let folder = matches.max(by: { $0.path.utf8.count < $1.path.utf8.count }) else {
            throw ControlError(
                .noSuchPath,
                "\(absolute) is not inside a synced folder; use FOLDER:path, `synctrain folder list` shows the folders",
                path: text)
        }
        let rest = absolute.utf8.dropFirst(folder.path.utf8.count).drop { $0 == UInt8(ascii: "/") }
        return (folder.id, String(decoding: rest, as: UTF8.self))
    }

    private func canonical(_ relative: String, of text: String) throws(ControlError) -> String {
        let path = Self.absolute(relative, in: "/")
        let climbs = relative.utf8.split(separator: UInt8(ascii: "/")).reduce((depth: 0, lowest: 0)) { state, part in
            let step = part.elementsEqual("..".utf8) ? -1 : part.elementsEqual(".".utf8) ? 0 : 1
            return (state.depth + step, min(state.lowest, state.depth + step))
        }
        guard climbs.lowest >= 0 else {
            throw ControlError(.noSuchPath, "\(text) is outside its folder", path: text)
        }
        return String(Substring(path.utf8.dropFirst()))
    }

    /// `text` from `directory`, with `.`, `..` and double slashes worked out, as text: links are not followed.
    static func absolute(_ text: String, in directory: String) -> String {
        let whole = text.utf8.first == UInt8(ascii: "/") ? text : directory + "/" + text
        var parts: [Substring.UTF8View.SubSequence] = []
        for part in whole[...].utf8.split(separator: UInt8(ascii: "/")) {
            if part.elementsEqual(".".utf8) { continue }
            if part.elementsEqual("..".utf8) { _ = parts.popLast() } else { parts.append(part) }
        }
        return "/" + parts.map { String(Substring($0)) }.joined(separator: "/")
    }
}
