/// How an answer is written and read.
struct AnswerCoding<Answer: Sendable>: Sendable {
    var content: EndpointContent
    /// With `limit` or `offset` the lines are a part of the list, as one document.
    var isPaged = false
    var encode: @Sendable (Answer) throws -> [UInt8]
    var decode: @Sendable ([UInt8]) throws -> Answer
}

/// What an answer is.
package enum EndpointContent: Sendable {
    case document(any (Decodable & Sendable).Type)
    /// JSON that the server writes itself; the schema's name.
    case json(String)
    case lines(any ControlLine.Type)
    /// Bytes of this media type; `hasRanges` if parts can be asked for, and `HEAD` answered without reading.
    case bytes(String, hasRanges: Bool)
}

/// An answer that says nothing but that it is done.
package struct Done: Codable, Equatable, Sendable {
    package var schema = 1

    package init() {}
}

/// An answer that is a line of NDJSON for each element. There is no value of it.
package struct Lines<Element: ControlLine>: Sendable { private init() {} }

/// How soon a line is sent.
package enum LinePace: Sendable {
    /// With others, 64 KiB at a time.
    case batched
    /// By itself, at once.
    case prompt
    /// By itself, and the answer begins before there is any: nobody knows when the first one comes.
    case endless
}

// MARK: - The ways in which answers travel

func document<Answer: Codable & Sendable>(_ type: Answer.Type) -> AnswerCoding<Answer> {
    AnswerCoding(
        content: .document(type), encode: { try ControlJSON.encode($0) },
        decode: { try ControlJSON.decode(type, from: $0) })
}

/// As `ControlJSON` would write it, with the entries written by hand.
let pageOfEntries = AnswerCoding<EntryPage>(
    content: .document(EntryPage.self), encode: { try $0.json() },
    decode: { try ControlJSON.decode(EntryPage.self, from: $0) })

func lines<Element: ControlLine>(_ type: Element.Type, isPaged: Bool = false) -> AnswerCoding<Lines<Element>> {
    let bug = ControlError(.failed, "Lines of \(type) are not a document. This is a bug; report it.")
    return AnswerCoding(
        content: .lines(type), isPaged: isPaged, encode: { _ in throw bug }, decode: { _ in throw bug })
}

/// Bytes as they are, or JSON that the server writes itself.
func raw(_ content: EndpointContent) -> AnswerCoding<[UInt8]> {
    AnswerCoding(content: content, encode: { $0 }, decode: { $0 })
}
