/// Asks for a link that logs a browser in.
package struct LoginRequest: Codable, Equatable, Sendable {
    /// Whether there is to be a file, too, that leads a browser to the link: a program that is started with the link itself
    /// would show it to every user of the machine among its arguments.
    package var hasPage: Bool

    package init(hasPage: Bool = false) { self.hasPage = hasPage }

    enum CodingKeys: String, CodingKey { case hasPage = "page" }

    /// Reads the request; `page` may be missing.
    ///
    /// - Throws: `DecodingError`.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        hasPage = try container.decodeIfPresent(Bool.self, forKey: .hasPage) ?? false
    }
}

/// A link that logs a browser in to the page.
package struct LoginLink: Codable, Equatable, Sendable {
    package var schema = 1
    /// `http://127.0.0.1:PORT/login?token=…`; good once.
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
