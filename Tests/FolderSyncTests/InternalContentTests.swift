import BlockExchange
import Testing

@testable import FolderSync
@testable import IndexStore

/// What of a folder is the program's own.
struct InternalContentTests {
    @Test(arguments: [
        (".synctrain", true), (".synctrain/notes/A.json", true), (".synctrains", false), ("d/.synctrain", false),
        ("", false), ("synctrain", false), (".synctrain/\u{301}x", true),
    ])
    func notesAreInternal(_ path: String, _ isInternal: Bool) {
        #expect(InternalContent.contains(path) == isInternal)
    }

    @Test func aSearchShowsThemOnlyByTheirName() {
        func result(_ paths: [String], isTruncated: Bool = false) -> SearchResult {
            SearchResult(
                entries: paths.map { GlobalEntry(folder: FolderID("f"), path: $0, file: nil) }, isTruncated: isTruncated
            )
        }
        let found = result([".synctrain/notes", "a/notes", "b/notes"])
        func shown(_ text: String, _ limit: Int) -> ([String], Bool) {
            let shown = found.shown(to: text, limit: limit)
            return (shown.entries.map(\.path), shown.isTruncated)
        }
        #expect(shown("notes", 5) == (["a/notes", "b/notes"], false))
        #expect(shown("notes", 2) == (["a/notes", "b/notes"], false))
        #expect(shown("notes", 1) == (["a/notes"], true))
        #expect(shown(".SyncTrain/", 2) == ([".synctrain/notes", "a/notes"], true))
        #expect(shown("notes", -1) == ([], true))
        #expect(result(["a"], isTruncated: true).shown(to: "a", limit: 1).isTruncated)
        // Those that are not shown take no room from those that are.
        #expect(InternalContent.limit(for: 100) > 100)
        #expect(InternalContent.limit(for: .max) == .max)
    }
}
