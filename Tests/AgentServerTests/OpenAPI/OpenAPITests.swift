import ControlAPI
import Foundation
import Testing

@testable import AgentServer

/// `openapi.json` is made of `Endpoints`: `make openapi` writes it.
struct OpenAPITests {
    @Test func theCommittedDescriptionIsThatOfTheEndpoints() throws {
        let made = try OpenAPIDocument().json()
        if let path = ProcessInfo.processInfo.environment["SYNCTRAIN_WRITE_OPENAPI"] {
            let options: JSONSerialization.WritingOptions = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            let text = try JSONSerialization.data(withJSONObject: made, options: options) + Data("\n".utf8)
            return try text.write(to: URL(fileURLWithPath: path))
        }
        let committed = try JSONSerialization.jsonObject(with: Data(PageFile.description.bytes))
        #expect(made as NSDictionary == committed as? NSDictionary, "Run `make openapi` and commit openapi.json.")
    }

    /// Every `METHOD path` of the table in docs/control-api.md is an endpoint, and every endpoint is in it.
    @Test func theDocumentListsTheEndpoints() throws {
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        let text = try String(contentsOf: root.appendingPathComponent("docs/control-api.md"), encoding: .utf8)
        let documented = text.matches(of: #/^\| `([A-Z]+)`?(?:, `HEAD)? (/v1/[^`?\[ ]*)/#.anchorsMatchLineEndings())
            .map { "\($0.1) \($0.2)" }
        let declared = Endpoints.all.map { id in
            "\(id.id.method.rawValue) \(id.id.path.replacing("{id}", with: "N"))"
        }
        #expect(Set(documented).symmetricDifference(declared).sorted() == [])
    }
}
