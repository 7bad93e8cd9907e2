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
package struct DoctorFinding: Codable, Equatable, Sendable {
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
    package var message: String
    /// Why it matters, as a sentence; nil where nothing is wrong.
    package var why: String?
    /// What would help, as a sentence; nil where nothing is to be done.
    package var remedy: String?
    /// The same as a command for a shell, where there is one.
    package var command: String?
    /// What was seen or tried, a line each.
    package var details: [String]

    package init(
        _ area: Area, _ code: String, _ state: State, subject: String? = nil, _ message: String, why: String? = nil,
        remedy: String? = nil, command: String? = nil, details: [String] = []
    ) {
        self.area = area
        self.code = code
        self.state = state
        self.subject = subject
        self.message = message
        self.why = why
        self.remedy = remedy
        self.command = command
        self.details = details
    }

    var key: Key { Key(code: code, subject: subject) }
}
