/// One verb of the control API: where it is, how its request travels and is checked, and what its answer is.
///
/// Each is declared once, in an extension of `Endpoints`. The client writes requests from it, the server reads them with
/// it, and `openapi.json` is generated from it.
///
/// An `Answer` that is `Lines` is a stream of its elements; `[UInt8]` is bytes as they are; anything else is a JSON document.
package struct Endpoint<Request: Sendable, Answer: Sendable>: AnyEndpoint {
    package let id: EndpointID
    package let summary: String
    package let errors: [ControlError.Code]
    package let canBeJob: Bool
    let coding: RequestCoding<Request>
    let answers: AnswerCoding<Answer>
    let pace: @Sendable (Request) -> LinePace

    /// - Parameters:
    ///   - names: of several endpoints with this method and path, the one whose query has one of these.
    ///   - errors: what it can answer besides the errors that any request can have.
    ///   - canBeJob: with `Prefer: respond-async` it goes on without its request.
    ///   - pace: how soon a line is sent.
    init(
        _ method: ControlMethod, _ path: String, if names: [String] = [], _ summary: String,
        _ coding: RequestCoding<Request>, _ answers: AnswerCoding<Answer>, errors: [ControlError.Code] = [],
        canBeJob: Bool = false, pace: @escaping @Sendable (Request) -> LinePace = { _ in .batched }
    ) {
        id = EndpointID(method: method, path: path, names: names)
        (self.summary, self.coding, self.answers) = (summary, coding, answers)
        (self.errors, self.canBeJob, self.pace) = (errors, canBeJob, pace)
    }

    /// One that answers with a document.
    init(
        _ method: ControlMethod, _ path: String, if names: [String] = [], _ summary: String,
        _ coding: RequestCoding<Request>, _ answer: Answer.Type, errors: [ControlError.Code] = [],
        canBeJob: Bool = false
    ) where Answer: Codable {
        self.init(
            method, path, if: names, summary, coding, document(answer), errors: errors, canBeJob: canBeJob)
    }

    package var content: EndpointContent { answers.content }
    package var isPaged: Bool { answers.isPaged }
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
    package func answer(_ bytes: [UInt8]) throws -> Answer { try answers.decode(bytes) }

    func check(_ request: Request) throws(ControlError) { try (request as? any CheckedRequest)?.check() }
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
