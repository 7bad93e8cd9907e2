import BlockExchange
import IndexStore
import Names
import Selection
import SyncDecisions

/// What a folder holds for synctrain itself: notes, in `.synctrain`. It is synced like anything else, and is not shown as
/// the user's own unless it is asked for by its name.
package enum InternalContent {
    package static let directory = NoteFile.directory

    package static func contains(_ path: String) -> Bool { path.isAtOrBelow(directory) }

    /// Whether a search shows it: one for its name does.
    package static func isSought(by text: String) -> Bool { text.lowercased().contains(directory) }

    /// How many names to look for, so that `limit` are left without those that are not shown: notes are a file for each device.
    package static func limit(for limit: Int) -> Int {
        let (sum, overflows) = limit.addingReportingOverflow(NoteFile.fileLimit)
        return overflows ? .max : sum
    }

    /// How much of the folder it is: what is there for somebody, what of that is selected, and what of that is here.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package static func sums(
        in folder: FolderID, _ index: IndexStore, _ selection: Selection?
    ) async throws -> (below: Aggregate, selected: Aggregate, present: Aggregate) {
        guard let found = try await index.global(folder, directory) else { return (.zero, .zero, .zero) }
        var sums = (below: found.below, selected: found.selected, present: found.present)
        guard found.isPresent, found.isDirectory else { return sums }
        let itself = Aggregate(directories: 1)
        sums.below += itself
        guard selection.map({ !$0.isLeftOut(directory) }) ?? false else { return sums }
        sums.selected += itself
        if found.isLocalCurrent, found.local?.status != nil, found.local?.file.isInvalid == false {
            sums.present += itself
        }
        return sums
    }
}

extension SearchResult {
    /// The first `limit` of what a search for `text` shows.
    package func shown(to text: String, limit: Int) -> SearchResult {
        var result = self
        if !InternalContent.isSought(by: text) { result.entries.removeAll { InternalContent.contains($0.path) } }
        if result.entries.count > limit {
            result.entries = Array(result.entries.prefix(max(0, limit)))
            result.isTruncated = true
        }
        return result
    }
}
