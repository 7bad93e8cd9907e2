import ControlAPI
import Foundation
import Testing

@testable import AgentServer

/// The routes, the operations and what describes them hold to each other.
struct OpenAPITests {
    private struct Description: Decodable {
        var openapi: String
        var paths: [String: [String: Operation]]

        struct Operation: Decodable { var operationId: String }
    }

    /// What is not asked of the agent.
    private static let pageRoutes: Set = [
        ControlRoute(method: .get, path: "/"), ControlRoute(method: .get, path: "/page/{name}"),
        ControlRoute(method: .get, path: "/login"), ControlRoute(method: .get, path: "/file"),
    ]

    @Test func everyRouteIsDescribedAndNothingElse() throws {
        let description = try JSONDecoder().decode(Description.self, from: Data(PageFile.description.bytes))
        #expect(description.openapi == "3.1.0")
        var described: Set<ControlRoute> = []
        var names: Set<String> = []
        for (path, operations) in description.paths {
            for (method, operation) in operations {
                let method = try #require(ControlOperation.Method(rawValue: method.uppercased()))
                described.insert(ControlRoute(method: method, path: path))
                #expect(names.insert(operation.operationId).inserted, "\(operation.operationId) is there twice")
            }
        }
        #expect(described == Set(ControlRoute.all).union(Self.pageRoutes))
        #expect(Set(ControlRoute.all).count == ControlRoute.all.count)
    }

    /// Every operation that can be asked is in the table, and every row of the table is asked in some test.
    @Test func everyOperationHasARoute() {
        let asked = Set(
            ControlOperationTests.operations.map { operation in
                let path = operation.target.split(separator: "?")[0]
                let isJob = path.hasPrefix("/v1/jobs/")
                return ControlRoute(method: operation.method, path: isJob ? "/v1/jobs/{id}" : String(path))
            })
        #expect(asked == Set(ControlRoute.all))
    }

    /// What is not in the table is refused, and for the right reason.
    @Test func whatHasNoRouteIsRefused() {
        let routes = Set(ControlRoute.all)
        for path in Set(routes.map(\.path)) {
            let target = path.replacingOccurrences(of: "{id}", with: "1")
            for method in ["GET", "HEAD", "POST", "PATCH", "DELETE", "PUT", "OPTIONS"] {
                let isRoute = ControlOperation.Method(rawValue: method).map {
                    routes.contains(ControlRoute(method: $0, path: path))
                }
                var code: ControlError.Code?
                do throws(ControlError) {
                    _ = try ControlOperation(method: method, target: target, body: Array("{}".utf8))
                } catch {
                    code = error.code
                }
                #expect((code == .methodNotAllowed) == !(isRoute ?? false), "\(method) \(path)")
                #expect(code != .notFound, "\(method) \(path)")
            }
        }
    }
}
