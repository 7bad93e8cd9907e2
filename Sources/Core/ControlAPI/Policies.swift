import Phrases

/// How the machine is connected and powered, and what policies make of it.
package struct PolicyStatus: Codable, Equatable, Sendable {
    package enum Answer: String, Codable, Sendable, CaseIterable {
        case yes
        case no
        /// Nobody says.
        case unknown

        package init(_ answer: Bool?) { self = answer.map { $0 ? .yes : .no } ?? .unknown }
    }

    /// A policy that holds now.
    package struct Hold: Codable, Equatable, Sendable {
        /// `metered` or `battery`.
        package var cause: String
        /// `limit`, `on-demand-only` or `pause`.
        package var restraint: String
        /// A part of a sentence for people; `text` is what it was made of.
        package private(set) var message: String
        package private(set) var text: Phrase?
        /// What ends it; `remedyText` is what it was made of.
        package private(set) var remedy: String
        package private(set) var remedyText: Phrase?

        package init(cause: String, restraint: String, message: Phrase, remedy: Phrase) {
            self.cause = cause
            self.restraint = restraint
            self.message = message.english
            text = message.unlessVerbatim
            self.remedy = remedy.english
            remedyText = remedy.unlessVerbatim
        }

        package var phrase: Phrase { "\(text ?? "\(message)"); \(remedyText ?? "\(remedy)")" }
    }

    package var schema = 1
    package var metered: Answer
    package var battery: Answer
    /// In percent; nil where it is not known or does not matter.
    package var charge: Double?
    package var holds: [Hold]
    /// Whether the user has set them aside; `ignoredUntil` is RFC 3339, nil until told otherwise.
    package var isIgnored: Bool
    package var ignoredUntil: String?
    /// What is not known, and why: a sentence each.
    package var remarks: [String]

    package init(
        metered: Answer, battery: Answer, charge: Double? = nil, holds: [Hold] = [], isIgnored: Bool = false,
        ignoredUntil: String? = nil, remarks: [String] = []
    ) {
        self.metered = metered
        self.battery = battery
        self.charge = charge
        self.holds = holds
        self.isIgnored = isIgnored
        self.ignoredUntil = ignoredUntil
        self.remarks = remarks
    }

    enum CodingKeys: String, CodingKey {
        case schema, metered, battery, charge, holds, isIgnored = "ignored", ignoredUntil, remarks
    }
}

/// Sets the policies of metered connections and batteries aside, or has them hold again.
package struct PolicyChange: Codable, Equatable, Sendable, CheckedRequest {
    package var isIgnored: Bool
    /// After so many seconds they hold again by themselves; nil: when told to, or when the agent is started again.
    package var seconds: Int64?

    package init(isIgnored: Bool, seconds: Int64? = nil) {
        self.isIgnored = isIgnored
        self.seconds = seconds
    }

    func check() throws(ControlError) {
        guard let seconds else { return }
        guard isIgnored, (1...PauseChange.longest).contains(seconds) else {
            throw ControlError(
                .invalidRequest, "Policies can be suspended for 1 second to 1 year; re-enabling them has no duration.")
        }
    }

    enum CodingKeys: String, CodingKey { case isIgnored = "ignored", seconds }
}
