import Arithmetic
import BlockExchange
import FileAccess
import IndexStore
import Names
import Phrases
import Reconciliation

/// What fetches and replacements that were cut short have left on the disk.
struct Leftovers: Sendable {
    /// After this, a temporary file is removed even if what it is to become may still be wanted.
    private static let temporaryLifetime: Int64 = 86_400

    let folder: FolderContext

    /// Removes the temporary files that are remembered and of no use any more: what they were to become is here, or has been
    /// deleted. What a later fetch may go on with stays for a day.
    func removeTemporaries(_ work: inout FolderWork) async throws {
        let paths = work.memory.temporaries.sorted()
        guard !paths.isEmpty else { return }
        let staying = try await removeUseless(paths)
        work.memory.temporaries = Set(staying)
    }

    /// Gives those that stay.
    private func removeUseless(_ paths: [RelativePath]) async throws -> [RelativePath] {
        let targets = paths.map { $0.temporaryTarget?.text }
        let facts = Dictionary(
            try await folder.index.facts(targets.compactMap { $0 }).map { (NameKey($0.name), $0) },
            uniquingKeysWith: { first, _ in first })
        let now = folder.now
        let found = zip(paths, targets).map { path, target in
            (path, isUseless: target.flatMap { facts[$0] }.map(Self.needsNothing) ?? false)
        }
        let (root, logger) = (folder.root, folder.logger)
        return try await folder.onDisk {
            var kept: [RelativePath] = []
            for (path, isUseless) in found {
                do throws(FileAccessError) {
                    guard let status = try root.status(of: path) else { continue }
                    let isOld = now.subtractingClamped(status.modified.seconds) > Self.temporaryLifetime
                    if isUseless || isOld, try root.removeTemporary(path) { continue }
                    kept.append(path)
                } catch {
                    logger.debug("\(path.text) was not moved: \(error.message)")
                }
            }
            return kept
        }
    }

    /// Whether no fetch of the name can be under way or to come.
    private static func needsNothing(_ facts: NameFacts) -> Bool {
        guard let global = facts.global else { return false }
        if global.isDeleted { return true }
        guard let local = facts.local, local.status != nil else { return false }
        return local.file.version == global.version
    }

    /// Finishes or undoes replacements and removals that a crash cut short. What somebody put into a place at the last
    /// instant is kept as a conflict copy: the place may be another's by now.
    func settle(_ swaps: [RelativePath], _ work: inout FolderWork) async throws {
        let root = folder.root
        for path in swaps {
            do {
                guard case .displaced = try await folder.onDisk({ try root.settleSwap(path) }) else { continue }
                guard let target = try await target(ofSwap: path) else {
                    work.effects.problems.noteFound(
                        Phrase("written here while another device's version was being downloaded; move it elsewhere"),
                        at: path.text)
                    continue
                }
                let copy = try folder.conflictCopy(of: target, by: folder.tools.localDevice.shortID)
                try await folder.onDisk { try root.rename(path, to: copy, replacing: .nothing) }
                work.effects.rescans.insert(copy)
            } catch let error as FileAccessError {
                work.effects.problems.noteFound(error.text, at: path.text)
            }
        }
    }

    /// What replacements of names that are not selected have left: a scan does not come by their directories.
    ///
    /// - Parameter placed: names that were about to be placed.
    func unvisitedSwaps(of placed: some Sequence<String>) async throws -> [RelativePath] {
        let names = placed.filter { folder.selection.isLeftOut($0) }.compactMap { RelativePath($0) }
        guard !names.isEmpty else { return [] }
        let root = folder.root
        return try await folder.onDisk {
            var found: [RelativePath] = []
            for (directory, names) in Dictionary(grouping: names, by: \.parent) {
                guard let entries = try? root.list(directory) else { continue }
                for name in entries.compactMap(\.name) {
                    let path = try directory?.appending(name) ?? RelativePath(parsing: name)
                    if path.isSwap, names.contains(where: { path.isSwap(with: $0.name) }) { found.append(path) }
                }
            }
            return found.sorted()
        }
    }

    private func target(ofSwap path: RelativePath) async throws -> RelativePath? {
        if let target = path.swapTarget { return target }
        let known = try await folder.index.store.localChildren(of: folder.id, directory: path.parent?.text ?? "")
        return known.lazy.compactMap { RelativePath($0.file.name) }.first { path.isSwap(with: $0.name) }
    }
}
