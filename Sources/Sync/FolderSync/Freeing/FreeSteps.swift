import BlockExchange
import ControlAPI
import FileAccess
import IndexStore
import Reconciliation
import Selection

/// Deselects files of which other devices have a copy, until so much is free on the disk.
package struct FreeStep: FolderStep {
    /// Bytes.
    package let until: Int64
    /// Seconds; only files that were not used for so long.
    package var unusedFor: Int64?
    package var isDryRun = false
    /// Only files at and below these; nil for all.
    package var among: PathSet?

    package init(until: Int64, unusedFor: Int64? = nil, isDryRun: Bool = false, among: PathSet? = nil) {
        self.until = until
        self.unusedFor = unusedFor
        self.isDryRun = isDryRun
        self.among = among
    }

    /// - Throws: `FolderHalt` while deletions are held back.
    package func run(_ folder: FolderContext, _ work: inout FolderWork) async throws -> SpaceAnswer.Folder {
        try folder.requireNoDeletionHalt()
        let available = Int64(clamping: try folder.root.freeSpace().available)
        var outcome = SelectionOutcome(
            folder: folder.id.rawValue, mode: folder.settings.mode.rawValue, isDryRun: isDryRun, added: [],
            removed: [])
        let wanted = until - min(until, available)
        if wanted > 0 {
            let chosen = SpaceChoice.choose(
                try await candidates(folder), toFree: wanted, unusedFor: unusedFor, now: folder.now)
            if !chosen.isEmpty {
                let step = DeselectStep(paths: chosen.map(\.name), local: .free, isDryRun: isDryRun)
                outcome = try await step.run(folder, &work)
                // Nobody asked for these one by one.
                outcome.paths = []
            }
        }
        return SpaceAnswer.Folder(
            outcome: outcome, available: available, missing: max(0, wanted - (outcome.freeing?.freedBytes ?? 0)))
    }

    /// All files that are selected and may go.
    private func candidates(_ folder: FolderContext) async throws -> [SpaceCandidate] {
        var candidates: [SpaceCandidate] = []
        let (root, minimumCopies) = (folder.root, folder.settings.minimumCopies)
        let rule = try await folder.copyRule()
        var cursor: String?
        repeat {
            let page = try await folder.index.store.localDescendants(
                of: folder.id, after: cursor, limit: FolderIndex.pageLimit)
            let names = page.entries.filter {
                $0.kind == .file && !folder.selection.isLeftOut($0.path) && among?.contains($0.path) ?? true
            }
            let facts = try await folder.index.facts(names.map(\.path))
            candidates += try await folder.onDisk {
                try facts.compactMap { facts -> SpaceCandidate? in
                    guard let path = RelativePath(facts.name), let (status, lastUsed) = try root.lastUse(of: path)
                    else { return nil }
                    let reason = Freeing.reason(
                        against: facts.localVersion, global: facts.global, copies: rule.copies(facts.holders),
                        minimumCopies: minimumCopies, sight: SpaceFreeing.sight(status, facts.local))
                    guard reason == nil else { return nil }
                    return SpaceCandidate(name: facts.name, size: status.size, lastUsed: lastUsed.seconds)
                }
            }
            cursor = page.next
        } while cursor != nil
        return candidates
    }
}

/// Lets what is selected while there is space go, as far as `keep-free` asks for it.
struct KeepFreeStep: FolderStep {
    func run(_ folder: FolderContext, _ work: inout FolderWork) async throws {
        guard let keepFree = folder.settings.keepFree, !folder.place.whileSpace.isEmpty, folder.deletionHalt == nil
        else { return }
        let space = try folder.root.freeSpace()
        let wanted = keepFree.byteCount(ofDisk: Int64(clamping: space.total))
        guard Int64(clamping: space.available) < wanted else { return }
        let answer = try await FreeStep(until: wanted, among: folder.place.whileSpace).run(folder, &work)
        guard let freeing = answer.outcome.freeing, freeing.freedFiles > 0 else { return }
        folder.logger.notice(
            "freed \(freeing.freedFiles) files, \(freeing.freedBytes) bytes, to keep \(wanted) bytes free")
    }
}
