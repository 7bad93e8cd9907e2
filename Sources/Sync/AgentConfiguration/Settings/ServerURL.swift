import Foundation

/// The parts of a server's URL. Only plain text is read: no spaces, no letters beyond ASCII, no fragment.
package struct ServerURL: Equatable, Sendable {
    package struct Parameter: Equatable, Sendable {
        package var name: String
        /// Nil without `=`.
        package var value: String?
    }

    static let byteLimit = 1000

    /// In lower case: `https`, `relay`, `dynamic+https`.
    package var scheme: String
    /// Decoded.
    package var user: String?
    /// Decoded.
    package var password: String?
    /// A name or an address in numbers, without brackets.
    package var host: String
    package var port: Int?
    /// As written; empty or beginning with `/`.
    package var path: String
    package var parameters: [Parameter]

    /// Nil for what is none.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.byteLimit, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x23 }),
            let separator = text.firstRange(of: "://")
        else { return nil }
        scheme = text[..<separator.lowerBound].lowercased()
        let rest = text[separator.upperBound...]
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        var authority = rest[..<end]
        if let at = authority.lastIndex(of: "@") {
            let parts = authority[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard let user = parts.first?.removingPercentEncoding, !user.isEmpty else { return nil }
            self.user = user
            if parts.count == 2 {
                guard let password = parts[1].removingPercentEncoding else { return nil }
                self.password = password
            }
            authority = authority[authority.index(after: at)...]
        }
        guard let (host, port) = AddressSyntax.hostAndPort(authority, needsPort: false) else { return nil }
        (self.host, self.port) = (host, port)
        let question = rest[end...].firstIndex(of: "?") ?? rest.endIndex
        path = String(rest[end..<question])
        parameters = []
        for part in rest[question...].dropFirst().split(separator: "&") {
            let parts = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = parts.first?.removingPercentEncoding else { return nil }
            guard parts.count == 2 else {
                parameters.append(Parameter(name: name))
                continue
            }
            guard let value = parts[1].removingPercentEncoding else { return nil }
            parameters.append(Parameter(name: name, value: value))
        }
    }

    /// The value of the first parameter of that name; nil if there is none or it has none.
    package func value(_ name: String) -> String? { parameters.first { $0.name == name }?.value }

    /// Whether a switch such as `insecure` is on: there, and not `=false`.
    package func isOn(_ name: String) -> Bool {
        parameters.first { $0.name == name }.map { $0.value != "false" } ?? false
    }

    /// `text` to be shown: the password is replaced by `…`.
    package static func withoutPassword(_ text: String) -> String {
        let rest = text[(text.firstRange(of: "://")?.upperBound ?? text.startIndex)...]
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        guard let at = rest[..<end].lastIndex(of: "@"), let colon = rest[..<at].firstIndex(of: ":") else { return text }
        return String(text[...colon]) + "…" + text[at...]
    }
}
