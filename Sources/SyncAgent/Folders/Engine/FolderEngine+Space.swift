import BlockExchange
import ControlAPI
import FileAccess
import IndexStore
import Reconciliation

/// Freeing space until so much is free.
extension FolderEngine {
    private static let pageLimit = 1000

    func free(until byteCount: Int64, unusedFor: Int64?, isDryRun: Bool) async throws -> SpaceAnswer.Folder {
        try await exclusively { [self] in
            if isHaltedOverDeletions, let halt = activity.snapshot.halt { throw halt }
            let place = try await currentPlace()
            return try await free(
                until: byteCount, unusedFor: unusedFor, isDryRun: isDryRun, place, among: { _ in true })
        }
    }

    /// Lets what is selected while there is space go, so far as `keep-free` asks for it; within a step.
    func keepFree(_ place: FolderPlace) async throws {
        guard let keepFree = session.configuration.keepFree, !place.whileSpace.isEmpty, !isHaltedOverDeletions else {
            return
        }
        let space = try place.root.freeSpace()
        let wanted = keepFree.byteCount(ofDisk: Int64(clamping: space.total))
        guard Int64(clamping: space.available) < wanted else { return }
        let answer = try await free(
            until: wanted, unusedFor: nil, isDryRun: false, place, among: { place.whileSpace.contains($0) })
        guard let freeing = answer.outcome.freeing, freeing.freedFiles > 0 else { return }
        logger.notice("freed \(freeing.freedFiles) files, \(freeing.freedBytes) bytes, to keep \(wanted) bytes free")
    }

    private func free(
        until byteCount: Int64, unusedFor: Int64?, isDryRun: Bool, _ place: FolderPlace,
        among isEligible: (String) -> Bool
    ) async throws -> SpaceAnswer.Folder {
        let available = Int64(clamping: try place.root.freeSpace().available)
        var outcome = SelectionOutcome(
            folder: folder.rawValue, mode: session.configuration.mode.rawValue, isDryRun: isDryRun, added: [],
            removed: [])
        let wanted = byteCount - min(byteCount, available)
        if wanted > 0 {
            let chosen = SpaceChoice.choose(
                try await spaceCandidates(place, among: isEligible), toFree: wanted, unusedFor: unusedFor,
                now: environment.time.wall().seconds)
            if !chosen.isEmpty {
                outcome = try await deselectInStep(chosen.map(\.name), .free, isDryRun: isDryRun)
                // Nobody asked for these one by one.
                outcome.paths = []
            }
        }
        return SpaceAnswer.Folder(
            outcome: outcome, available: available, missing: max(0, wanted - (outcome.freeing?.freedBytes ?? 0)))
    }

    /// All files that are kept and may go.
    private func spaceCandidates(
        _ place: FolderPlace, among isEligible: (String) -> Bool
    ) async throws -> [SpaceCandidate] {
        var candidates: [SpaceCandidate] = []
        let configuration = session.configuration
        var cursor: String?
        repeat {
            let page = try await index.localDescendants(of: folder, after: cursor, limit: Self.pageLimit)
            let names = page.entries.filter {
                $0.kind == .file && !place.selection.isLeftOut($0.path) && isEligible($0.path)
            }
            let facts = try await facts(names.map(\.path))
            let rule = try await session.copyRule()
            candidates += try await environment.fetching.threads.runIfActive {
                try facts.compactMap { facts -> SpaceCandidate? in
                    guard let path = RelativePath(facts.name), let (status, lastUsed) = try place.root.lastUse(of: path)
                    else { return nil }
                    let reason = Freeing.reason(
                        against: facts.localVersion, global: facts.global,
                        copies: rule.copies(facts.holders),
                        minimumCopies: configuration.minimumCopies, sight: SpaceFreeing.sight(status, facts.local))
                    guard reason == nil else { return nil }
                    return SpaceCandidate(name: facts.name, size: status.size, lastUsed: lastUsed.seconds)
                }
            }
            cursor = page.next
        } while cursor != nil
        return candidates
    }
}
