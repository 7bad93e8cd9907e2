import BlockExchange
import FileAccess
import IndexStore
import Names
import Reconciliation
import Selection

/// Something found below a directory that is to go. Pure.
struct DirectoryFinding: Sendable {
    /// Relative to the folder; of a name that is not UTF-8 as it is shown.
    var name: String
    var type: FileType
    var status: FileAccess.FileStatus?

    /// What `DirectoryRemoval` decides by.
    ///
    /// - Parameters:
    ///   - found: what is above comes first.
    ///   - facts: of each of `found`, in the same order.
    ///   - isProblem: whether the last scan says that it cannot be synced.
    static func items(
        _ found: [DirectoryFinding], _ facts: [NameFacts], selection: Selection, isProblem: (String) -> Bool
    ) -> [DirectoryRemoval.Item] {
        var unsyncable: Set<String> = []
        return zip(found, facts).map { found, facts in
            let parent = String(found.name.parentPath)
            let isUnsyncable = found.type == .other || isProblem(found.name) || unsyncable.contains(parent)
            if isUnsyncable { unsyncable.insert(found.name) }
            let expected = facts.local.flatMap { FileAccess.FileStatus($0) }
            // It may be all that is left of what somebody wrote: a look settles it first.
            let isSwap = RelativePath(found.name)?.isSwap ?? false
            return DirectoryRemoval.Item(
                name: found.name, isDirectory: found.type == .directory,
                isTemporary: !isSwap && RelativePath(found.name)?.isTemporary ?? false,
                isLeftOut: !isSwap && selection.isLeftOut(found.name),
                isDeletable: selection.decision(for: found.name).isDeletable, isUnsyncable: isUnsyncable,
                isDeletedElsewhere: facts.global?.isDeleted == true && facts.localVersion?.isValid == true,
                local: facts.localVersion,
                isUnchanged: expected.map { found.status?.isUnchanged(since: $0) ?? false } ?? false)
        }
    }
}

extension FolderContext {
    /// All that is on the disk below a directory, so that a verdict can be made of it.
    ///
    /// - Throws: `FileAccessError`; `IndexStoreError`; `CancellationError`.
    func itemsOnDisk(below directory: RelativePath) async throws -> [DirectoryRemoval.Item] {
        let (root, selection) = (root, selection)
        let found = try await onDisk { () throws -> [DirectoryFinding] in
            var found: [DirectoryFinding] = []
            var waiting = [directory]
            while let next = waiting.popLast() {
                for entry in try root.list(next).sorted(by: { $0.displayName < $1.displayName }) {
                    guard let name = entry.name, let path = try? next.appending(name) else {
                        found.append(DirectoryFinding(name: next.text + "/" + entry.displayName, type: .other))
                        continue
                    }
                    found.append(DirectoryFinding(name: path.text, type: entry.type, status: try root.status(of: path)))
                    if entry.type == .directory { waiting.append(path) }
                }
            }
            return found
        }
        let facts = try await index.facts(found.map(\.name))
        let problems = foundProblems
        return DirectoryFinding.items(found, facts, selection: selection, isProblem: problems.contains)
    }
}
