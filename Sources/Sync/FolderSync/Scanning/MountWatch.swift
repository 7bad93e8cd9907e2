import Arithmetic
import BlockExchange
import FileAccess
import IndexStore
import Names
import Selection
import SyncDecisions

/// Notes where other file systems are mounted in a folder, and keeps what is missing where one is not mounted any more.
struct MountWatch: Sendable {
    let folder: FolderContext

    /// Takes what is below disks that are gone out of the deletions that a scan found.
    func hold(_ changes: inout ScannedChanges, _ work: inout FolderWork) async throws {
        let (path, list) = (folder.settings.path, folder.tools.mountNames)
        guard let listed = try await folder.onDisk({ list(path) }) else { return }
        let mounted = listed.filter { RelativePath($0) != nil && folder.selection.mayContainSelected($0) }
        if let before = work.memory.mounts {
            let changed = before.symmetricDifference(mounted).compactMap { RelativePath($0) }
            work.effects.changedMounts.formUnion(changed)
        }
        work.memory.mounts = mounted
        let recorded = try await folder.index.store.mountPoints(in: folder.id)
        guard !mounted.isEmpty || !recorded.isEmpty else { return }
        var vanished: Set<String> = []
        if !work.memory.confirmsDeletions {
            let (root, before) = (folder.root, work.memory.vanishedMounts.names)
            vanished = try await folder.onDisk {
                try VanishedMounts.names(recorded: recorded, mounted: mounted, before: before) {
                    try Self.isEmptied($0, in: root)
                }
            }
            for name in vanished {
                if try await !isKnown(below: name) { vanished.remove(name) }
            }
        }
        work.memory.vanishedMounts = VanishedNames(vanished)
        let paths = PathSet(vanished)
        let held = Set(names: changes.gone.lazy.map(\.name).filter { paths.contains($0) })
        changes.hold(held)
        for name in vanished.sorted() {
            work.effects.problems.noteFound(VanishedMounts.text(folder: folder.id.rawValue), at: name)
        }
        if !vanished.isEmpty { work.effects.counts.heldDeletions = try await knownCount(below: vanished) }
        let present = mounted.union(vanished)
        if present != recorded { try await folder.index.store.setMountPoints(present, in: folder.id) }
    }

    /// How many names would count as deleted.
    private func knownCount(below names: Set<String>) async throws -> Int64 {
        var sum: Int64 = 0
        for name in names where !names.contains(where: { name.isBelow($0) }) {
            guard let present = try await folder.index.store.global(folder.id, name)?.present else { continue }
            for count in [present.files, present.directories, present.symlinks] { sum.addClamped(count) }
        }
        return sum
    }

    private func isKnown(below name: String) async throws -> Bool {
        try await !folder.index.store.localDescendants(of: folder.id, below: name, limit: 1).entries.isEmpty
    }

    private static func isEmptied(_ name: String, in root: RootDirectory) throws -> Bool {
        guard let path = RelativePath(name), let status = try root.status(of: path) else { return true }
        return try status.type == .directory && root.list(path).isEmpty
    }
}

/// Names at which a disk was mounted and is not, each with all below it.
struct VanishedNames: Sendable {
    let names: Set<String>
    private let paths: PathSet

    init(_ names: Set<String> = []) { (self.names, paths) = (names, PathSet(names)) }

    var isEmpty: Bool { names.isEmpty }
    func contains(_ name: String) -> Bool { paths.contains(name) }
}
