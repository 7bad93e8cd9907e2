/// An error whose message can be shown in each language.
package protocol PhrasedError: Error {
    /// A sentence for people, with what to do.
    var text: Phrase { get }
}

extension PhrasedError {
    /// `text` in English.
    package var message: String { text.english }
}

extension Phrase {
    /// What an error says; in English only, if it says no more.
    package init(of error: any Error) {
        self = (error as? any PhrasedError)?.text ?? "\(error)"
    }
}
