import BlockExchange
import FileAccess
import IndexStore
import Reconciliation
import Selection
import SyncDecisions

/// Counts of a folder that `status` shows.
extension FolderContext {
    /// So much of what is needed is looked at, and so many different sets of holders are told apart.
    private static let lackNameLimit = 500
    private static let lackLimit = 20

    /// Files and links that the index knows to be on this disk and not selected.
    func countExtraneous() async throws -> Int64 {
        var extraneous: Int64 = 0
        var cursor: Int64?
        repeat {
            let page = try await index.store.localEntries(
                in: id, flags: .ignored, after: cursor, limit: FolderIndex.pageLimit)
            for entry in page.entries
            where entry.status != nil && entry.file.kind != .directory && !place.leftAlone.contains(entry.file.name) {
                extraneous += 1
            }
            cursor = page.next
        } while cursor != nil
        return extraneous
    }

    /// On which devices the needed files are whole.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func lacks() async throws -> [FolderOutlook.Lack] {
        var lacks: [FolderOutlook.Lack] = []
        var seen = 0
        var cursor: String?
        repeat {
            let page = try await index.needed(after: cursor, limit: Self.lackNameLimit - seen)
            seen += page.entries.count
            for entry in page.entries where entry.file.kind == .file && !entry.file.isDeleted {
                let size = max(0, entry.file.size)
                if let known = lacks.firstIndex(where: { $0.holders == entry.holders }) {
                    lacks[known].files += 1
                    lacks[known].bytes &+= size
                } else if lacks.count < Self.lackLimit {
                    lacks.append(FolderOutlook.Lack(holders: entry.holders, files: 1, bytes: size))
                }
            }
            cursor = page.next
        } while cursor != nil && seen < Self.lackNameLimit
        return lacks
    }
}
