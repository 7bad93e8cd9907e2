/// The cookie that says who is logged in. Pure.
///
/// Cookies know hosts and no ports, so that the name has it: agents of one machine do not overwrite each other's.
struct SessionCookie: Equatable, Sendable {
    let name: String

    init(port: Int) { name = "synctrain-\(port)" }

    /// `Set-Cookie` for a secret of letters and digits. No `Secure`: the page is not encrypted.
    ///
    /// - Parameter time: seconds that the browser keeps it.
    func setting(_ secret: String, for time: Int64) -> String {
        "\(name)=\(secret); Max-Age=\(time); Path=/; HttpOnly; SameSite=Strict"
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
