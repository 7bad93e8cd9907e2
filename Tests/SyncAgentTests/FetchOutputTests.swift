import BlockExchange
import ControlAPI
import Testing

@testable import SyncAgent

/// Where several things go that are fetched into one directory.
@Suite struct FetchOutputTests {
    private static func names(_ outputs: (folder: String, path: String)...) throws(ControlError) -> [String] {
        let outputs = outputs.map { FetchOutput(folder: FolderID($0.folder), path: $0.path) }
        return try FetchOutput.distinct(outputs, below: "/out").map { "\($0.index) \($0.name)" }
    }

    @Test func eachGoesUnderItsOwnName() throws {
        #expect(
            try Self.names(("docs", "a/x.txt"), ("docs", "a/y.txt"), ("films", "")) == [
                "0 x.txt", "1 y.txt", "2 films",
            ])
        #expect(try Self.names(("docs", "a/x.txt"), ("docs", "a/y"), ("docs", "a/x.txt")) == ["0 x.txt", "1 y"])
    }

    /// As `cp` does: what it has just made it does not overwrite.
    @Test(arguments: [("docs", "b/x.txt"), ("films", "a/x.txt"), ("x.txt", "")])
    func twoOfOneNameAreRefusedByBothNames(folder: String, path: String) {
        let error = #expect(throws: ControlError.self) { try Self.names(("docs", "a/x.txt"), (folder, path)) }
        #expect(error?.code == .invalidRequest)
        let message = error?.message ?? ""
        #expect(message.contains("docs:a/x.txt and \(folder):\(path)") && message.contains("/out/x.txt"))
    }

    /// The disk tells them apart.
    @Test func namesAreComparedByBytes() throws {
        #expect(try Self.names(("docs", "\u{e9}"), ("docs", "e\u{301}")) == ["0 \u{e9}", "1 e\u{301}"])
    }

    /// What is in another thing that is fetched comes with it.
    @Test func inTheirPlacesEachFileIsFetchedOnce() {
        func outermost(_ outputs: (folder: String, path: String)...) -> [Int] {
            FetchOutput.outermost(outputs.map { FetchOutput(folder: FolderID($0.folder), path: $0.path) })
        }
        #expect(outermost(("docs", "d/x"), ("docs", "d/x"), ("docs", "d/y")) == [0, 2])
        #expect(
            outermost(("docs", "d/x"), ("docs", "d"), ("docs", "d/e/y"), ("films", "d/x"), ("docs", "dx")) == [1, 3, 4])
        #expect(outermost(("docs", "a"), ("docs", ""), ("films", "a")) == [1, 2])
        #expect(outermost(("docs", "\u{e9}"), ("docs", "e\u{301}"), ("docs", "e\u{301}/x")) == [0, 1])
        #expect(outermost() == [])
    }
}
