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

    /// `FOLDER:relative/path` names a folder by its id; any other text is a path on this machine, which must lie in a
    /// folder. A text that starts with `/`, `./` or `../` is never read as `FOLDER:…`.
    ///
    /// - Returns: the folder and the canonical path below its root, empty for the root.
    func resolve(_ reference: PathReference) throws(ControlError) -> (folder: FolderID, path: String) {
        let text = reference.text
        if !["/", "./", "../"].contains(where: text.hasPrefix), let colon = text.firstIndex(of: ":") {
            // Folder ids may hold colons themselves: the longest id that fits is meant.
            let candidates = folders.filter { text.hasPrefix($0.id.rawValue + ":") }
            if let folder = candidates.max(by: { $0.id.rawValue.utf8.count < $1.id.rawValue.utf8.count }) {
                let rest = text.dropFirst(folder.id.rawValue.count + 1)
                return (folder.id, try canonical(String(rest), of: text))
            }
            if !text[..<colon].contains("/") {
                throw ControlError.noSuchFolder(
                    String(text[..<colon]), among: folders.map(\.id.rawValue),
                    hint: Phrase(" (a file of that name here: ./\(text))"), path: text)
            }
        }
        let absolute = Self.absolute(text, in: reference.workingDirectory)
        let matches = folders.filter { absolute == $0.path || absolute.hasPrefix($0.path == "/" ? "/" : $0.path + "/") }
        guard let folder = matches.max(by: { $0.path.utf8.count < $1.path.utf8.count }) else {
            throw ControlError(
                .noSuchPath,
                "\(absolute) is not inside a synced folder; use FOLDER:path, `synctrain folder list` shows the folders",
                path: text)
        }
        let rest = absolute.utf8.dropFirst(folder.path.utf8.count + (absolute == folder.path ? 0 : 1))
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
        return String(path.dropFirst())
    }

    /// `text` from `directory`, with `.`, `..` and double slashes worked out, as text: links are not followed.
    static func absolute(_ text: String, in directory: String) -> String {
        let whole = text.hasPrefix("/") ? text : directory + "/" + text
        var parts: [Substring.UTF8View.SubSequence] = []
        for part in whole[...].utf8.split(separator: UInt8(ascii: "/")) {
            if part.elementsEqual(".".utf8) { continue }
            if part.elementsEqual("..".utf8) { _ = parts.popLast() } else { parts.append(part) }
        }
        return "/" + parts.map { String(Substring($0)) }.joined(separator: "/")
    }
}
