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
    /// Why the page is at another port than the configuration says; nil if it is not.
    package var remark: String?

    package init(url: String, seconds: Int, page: String? = nil, remark: String? = nil) {
        self.url = url
        self.seconds = seconds
        self.page = page
        self.remark = remark
    }
}

/// How many browsers were logged in and are not any more.
package struct LogOutAnswer: Codable, Equatable, Sendable {
    package var schema = 1
    package var ended: Int

    package init(ended: Int) { self.ended = ended }
}
