import Phrases

/// What was found when this device was examined, each with what would help.
package struct DoctorReport: Codable, Equatable, Sendable {
    package var schema = 1
    /// By area; in an area the worst first.
    package var findings: [DoctorFinding]

    package init(findings: [DoctorFinding]) {
        self.findings = findings.enumerated().sorted {
            ($0.element.area.order, $1.element.state.rank, $0.offset) < (
                $1.element.area.order, $0.element.state.rank, $1.offset
            )
        }.map(\.element)
    }

    /// Whether anything has to be put right before this device works as it is configured.
    package var hasProblem: Bool { findings.contains { $0.state == .problem } }

    /// These findings and those of `other` that say something of another subject.
    package func adding(_ other: [DoctorFinding]) -> DoctorReport {
        let known = Set(findings.map(\.key))
        return DoctorReport(findings: findings + other.filter { !known.contains($0.key) })
    }
}

/// One thing that was examined.
package struct DoctorFinding: Equatable, Sendable {
    package enum State: String, CaseIterable, Codable, Sendable {
        case ok
        /// Worth knowing; nothing is wrong.
        case note
        /// Works, and not as well as it could.
        case warning
        /// Something does not work until it is put right.
        case problem

        /// Reads a word; an unknown one is a note.
        ///
        /// - Throws: `DecodingError` for what is not text.
        package init(from decoder: any Decoder) throws {
            self = State(rawValue: try decoder.singleValueContainer().decode(String.self)) ?? .note
        }

        var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
    }

    /// A closed set here; a client takes a word that it does not know for `system`.
    package enum Area: String, CaseIterable, Codable, Sendable {
        case agent, configuration, permissions, database, clock, network, devices, folders, watching, space, bluetooth
        case thumbnails, mount, system

        /// Reads a word; an unknown one is `system`.
        ///
        /// - Throws: `DecodingError` for what is not text.
        package init(from decoder: any Decoder) throws {
            self = Area(rawValue: try decoder.singleValueContainer().decode(String.self)) ?? .system
        }

        var order: Int { Self.allCases.firstIndex(of: self) ?? 0 }
    }

    /// What a finding is about: two findings about the same say the same.
    struct Key: Hashable {
        var code: String
        var subject: String?
    }

    package var area: Area
    /// A word for what was examined, for scripts: `key-mode`, `disk-space`, ….
    package var code: String
    package var state: State
    /// The folder's or device's id, or the file's path; nil for this device as a whole.
    package var subject: String?
    /// What is, as a sentence.
    package var text: Phrase
    /// Why it matters, as a sentence; nil where nothing is wrong.
    package var whyText: Phrase?
    /// What would help, as a sentence; nil where nothing is to be done.
    package var remedyText: Phrase?
    /// The same as a command for a shell, where there is one.
    package var command: String?
    /// What was seen or tried, a line each.
    package var detailTexts: [Phrase]

    package init(
        _ area: Area, _ code: String, _ state: State, subject: String? = nil, _ text: Phrase, why: Phrase? = nil,
        remedy: Phrase? = nil, command: String? = nil, details: [Phrase] = []
    ) {
        self.area = area
        self.code = code
        self.state = state
        self.subject = subject
        self.text = text
        whyText = why
        remedyText = remedy
        self.command = command
        detailTexts = details
    }

    // The same in English.
    package var message: String { text.english }
    package var why: String? { whyText?.english }
    package var remedy: String? { remedyText?.english }
    package var details: [String] { detailTexts.map(\.english) }

    var key: Key { Key(code: code, subject: subject) }
}

extension DoctorFinding: Codable {
    enum CodingKeys: String, CodingKey {
        case area, code, state, subject, message, text, why, whyText, remedy, remedyText, command, details, detailTexts
    }

    /// Reads the finding; from an older agent in English only.
    ///
    /// - Throws: `DecodingError`.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let message = try container.decode(String.self, forKey: .message)
        let why = try container.decodeIfPresent(String.self, forKey: .why)
        let remedy = try container.decodeIfPresent(String.self, forKey: .remedy)
        let details = try container.decode([String].self, forKey: .details)
        self.init(
            try container.decode(Area.self, forKey: .area), try container.decode(String.self, forKey: .code),
            try container.decode(State.self, forKey: .state),
            subject: try container.decodeIfPresent(String.self, forKey: .subject),
            try container.decodeIfPresent(Phrase.self, forKey: .text) ?? "\(message)",
            why: try container.decodeIfPresent(Phrase.self, forKey: .whyText) ?? why.map { "\($0)" },
            remedy: try container.decodeIfPresent(Phrase.self, forKey: .remedyText) ?? remedy.map { "\($0)" },
            command: try container.decodeIfPresent(String.self, forKey: .command),
            details: try container.decodeIfPresent([Phrase].self, forKey: .detailTexts) ?? details.map { "\($0)" })
    }

    /// Writes each text in English, and beside it what it was made of.
    ///
    /// - Throws: what the encoder throws.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(area, forKey: .area)
        try container.encode(code, forKey: .code)
        try container.encode(state, forKey: .state)
        try container.encodeIfPresent(subject, forKey: .subject)
        try container.encode(message, forKey: .message)
        try container.encodeIfPresent(text.unlessVerbatim, forKey: .text)
        try container.encodeIfPresent(why, forKey: .why)
        try container.encodeIfPresent(whyText?.unlessVerbatim, forKey: .whyText)
        try container.encodeIfPresent(remedy, forKey: .remedy)
        try container.encodeIfPresent(remedyText?.unlessVerbatim, forKey: .remedyText)
        try container.encodeIfPresent(command, forKey: .command)
        try container.encode(details, forKey: .details)
        if !detailTexts.allSatisfy(\.isVerbatim) { try container.encode(detailTexts, forKey: .detailTexts) }
    }

    /// The same to a program, whether or not it was read from JSON.
    package static func == (left: DoctorFinding, right: DoctorFinding) -> Bool {
        left.area == right.area && left.code == right.code && left.state == right.state && left.subject == right.subject
            && left.message == right.message && left.why == right.why && left.remedy == right.remedy
            && left.command == right.command && left.details == right.details
    }
}
