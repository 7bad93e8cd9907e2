import Arithmetic
import BlockExchange
import ControlAPI
import Fetching
import FileAccess
import IndexStore

/// Heeds what the check of a file has found, if the file is still as it was checked.
struct NoteScrubStep: FolderStep {
    /// What the index had of the file when it was checked.
    let entry: LocalEntry
    let outcome: FileCheck.Outcome

    /// - Returns: what the file is, looked at again.
    func run(_ folder: FolderContext, _ work: inout FolderWork) async throws -> ScrubVerdict {
        let name = entry.file.name
        switch outcome.verdict {
        case .good:
            if folder.scrub.damaged(name) != nil { try await folder.index.store.forgetDamaged([name], in: folder.id) }
            return .good
        case .damaged:
            guard let file = try await damaged(folder) else { fallthrough }
            try await folder.index.store.noteDamaged(file, in: folder.id)
            folder.scrub.note(file)
            folder.logger.error("\(name): \(ProblemText.damaged(file, in: folder.id))")
            return .damaged
        case .changed:
            work.effects.rescan(name)
            return .changed
        }
    }

    /// Nil if somebody changed the file, or may be changing it.
    private func damaged(_ folder: FolderContext) async throws -> DamagedFile? {
        let name = entry.file.name
        guard let path = RelativePath(name), let local = try await folder.index.facts(name)?.local,
            local.status == entry.status, local.file.version == entry.file.version,
            let status = local.status, let expected = local.file.blocksHash,
            let known = FileAccess.FileStatus(local)
        else { return nil }
        let root = folder.root
        let isUnchanged = try await folder.onDisk { () -> Bool in
            guard let now = try root.status(of: path), now.isUnchanged(since: known) else { return false }
            // What is written through a mapping shows in the file's time later than in its bytes.
            return try !root.isBeingWritten(path)
        }
        guard isUnchanged else { return nil }
        return DamagedFile(
            name: name, inode: status.inode, expected: expected, found: outcome.foundHash,
            wrongBlocks: outcome.wrongBlocks, blocks: Int64(entry.file.blocks.count), noticed: folder.now)
    }
}

/// Reads what is at and below a path of a folder, and compares it with its hashes, outside of the folder's turn. How far it is
/// is kept in the index, so that one that is ended goes on.
struct ScrubRun: Sendable {
    /// Files, and bytes, after which it is noted how far the check is.
    static let filesPerNote = 100
    private static let bytesPerNote: Int64 = 256 << 20
    /// How long a check that nobody waits for waits for others to be done.
    private static let patience: Duration = .seconds(5)

    struct Outcome: Sendable {
        var tally: ScrubTally
        /// Files that are not as the index saw them: scans look at them.
        var changed: Int64 = 0
    }

    /// A person wants to check the folder.
    struct MadeWay: Error {}

    let folder: FolderContext
    /// Empty for the whole folder.
    let path: String
    /// Nobody waits for it: it is slow, and makes way for everything.
    let isScheduled: Bool
    /// Heeds a finding within the folder's turn.
    let heed: @Sendable (NoteScrubStep) async throws -> ScrubVerdict

    typealias Emit = (ScrubEvent) async throws -> Void

    private var store: IndexStore { folder.index.store }

    private struct State {
        var outcome: Outcome
        /// Of the file that is being read.
        var partBytes: Int64 = 0
        var unnotedFiles = 0
        var unnotedBytes: Int64 = 0
        let progress = FetchProgress()
        let total: Int64
        var lastRead: MonotonicTime
    }

    /// - Throws: `FolderHalt` if the folder's directory is gone; `MadeWay`; what `emit` throws; `CancellationError`.
    func run(emit: Emit) async throws -> Outcome {
        var tally = ScrubTally(begun: folder.now)
        if let earlier = try await store.scrubUnderWay(in: folder.id, below: path),
            ScrubSchedule.continues(earlier, at: folder.now, isScheduled: isScheduled)
        {
            tally = earlier
        }
        let totals = try await totals()
        try await emit(.plan(folder.id.rawValue, files: totals.files, bytes: totals.bytes, done: tally))
        var state = State(
            outcome: Outcome(tally: tally), total: totals.bytes, lastRead: folder.tools.time.monotonic())
        folder.scrub.set(running: tally)
        defer { folder.scrub.set(running: nil) }
        if tally.position == nil, !path.isEmpty { try await check(path, &state, emit) }
        var cursor = tally.position == path ? nil : tally.position
        repeat {
            guard folder.root.isInPlace else { throw missing }
            let page = try await store.localDescendants(
                of: folder.id, below: path, after: cursor, limit: FolderIndex.pageLimit)
            for name in page.entries
            where name.kind == .file && name.flags.isSubset(of: [.ignored, .receiveOnlyChanged]) {
                try await check(name.path, &state, emit)
            }
            cursor = page.next
        } while cursor != nil
        state.outcome.tally.updated = folder.now
        try await store.endScrub(state.outcome.tally, below: path, in: folder.id)
        if path.isEmpty { folder.scrub.set(last: state.outcome.tally) }
        return state.outcome
    }

    private var missing: FolderHalt {
        FolderHalt(reason: .rootMissing, message: Phrase("\(folder.settings.path) is missing; mount its disk"))
    }

    private func totals() async throws -> (files: Int64, bytes: Int64) {
        if path.isEmpty {
            let local = try await store.totals(of: folder.id).local
            return (local.files, local.bytes)
        }
        guard let entry = try await folder.index.global(path) else { throw FolderError.notOnDisk(path) }
        if entry.isDirectory { return (entry.present.files, entry.present.bytes) }
        guard let local = entry.local, local.status != nil else { throw FolderError.notOnDisk(path) }
        return (1, local.file.size)
    }

    private func check(_ name: String, _ state: inout State, _ emit: Emit) async throws {
        guard let path = RelativePath(name), let entry = try await store.local(folder.id, name),
            entry.status != nil, entry.file.kind == .file, !entry.file.isDeleted, !entry.file.blocks.isEmpty
        else { return }
        let check = FileCheck(
            root: folder.root, path: path, entry: entry, threads: folder.tools.threads,
            read: folder.tools.readBlock)
        let outcome: FileCheck.Outcome
        state.partBytes = 0
        do {
            outcome = try await check.run { byteCount in try await came(byteCount, of: name, &state, emit) }
        } catch is FileAccessError {
            // A scan says what is wrong with it.
            outcome = FileCheck.Outcome(verdict: .changed)
        }
        var verdict = outcome.verdict
        if verdict != .good || folder.scrub.damaged(name) != nil {
            guard folder.root.isInPlace else { throw missing }
            verdict = try await heed(NoteScrubStep(entry: entry, outcome: outcome))
        }
        if verdict == .changed {
            // Edited, gone or not to be opened: nothing is known of its bytes.
            state.outcome.changed.addClamped(1)
        } else {
            state.outcome.tally.files.addClamped(1)
            state.outcome.tally.bytes.addClamped(entry.file.size)
        }
        if verdict == .damaged { state.outcome.tally.damaged.addClamped(1) }
        (state.outcome.tally.position, state.outcome.tally.updated) = (name, folder.now)
        folder.scrub.set(running: state.outcome.tally)
        try await noteProgress(entry.file.size, &state)
    }

    private func noteProgress(_ byteCount: Int64, _ state: inout State) async throws {
        state.unnotedFiles += 1
        state.unnotedBytes.addClamped(byteCount)
        guard state.unnotedFiles >= Self.filesPerNote || state.unnotedBytes >= Self.bytesPerNote else { return }
        try await store.noteScrub(state.outcome.tally, below: path, in: folder.id)
        (state.unnotedFiles, state.unnotedBytes) = (0, 0)
    }

    /// So many bytes of a file were read.
    private func came(_ byteCount: Int64, of name: String, _ state: inout State, _ emit: Emit) async throws {
        try Task.checkCancellation()
        let time = folder.tools.time
        state.partBytes.addClamped(byteCount)
        if let report = state.progress.add(byteCount, from: nil, at: time.monotonic()) {
            try await emit(
                .progress(
                    folder.id.rawValue, path: name, files: state.outcome.tally.files,
                    bytes: min(state.total, state.outcome.tally.bytes.addingClamped(state.partBytes)), of: state.total,
                    bytesPerSecond: report.bytesPerSecond))
        }
        guard isScheduled else { return }
        let rest = ScrubSchedule.rest(after: byteCount, in: time.monotonic() - state.lastRead)
        if rest > .zero { try await time.clock.sleep(for: rest) }
        while !folder.tools.transfers.isIdle || folder.tools.fetching.held().isOnBattery {
            if folder.scrub.isWanted { throw MadeWay() }
            try await time.clock.sleep(for: Self.patience)
        }
        if folder.scrub.isWanted { throw MadeWay() }
        state.lastRead = time.monotonic()
    }
}
