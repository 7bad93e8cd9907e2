/// One verb of the control API: where it is, how its request travels and is checked, and what its answer is.
///
/// Each is declared once, in an extension of `Endpoints`. The client writes requests from it, the server reads them with
/// it, and `openapi.json` is generated from it.
///
/// An `Answer` that is `Lines` is a stream of its elements; `[UInt8]` is bytes as they are; anything else is a JSON document.
package struct Endpoint<Request: Sendable, Answer: Sendable>: AnyEndpoint {
    package let id: EndpointID
    package let summary: String
    package let content: EndpointContent
    package let errors: [ControlError.Code]
    package let canBeJob: Bool
    package let isPaged: Bool
    let coding: RequestCoding<Request>
    let check: @Sendable (Request) throws -> Void
    let pace: @Sendable (Request) -> LinePace
    let encodeAnswer: @Sendable (Answer) throws -> [UInt8]
    let decodeAnswer: @Sendable ([UInt8]) throws -> Answer

    package var fields: [RequestField] { coding.fields + (isPaged ? Query.page().fields : []) }
    package var body: RequestBody? { coding.body }

    /// Path and query, percent-encoded.
    package func target(_ request: Request) -> String {
        let path = coding.number.map { id.path.replacing("{id}", with: String($0(request))) } ?? id.path
        let query = coding.query(request)
        return query.isEmpty ? path : path + "?" + RequestQuery(query).encoded
    }

    /// The request's body after its check; nil for none.
    /// - Throws: `ControlError` for a request that the agent would refuse.
    package func body(_ request: Request) throws -> [UInt8]? {
        try check(request)
        return try coding.encodeBody(request)
    }

    /// Reads and checks a request.
    /// - Throws: `ControlError` with what is wrong in it.
    package func request(_ incoming: IncomingRequest) throws -> Request {
        let request = try coding.read(incoming)
        try check(request)
        return request
    }

    /// Reads an answer that is not `Lines`.
    ///
    /// - Throws: `ControlError` (`invalidRequest` if it is not the JSON of an `Answer`; `failed` for `Lines`).
    package func answer(_ bytes: [UInt8]) throws -> Answer { try decodeAnswer(bytes) }
}

/// A verb without its types.
package protocol AnyEndpoint: Sendable {
    var id: EndpointID { get }
    /// One line for people.
    var summary: String { get }
    var content: EndpointContent { get }
    /// What it can answer besides the errors that any request can have.
    var errors: [ControlError.Code] { get }
    /// With `Prefer: respond-async` it goes on without its request.
    var canBeJob: Bool { get }
    /// With `limit` or `offset` the lines are a part of the list, as one document.
    var isPaged: Bool { get }
    var fields: [RequestField] { get }
    var body: RequestBody? { get }
}

package enum ControlMethod: String, Sendable {
    case get = "GET", head = "HEAD", post = "POST", patch = "PATCH", delete = "DELETE"
}

/// What a request is for: no two endpoints have the same.
package struct EndpointID: Hashable, Sendable {
    package var method: ControlMethod
    /// `{id}` at its end stands for a number from 1 on.
    package var path: String
    /// Of several endpoints with this method and path: the one whose query has one of these names.
    package var names: [String] = []
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

/// What can be a line of NDJSON.
package protocol ControlLine: Codable, Sendable {
    /// Appends itself and a line feed.
    func append(to bytes: inout [UInt8]) throws(ControlError)
    /// - Throws: the error that the line is, or `invalidRequest` for what is neither.
    static func parse(_ line: [UInt8]) throws(ControlError) -> Self
}

extension ControlLine {
    package func append(to bytes: inout [UInt8]) throws(ControlError) {
        bytes += try ControlJSON.encode(self)
        bytes.append(UInt8(ascii: "\n"))
    }

    package static func parse(_ line: [UInt8]) throws(ControlError) -> Self {
        if let error = ControlJSON.error(inLine: line) { throw error }
        return try ControlJSON.decode(Self.self, from: line)
    }
}

extension Entry: ControlLine {
    package func append(to bytes: inout [UInt8]) throws(ControlError) { try EntryLine.append(self, to: &bytes) }

    package static func parse(_ line: [UInt8]) throws(ControlError) -> Entry { try EntryLine.parse(line) }
}

// MARK: - Declaring

extension Endpoint {
    typealias Check = @Sendable (Request) throws -> Void

    private init(
        _ id: EndpointID, _ summary: String, _ coding: RequestCoding<Request>, _ content: EndpointContent,
        errors: [ControlError.Code], canBeJob: Bool = false, isPaged: Bool = false,
        pace: @escaping @Sendable (Request) -> LinePace = { _ in .batched }, check: @escaping Check,
        encode: @escaping @Sendable (Answer) throws -> [UInt8], decode: @escaping @Sendable ([UInt8]) throws -> Answer
    ) {
        (self.id, self.summary, self.coding, self.content, self.errors) = (id, summary, coding, content, errors)
        (self.canBeJob, self.isPaged, self.pace, self.check) = (canBeJob, isPaged, pace, check)
        (encodeAnswer, decodeAnswer) = (encode, decode)
    }

    /// A document.
    init(
        _ method: ControlMethod, _ path: String, if names: [String] = [], _ summary: String,
        _ coding: RequestCoding<Request>, _ answer: Answer.Type, errors: [ControlError.Code] = [],
        canBeJob: Bool = false, check: @escaping Check = { _ in }
    ) where Answer: Codable & Sendable {
        self.init(
            EndpointID(method: method, path: path, names: names), summary, coding, .document(answer), errors: errors,
            canBeJob: canBeJob, check: check, encode: { try ControlJSON.encode($0) },
            decode: { try ControlJSON.decode(Answer.self, from: $0) })
    }

    /// A page of entries: as `ControlJSON` would write it, with the entries written by hand.
    init(
        _ method: ControlMethod, _ path: String, if names: [String], _ summary: String,
        _ coding: RequestCoding<Request>, errors: [ControlError.Code] = [], check: @escaping Check = { _ in }
    ) where Answer == EntryPage {
        self.init(
            EndpointID(method: method, path: path, names: names), summary, coding, .document(EntryPage.self),
            errors: errors, check: check, encode: { try $0.json() },
            decode: { try ControlJSON.decode(EntryPage.self, from: $0) })
    }

    /// Lines.
    init<Element>(
        _ method: ControlMethod, _ path: String, if names: [String] = [], _ summary: String,
        _ coding: RequestCoding<Request>, lines: Element.Type, errors: [ControlError.Code] = [],
        canBeJob: Bool = false, isPaged: Bool = false,
        pace: @escaping @Sendable (Request) -> LinePace = { _ in .batched }, check: @escaping Check = { _ in }
    ) where Answer == Lines<Element> {
        self.init(
            EndpointID(method: method, path: path, names: names), summary, coding, .lines(Element.self),
            errors: errors, canBeJob: canBeJob, isPaged: isPaged, pace: pace, check: check,
            encode: { _ in throw ControlError.noDocument(path) }, decode: { _ in throw ControlError.noDocument(path) })
    }

    /// Bytes.
    init(
        _ method: ControlMethod, _ path: String, if names: [String] = [], _ summary: String,
        _ coding: RequestCoding<Request>, _ content: EndpointContent, errors: [ControlError.Code] = [],
        check: @escaping Check = { _ in }
    ) where Answer == [UInt8] {
        self.init(
            EndpointID(method: method, path: path, names: names), summary, coding, content, errors: errors,
            check: check, encode: { $0 }, decode: { $0 })
    }
}

extension ControlError {
    static func noDocument(_ path: String) -> ControlError {
        ControlError(.failed, "\(path) has no document. This is a bug; report it.")
    }
}
