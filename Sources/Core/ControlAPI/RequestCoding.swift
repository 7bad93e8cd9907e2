/// A request as it arrived, before it is known what it asks.
package struct IncomingRequest: Sendable {
    package var query: RequestQuery
    package var body: [UInt8]
    /// In the place of `{id}`.
    package var number: Int?
    /// Whether it came over TCP, with the cookie of a login.
    package var isFromBrowser: Bool
    /// What that login is called, also after a restart of the agent; no secret. Nil for who opened the socket.
    package var session: String?

    package init(
        query: RequestQuery, body: [UInt8] = [], number: Int? = nil, isFromBrowser: Bool = false,
        session: String? = nil
    ) {
        (self.query, self.body, self.number) = (query, body, number)
        (self.isFromBrowser, self.session) = (isFromBrowser, session)
    }
}

/// Something that a request carries besides its body, as `openapi.json` has it.
package struct RequestField: Sendable {
    package enum Place: String, Sendable { case query, header, path }

    package enum Value: Sendable {
        case text(length: ClosedRange<Int>)
        case number(ClosedRange<Int>)
        case oneOf([String])

        static let text = Value.text(length: 0...Int.max)
        static let flag = Value.oneOf(["true", "false"])
    }

    package var name: String
    package var place = Place.query
    package var value: Value
    package var isRequired = false
    package var description: String?
}

package struct RequestBody: Sendable {
    /// Of the JSON; nil for bytes as they are.
    package var type: (any (Decodable & Sendable).Type)?
    package var isRequired: Bool
}

/// How a request is written and read.
struct RequestCoding<Request: Sendable>: Sendable {
    var fields: [RequestField] = []
    var body: RequestBody?
    var number: (@Sendable (Request) -> Int)?
    var query: @Sendable (Request) -> [(String, String)] = { _ in [] }
    var encodeBody: @Sendable (Request) throws -> [UInt8]? = { _ in nil }
    var read: @Sendable (IncomingRequest) throws -> Request

    /// The same as another type.
    func of<Other: Sendable>(
        _ other: @escaping @Sendable (Request) -> Other, _ request: @escaping @Sendable (Other) -> Request
    ) -> RequestCoding<Other> {
        let (query, read) = (query, read)
        return RequestCoding<Other>(
            fields: fields, query: { query(request($0)) }, read: { other(try read($0)) })
    }
}

/// A part of a query: one name, or a path with its `cwd`.
struct QueryPart<Value: Sendable>: Sendable {
    var fields: [RequestField]
    var write: @Sendable (Value) -> [(String, String)]
    var read: @Sendable (RequestQuery) throws -> Value

    /// The same, if the query has its first field; else nil.
    var optional: QueryPart<Value?> {
        let (name, write, read) = (fields[0].name, write, read)
        return QueryPart<Value?>(
            fields: fields.map { field in
                var field = field
                field.isRequired = false
                return field
            }, write: { $0.map(write) ?? [] }, read: { $0[name] == nil ? nil : try read($0) })
    }

    func described(_ text: String) -> QueryPart {
        var part = self
        part.fields[0].description = text
        return part
    }
}

// MARK: - The ways in which requests travel

/// - Parameter others: fields that only the server reads.
func query<Value: Sendable>(_ part: QueryPart<Value>, others: [RequestField] = []) -> RequestCoding<Value> {
    RequestCoding(fields: part.fields + others, query: part.write, read: { try part.read($0.query) })
}

/// - Parameter others: fields that only the server reads.
func query<each Value: Sendable>(
    _ part: repeat QueryPart<each Value>, others: [RequestField] = []
) -> RequestCoding<(repeat each Value)> {
    var fields: [RequestField] = []
    for part in repeat each part { fields += part.fields }
    return RequestCoding(
        fields: fields + others,
        query: { (values: (repeat each Value)) in
            var items: [(String, String)] = []
            for (part, value) in repeat (each part, each values) { items += part.write(value) }
            return items
        }, read: { incoming in (repeat try (each part).read(incoming.query)) })
}

let nothing = RequestCoding<Void>(read: { _ in () })

/// A number at the end of the path.
let pathNumber = RequestCoding<Int>(
    fields: [RequestField(name: "id", place: .path, value: .number(1...Int.max), isRequired: true)],
    number: { $0 }, read: { $0.number ?? 0 })

func body<Request: Codable & Sendable>(_ type: Request.Type) -> RequestCoding<Request> {
    RequestCoding(
        body: RequestBody(type: type, isRequired: true),
        encodeBody: { try ControlJSON.encode($0) },
        read: { try ControlJSON.decode(type, from: $0.body) })
}

/// A body that is left out where it says what `usual` does.
func optionalBody<Request: Codable & Equatable & Sendable>(_ usual: Request) -> RequestCoding<Request> {
    RequestCoding(
        body: RequestBody(type: Request.self, isRequired: false),
        encodeBody: { request in request == usual ? nil : try ControlJSON.encode(request) },
        read: { $0.body.isEmpty ? usual : try ControlJSON.decode(Request.self, from: $0.body) })
}

/// Parts of queries.
enum Query {
    static let path = QueryPart(
        fields: [
            RequestField(
                name: "path", value: .text(length: 1...ControlLimits.path), isRequired: true,
                description: "FOLDER:relative/path, or as a person typed it."),
            RequestField(
                name: "cwd", value: .text(length: 0...ControlLimits.path),
                description: "Absolute: where it was typed; / if not given."),
        ],
        write: { (path: PathReference) in [("path", path.text), ("cwd", path.workingDirectory)] },
        read: { PathReference(text: try $0.required("path"), workingDirectory: $0["cwd"] ?? "/") })
    /// Nil for all folders.
    static let folder = text("folder").optional.described("All folders without it.")

    /// At least a character.
    static func text(_ name: String, longest: Int = .max) -> QueryPart<String> {
        QueryPart(
            fields: [RequestField(name: name, value: .text(length: 1...longest), isRequired: true)],
            write: { [(name, $0)] }, read: { try $0.required(name) })
    }

    static func flag(_ name: String) -> QueryPart<Bool> {
        QueryPart(
            fields: [RequestField(name: name, value: .flag)], write: { $0 ? [(name, "true")] : [] },
            read: { try $0.flag(name) })
    }

    /// - Parameters:
    ///   - range: for `openapi.json`; the endpoint's check holds requests to it.
    ///   - read: the number in the query, nil if there is none.
    static func number(
        _ name: String, _ range: ClosedRange<Int>, usual: Int,
        read: @escaping @Sendable (RequestQuery, String) throws -> Int? = { try $0.count($1) }
    ) -> QueryPart<Int> {
        QueryPart(
            fields: [RequestField(name: name, value: .number(range))], write: { [(name, String($0))] },
            read: { try read($0, name) ?? usual })
    }

    /// One of the words of `Choice`; `usual` where the query does not say.
    static func choice<Choice: RawRepresentable<String> & CaseIterable & Sendable>(
        _ name: String, usual: Choice
    ) -> QueryPart<Choice> {
        QueryPart(
            fields: [RequestField(name: name, value: .oneOf(Choice.allCases.map(\.rawValue)))],
            write: { [(name, $0.rawValue)] }, read: { try $0.choice(name) ?? usual })
    }

    /// The `limit` and `offset` of a part of a list.
    static func page(isLimitAlone: Bool = true) -> QueryPart<PageRange> {
        QueryPart(
            fields: [
                RequestField(name: "limit", value: .number(1...PageLimits.entries)),
                RequestField(name: "offset", value: .number(0...PageLimits.offset)),
            ],
            write: { [("limit", String($0.limit)), ("offset", String($0.offset))] },
            read: { try PageRange($0, isLimitAlone: isLimitAlone) ?? PageRange(offset: 0, limit: PageLimits.entries) })
    }
}

extension RequestQuery {
    /// One of the words of `Choice`; nil where the query does not say.
    func choice<Choice: RawRepresentable<String> & CaseIterable>(_ name: String) throws(ControlError) -> Choice? {
        guard let text = self[name] else { return nil }
        guard let choice = Choice(rawValue: text) else {
            let words = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw ControlError(.invalidRequest, "\(name) must be one of \(words), not \(text.prefix(80)).")
        }
        return choice
    }
}
