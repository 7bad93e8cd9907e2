import FoundationEssentials

/// What the texts are in one language.
package struct Translation: Sendable {
    /// The code of ISO 639-1.
    package let language: String
    /// What parts whole numbers from decimals.
    package let decimal: String
    private let texts: [String: Form]

    private enum Form: Decodable, Sendable {
        case text(String)
        case forms([String])

        /// A string, or one for each form of the plural.
        ///
        /// - Throws: `DecodingError` for anything else.
        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let text = try? container.decode(String.self) {
                self = .text(text)
            } else {
                self = .forms(try container.decode([String].self))
            }
        }
    }

    private struct Document: Decodable {
        var language: String
        var decimal: String
        var texts: [String: Form]
    }

    /// The texts as they stand in the sources.
    package static let english = Translation(language: "en", decimal: ".", texts: [:])

    /// What `translated` shows texts in, for the task and its children.
    @TaskLocal package static var current = Translation.english

    private init(language: String, decimal: String, texts: [String: Form]) {
        self.language = language
        self.decimal = decimal
        self.texts = texts
    }

    /// - Parameter document: JSON as `config/translations/catalogue` builds it.
    /// - Throws: `DecodingError`.
    package init(document: [UInt8]) throws {
        let document = try JSONDecoder().decode(Document.self, from: Data(document))
        self.init(language: document.language, decimal: document.decimal, texts: document.texts)
    }

    /// The text in this language; in English where there is no translation.
    package func text(_ phrase: Phrase) -> String {
        let text = Template.filled(template(of: phrase)) { index in
            guard phrase.arguments.indices.contains(index) else { return nil }
            return switch phrase.arguments[index] {
            case .text(let text): text
            case .phrase(let phrase): self.text(phrase)
            }
        }
        guard phrase.template == "{1}", let form = phrase.context.flatMap(SentenceForm.init) else { return text }
        return form.applied(to: text)
    }

    /// The text for one that has no places and was declared elsewhere, such as the summary of a setting.
    package func text(of english: String) -> String {
        guard case .text(let text) = texts[english] else { return english }
        return text
    }

    private func template(of phrase: Phrase) -> String {
        // All three languages say 0 and 2 alike, and 1 otherwise.
        let isOne = phrase.count == 1
        let english = isOne ? phrase.template : phrase.plural ?? phrase.template
        guard !texts.isEmpty else { return english }
        let key = phrase.context.map { "\($0)\u{4}\(phrase.template)" } ?? phrase.template
        switch texts[key] {
        case .text(let text): return text
        case .forms(let forms): return (isOne ? forms.first : forms.last) ?? english
        case nil: return english
        }
    }
}

/// The text in the language of the task.
package func translated(_ phrase: Phrase) -> String { Translation.current.text(phrase) }

/// The text in the language of the task, of two that are the same in English.
package func translated(_ phrase: Phrase, context: String) -> String {
    translated(Phrase(phrase, context: context))
}

/// The text in the language of the task, in the form for the number.
package func translated(_ count: some BinaryInteger, one: Phrase, many: Phrase) -> String {
    translated(Phrase(count, one: one, many: many))
}
