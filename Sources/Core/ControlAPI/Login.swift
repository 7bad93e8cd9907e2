import Phrases

/// Asks for a link that logs a browser in.
package struct LoginRequest: Codable, Equatable, Sendable, CheckedRequest {
    /// Whether there is to be a file, too, that leads a browser to the link: a program that is started with the link itself
    /// would show it to every user of the machine among its arguments.
    package var hasPage: Bool
    /// The file or directory that the browser shows once it is logged in; nil for the start.
    package var path: PathReference?

    package init(hasPage: Bool = false, path: PathReference? = nil) {
        self.hasPage = hasPage
        self.path = path
    }

    enum CodingKeys: String, CodingKey { case hasPage = "page", path }

    /// Reads the request; `page` may be missing.
    ///
    /// - Throws: `DecodingError`.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        hasPage = try container.decodeIfPresent(Bool.self, forKey: .hasPage) ?? false
        path = try container.decodeIfPresent(PathReference.self, forKey: .path)
    }

    func check() throws(ControlError) {
        try PathReference.check(path.map { [$0] } ?? [])
    }
}

/// A link that logs a browser in to the page.
package struct LoginLink: Codable, Equatable, Sendable {
    package var schema = 1
    /// `http://127.0.0.1:PORT/login?token=…`; good once. With a path, `#/files/FOLDER/…` follows, which browsers keep
    /// through the login's redirection.
    package var url: String
    /// How long it is good for.
    package var seconds: Int
    /// Absolute: a file for this user alone that leads a browser to the link. It goes when the link is used or expires.
    package var page: String?
    /// Why the page is at another port than the configuration says; nil if it is not. `remarkText` is what it was made of.
    package private(set) var remark: String?
    package private(set) var remarkText: Phrase?
    /// The SHA-256 of the certificate that the page shows to other machines, `AB:CD:…`; nil where it has none.
    package var fingerprint: String?

    package init(
        url: String, seconds: Int, page: String? = nil, remark: Phrase? = nil, fingerprint: String? = nil
    ) {
        self.url = url
        self.seconds = seconds
        self.page = page
        self.remark = remark?.english
        remarkText = remark?.unlessVerbatim
        self.fingerprint = fingerprint
    }

    package var remarkPhrase: Phrase? { remarkText ?? remark.map { "\($0)" } }
}

/// Sets the password with which browsers on other machines log in.
package struct PasswordChange: Codable, Equatable, Sendable, CheckedRequest {
    /// In characters.
    package static let shortest = 10
    /// In bytes of UTF-8.
    package static let longest = 1024

    package var password: String

    package init(password: String) { self.password = password }

    func check() throws(ControlError) {
        guard password.count >= Self.shortest else {
            throw ControlError(
                .invalidRequest, "The password is too short. Use at least \(Self.shortest) characters.")
        }
        guard password.utf8.count <= Self.longest else {
            throw ControlError(
                .invalidRequest, "The password is too long. Use at most \(Self.longest) bytes.")
        }
        guard password.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F }) else {
            throw ControlError(
                .invalidRequest, "The password has a control character, which a browser cannot send. Use another one.")
        }
    }
}

/// The password is set, and all browsers are logged out.
package struct PasswordAnswer: Codable, Equatable, Sendable {
    package var schema = 1
    /// How many browsers were logged in.
    package var ended: Int
    /// Why the page is not at its address; nil if it is. `problemText` is what it was made of.
    package private(set) var problem: String?
    package private(set) var problemText: Phrase?

    package init(ended: Int, problem: Phrase? = nil) {
        self.ended = ended
        self.problem = problem?.english
        problemText = problem?.unlessVerbatim
    }
}

/// What a browser sends to log in with the password.
package struct PasswordLogin: Codable, Equatable, Sendable {
    package var password: String

    package init(password: String) { self.password = password }
}

/// How many browsers were logged in and are not any more.
package struct LogOutAnswer: Codable, Equatable, Sendable {
    package var schema = 1
    package var ended: Int

    package init(ended: Int) { self.ended = ended }
}
