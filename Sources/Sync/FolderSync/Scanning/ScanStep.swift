import BlockExchange
import ControlAPI
import FileAccess
import FolderScanner
import IndexStore
import Names
import Reconciliation
import Selection

/// Scans the disk, or a part of it, and brings the index in line with what is there.
package struct ScanStep: FolderStep {
    /// Names without their directory that one scan of everything goes after.
    private static let orphanLimit = 10_000
    /// Scans at most, for what is moved on while one is under way.
    private static let roundLimit = 4
    /// How soon a file that was still being written is scanned again, and how late at most where it changed while it was read.
    private static let unsettledPause: Duration = .seconds(3)
    private static let longestUnsettledPause: Duration = .seconds(60)

    /// What to scan, with all below; nil for the whole folder.
    package var paths: [RelativePath]?
    /// Somebody waits for the answer, so deletions are not left for later to see whether more come.
    package var isRequested = false
    /// Renames that the watcher reported.
    package var reported: [Relocation.Move] = []
    /// A name that a program removed, or renamed, and that was counted and found not to be one too many; nil for none.
    var judged: String?

    package init(paths: [RelativePath]? = nil, isRequested: Bool = false, reported: [Relocation.Move] = []) {
        self.paths = paths
        self.isRequested = isRequested
        self.reported = reported
    }

    /// A scan of what a program changed.
    init(paths: [RelativePath], reported: [Relocation.Move] = [], judged: String) {
        self.init(paths: paths, isRequested: true, reported: reported)
        self.judged = judged
    }

    /// How soon a file that changed while it was read is scanned again after a scan that took `cost`: what reads a large one that never
    /// is at rest takes a tenth of the time at most, as nothing else is done in the folder meanwhile.
    static func pause(after cost: Duration) -> Duration {
        min(max(unsettledPause, cost * 9), longestUnsettledPause)
    }

    /// - Throws: `FolderHalt` if so much is gone that it looks like an accident, or the root is; what the index says.
    package func run(_ folder: FolderContext, _ work: inout FolderWork) async throws -> ScanSummary.Folder {
        try await scan(folder, paths, isRequested: isRequested, Rounds(reported: reported), &work)
    }

    /// How often was scanned, and what lines have followed since the first time.
    private struct Rounds: Sendable {
        var count = 1
        var reported: [Relocation.Move]
        var moves: [Relocation.Move] = []
    }

    private func scan(
        _ folder: FolderContext, _ paths: [RelativePath]?, isRequested: Bool, _ rounds: Rounds,
        _ work: inout FolderWork
    ) async throws -> ScanSummary.Folder {
        let started = folder.tools.time.monotonic()
        // Whether what is gone is back, only a scan of everything can say.
        let paths = folder.deletionHalt == nil ? paths : nil
        work.effects.problems.forgetFound(below: paths)
        if paths == nil, folder.rules.attributes.extended != .none, !folder.root.keepsAttributes {
            work.effects.problems.noteFound(ProblemText.noAttributes, at: "")
        }
        try await SettleGroupsStep().run(folder, &work)

        let placed = try await folder.index.store.placing(in: folder.id)
        var changes = ScannedChanges(
            folder: folder, placed: placed, isPlacedDurable: try await isDurable(placed, folder, &work),
            isWhole: paths == nil, followed: rounds.moves.map(\.from))
        let report = try await collect(folder, paths, &changes, &work)
        try await takeUnsentDeletions(folder, isWhole: paths == nil, &changes, &work)
        try await MountWatch(folder: folder).hold(&changes, &work)
        if rounds.count < Self.roundLimit {
            let follower = LocalRenames(folder: folder)
            let outcome = try await follower.follow(
                changes.gone, arrived: changes.arrived, reported: rounds.reported, &work)
            if !outcome.moves.isEmpty {
                // Both ends of a rename are seen at once, so that they are announced as one.
                var next = rounds
                next.moves += outcome.moves
                next.count += 1
                let ends = outcome.moves.flatMap { [RelativePath($0.from), RelativePath($0.to)] }.compactMap { $0 }
                return try await scan(
                    try await folder.reread(&work), paths.map { $0 + ends }, isRequested: isRequested, next, &work)
            }
            changes.hold(Set(outcome.held.keys))
            // A scan of everything finds all names whose deletion waits.
            if paths == nil {
                work.memory.heldNames = outcome.held
            } else {
                work.memory.heldNames.merge(outcome.held) { $1 }
            }
        }
        if paths == nil {
            // While the index has their notes: a death here leaves them to the next scan.
            let leftovers = Leftovers(folder: folder)
            try await leftovers.settle(try await leftovers.unvisitedSwaps(of: changes.placed.keys.map(\.text)), &work)
        }
        switch try await changes.finish(mayWait: !isRequested, judged: judged, &work) {
        case .wait(let due): work.effects.goneScans = (paths ?? [], due)
        // A scan of everything never asks for another one.
        case .lookAtEverything: return try await scan(folder, nil, isRequested: false, rounds, &work)
        case .proceed, .rootEmptied, .massDeletion: break
        }
        if folder.deletionHalt != nil { work.effects.endsHalt = true }
        try await tidy(folder, changes, paths, since: started, &work)
        let seconds = (folder.tools.time.monotonic() - started).components
        return ScanSummary.Folder(
            folder: folder.id.rawValue, files: Int64(report.entriesSeen - report.directoriesSeen),
            directories: Int64(report.directoriesSeen),
            changed: changes.changedCount, deleted: changes.deletedCount, bytesHashed: report.bytesHashed,
            problems: Int64(report.problems) + changes.heldBackCount, problemList: changes.problems,
            seconds: Double(seconds.seconds) + Double(seconds.attoseconds) / 1e18)
    }

    /// Makes what was put into its place, and never settled, survive a loss of power; false if the disk fails again. Were it
    /// announced, and gone after such a loss, others would take that for a deletion.
    private func isDurable(
        _ placed: [NameKey: FileInfo], _ folder: FolderContext, _ work: inout FolderWork
    ) async throws -> Bool {
        guard !placed.isEmpty else { return true }
        do {
            try await folder.onDisk { try folder.root.synchronizeFileSystem() }
            return true
        } catch let error as FileAccessError {
            for name in placed.keys.map(\.text).sorted().prefix(FolderStatus.problemLimit) {
                work.effects.problems.noteFound(error.text(from: "\(folder.id):"), at: name)
            }
            return false
        }
    }

    /// Scans, and writes into the index what was found, but for what is gone.
    private func collect(
        _ folder: FolderContext, _ paths: [RelativePath]?, _ changes: inout ScannedChanges, _ work: inout FolderWork
    ) async throws -> ScanReport {
        let scanner = FolderScanner(
            root: folder.root, selection: folder.selection, known: IndexedNames(folder.index, folder.rules),
            options: folder.scanOptions)
        let collector = ScanCollector(changes, work)
        let result: Result<ScanReport, any Error>
        do {
            let report = try await scanner.scan(paths) { try await collector.take($0.findings) }
            if paths == nil {
                // Gone before the directory that they were in: from the root one does not come by them.
                let orphans = try await folder.index.store.localOrphans(of: folder.id, limit: Self.orphanLimit)
                if !orphans.isEmpty {
                    _ = try await scanner.scan(orphans.compactMap { RelativePath($0) }) {
                        try await collector.take($0.findings)
                    }
                }
            }
            result = .success(report)
        } catch let error as ScanError {
            result = .failure(
                FolderHalt(
                    reason: error.code == .rootNotInPlace ? .rootMissing : .error, message: error.text))
        } catch {
            result = .failure(error)
        }
        (changes, work) = await collector.collected
        return try result.get()
    }

    /// What was deleted while the folder only received is announced once it sends. The scanner does not come by names that neither
    /// the disk has nor the index takes to be there.
    private func takeUnsentDeletions(
        _ folder: FolderContext, isWhole: Bool, _ changes: inout ScannedChanges, _ work: inout FolderWork
    ) async throws {
        guard folder.rules.kind != .receiveOnly else {
            work.memory.hasNoUnsentDeletions = false
            return
        }
        guard isWhole, !work.memory.hasNoUnsentDeletions else { return }
        let root = folder.root
        var isNone = true
        var cursor: Int64?
        repeat {
            let page = try await folder.index.store.localEntries(
                in: folder.id, flags: .receiveOnlyChanged, after: cursor, limit: FolderIndex.pageLimit)
            let names = page.entries.map(\.file).filter(\.isDeleted).map(\.name)
            let missing = try await folder.onDisk { names.filter { root.isMissing($0) } }
            if !missing.isEmpty {
                isNone = false
                try await changes.takeMissing(missing, &work)
            }
            cursor = page.next
        } while cursor != nil
        work.memory.hasNoUnsentDeletions = isNone
    }

    /// Ends what crashes and fetches have left, and counts what people should look at.
    private func tidy(
        _ folder: FolderContext, _ changes: ScannedChanges, _ paths: [RelativePath]?, since started: MonotonicTime,
        _ work: inout FolderWork
    ) async throws {
        work.memory.note(changes.temporaries)
        try await Leftovers(folder: folder).settle(changes.swaps, &work)
        try await Leftovers(folder: folder).removeTemporaries(&work)
        let now = folder.tools.time.monotonic()
        for (paths, pause) in [
            (changes.again, Self.unsettledPause), (changes.changing, Self.pause(after: now - started)),
        ] where !paths.isEmpty {
            work.effects.laterScans.append((paths, now + pause))
        }
        if let paths, paths.contains(where: { folder.selection.isLeftOut($0.text) }) {
            work.effects.touchesExtraneous = true
        }
        if paths == nil {
            try await folder.forgetFetched()
            work.effects.counts.extraneous = try await folder.countExtraneous()
            work.effects.touchesConflicts = true
            work.effects.counts.lastScan = folder.tools.time.wall()
        }
        try await LocalRenames(folder: folder).endMoves(&work)
    }
}

extension RootDirectory {
    /// Whether nothing is there; false where that cannot be told, as behind a link that leads outside.
    fileprivate func isMissing(_ name: String) -> Bool {
        guard let path = RelativePath(name) else { return false }
        do throws(FileAccessError) {
            return try status(of: path) == nil
        } catch {
            return false
        }
    }
}

/// Lends what a scan finds to the scanner's callbacks, which come one at a time.
private actor ScanCollector {
    private(set) var collected: (changes: ScannedChanges, work: FolderWork)

    init(_ changes: ScannedChanges, _ work: FolderWork) { collected = (changes, work) }

    func take(_ findings: [Finding]) async throws {
        // Moved out, so that it is changed in place and not in a copy.
        var (changes, work) = collected
        collected = (changes.emptied, FolderWork())
        defer { collected = (changes, work) }
        try await changes.take(findings, &work)
    }
}

/// What the index knows of names, for the scanner.
private struct IndexedNames: KnownEntries {
    let store: IndexStore
    let folder: FolderID
    let attributes: AttributeRules
    let isSending: Bool

    init(_ index: FolderIndex, _ rules: FolderRules) {
        (store, folder) = (index.store, index.folder)
        (attributes, isSending) = (rules.attributes, rules.kind != .receiveOnly)
    }

    func children(of directory: String) async throws -> [KnownEntry] {
        try await store.localChildren(of: folder, directory: directory).compactMap {
            KnownEntry($0, attributes: attributes, isSending: isSending)
        }
    }

    func children(of directory: String, named names: [String]) async throws -> [KnownEntry] {
        try await store.localChildren(of: folder, directory: directory, named: names).compactMap {
            KnownEntry($0, attributes: attributes, isSending: isSending)
        }
    }
}

/// For walks that ask nothing of the index.
struct NothingKnown: KnownEntries {
    func children(of directory: String) async throws -> [KnownEntry] { [] }
    func children(of directory: String, named names: [String]) async throws -> [KnownEntry] { [] }
}
