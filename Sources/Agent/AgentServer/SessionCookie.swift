/// The cookie that says who is logged in. Pure.
///
/// Cookies know hosts and no ports, so that the name has it: agents of one machine do not overwrite each other's.
struct SessionCookie: Equatable, Sendable {
    let name: String
    private let isSecure: Bool

    /// - Parameter isSecure: the page is encrypted. Then browsers take the cookie from nobody who is not (`__Host-`), and show it
    ///   to nobody who is not (`Secure`).
    init(port: Int, isSecure: Bool = false) {
        name = "\(isSecure ? "__Host-" : "")synctrain-\(port)"
        self.isSecure = isSecure
    }

    /// `Set-Cookie` for a secret of letters and digits.
    ///
    /// - Parameter time: seconds that the browser keeps it.
    func setting(_ secret: String, for time: Int64) -> String {
        "\(name)=\(secret); Max-Age=\(time); Path=/; \(isSecure ? "Secure; " : "")HttpOnly; SameSite=Strict"
    }

    /// What the fields of a request give for it. A browser may have several of one name; only the first few count.
    func values(in fields: [String]) -> [Substring] {
        var values: [Substring] = []
        for field in fields {
            for pair in field.split(separator: ";", maxSplits: 200) where values.count < 4 {
                let text = pair.drop { $0 == " " }
                guard let equals = text.firstIndex(of: "="), text[..<equals] == name else { continue }
                values.append(text[text.index(after: equals)...])
            }
        }
        return values
    }
}
