import BlockExchange
import Cryptography
import FileAccess
import IndexStore
import Names
import Reconciliation
import SyncDecisions

/// What was decided about the deletions by other devices that a pull meets.
struct DeletionClearance: Sendable {
    let verdict: IncomingGuard.Verdict
    /// Of the files that are deleted, so many count as lost.
    private var lost: Int

    init(_ verdict: IncomingGuard.Verdict, lost: Int) { (self.verdict, self.lost) = (verdict, lost) }

    /// Whether time may change it.
    var isForLater: Bool { verdict == .wait }

    /// So many files were deleted.
    mutating func used(_ deletedFiles: Int, _ guardian: inout IncomingGuard, at now: MonotonicTime) {
        let counted = min(deletedFiles, lost)
        lost -= counted
        guardian.noted(counted, at: now)
    }
}

extension DeletionClearance? {
    /// Whether a deletion is not carried out now. What a person has confirmed is.
    func holds(_ facts: NameFacts, _ work: FolderWork) -> Bool {
        guard let self, self.verdict != .proceed, facts.isDeletion, let deletion = facts.global else { return false }
        return work.memory.confirmedDeletions?.contains(deletion) != true
    }
}

extension NameFacts {
    /// Whether another device deleted something that is on this disk.
    var isDeletion: Bool { global?.isDeleted == true && local?.file.isDeleted == false && local?.status != nil }
}

/// Deletions that a person has confirmed: of each a digest of its name and version. Eight bytes each, for there may be a
/// million.
struct ConfirmedDeletions: Sendable {
    private(set) var marks: Set<Int64>

    init(marks: Set<Int64> = []) { self.marks = marks }

    func contains(_ deletion: FileInfo) -> Bool { !marks.isEmpty && marks.contains(Self.mark(deletion)) }

    mutating func insert(_ deletion: FileInfo) { marks.insert(Self.mark(deletion)) }

    private static func mark(_ deletion: FileInfo) -> Int64 {
        // No name has a zero byte.
        var bytes = Array(deletion.name.utf8) + [0]
        for counter in deletion.version.counters {
            for number in [counter.id.rawValue, counter.value] {
                withUnsafeBytes(of: number.littleEndian) { bytes += $0 }
            }
        }
        return SHA256.digest(bytes).withUnsafeBytes { $0.loadUnaligned(as: Int64.self) }
    }
}

extension FolderContext {
    /// What a person has confirmed. Reads the index the first time after a start.
    func confirmedDeletions(_ work: inout FolderWork) async throws -> ConfirmedDeletions {
        if let known = work.memory.confirmedDeletions { return known }
        let stored = ConfirmedDeletions(marks: try await index.store.confirmedDeletions(in: id))
        work.memory.confirmedDeletions = stored
        return stored
    }

    /// Stores what a person has confirmed, so that it outlives a restart.
    func setConfirmedDeletions(_ deletions: ConfirmedDeletions, _ work: inout FolderWork) async throws {
        guard try await confirmedDeletions(&work).marks != deletions.marks else { return }
        try await index.store.setConfirmedDeletions(deletions.marks, in: id)
        work.memory.confirmedDeletions = deletions
    }
}

/// Weighs the deletions by other devices that wait, and lets a person confirm them.
struct IncomingDeletions: Sendable {
    let folder: FolderContext
    /// The names that are needed; nil for everything.
    let names: [String]?

    /// Of more deletions than this the content is not looked for under other names.
    private static let candidateLimit = 100_000

    /// One file that waits to be deleted.
    private struct Candidate: Sendable {
        var name: String
        var content: Content?
        var device: ShortID
    }

    /// What a file holds; nil for what holds nothing.
    private struct Content: Hashable, Sendable {
        var hash: SHA256Digest
        var size: Int64

        init?(_ file: FileInfo) {
            guard file.kind == .file, let hash = file.blocksHash else { return nil }
            (self.hash, size) = (hash, file.size)
        }
    }

    /// Says whether deletions may be carried out, and notes in `work` what a person is to confirm.
    func clearance(_ work: inout FolderWork) async throws -> DeletionClearance {
        guard folder.rules.kind != .sendOnly else { return DeletionClearance(.proceed, lost: 0) }
        let now = folder.tools.time.monotonic()
        let total = Int(clamping: try await folder.index.neededTotals(names).deletions)
        let known = try await folder.index.store.totals(of: folder.id).local
        let knownFiles = Int(clamping: known.fileCount)
        guard work.memory.incomingGuard.mayBeTooMany(total, known: knownFiles, at: now) else {
            if names == nil { work.memory.heldDeletions = nil }
            return DeletionClearance(.proceed, lost: total)
        }
        let waiting = try await self.waiting(try await folder.confirmedDeletions(&work))
        let lost = try await count(waiting, known: knownFiles)
        let verdict = work.memory.incomingGuard.verdict(lost: lost, known: knownFiles, at: now)
        guard verdict == .hold else {
            work.memory.heldDeletions = nil
            return DeletionClearance(verdict, lost: lost)
        }
        hold(waiting, known: knownFiles, &work)
        return DeletionClearance(.hold, lost: lost)
    }

    /// All deletions that wait now, and how many they are.
    func confirmed() async throws -> (deletions: ConfirmedDeletions, count: Int64) {
        var deletions = ConfirmedDeletions()
        var count: Int64 = 0
        try await eachPage { page in
            for entry in page where NameFacts(entry).isDeletion {
                deletions.insert(entry.file)
                count += 1
            }
        }
        return (deletions, count)
    }

    // MARK: -

    /// Files that wait to be deleted and that no needed file has the content of.
    private struct Waiting: Sendable {
        var candidates: [Candidate] = []
        /// How many there are beyond the limit of what is looked at one by one.
        var others = 0
        var byDevice: [ShortID: Int] = [:]
        var directory: Substring?

        var count: Int { candidates.count + others }
    }

    private func eachPage(_ body: ([NeededEntry]) throws -> Void) async throws {
        if let names { return try body(try await folder.index.needed(names)) }
        var cursor: String?
        repeat {
            let page = try await folder.index.needed(after: cursor)
            try body(page.entries)
            cursor = page.next
        } while cursor != nil
    }

    private func waiting(_ confirmed: ConfirmedDeletions) async throws -> Waiting {
        var waiting = Waiting()
        var arrivals: [Content: Int] = [:]
        try await eachPage { page in
            for entry in page where !entry.isChangedHere {
                if NameFacts(entry).isDeletion {
                    guard let local = entry.local?.file, local.kind != .directory, !confirmed.contains(entry.file)
                    else {
                        continue
                    }
                    let candidate = Candidate(
                        name: entry.path, content: Content(local), device: entry.file.modifiedBy)
                    if waiting.candidates.count < Self.candidateLimit {
                        waiting.candidates.append(candidate)
                    } else {
                        waiting.others += 1
                        waiting.byDevice[candidate.device, default: 0] += 1
                    }
                } else if let content = Content(entry.file), !entry.file.isDeleted, arrivals.count < Self.candidateLimit
                {
                    arrivals[content, default: 0] += 1
                }
            }
        }
        // What is renamed is not lost.
        waiting.candidates.removeAll { candidate in
            guard let content = candidate.content, let count = arrivals[content], count > 0 else { return false }
            arrivals[content] = count - 1
            return true
        }
        for candidate in waiting.candidates {
            waiting.byDevice[candidate.device, default: 0] += 1
            waiting.directory = Self.common(waiting.directory, candidate.name)
        }
        return waiting
    }

    /// How many files would be lost: those whose content no other file of this disk has that stays. Once that is settled
    /// either way, the others are not looked at.
    private func count(_ waiting: Waiting, known: Int) async throws -> Int {
        let going = Set(names: waiting.candidates.lazy.map(\.name))
        var (kept, lost) = (0, 0)
        for candidate in waiting.candidates {
            guard waiting.count - kept > DeletionGuard.massFloor, lost <= max(DeletionGuard.massFloor, known / 2) else {
                break
            }
            if try await isElsewhere(candidate, going: going) { kept += 1 } else { lost += 1 }
        }
        return waiting.count - kept
    }

    private func isElsewhere(_ candidate: Candidate, going: Set<NameKey>) async throws -> Bool {
        guard candidate.content != nil,
            let local = try await folder.index.store.local(folder.id, candidate.name)?.file
        else { return false }
        return try await folder.index.store.localFiles(in: folder.id, withBlocks: local.blocks).contains {
            !going.contains($0.file.name) && NameKey($0.file.name) != NameKey(candidate.name)
        }
    }

    private func hold(_ waiting: Waiting, known: Int, _ work: inout FolderWork) {
        let held = HeldDeletions(
            files: waiting.count, known: known,
            devices: waiting.byDevice.map { (name: name(of: $0.key), files: $0.value) })
        let message = held.text(folder: folder.id.rawValue)
        if held != work.memory.heldDeletions { folder.logger.warning("\(message)") }
        work.memory.heldDeletions = held
        work.effects.counts.heldDeletions = Int64(held.files)
        let directory = waiting.directory.map(String.init) ?? ""
        work.effects.problems.noteUndone(message, at: directory.isEmpty ? "." : directory)
    }

    private func name(of device: ShortID) -> String {
        let known = folder.tools.knownDevices().first { $0.id.shortID == device }
        return known.map { folder.tools.name(of: $0.id) } ?? device.description
    }

    /// The directory that is above both; empty for the folder's root.
    private static func common(_ directory: Substring?, _ name: String) -> Substring {
        let parent = name.parentPath
        guard var common = directory else { return parent }
        while !parent.isAtOrBelow(common) { common = common.parentPath }
        return common
    }
}
