/// Asks for the configuration to be read again.
package struct ReloadRequest: Codable, Equatable, Sendable {
    /// Whether all devices or all folders may go, if the file names none any more.
    package var isConfirmed: Bool

    package init(isConfirmed: Bool = false) { self.isConfirmed = isConfirmed }

    enum CodingKeys: String, CodingKey { case isConfirmed = "confirmed" }

    /// Reads the request; `confirmed` may be missing.
    ///
    /// - Throws: `DecodingError`.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        isConfirmed = try container.decodeIfPresent(Bool.self, forKey: .isConfirmed) ?? false
    }
}

/// What came of reading the configuration again.
package struct ReloadAnswer: Codable, Equatable, Sendable {
    package var schema = 1
    /// Settings that are other than when the agent was started and take effect when it is started again.
    package var restart: [String]
    /// Settings that are other than before; nil from older agents.
    package var changed: [String]?

    package init(restart: [String], changed: [String]? = nil) {
        self.restart = restart
        self.changed = changed
    }
}
