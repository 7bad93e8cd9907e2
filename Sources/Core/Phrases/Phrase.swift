/// A text for people that can be shown in each language: what the sources say in English, with places for what is put in.
///
/// Written as a literal, whose interpolations become the arguments: `"Waiting for \(name)."` has the template
/// `Waiting for {1}.`. Templates are the keys of the catalogue (config/translations), which takes them from the sources.
package struct Phrase: Hashable, Sendable {
    package indirect enum Argument: Hashable, Sendable {
        case text(String)
        case phrase(Phrase)
    }

    package private(set) var template: String
    /// Instead of `template` for any count but one.
    package private(set) var plural: String?
    package private(set) var count: Int64?
    /// Tells texts apart that are the same in English.
    package private(set) var context: String?
    package private(set) var arguments: [Argument]

    /// A text with a number that decides its form.
    package init(_ count: some BinaryInteger, one: Phrase, many: Phrase) {
        template = one.template
        plural = many.template
        self.count = Int64(clamping: count)
        // The same: the number comes first in both.
        arguments = many.arguments
    }

    /// For literals that are joined.
    package init(_ phrase: Phrase) { self = phrase }

    package init(_ phrase: Phrase, context: String) {
        self = phrase
        self.context = context
    }

    /// Whether it is one text as it is, and no template of the catalogue.
    package var isVerbatim: Bool {
        guard template == "{1}", plural == nil, arguments.count == 1 else { return false }
        return switch arguments[0] {
        case .text: true
        case .phrase(let phrase): phrase.isVerbatim
        }
    }

    /// Nil for a verbatim text, which the plain message beside it already has; JSON omits it.
    package var unlessVerbatim: Phrase? { isVerbatim ? nil : self }

    /// This with a full stop at its end, in whatever language, unless it ends a sentence there already.
    package var ended: Phrase { Phrase("\(self)", context: SentenceForm.ended.rawValue) }

    /// The same, with a capital at its beginning unless that is a name.
    package var sentence: Phrase { Phrase("\(self)", context: SentenceForm.sentence.rawValue) }

    /// Texts with commas between them.
    package static func list(_ texts: [Phrase]) -> Phrase {
        guard let first = texts.first else { return "" }
        return texts.dropFirst().reduce("\(first)") { $0 + ", \($1)" }
    }

    /// What stands for this in English.
    package var english: String { Translation.english.text(self) }

    /// This phrase with what a text of its form has in its places; nil for a text of another form.
    package func matching(_ text: String) -> Phrase? {
        var found: [Argument] = []
        var rest = text[...]
        var literals: [Substring] = []
        var remaining = template[...]
        for index in arguments.indices {
            guard let place = remaining.firstRange(of: "{\(index + 1)}") else { return nil }
            literals.append(remaining[..<place.lowerBound])
            remaining = remaining[place.upperBound...]
        }
        literals.append(remaining)
        guard rest.hasPrefix(literals[0]) else { return nil }
        rest = rest.dropFirst(literals[0].count)
        for (index, literal) in literals.dropFirst().enumerated() {
            if literal.isEmpty || index == literals.count - 2 {
                guard rest.hasSuffix(literal) else { return nil }
                found.append(.text(String(rest.dropLast(literal.count))))
                rest = ""
            } else {
                guard let end = rest.firstRange(of: literal) else { return nil }
                found.append(.text(String(rest[..<end.lowerBound])))
                rest = rest[end.upperBound...]
            }
        }
        guard rest.isEmpty else { return nil }
        var phrase = self
        phrase.arguments = found
        return phrase
    }

    /// One text of two, the places of the second numbered behind those of the first.
    package static func + (left: Phrase, right: Phrase) -> Phrase {
        var joined = left
        let first = left.arguments.count
        joined.template += Template.filled(right.template) { index in
            right.arguments.indices.contains(index) ? "{\(first + index + 1)}" : nil
        }
        joined.arguments += right.arguments
        return joined
    }
}

extension Phrase: ExpressibleByStringInterpolation, CustomStringConvertible {
    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var template = ""
        fileprivate var arguments: [Argument] = []

        package init(literalCapacity: Int, interpolationCount: Int) { template.reserveCapacity(literalCapacity) }

        package mutating func appendLiteral(_ literal: String) { template += literal }

        package mutating func appendInterpolation(_ value: Phrase) { append(.phrase(value)) }

        package mutating func appendInterpolation(_ value: some Any) { append(.text("\(value)")) }

        private mutating func append(_ argument: Argument) {
            arguments.append(argument)
            template += "{\(arguments.count)}"
        }
    }

    package init(stringInterpolation: StringInterpolation) {
        template = stringInterpolation.template
        arguments = stringInterpolation.arguments
    }

    package init(stringLiteral value: String) {
        template = value
        arguments = []
    }

    package var description: String { english }
}

extension Phrase: Codable {
    enum CodingKeys: String, CodingKey { case template, plural, count, context, arguments }

    /// Reads what `encode` writes; nothing but the template is needed.
    ///
    /// - Throws: `DecodingError`.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        template = try container.decode(String.self, forKey: .template)
        plural = try container.decodeIfPresent(String.self, forKey: .plural)
        count = try container.decodeIfPresent(Int64.self, forKey: .count)
        context = try container.decodeIfPresent(String.self, forKey: .context)
        arguments = try container.decodeIfPresent([Argument].self, forKey: .arguments) ?? []
    }
}

extension Phrase.Argument: Codable {
    /// A string, or a phrase.
    ///
    /// - Throws: `DecodingError` for anything else.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) {
            self = .text(text)
        } else {
            self = .phrase(try container.decode(Phrase.self))
        }
    }

    /// - Throws: what the encoder throws.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let text): try container.encode(text)
        case .phrase(let phrase): try container.encode(phrase)
        }
    }
}
