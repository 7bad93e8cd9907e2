import Arithmetic
import ControlAPI
import IndexStore
import Selection

/// Freeing takes more than one step: other devices are asked outside of the turn.
extension FolderRunner {
    /// After so many choices what is left is not freed: the devices that have it promise nothing.
    private static let choiceLimit = 20

    /// Deselects paths, and frees what other devices promise to keep.
    ///
    /// - Throws: what `DeselectStep` does.
    package func deselect(_ step: DeselectStep) async throws -> SelectionOutcome {
        // What is forced goes by the word of others too, where they give it.
        guard step.local != .keep, !step.isDryRun else { return try await perform(step) }
        return try await gathering { gathering in
            try await gathering.gather(below: step.paths)
            return try await perform(step)
        }
    }

    /// Deselects and frees single files until so much is free on the disk.
    ///
    /// - Throws: `FolderHalt` while deletions are held back.
    package func free(_ step: FreeStep) async throws -> SpaceAnswer.Folder {
        guard !step.isDryRun else { return try await perform(step) }
        return try await gathering { gathering in
            var answer = SpaceAnswer.Folder(
                outcome: SelectionOutcome(gathering.folder, isDryRun: false), available: 0, missing: 0)
            var excluded: Set<String> = []
            var first: ChooseFilesStep.Choice?
            for round in 0..<Self.choiceLimit {
                let choice = try await perform(
                    ChooseFilesStep(
                        bytes: round == 0 ? nil : answer.missing, until: step.until, unusedFor: step.unusedFor,
                        among: step.among, excluding: excluded, isUnattended: step.isUnattended))
                if round == 0 {
                    (answer.available, answer.missing) = (choice.available, choice.wanted)
                    first = choice
                }
                guard answer.missing > 0, !choice.names.isEmpty else { break }
                excluded.formUnion(choice.names)
                try await gathering.gather(choice.names)
                let proven = try await gathering.folder.provenNames(among: choice.names)
                guard !proven.isEmpty else { continue }
                let outcome = try await perform(DeselectStep.freeing(chosen: proven))
                answer.missing = max(0, answer.missing.subtractingClamped(outcome.freeing?.freedBytes ?? 0))
                answer.outcome.add(outcome)
            }
            answer.outcome.stillSelected = first?.stillSelected(missing: answer.missing)
            return answer
        }
    }

    /// Lets what is selected while there is space go, as far as `keep-free` asks for it.
    func keepFree() async throws {
        let folder = try reading()
        guard let keepFree = folder.settings.keepFree, !folder.place.whileSpace.isEmpty, folder.deletionHalt == nil
        else { return }
        let space = try folder.root.freeSpace()
        let wanted = keepFree.byteCount(ofDisk: Int64(clamping: space.total))
        guard Int64(clamping: space.available) < wanted else { return }
        let answer = try await free(.unattended(until: wanted, among: folder.place.whileSpace))
        guard let freeing = answer.outcome.freeing, freeing.freedFiles > 0 else { return }
        folder.logger.notice(
            "freed \(freeing.freedFiles) files, \(ByteText.size(freeing.freedBytes)), to keep \(ByteText.size(wanted)) free"
        )
    }

    /// Runs `body` while promises that it gathers are kept; then those that it did not need are released.
    private func gathering<Result>(_ body: (CopyGathering) async throws -> Result) async throws -> Result {
        let folder = try reading()
        folder.peers.beginGathering()
        defer {
            folder.peers.endGathering()
            // Links tell what is not needed any more.
            folder.index.announcements.changed()
        }
        return try await body(CopyGathering(folder: folder))
    }
}

extension SelectionOutcome {
    /// Adds what another round of the same came to.
    fileprivate mutating func add(_ other: SelectionOutcome) {
        added += other.added
        removed += other.removed
        cost.extraneousFiles.addClamped(other.cost.extraneousFiles)
        cost.extraneousBytes.addClamped(other.cost.extraneousBytes)
        cost.fetchFiles.addClamped(other.cost.fetchFiles)
        cost.fetchBytes.addClamped(other.cost.fetchBytes)
        cost.sparedFiles.addClamped(other.cost.sparedFiles)
        cost.sparedBytes.addClamped(other.cost.sparedBytes)
        guard let more = other.freeing else { return }
        guard var sum = freeing else { return freeing = more }
        sum.add(more)
        freeing = sum
    }
}

extension FreeingOutcome {
    fileprivate mutating func add(_ other: FreeingOutcome) {
        freedFiles.addClamped(other.freedFiles)
        freedBytes.addClamped(other.freedBytes)
        freedDirectories.addClamped(other.freedDirectories)
        freed = Array((freed + other.freed).prefix(Self.nameLimit))
        stayingFiles.addClamped(other.stayingFiles)
        stayingBytes.addClamped(other.stayingBytes)
        staying = Array((staying + other.staying).prefix(Self.nameLimit))
    }
}
