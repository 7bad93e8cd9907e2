import BlockExchange
import ControlAPI
import FileAccess
import FolderScanner
import IndexStore
import Names
import Reconciliation
import Selection
import SyncDecisions

/// Gathers what a scan finds, and announces it in an order in which other devices see renames.
struct ScannedChanges: Sendable {
    /// Changes that are held together, so that a new name and the deletion of the old one are announced as a rename.
    private static let heldChangeLimit = 2000
    private static let heldBlockLimit = 50_000
    private static let arrivalLimit = 100_000

    private let folder: FolderContext
    /// What was about to be put into its place when this device last noted it.
    let placed: [NameKey: FileInfo]
    /// Whether what is at these names now survives a loss of power. Else nothing is announced of them.
    private let isPlacedDurable: Bool
    private let isWhole: Bool
    /// Names that lines of the selection have followed to others.
    private let followed: PathSet

    private(set) var changedCount: Int64 = 0
    private(set) var deletedCount: Int64 = 0
    private(set) var problems: [FolderProblem] = []
    /// How many names are not announced because the disk fails.
    private(set) var heldBackCount: Int64 = 0
    /// Files that were being put together.
    private(set) var temporaries: [RelativePath] = []
    /// What was about to swap names with others.
    private(set) var swaps: [RelativePath] = []
    /// To be scanned again soon.
    private(set) var again: Set<RelativePath> = []
    /// Changed while they were read: the same, but less soon where that took long.
    private(set) var changing: Set<RelativePath> = []
    private(set) var gone: [KnownEntry] = []
    /// What is new at selected names, or was put in the place of what was there.
    private(set) var arrived: [PlacedItem] = []

    private var held: [AnnouncementOrder.Change] = []
    private var statuses: [NameKey: IndexedStatus] = [:]
    private var heldBlocks = 0
    /// Names that `placed` has and that are known by now.
    private var settled: Set<NameKey> = []
    /// How many names there were not before, or not any more.
    private var created = 0
    private var others: [LocalChange] = []
    /// Damaged files that have other names now.
    private var renamedDamage: [DamagedFile] = []

    init(
        folder: FolderContext, placed: [NameKey: FileInfo], isPlacedDurable: Bool, isWhole: Bool, followed: [String]
    ) {
        self.folder = folder
        self.placed = placed
        self.isPlacedDurable = isPlacedDurable
        self.isWhole = isWhole
        self.followed = PathSet(followed)
    }

    /// The same with nothing gathered.
    var emptied: ScannedChanges {
        ScannedChanges(folder: folder, placed: [:], isPlacedDurable: true, isWhole: isWhole, followed: [])
    }

    mutating func take(_ findings: [Finding], _ work: inout FolderWork) async throws {
        var observations: [Seen] = []
        for finding in findings {
            if !isPlacedDurable, placed[finding.name] != nil {
                if let path = RelativePath(finding.name) { again.insert(path) }
                continue
            }
            switch finding {
            case .changed(let entry) where !takesAnnouncement(of: entry.name):
                // What is open is scanned when it is closed, and when it has been open for long.
                if !folder.writing.isOpen(entry.name), let path = RelativePath(entry.name) { again.insert(path) }
            case .changed(let entry) where isDamage(entry):
                others.append(.note(entry.name, IndexedStatus(entry.status)))
            case .changed(let entry):
                if !entry.isSettled, let path = RelativePath(entry.name) { again.insert(path) }
                if entry.known?.status.inode != entry.status.inode { noteArrival(entry.name, entry.status) }
                var item = ObservedItem(entry)
                if case .file(let contents) = entry.contents,
                    let damage = try await RenamedDamage(folder: folder).find(entry.name, entry.status, contents)
                {
                    item.take(damage.content)
                    renamedDamage.append(damage.file)
                }
                observations.append(Seen(entry.name, .item(item), IndexedStatus(entry.status)))
            case .metadata(let known, let status, let attributes):
                observations.append(
                    Seen(known.name, .item(ObservedItem(known, status, attributes)), IndexedStatus(status)))
            case .status(let known, let status):
                others.append(.note(known.name, IndexedStatus(status)))
            case .gone(let known): gone.append(known)
            case .unkept(let known, let presence):
                observations.append(Seen(known.name, presence == .absent ? .missing : .unsupported, nil))
            case .temporary(let name):
                guard let path = RelativePath(name) else { continue }
                if path.isSwap {
                    if swaps.count < FolderMemory.temporaryLimit { swaps.append(path) }
                } else if temporaries.count < FolderMemory.temporaryLimit {
                    temporaries.append(path)
                }
            case .problem(let problem):
                note(problem, &work)
                if problem.code == .unsupportedType {
                    observations.append(Seen(problem.name, .unsupported, nil))
                } else if problem.cause?.code == .io,
                    let (status, damage) = try await RenamedDamage(folder: folder).find(unreadable: problem.name)
                {
                    noteArrival(problem.name, status)
                    renamedDamage.append(damage.file)
                    observations.append(
                        Seen(problem.name, .item(ObservedItem(damage.content, status)), IndexedStatus(status)))
                }
            }
        }
        try await note(observations, &work)
        if held.count >= Self.heldChangeLimit || heldBlocks >= Self.heldBlockLimit { try await flush(&work) }
    }

    /// Decides again of names that are not on the disk.
    mutating func takeMissing(_ names: [String], _ work: inout FolderWork) async throws {
        try await note(names.map { Seen($0, .missing, nil) }, &work)
        if held.count >= Self.heldChangeLimit { try await flush(&work) }
    }

    /// False while a program is about to write more to it, or to give it another name.
    private func takesAnnouncement(of name: String) -> Bool {
        folder.writing.takeAnnouncement(of: name, at: folder.tools.time.monotonic())
    }

    /// Whether a file has the damaged contents that a scrub found and nobody wrote it since. Damage by the disk is not an edit.
    private func isDamage(_ entry: ScannedEntry) -> Bool {
        guard let damaged = folder.scrub.damaged(entry.name), case .file(let contents) = entry.contents,
            let known = entry.known
        else { return false }
        return damaged.inode == entry.status.inode && damaged.found == contents.blocksHash
            && known.status.size == entry.status.size
            && known.status.modified.isKept(as: entry.status.modified, beside: nil)
    }

    /// Of these names nothing is announced.
    mutating func hold(_ names: Set<NameKey>) {
        if !names.isEmpty { gone.removeAll { names.contains($0.name) } }
    }

    /// Judges what is gone, and announces the rest. Throws `FolderHalt` if so much is gone that it looks like an accident.
    ///
    /// - Parameters:
    ///   - mayWait: whether more deletions may be waited for.
    ///   - judged: a name whose deletion is no accident.
    mutating func finish(
        mayWait: Bool, judged: String?, _ work: inout FolderWork
    ) async throws -> DeletionGuard.Verdict {
        var verdict = DeletionGuard.Verdict.proceed
        if !gone.isEmpty {
            var staying: Set<NameKey> = []
            // What a line followed is not lost, whatever was known of its new name.
            let moved = gone.count { followed.contains($0.name) }
            if gone.contains(where: { $0.name != judged }) {
                verdict = try await folder.judge(
                    gone.map(\.name), lost: gone.count - max(moved, created), isWhole: isWhole, mayWait: mayWait,
                    &work)
            }
            if verdict != .proceed { gone = [] }
            for known in gone where known.status.type == .directory && followed.contains(known.name) {
                guard try await folder.holdsUnselected(below: known.name) else { continue }
                // What others have there and nobody selects here stays, and so does the directory it is in.
                others.append(.forget(known.name))
                staying.insert(known.name)
            }
            gone.removeAll { staying.contains($0.name) }
            for start in stride(from: 0, to: gone.count, by: FolderIndex.pageLimit) {
                let page = gone[start..<min(start + FolderIndex.pageLimit, gone.count)]
                try await note(page.map { Seen($0.name, .missing, nil) }, &work)
            }
            if isWhole { work.memory.confirmsDeletions = false }
        }
        if isWhole, isPlacedDurable { settled.formUnion(placed.keys) }
        try await flush(&work)
        return verdict
    }

    // MARK: -

    /// What the disk shows at a name.
    private struct Seen {
        var name: String
        var observed: Observation
        var status: IndexedStatus?

        init(_ name: String, _ observed: Observation, _ status: IndexedStatus?) {
            self.name = name
            self.observed = observed
            self.status = status
        }
    }

    private mutating func noteArrival(_ name: String, _ status: FileAccess.FileStatus) {
        if arrived.count < Self.arrivalLimit { arrived.append(PlacedItem(name, status)) }
    }

    private mutating func note(_ problem: FileProblem, _ work: inout FolderWork) {
        if problem.isTransient, let path = RelativePath(problem.name) {
            if problem.code == .changedWhileRead { changing.insert(path) } else { again.insert(path) }
        }
        work.effects.problems.noteFound(problem.text, at: problem.name)
        guard problems.count < FolderStatus.problemLimit else { return }
        problems.append(FolderProblem(path: problem.name, message: problem.text))
    }

    /// Decides what follows from what was seen.
    private mutating func note(_ seen: [Seen], _ work: inout FolderWork) async throws {
        guard !seen.isEmpty else { return }
        let facts = try await folder.index.facts(seen.map(\.name))
        let (now, rules) = (folder.now, folder.rules)
        var returned: [String] = []
        for (seen, facts) in zip(seen, facts) {
            if placed[seen.name] != nil { settled.insert(seen.name) }
            var observed = seen.observed
            // The scanner says that the contents are what they were; what that is only the index knows.
            if case .item(var item) = observed, item.kind == .file, item.blocksHash == nil {
                item.blocksHash = facts.local?.file.blocksHash
                observed = .item(item)
            }
            let update = LocalChanges.update(
                of: seen.name, observed: observed, previous: facts.localVersion, global: facts.global,
                rivals: facts.rivals, placed: placed[seen.name], isKept: !folder.selection.isLeftOut(seen.name),
                rules: rules,
                unixSeconds: now)
            switch update {
            case .unchanged:
                if let file = facts.local?.file, rules.attributes.areSynced {
                    folder.noteMissingAttributes(of: file, &work)
                }
                if let status = seen.status, facts.local != nil { others.append(.note(seen.name, status)) }
            case .forget: others.append(.forget(seen.name))
            case .set(let version):
                statuses[seen.name] = seen.status ?? facts.local?.status
                held.append(AnnouncementOrder.Change(previous: facts.localVersion, version: version))
                heldBlocks += version.file.blocks.count
                if version.file.isDeleted { deletedCount += 1 } else { changedCount += 1 }
                if version.isOnDisk, !version.file.isDeleted {
                    let wasHere = facts.local?.status != nil && facts.local?.file.isDeleted == false
                    if !wasHere {
                        created += 1
                        returned.append(seen.name)
                    }
                }
            }
        }
        if !returned.isEmpty { work.memory.deletionGuard.returned(returned) }
    }

    /// Makes what is about to be announced survive a loss of power, and gives the disk's error if it fails. What others have
    /// heard of and such a loss took would be a deletion to them, or an edit; what it brought back, a new file.
    private func makeDurable(_ changes: [AnnouncementOrder.Change]) async throws -> FileAccessError? {
        let paths = changes.compactMap { RelativePath($0.version.file.name) }
        guard !paths.isEmpty else { return nil }
        let root = folder.root
        do {
            try await folder.onDisk { try root.makeDurable(paths) }
            return nil
        } catch let error as FileAccessError {
            return error
        }
    }

    /// Announces nothing of what waits for it, and leaves it to a scan soon.
    private mutating func holdBack(_ error: FileAccessError, _ work: inout FolderWork) {
        let text = error.text(from: "\(folder.id):")
        for version in held.map(\.version) {
            let name = version.file.name
            // What is beyond that waits for the next scan of everything.
            if again.count < Self.heldChangeLimit, let path = RelativePath(name) { again.insert(path) }
            settled.remove(NameKey(name))
            if version.file.isDeleted { deletedCount -= 1 } else { changedCount -= 1 }
            heldBackCount += 1
            if heldBackCount <= FolderStatus.problemLimit { work.effects.problems.noteFound(text, at: name) }
            if problems.count < FolderStatus.problemLimit { problems.append(FolderProblem(path: name, message: text)) }
        }
        (held, renamedDamage) = ([], [])
    }

    private mutating func flush(_ work: inout FolderWork) async throws {
        var changes = others
        if let error = try await makeDurable(held) { holdBack(error, &work) }
        let order = AnnouncementOrder(held)
        let origins = Dictionary(
            order.renames.map { (NameKey($0.to), $0.from) }, uniquingKeysWith: { first, _ in first })
        for version in order.versions {
            let name = version.file.name
            guard var file = try await folder.index.withBlocks(version.file) else {
                // What it was is not known any more: its contents are read by the next scan.
                changes.append(.forget(name))
                continue
            }
            // Syncthing 1 finds a renamed file by weak hashes too, which only the old name's blocks may have.
            if let origin = origins[name], let old = try await folder.index.store.local(folder.id, origin)?.file,
                old.blocksHash == file.blocksHash, !old.blocks.isEmpty
            {
                (file.blocks, file.blockSize) = (old.blocks, old.blockSize)
            }
            let full = LocalVersion(file: file, flags: version.flags, isOnDisk: version.isOnDisk)
            changes.append(.set(LocalEntry(full, statuses[name])))
        }
        // First: after a crash in between, the damage is still known by the old name.
        for file in renamedDamage {
            try await folder.index.store.noteDamaged(file, in: folder.id)
            folder.scrub.note(file)
        }
        let placed = settled
        (others, held, statuses, heldBlocks, settled, renamedDamage) = ([], [], [:], 0, [], [])
        try await folder.index.apply(changes, placed: placed, &work)
    }
}

extension FolderContext {
    /// Judges deletions that a scan found. `lost` is how many names are gone, less those that came. Throws `FolderHalt` for
    /// those that look like an accident, unless somebody has confirmed them; what is not to proceed is found again by another
    /// scan.
    fileprivate func judge(
        _ gone: [String], lost: Int, isWhole: Bool, mayWait: Bool, _ work: inout FolderWork
    ) async throws -> DeletionGuard.Verdict {
        let known = try await index.store.totals(of: id).local
        let total = Int(clamping: known.count)
        let now = tools.time.monotonic()
        let isRootEmpty = try isEmpty(root)
        guard !work.memory.confirmsDeletions else {
            work.memory.deletionGuard.reset()
            return .proceed
        }
        let verdict = work.memory.deletionGuard.verdict(
            gone: gone, lost: lost, known: total, isRootEmpty: isRootEmpty, isWhole: isWhole, mayWait: mayWait,
            isHeld: deletionHalt != nil, at: now)
        let remedy = FolderHalt.deletionRemedy(for: id)
        switch verdict {
        case .proceed:
            work.memory.deletionGuard.noted(gone: gone, lost: lost, at: now)
            return verdict
        case .wait, .lookAtEverything: return verdict
        case .rootEmptied:
            work.effects.counts.heldDeletions = Int64(lost)
            throw FolderHalt(
                reason: .rootEmptied, message: Phrase("\(settings.path) is empty; it had \(total) names; \(remedy)"))
        case .massDeletion(let all, let total):
            work.effects.counts.heldDeletions = Int64(lost)
            throw FolderHalt(
                reason: .massDeletion,
                message: Phrase("\(all) of \(total) names in \(settings.path) are missing; \(remedy)"))
        }
    }

    private func isEmpty(_ root: RootDirectory) throws -> Bool {
        var isEmpty = true
        try root.directory(nil).forEachEntry { entry in
            guard let name = entry.name, let path = RelativePath(name), path.isInternal || path.isTemporary else {
                isEmpty = false
                return false
            }
            return true
        }
        return isEmpty
    }
}

extension KnownEntry {
    /// Nil for what is not on this disk.
    ///
    /// - Parameters:
    ///   - attributes: What the folder does with attributes.
    ///   - isSending: Whether the folder announces its changes: then what was changed while it only received is looked at again.
    init?(_ entry: LocalEntry, attributes: AttributeRules = AttributeRules(), isSending: Bool = false) {
        guard !entry.file.isDeleted, let status = FileAccess.FileStatus(entry) else { return nil }
        self.init(
            name: entry.file.name, status: status, hasPermissions: !entry.file.hasNoPermissions,
            symlinkTarget: entry.file.symlinkTarget, blockSize: Int(entry.file.blockSize),
            blocksHash: entry.file.blocksHash, isIgnored: entry.flags.contains(.ignored),
            mustRescan: !entry.flags.isDisjoint(
                with: isSending ? [.mustRescan, .unsupported, .receiveOnlyChanged] : [.mustRescan, .unsupported]),
            attributes: attributes.areRead ? entry.file.diskAttributes : nil,
            lacksAttributes: attributes.areSynced && entry.file.lacksAttributes(rules: attributes))
    }
}

extension ObservedItem {
    init(_ entry: ScannedEntry) {
        let status = entry.status
        switch entry.contents {
        case .file(let contents):
            self.init(
                kind: .file, size: contents.size, permissions: status.permissions,
                modifiedSeconds: status.modified.seconds, modifiedNanoseconds: status.modified.nanoseconds,
                blockSize: Int32(clamping: contents.blockSize), blocks: contents.blocks,
                blocksHash: contents.blocksHash, attributes: entry.attributes)
        case .directory:
            self.init(
                kind: .directory, permissions: status.permissions, modifiedSeconds: status.modified.seconds,
                modifiedNanoseconds: status.modified.nanoseconds, attributes: entry.attributes)
        case .symlink(let target):
            self.init(
                kind: .symlink, modifiedSeconds: status.modified.seconds,
                modifiedNanoseconds: status.modified.nanoseconds, symlinkTarget: target)
        }
    }

    /// A file with the content that it should have, and what else the disk says of it.
    init(_ content: FileInfo, _ status: FileAccess.FileStatus) {
        self.init(
            kind: .file, size: status.size, permissions: status.permissions, modifiedSeconds: status.modified.seconds,
            modifiedNanoseconds: status.modified.nanoseconds, attributes: content.diskAttributes)
        take(content)
    }

    /// The content of the file is taken for that of `file`.
    mutating func take(_ file: FileInfo) {
        (blockSize, blocks, blocksHash) = (file.blockSize, file.blocks, file.blocksHash)
    }

    /// What is known, with the permissions and the time that the disk has now. A time that the disk keeps otherwise stays what it was.
    init(_ known: KnownEntry, _ status: FileAccess.FileStatus, _ attributes: FileAttributes?) {
        let kind: FileInfo.Kind =
            switch known.status.type {
            case .directory: .directory
            case .symlink: .symlink
            case .regular, .other: .file
            }
        let told = known.status.modified
        let modified = told.isKept(as: status.modified, beside: status.changed) ? told : status.modified
        self.init(
            kind: kind, size: status.size, permissions: status.permissions, modifiedSeconds: modified.seconds,
            modifiedNanoseconds: modified.nanoseconds, blockSize: Int32(clamping: known.blockSize),
            blocksHash: known.blocksHash, symlinkTarget: known.symlinkTarget, attributes: attributes)
    }
}
