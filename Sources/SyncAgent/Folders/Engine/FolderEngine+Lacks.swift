import BlockExchange
import IndexStore

extension FolderEngine {
    /// So much of what is needed is looked at, and so many different sets of holders are told apart.
    private static let lackNameLimit = 500
    private static let lackLimit = 20

    /// Notes for `status` on which devices the needed files are whole.
    func noteLacks(_ place: FolderPlace) async throws {
        guard activity.snapshot.need.items != .zero else { return activity.set(lacks: []) }
        let selection = place.selection
        var lacks: [FolderOutlook.Lack] = []
        var seen = 0
        var cursor: String?
        repeat {
            let page = try await index.needed(
                in: folder, after: cursor, limit: Self.lackNameLimit - seen,
                isKept: { !selection.isLeftOut($0) }, mayContain: { selection.mayContainSelected($0) })
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
        activity.set(lacks: lacks)
    }
}
