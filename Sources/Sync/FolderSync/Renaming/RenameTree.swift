import BlockExchange
import Cryptography
import FileAccess
import IndexStore
import Reconciliation
import SyncDecisions

/// What is at and below a name, by index and disk: what a device sees that asks another one to rename it, and what that one sees.
package struct RenameTree: Sendable {
    struct Name: Equatable, Sendable {
        let path: String
        let isDirectory: Bool
    }

    /// The name itself first, each directory before what is in it.
    private(set) var names: [Name] = []
    package private(set) var digest: SHA256Digest
    /// Other devices that announce all of it as it is.
    package private(set) var holders: Set<DeviceID>
    /// How many of the names are on this disk.
    private(set) var hereCount = 0
    /// Whether all that is on this disk is what everybody has, and nothing else is in it.
    package private(set) var isUnchanged = true
    /// Whether a program has something of it open for writing.
    package private(set) var isOpen = false

    package var nameCount: Int64 { Int64(names.count) }
    var isWhole: Bool { isUnchanged && hereCount == names.count }

    /// The names alone, as the index has them; nil if there are too many, or nobody announces one of them.
    static func names(at path: RelativePath, in folder: FolderContext) async throws -> [Name]? {
        guard let top = try await folder.index.global(path.text), top.isPresent else { return nil }
        var names = [Name(path: path.text, isDirectory: top.isDirectory)]
        guard top.isDirectory else { return names }
        var after: String?
        while true {
            let page = try await folder.index.store.descendants(
                folder.id, of: path.text, after: after, limit: FolderIndex.pageLimit)
            guard page.allSatisfy(\.isPresent), names.count + page.count <= RenameRule.nameLimit else { return nil }
            names += page.map { Name(path: $0.path, isDirectory: $0.isDirectory) }
            guard page.count == FolderIndex.pageLimit, let last = page.last else { return names }
            after = last.path
        }
    }

    /// Looks at index and disk. Nil if there are too many names, or one of them is announced by nobody, or with unknown content.
    ///
    /// - Throws: `IndexStoreError`; `FileAccessError`; `CancellationError`.
    package init?(at path: RelativePath, in folder: FolderContext) async throws {
        guard let names = try await Self.names(at: path, in: folder) else { return nil }
        self.names = names
        holders = []
        self.digest = SHA256.digest([])
        var digest = RenameDigest()
        // Entries of directories that are on this disk: as many as there are names here, or something else is among them.
        var listedCount = 0
        for start in stride(from: 0, to: names.count, by: FolderIndex.pageLimit) {
            try Task.checkCancellation()
            let page = names[start..<min(start + FolderIndex.pageLimit, names.count)].map(\.path)
            let facts = try await folder.index.facts(page)
            for facts in facts {
                guard let global = facts.global, !global.isInvalid, let content = KeepContent(global) else {
                    return nil
                }
                digest.add(String(facts.name.utf8.dropFirst(path.text.utf8.count)) ?? "", content)
                let others = Set(facts.holders)
                holders = digest.count == 1 ? others : holders.intersection(others)
            }
            let root = folder.root
            let sights = try await folder.onDisk {
                try facts.map { facts -> (status: FileAccess.FileStatus, entries: Int)? in
                    guard let path = RelativePath(facts.name), let status = try root.status(of: path) else {
                        return nil
                    }
                    guard status.type == .directory else { return (status, 0) }
                    return (status, try root.list(path).count { Self.counts($0, in: path) })
                }
            }
            for (facts, sight) in zip(facts, sights) {
                note(facts, sight?.status, folder)
                listedCount += sight?.entries ?? 0
            }
        }
        self.digest = digest.finish()
        if hereCount > 0, listedCount != hereCount - 1 { isUnchanged = false }
    }

    /// Whether an entry of a directory is more than something that is being put together.
    private static func counts(_ entry: DirectoryEntry, in directory: RelativePath) -> Bool {
        guard let name = entry.name, let path = try? directory.appending(name) else { return true }
        return !path.isTemporary || path.isSwap
    }

    private mutating func note(_ facts: NameFacts, _ status: FileAccess.FileStatus?, _ folder: FolderContext) {
        if folder.writing.isOpen(facts.name) { isOpen = true }
        guard let status else {
            // Removed here, and no scan has seen that yet.
            if let local = facts.local, local.status != nil, !local.file.isDeleted { isUnchanged = false }
            return
        }
        hereCount += 1
        guard let local = facts.local, local.flags.isEmpty, !local.file.isDeleted,
            local.file.version == facts.global?.version, folder.scrub.damaged(facts.name) == nil,
            SpaceFreeing.sight(status, local) == .unchanged
        else { return isUnchanged = false }
    }
}
