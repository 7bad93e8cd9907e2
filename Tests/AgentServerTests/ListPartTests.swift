import ControlAPI
import Testing

@testable import AgentServer

@Suite(.timeLimit(.minutes(1)))
struct ListPartTests {
    private struct Part: Decodable, Equatable {
        struct Name: Decodable, Equatable { var path: String }
        var schema: Int
        var entries: [Name]
        var offset: Int
        var total: Int?

        var paths: [String] { entries.map(\.path) }
    }

    private static let entries = (0..<5).map { Sample.file("f\($0)") }

    @Test(
        arguments: [
            ("limit=2", ["f0", "f1"], 0, nil), ("offset=4", ["f4"], 4, 5),
            ("offset=0", ["f0", "f1", "f2", "f3", "f4"], 0, 5),
            ("limit=5", ["f0", "f1", "f2", "f3", "f4"], 0, 5), ("limit=2&offset=3", ["f3", "f4"], 3, 5),
            ("limit=2&offset=5", [], 5, 5), ("limit=2&offset=9", [], 9, 5),
        ] as [(String, [String], Int, Int?)])
    func streamsAreCut(query: String, paths: [String], offset: Int, total: Int?) async throws {
        try await ServerHarness.run(ScriptedControl(entries: Self.entries)) { harness in
            for target in ["/v1/extraneous", "/v1/need"] {
                let answer = try await harness.get("\(target)?\(query)")
                #expect(answer.headers["content-type"] == "application/json")
                let part = try ControlJSON.decode(Part.self, from: answer.body)
                #expect(part.paths == paths)
                #expect((part.offset, part.total) == (offset, total))
            }
        }
    }

    @Test(arguments: ["limit=0", "limit=1001", "limit=x", "offset=-1", "limit=1&offset=1000000001"])
    func whatIsNoPart(query: String) async throws {
        try await ServerHarness.run(ScriptedControl(entries: Self.entries)) { harness in
            let answer = try await harness.get("/v1/extraneous?\(query)")
            #expect(answer.error?.code == .invalidRequest)
        }
    }

    @Test func changesGoBackInTime() async throws {
        let control = ScriptedControl()
        try await ServerHarness.run(control) { harness in
            let newest = try ControlJSON.decode(
                Part.self, from: try await harness.get("/v1/changes?limit=1&offset=0").body)
            #expect(newest.paths == [""])
            #expect(newest.total == nil)
            let all = try ControlJSON.decode(
                Part.self, from: try await harness.get("/v1/changes?limit=9&offset=1").body)
            #expect(all.paths == ["b"])
            #expect(all.total == 2)
            #expect(try await harness.get("/v1/changes?offset=1&follow=true").error?.code == .invalidRequest)
        }
        #expect(control.asked == ["changes all 0 1 false", "changes all 0 10 false"])
    }

    @Test func pagesOfEntriesAreWhatCodableWouldWrite() async throws {
        let control = ScriptedControl(entries: [Sample.directory("d"), Sample.file("ä\"\u{1}")])
        try await ServerHarness.run(control) { harness in
            let page = try await harness.client.call(
                Endpoints.entryPage,
                EntryQuery(path: PathReference(text: "docs:", workingDirectory: "/"), offset: 1, limit: 3))
            #expect(page.entries == [Sample.file("ä\"\u{1}")])
            #expect((page.offset, page.total, page.isTruncated) == (1, 2, nil))
            let found = try await harness.client.call(Endpoints.searchPage, SearchQuery(text: "x"))
            #expect(found.isTruncated == true)
            #expect(found.entries.count == 2)
            // As before without both.
            #expect(try await harness.get("/v1/entries?path=a").headers["content-type"] == "application/x-ndjson")
            let search = try await harness.get("/v1/search?text=a&limit=1")
            #expect(search.headers["content-type"] == "application/x-ndjson")
        }
    }
}
