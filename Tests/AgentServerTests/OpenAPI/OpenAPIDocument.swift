import Foundation

@testable import ControlAPI

/// The control API in OpenAPI 3.1, made of the endpoints.
struct OpenAPIDocument {
    typealias JSON = [String: Any]

    private let schemas = Schemas()

    func json() throws -> JSON {
        var paths = try Self.parsed(Self.besides)
        let problem = schemas.schema(of: ControlError.self)
        for endpoint in Endpoints.all {
            var operations = paths[endpoint.id.path] as? JSON ?? [:]
            let method = endpoint.id.method.rawValue.lowercased()
            operations[method] = merged(operations[method] as? JSON, with: operation(endpoint))
            if case .bytes(_, hasRanges: true) = endpoint.content { operations["head"] = head(endpoint) }
            paths[endpoint.id.path] = operations
        }
        return [
            "openapi": "3.1.0",
            "info": [
                "title": "synctrain's control API", "version": "1",
                "description":
                    "docs/control-api.md explains it. Fields are only added within version 1. HEAD is answered "
                    + "wherever GET is.",
            ],
            "servers": [["url": "/"]], "security": [["session": [String]()]], "paths": paths,
            "components": [
                "securitySchemes": [
                    "session": [
                        "type": "apiKey", "in": "cookie", "name": "synctrain-PORT",
                        "description": "From a link of `synctrain ui`. Changes also need the Origin and the header "
                            + "X-Synctrain: page. The control socket needs none of it.",
                    ]
                ],
                "responses": [
                    "Error": [
                        "description": "What went wrong, with what to do.",
                        "content": ["application/json": ["schema": problem]],
                    ]
                ],
                "schemas": schemas.components,
            ],
        ]
    }

    private func operation(_ endpoint: any AnyEndpoint) -> JSON {
        var operation: JSON = [
            "summary": endpoint.summary, "operationId": Self.name(endpoint.id), "responses": responses(endpoint),
        ]
        var parameters = endpoint.fields.map(\.json)
        if endpoint.canBeJob {
            parameters.append(RequestField(name: "Prefer", place: .header, value: .oneOf(["respond-async"])).json)
        }
        if !parameters.isEmpty { operation["parameters"] = parameters }
        if let body = endpoint.body {
            let content: JSON =
                if let type = body.type {
                    ["application/json": ["schema": schemas.schema(of: type)]]
                } else {
                    ["application/octet-stream": JSON()]
                }
            operation["requestBody"] = [
                "required": body.isRequired,
                "content": content,
            ]
        }
        return operation
    }

    private func responses(_ endpoint: any AnyEndpoint) -> JSON {
        var problem: JSON = ["$ref": "#/components/responses/Error"]
        if !endpoint.errors.isEmpty {
            let codes = endpoint.errors.map { "`\($0.rawValue)`" }.joined(separator: ", ")
            problem["description"] = "What went wrong, with what to do; here also \(codes)."
        }
        var responses: JSON = ["default": problem]
        switch endpoint.content {
        case .document(let type):
            responses["200"] = answer("The answer.", ["application/json": schemas.schema(of: type)])
        case .json(let name):
            responses["200"] = answer("The answer.", ["application/json": named(name)])
        case .lines(let type):
            var contents: [String: JSON] = ["application/x-ndjson": schemas.schema(of: type)]
            if endpoint.isPaged { contents["application/json"] = schemas.page(of: type) }
            if endpoint.id == Endpoints.events.id { contents["text/event-stream"] = ["type": "string"] }
            responses["200"] = answer(
                endpoint.isPaged ? "A line each, or a part as one document." : "A line each.", contents)
        case .bytes(let type, let hasRanges):
            responses["200"] = ["description": "The bytes.", "content": [type: JSON()]]
            if hasRanges {
                responses["206"] = ["description": "The parts that Range asks for."]
                responses["416"] = ["$ref": "#/components/responses/Error"]
            }
        }
        if endpoint.canBeJob {
            responses["202"] = answer(
                "It goes on as a job, for Prefer: respond-async.", ["application/json": named("JobDocument")])
        }
        return responses
    }

    private func head(_ endpoint: any AnyEndpoint) -> JSON {
        [
            "summary": "The head of the GET", "operationId": Self.name(endpoint.id, method: "head"),
            "parameters": endpoint.fields.filter { $0.place == .query }.map(\.json),
            "responses": [
                "200": ["description": "As of the GET, without the bytes."],
                "default": ["$ref": "#/components/responses/Error"],
            ],
        ]
    }

    private func answer(_ description: String, _ contents: [String: JSON]) -> JSON {
        ["description": description, "content": contents.mapValues { ["schema": $0] }]
    }

    /// The documents that the server writes itself.
    private func named(_ name: String) -> JSON {
        let job = schemas.schema(of: Job.self)
        return switch name {
        case "ChangePage": schemas.page(of: ChangeEntry.self)
        case "JobList":
            schemas.add(name, Self.document("jobs", ["type": "array", "items": job]))
        case "JobDocument": schemas.add(name, Self.document("job", job))
        default: ["type": "object"]
        }
    }

    private static func document(_ field: String, _ schema: JSON) -> JSON {
        ["type": "object", "required": [field, "schema"], "properties": ["schema": ["const": 1], field: schema]]
    }

    /// Several endpoints can be one operation: which one it is, is in the query.
    private func merged(_ first: JSON?, with second: JSON) -> JSON {
        guard var merged = first else { return second }
        let parameters = (merged["parameters"] as? [JSON] ?? []) + (second["parameters"] as? [JSON] ?? [])
        let names = parameters.map { $0["name"] as? String ?? "" }
        let widest = { (name: String) in
            // What only one of them needs is not needed.
            let same = parameters.filter { $0["name"] as? String == name }
            func width(_ parameter: JSON) -> (limits: Int, words: Int) {
                let schema = parameter["schema"] as? JSON ?? [:]
                return (schema.count, -((schema["enum"] as? [String])?.count ?? 0))
            }
            var parameter = same.min { width($0) < width($1) }
            let isRequired = same.count > 1 && same.allSatisfy { $0["required"] as? Bool == true }
            parameter?["required"] = isRequired
            return parameter ?? [:]
        }
        merged["parameters"] = Set(names).sorted().map(widest)
        var responses = merged["responses"] as? JSON ?? [:]
        for (status, response) in second["responses"] as? JSON ?? [:] {
            guard var known = responses[status] as? JSON, var contents = known["content"] as? JSON,
                let others = (response as? JSON)?["content"] as? JSON
            else {
                responses[status] = responses[status] ?? response
                continue
            }
            contents.merge(others) { first, _ in first }
            known["content"] = contents
            if contents.count > 1 { known["description"] = "A line each, or a part as one document." }
            responses[status] = known
        }
        merged["responses"] = responses
        return merged
    }

    private static func name(_ id: EndpointID, method: String? = nil) -> String {
        let words = id.path.dropFirst("/v1/".count).split { "/{}.".contains($0) }
        return (method ?? id.method.rawValue.lowercased()) + words.map(\.capitalized).joined()
    }

    static func parsed(_ text: String) throws -> JSON {
        try JSONSerialization.jsonObject(with: Data(text.utf8)) as? JSON ?? [:]
    }

    /// What browsers ask that is not an endpoint.
    private static let besides = #"""
        {
          "/": {"get": {"operationId": "get", "security": [], "summary": "The page", "responses": {
            "200": {"description": "A file of the page.", "content": {"*/*": {}}},
            "304": {"description": "The browser has it."}, "default": {"$ref": "#/components/responses/Error"}}}},
          "/page/{name}": {"get": {"operationId": "getPageName", "security": [], "summary": "A file of the page",
            "parameters": [{"name": "name", "in": "path", "required": true, "schema": {"type": "string"}}],
            "responses": {"200": {"description": "A file of the page.", "content": {"*/*": {}}},
            "304": {"description": "The browser has it."}, "default": {"$ref": "#/components/responses/Error"}}}},
          "/login": {"get": {"operationId": "getLogin", "security": [], "summary": "Make a session of a login link",
            "parameters": [{"name": "token", "in": "query", "required": true, "schema": {"type": "string"}}],
            "responses": {"303": {"description": "To the page, with the cookie."},
            "default": {"$ref": "#/components/responses/Error"}}}},
          "/file": {"get": {"operationId": "getLinkedFile", "security": [],
            "summary": "The bytes of the file of a signed link", "parameters": [
              {"name": "folder", "in": "query", "required": true, "schema": {"type": "string"}},
              {"name": "path", "in": "query", "required": true, "schema": {"type": "string"}},
              {"name": "expires", "in": "query", "required": true, "schema": {"type": "integer", "format": "int64"}},
              {"name": "signature", "in": "query", "required": true, "schema": {"type": "string"}},
              {"name": "Range", "in": "header", "required": false, "schema": {"type": "string"}}],
            "responses": {"200": {"description": "The bytes.", "content": {"*/*": {}}},
            "206": {"description": "The parts that Range asks for."}, "416": {"$ref": "#/components/responses/Error"},
            "default": {"$ref": "#/components/responses/Error"}}}}
        }
        """#
}

extension RequestField {
    fileprivate var json: [String: Any] {
        var schema: [String: Any]
        switch value {
        case .text(let length):
            schema = ["type": "string"]
            if length.lowerBound > 0 { schema["minLength"] = length.lowerBound }
            if length.upperBound < Int.max { schema["maxLength"] = length.upperBound }
        case .number(let range):
            schema = ["type": "integer", "minimum": range.lowerBound]
            if range.upperBound < Int.max { schema["maximum"] = range.upperBound }
        case .oneOf(let words): schema = ["type": "string", "enum": words]
        }
        var json: [String: Any] = ["name": name, "in": place.rawValue, "required": isRequired, "schema": schema]
        json["description"] = description
        return json
    }
}
