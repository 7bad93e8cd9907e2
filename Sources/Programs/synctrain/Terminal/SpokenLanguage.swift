import CTranslations
import Phrases

/// The language that a command speaks.
enum SpokenLanguage {
    /// By the environment's variables; English for what programs read.
    ///
    /// - Parameter arguments: the command line, without the program.
    static func translation(_ variables: [String: String], arguments: [String]) -> Translation {
        isForPrograms(arguments) ? .english : translation(variables)
    }

    /// The language of people who have these variables in their environment.
    static func translation(_ variables: [String: String]) -> Translation {
        guard let language = LanguageChoice.language(variables, available: Set(documents.keys)),
            let document = documents[language], let translation = try? Translation(document: bytes(document))
        else { return .english }
        return translation
    }

    /// Whether programs read what comes: JSON, logs, the manual.
    private static func isForPrograms(_ arguments: [String]) -> Bool {
        let words = GlobalOptionOrder.behindGlobals(arguments[...])
        return arguments.contains("--json") || words.starts(with: ["agent", "run"]) || words.first == "man"
    }

    private static var documents: [String: translation_document] {
        var documents: [String: translation_document] = [:]
        for index in 0..<translation_document_count() {
            let document = translation_document_at(index)
            documents[String(cString: document.language)] = document
        }
        return documents
    }

    private static func bytes(_ document: translation_document) -> [UInt8] {
        Array(UnsafeBufferPointer(start: document.bytes, count: document.count))
    }
}
