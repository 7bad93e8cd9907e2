/// How the machine is connected and powered, and what policies make of it.
public struct PolicyStatus: Codable, Equatable, Sendable {
    public enum Answer: String, Codable, Sendable, CaseIterable {
        case yes
        case no
        /// Nobody says.
        case unknown

        public init(_ answer: Bool?) { self = answer.map { $0 ? .yes : .no } ?? .unknown }
    }

    /// A policy that holds now.
    public struct Hold: Codable, Equatable, Sendable {
        /// `metered` or `battery`.
        public var cause: String
        /// `limit`, `on-demand-only` or `pause`.
        public var restraint: String
        /// A part of a sentence for people.
        public var message: String
        /// What ends it.
        public var remedy: String

        public init(cause: String, restraint: String, message: String, remedy: String) {
            self.cause = cause
            self.restraint = restraint
            self.message = message
            self.remedy = remedy
        }
    }

    public var schema = 1
    public var metered: Answer
    public var battery: Answer
    /// In percent; nil where it is not known or does not matter.
    public var charge: Double?
    public var holds: [Hold]
    /// Whether the user has set them aside; `ignoredUntil` is RFC 3339, nil until told otherwise.
    public var isIgnored: Bool
    public var ignoredUntil: String?
    /// What is not known, and why: a sentence each.
    public var remarks: [String]

    public init(
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
public struct PolicyChange: Codable, Equatable, Sendable {
    public var isIgnored: Bool
    /// After so many seconds they hold again by themselves; nil: when told to, or when the agent is started anew.
    public var seconds: Int64?

    public init(isIgnored: Bool, seconds: Int64? = nil) {
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
