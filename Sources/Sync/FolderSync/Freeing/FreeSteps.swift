import Arithmetic
import BlockExchange
import ControlAPI
import FileAccess
import IndexStore
import Reconciliation
import Selection

/// Says which files would be deselected until so much is free on the disk. `FolderRunner.free` does it.
package struct FreeStep: FolderStep {
    /// Bytes.
    package let until: Int64
    /// Seconds; only files that were not used for so long.
    package var unusedFor: Int64?
    package var isDryRun = false
    /// Only files at and below these; nil for all.
    package var among: PathSet?
    /// Nobody asked for it: what could not be freed a short while ago is left alone.
    var isUnattended = false

    package init(until: Int64, unusedFor: Int64? = nil, isDryRun: Bool = false, among: PathSet? = nil) {
        self.until = until
        self.unusedFor = unusedFor
        self.isDryRun = isDryRun
        self.among = among
    }

    /// For `keep-free`.
    static func unattended(until: Int64, among: PathSet) -> FreeStep {
        var step = FreeStep(until: until, among: among)
        step.isUnattended = true
        return step
    }

    /// - Throws: `FolderHalt` while deletions are held back.
    package func run(_ folder: FolderContext, _ work: inout FolderWork) async throws -> SpaceAnswer.Folder {
        let choice = try await ChooseFilesStep(
            bytes: nil, until: until, unusedFor: unusedFor, among: among, excluding: [], isUnattended: isUnattended
        ).run(folder, &work)
        var outcome = SelectionOutcome(folder, isDryRun: true)
        if !choice.names.isEmpty {
            let step = DeselectStep(paths: choice.names, local: .free, isDryRun: true)
            outcome = try await step.run(folder, &work)
            // Nobody asked for these one by one.
            outcome.paths = []
        }
        let missing = max(0, choice.wanted - (outcome.freeing?.freedBytes ?? 0))
        outcome.stillSelected = choice.stillSelected(missing: missing)
        return SpaceAnswer.Folder(outcome: outcome, available: choice.available, missing: missing)
    }
}

extension SelectionOutcome {
    /// Nothing has changed yet.
    init(_ folder: FolderContext, isDryRun: Bool) {
        self.init(
            folder: folder.id.rawValue, mode: folder.settings.mode.rawValue, isDryRun: isDryRun, added: [],
            removed: [])
    }
}

/// Chooses files that may go if the devices that have a copy promise to keep it. Changes nothing.
struct ChooseFilesStep: FolderStep {
    struct Choice: Sendable {
        var names: [String] = []
        /// Bytes that are free on the disk.
        var available: Int64
        /// Bytes that are missing.
        var wanted: Int64
        /// Files that might go, and that lines which their user wrote keep selected.
        var overruledCount = 0

        /// Nil if there are none, or if enough was freed without them.
        func stillSelected(missing: Int64) -> Int64? {
            missing > 0 && overruledCount > 0 ? Int64(overruledCount) : nil
        }
    }

    /// How much is to go; nil: as much as is missing of `until`.
    let bytes: Int64?
    let until: Int64
    let unusedFor: Int64?
    let among: PathSet?
    let excluding: Set<String>
    let isUnattended: Bool

    /// - Throws: `FolderHalt` while deletions are held back.
    func run(_ folder: FolderContext, _ work: inout FolderWork) async throws -> Choice {
        try folder.requireNoDeletionHalt()
        let available = Int64(clamping: try folder.root.freeSpace().available)
        var choice = Choice(available: available, wanted: bytes ?? until.subtractingClamped(min(until, available)))
        guard choice.wanted > 0 else { return choice }
        var candidates = try await candidates(folder, leaving: isUnattended ? work.memory.stuck : StuckNames())
        let overruled = try folder.selectionEditor().overruled(deselecting: candidates.map(\.name))
        if !overruled.isEmpty {
            choice.overruledCount = overruled.count
            candidates.removeAll { overruled.contains($0.name) }
        }
        choice.names = SpaceChoice.choose(
            candidates, toFree: choice.wanted, unusedFor: unusedFor, now: folder.now
        ).map(\.name)
        return choice
    }

    /// All files that are selected and may go, but for those that no line can deselect.
    private func candidates(_ folder: FolderContext, leaving stuck: StuckNames) async throws -> [SpaceCandidate] {
        var candidates: [SpaceCandidate] = []
        let now = folder.tools.time.monotonic()
        let (root, minimumCopies) = (folder.root, folder.settings.minimumCopies)
        let counting = try await folder.copyCounting(isPlan: true)
        let place = folder.place
        let ignoreFile = try await folder.onDisk { try place.ignoreFile() }
        var cursor: String?
        repeat {
            let page = try await folder.index.store.localDescendants(
                of: folder.id, after: cursor, limit: FolderIndex.pageLimit)
            let names = page.entries.filter {
                $0.kind == .file && !folder.selection.isLeftOut($0.path) && among?.contains($0.path) ?? true
                    && !excluding.contains($0.path) && !stuck.contains($0.path, at: now)
            }
            let facts = try await folder.index.facts(names.map(\.path))
            let rows = try await folder.index.store.keepRows(in: folder.id, names: names.map(\.path))
            candidates += try await folder.onDisk {
                try zip(facts, rows).compactMap { facts, rows -> SpaceCandidate? in
                    guard let path = RelativePath(facts.name), let (status, lastUsed) = try root.lastUse(of: path)
                    else { return nil }
                    let reason = Freeing.reason(
                        against: facts.localVersion, global: facts.global, copies: counting.copies(facts, rows),
                        minimumCopies: minimumCopies, sight: SpaceFreeing.sight(status, facts.local))
                    guard reason == nil, SelectionEditor(ignoreFile).canName(facts.name) else { return nil }
                    return SpaceCandidate(name: facts.name, size: status.size, lastUsed: lastUsed.seconds)
                }
            }
            cursor = page.next
        } while cursor != nil
        return candidates
    }
}
