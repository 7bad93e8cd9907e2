import ControlAPI

/// What of a site the target of a request means. Pure.
struct SiteTarget: Equatable, Sendable {
    /// Names below the site's directory, none of them `.` or `..`.
    var names: [String]
    /// It ends with a slash.
    var isDirectory: Bool

    /// Throws `invalidRequest` for what is no path, and `noSuchPath` for one that no file can have.
    init(target: String) throws(ControlError) {
        let path = target.prefix { $0 != "?" && $0 != "#" }
        guard path.utf8.first == 0x2F, path.utf8.count <= 3 * ControlLimits.path else {
            throw ControlError(.invalidRequest, "The path is missing or too long.")
        }
        names = []
        var parts = path.utf8.dropFirst().split(separator: 0x2F, omittingEmptySubsequences: false)[...]
        isDirectory = parts.last?.isEmpty ?? true
        if isDirectory { parts = parts.dropLast() }
        for part in parts {
            guard let name = RequestQuery.decode(Substring(part)), !name.isEmpty, name != ".", name != "..",
                !name.utf8.contains(0x2F), !name.utf8.contains(0)
            else { throw ControlError(.noSuchPath, "The path is not valid.") }
            names.append(name)
        }
        guard names.reduce(0, { $0 + $1.utf8.count + 1 }) <= ControlLimits.path else {
            throw ControlError(.noSuchPath, "The path is not valid.")
        }
    }

    /// Relative to the site's directory; empty for itself.
    var path: String { names.joined(separator: "/") }

    /// The path of the directory as an address has it, from one slash to another: never of another host.
    var directoryLocation: String { "/" + names.map { RequestQuery.encode($0) + "/" }.joined() }
}

/// The page that shows what is in a directory. Pure.
enum SiteListing {
    static func head(_ target: SiteTarget) -> String {
        let title = escape("/" + target.path)
        return """
            <!doctype html><html lang="en"><meta charset="utf-8"><title>\(title)</title>\
            <meta name="viewport" content="width=device-width"><style>:root{color-scheme:light dark}\
            body{font:1rem/1.5 system-ui,sans-serif;margin:2rem}td{padding-right:2rem}td+td{text-align:right}</style>\
            <h1>\(title)</h1><table>\(target.names.isEmpty ? "" : "<tr><td><a href=\"../\">../</a><td>")

            """
    }

    static func row(_ entry: Entry) -> String {
        let bytes = entry.path.utf8
        let name = bytes.lastIndex(of: 0x2F).map { String(Substring(bytes[bytes.index(after: $0)...])) } ?? entry.path
        let slash = entry.kind == .directory ? "/" : ""
        // A name with a colon would be taken for an address if it stood alone.
        return "<tr><td><a href=\"./\(escape(RequestQuery.encode(name)))\(slash)\">\(escape(name))\(slash)</a>"
            + "<td>\(entry.kind == .file ? String(entry.size) : "")\n"
    }

    static let end = "</table>\n"

    static func escape(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}

extension MediaType {
    /// What a site says a file is: there pages and scripts are what they are.
    static func ofSite(path: String) -> String {
        let name = path.utf8.split(separator: 0x2F).last.map { Substring($0) } ?? ""
        let ending = name.lastIndex(of: ".").map { name[name.index(after: $0)...].lowercased() } ?? ""
        return live[ending] ?? MediaType(path: path).text
    }

    private static let live = [
        "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "json": "application/json",
        "map": "application/json", "mjs": "text/javascript; charset=utf-8",
        "wasm": "application/wasm", "woff": "font/woff", "woff2": "font/woff2", "ttf": "font/ttf", "otf": "font/otf",
        "webmanifest": "application/manifest+json", "xhtml": "application/xhtml+xml",
    ]
}
