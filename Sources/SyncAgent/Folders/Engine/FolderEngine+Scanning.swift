import BlockExchange
import ControlAPI
import FileAccess
import FolderScanner
import IndexStore
import Reconciliation
import Selection

/// Looking at this disk, and telling the index what is there.
extension FolderEngine {
    /// Changes that are kept together, so that a new name and the deletion of the old one are announced as a rename.
    fileprivate static let heldChangeLimit = 2000
    /// Names without their directory that one look at everything goes after.
    private static let orphanLimit = 10_000
    fileprivate static let heldBlockLimit = 50_000
    /// How soon a file that was still being written is looked at again.
    private static let unsettledPause: Duration = .seconds(3)

    /// Looks at `paths`, or at the whole folder if nil, and notes what changed. Throws `FolderHalt` or what the index
    /// says.
    ///
    /// - parameter isAsked: somebody waits for the answer, so deletions are not left for later to see whether more come.
    @discardableResult
    func look(at paths: [RelativePath]?, isAsked: Bool = false) async throws -> ScanSummary.Folder {
        let reported = state.withLock { state in
            defer { state.reportedRenames = [] }
            return state.reportedRenames
        }
        return try await look(at: paths, isAsked: isAsked, Following(reported: reported))
    }

    /// How a look follows what was renamed.
    fileprivate struct Following: Sendable {
        /// Looks at most, for what is moved on while one is under way.
        static let roundLimit = 4
        var reported: [Relocation.Move]
        /// What lines have followed since this look began.
        var moves: [Relocation.Move] = []
        var rounds = 1
    }

    private func look(
        at paths: [RelativePath]?, isAsked: Bool, _ following: Following
    ) async throws -> ScanSummary.Folder {
        let started = environment.time.monotonic()
        let place = try await currentPlace()
        // Whether what is gone is back, only a look at everything can say.
        let subtrees = isHaltedOverDeletions ? nil : paths
        activity.set(isScanning: true)
        defer { activity.set(isScanning: false) }
        session.engineChanged()
        activity.forgetFound(below: subtrees)
        try await settleGroups(place)

        let scanner = FolderScanner(
            root: place.root, selection: place.selection, known: IndexedNames(index: index, folder: folder),
            options: scanOptions)
        let collector = ChangeCollector(
            engine: self, place: place, placed: try await index.placing(in: folder), isWhole: subtrees == nil,
            mayWait: !isAsked, moved: following.moves.map(\.from))
        let report: ScanReport
        do {
            report = try await scanner.scan(subtrees) { try await collector.take($0.findings) }
            if subtrees == nil {
                // Gone before the directory that they were in: from the root one does not come by them.
                let orphans = try await index.localOrphans(of: folder, limit: Self.orphanLimit)
                if !orphans.isEmpty {
                    _ = try await scanner.scan(orphans.compactMap { RelativePath($0) }) {
                        try await collector.take($0.findings)
                    }
                }
            }
        } catch let error as ScanError {
            throw FolderHalt(
                reason: error.code == .rootNotInPlace ? .rootMissing : .error, message: error.message)
        }
        if following.rounds < Following.roundLimit {
            let outcome = try await relocate(
                collector.gone, arrived: collector.arrived, reported: following.reported, place)
            if !outcome.moves.isEmpty {
                // Both ends of a rename are seen at once, so that they are announced as one.
                var next = following
                next.moves += outcome.moves
                next.rounds += 1
                let ends = outcome.moves.flatMap { [RelativePath($0.from), RelativePath($0.to)] }.compactMap { $0 }
                return try await look(at: subtrees.map { $0 + ends }, isAsked: isAsked, next)
            }
            await collector.hold(Set(outcome.held.keys))
            noteHeld(outcome.held, isWhole: subtrees == nil)
        }
        switch try await collector.finish() {
        case .wait(let due): state.withLock { $0.agenda.scanGone(subtrees ?? [], at: due) }
        // A look at everything never asks for another one.
        case .lookAtEverything: return try await look(at: nil, isAsked: false, following)
        case .proceed, .rootEmptied, .massDeletion: break
        }
        if isHaltedOverDeletions { ended(activity.snapshot.halt) }
        let found = await collector.found
        noteTemporaries(found.temporaries)
        try await settle(found.swaps, place)
        try await removeTemporaries(place)
        if !found.again.isEmpty {
            let due = environment.time.monotonic() + Self.unsettledPause
            state.withLock { $0.agenda.scan(found.again, at: due) }
        }
        if subtrees == nil {
            try await countOddities(place)
            activity.set(lastScan: environment.time.wall())
        }
        try await endMoves()
        let seconds = (environment.time.monotonic() - started).components
        return ScanSummary.Folder(
            folder: folder.rawValue, files: Int64(report.entriesSeen), directories: Int64(report.directoriesOpened),
            changed: found.changed, deleted: found.deleted, bytesHashed: report.bytesHashed,
            problems: Int64(report.problems), problemList: found.problems,
            seconds: Double(seconds.seconds) + Double(seconds.attoseconds) / 1e18)
    }

    var scanOptions: ScanOptions {
        var options = ScanOptions()
        options.ignoresPermissions = session.configuration.ignoresPermissions
        options.workers = environment.hashingWorkers > 0 ? .threads(environment.hashingWorkers) : .callingTask
        options.now = environment.diskTime
        return options
    }

    /// A look at everything finds all names whose deletion waits.
    private func noteHeld(_ held: [String: String], isWhole: Bool) {
        state.withLock { state in
            if isWhole { state.heldNames = held } else { state.heldNames.merge(held) { $1 } }
        }
    }

    /// Counts what `status` shows of names that people should look at, so far as the index knows them.
    private func countOddities(_ place: FolderPlace) async throws {
        try await countExtraneous()
        try await countConflicts(place)
    }

    /// Counts what the index knows to be on this disk and not kept.
    func countExtraneous() async throws {
        let leftAlone = try session.place().get().leftAlone
        var extraneous: Int64 = 0
        var cursor: Int64?
        repeat {
            let page = try await index.localEntries(in: folder, flags: .ignored, after: cursor, limit: 1000)
            for entry in page.entries
            where entry.status != nil && entry.file.kind != .directory && !leftAlone.contains(entry.file.name) {
                extraneous += 1
            }
            cursor = page.next
        } while cursor != nil
        activity.set(extraneous: extraneous)
    }

    /// Refuses deletions that look like an accident, unless somebody has confirmed them. `lost` is how many names are gone,
    /// less those that came. What is not to proceed is to be found again by another look.
    fileprivate func judge(
        _ gone: [String], lost: Int, isWhole: Bool, mayWait: Bool, _ place: FolderPlace
    ) async throws -> DeletionGuard.Verdict {
        let known = try await index.totals(of: folder).local
        let total = Int(clamping: known.files &+ known.symlinks &+ known.directories)
        let now = environment.time.monotonic()
        let isRootEmpty = try isEmpty(place.root)
        let verdict = state.withLock { state in
            if state.confirmsDeletions {
                state.deletionGuard.reset()
                return DeletionGuard.Verdict.proceed
            }
            let verdict = state.deletionGuard.verdict(
                gone: gone, lost: lost, known: total, isRootEmpty: isRootEmpty, isWhole: isWhole, mayWait: mayWait,
                at: now)
            if verdict == .proceed { state.deletionGuard.noted(gone: gone, lost: lost, at: now) }
            return verdict
        }
        let path = session.configuration.path
        let remedy =
            "; if that was meant: synctrain folder confirm \(folder), else to get everything back: "
            + "synctrain folder repair \(folder)"
        switch verdict {
        case .proceed, .wait, .lookAtEverything: return verdict
        case .rootEmptied:
            activity.set(heldDeletions: Int64(lost))
            throw FolderHalt(reason: .rootEmptied, message: "\(path) is empty, and had \(total) names in it\(remedy)")
        case .massDeletion(let all, let total):
            activity.set(heldDeletions: Int64(lost))
            throw FolderHalt(
                reason: .massDeletion, message: "\(all) of \(total) names in \(path) are gone\(remedy)")
        }
    }

    /// These names are on this disk again.
    fileprivate func returned(_ names: [String]) {
        if !names.isEmpty { state.withLock { $0.deletionGuard.returned(names) } }
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

    /// `file` with its block list, from what this device or another announces; nil if nobody has it any more.
    func withBlocks(_ file: FileInfo) async throws -> FileInfo? {
        guard file.kind == .file, !file.isDeleted, file.blocks.isEmpty, file.blocksHash != nil else { return file }
        var file = file
        if let global = try await index.file(folder, file.name), global.blocksHash == file.blocksHash {
            file.blocks = global.blocks
            file.blockSize = global.blockSize
            return file
        }
        if let own = try await index.local(folder, file.name)?.file, own.blocksHash == file.blocksHash {
            file.blocks = own.blocks
            file.blockSize = own.blockSize
            return file
        }
        return nil
    }

    var rules: FolderRules {
        let configuration = session.configuration
        let kind: FolderKind =
            switch configuration.kind {
            case .sendReceive: .sendReceive
            case .sendOnly: .sendOnly
            case .receiveOnly: .receiveOnly
            }
        return FolderRules(
            kind: kind, device: environment.localDevice.shortID, ignoresPermissions: configuration.ignoresPermissions,
            conflictLimit: configuration.maxConflicts ?? -1,
            conflictPolicy: ConflictPolicy(configuration.conflicts.policy),
            deletionPolicy: ConflictPolicy(configuration.conflicts.deletedPolicy))
    }
}

/// Gathers what a scan finds, and announces it in an order in which others see renames.
private actor ChangeCollector {
    /// What came of it all.
    struct Found: Sendable {
        var changed: Int64 = 0
        var deleted: Int64 = 0
        var problems: [FolderProblem] = []
        /// Files that were being put together.
        var temporaries: [RelativePath] = []
        /// What was about to swap names with others.
        var swaps: [RelativePath] = []
        /// To be looked at again soon.
        var again: Set<RelativePath> = []
    }

    private static let arrivalLimit = 100_000

    private let engine: FolderEngine
    private let place: FolderPlace
    /// What was about to be put into its place when this device was last heard of.
    private let placed: [String: FileInfo]
    private let isWhole: Bool
    private let mayWait: Bool
    private(set) var found = Found()
    private var held: [AnnouncementOrder.Change] = []
    private var statuses: [String: IndexedStatus] = [:]
    private var heldBlocks = 0
    /// Names that `placed` has and that are known by now.
    private var settled: Set<String> = []
    private(set) var gone: [KnownEntry] = []
    /// What is new at kept names, or was put in the place of what was there.
    private(set) var arrived: [PlacedItem] = []
    /// Names that lines have followed to others.
    private let moved: PathSet
    /// How many names there were not before.
    private var created = 0
    private var others: [LocalChange] = []

    init(
        engine: FolderEngine, place: FolderPlace, placed: [String: FileInfo], isWhole: Bool, mayWait: Bool,
        moved: [String]
    ) {
        self.moved = PathSet(moved)
        self.engine = engine
        self.place = place
        self.placed = placed
        self.isWhole = isWhole
        self.mayWait = mayWait
    }

    func take(_ findings: [Finding]) async throws {
        var observations: [(name: String, observed: Observation, status: IndexedStatus?)] = []
        for finding in findings {
            switch finding {
            case .changed(let entry):
                if !entry.isSettled, let path = RelativePath(entry.name) { found.again.insert(path) }
                if entry.known?.status.inode != entry.status.inode, arrived.count < Self.arrivalLimit {
                    arrived.append(PlacedItem(entry.name, entry.status))
                }
                observations.append((entry.name, .item(ObservedItem(entry)), IndexedStatus(entry.status)))
            case .metadata(let known, let status):
                observations.append((known.name, .item(ObservedItem(known, status)), IndexedStatus(status)))
            case .status(let known, let status):
                others.append(.note(known.name, IndexedStatus(status)))
            case .gone(let known): gone.append(known)
            case .unkept(let known, let presence):
                observations.append((known.name, presence == .absent ? .missing : .unsupported, nil))
            case .temporary(let name):
                guard let path = RelativePath(name) else { continue }
                if path.isSwap {
                    if found.swaps.count < FolderEngine.temporaryLimit { found.swaps.append(path) }
                } else if found.temporaries.count < FolderEngine.temporaryLimit {
                    found.temporaries.append(path)
                }
            case .problem(let problem):
                note(problem)
                guard problem.code == .unsupportedType else { continue }
                observations.append((problem.name, .unsupported, nil))
            }
        }
        try await note(observations)
        if held.count >= FolderEngine.heldChangeLimit || heldBlocks >= FolderEngine.heldBlockLimit {
            try await flush()
        }
    }

    /// Of these names nothing is told.
    func hold(_ names: Set<String>) {
        if !names.isEmpty { gone.removeAll { names.contains($0.name) } }
    }

    /// What was made of the names that are gone.
    func finish() async throws -> DeletionGuard.Verdict {
        var verdict = DeletionGuard.Verdict.proceed
        if !gone.isEmpty {
            var staying: Set<String> = []
            // What a line followed is not lost, whatever was known of its new name.
            let followed = gone.count { moved.contains($0.name) }
            verdict = try await engine.judge(
                gone.map(\.name), lost: gone.count - max(followed, created), isWhole: isWhole, mayWait: mayWait, place)
            if verdict != .proceed { gone = [] }
            for known in gone where known.status.type == .directory && moved.contains(known.name) {
                guard try await engine.hasLeftOut(below: known.name, place) else { continue }
                // What others have there and nobody keeps here stays, and so does the directory it is in.
                others.append(.forget(known.name))
                staying.insert(known.name)
            }
            gone.removeAll { staying.contains($0.name) }
            for start in stride(from: 0, to: gone.count, by: 1000) {
                try await note(gone[start..<min(start + 1000, gone.count)].map { ($0.name, .missing, nil) })
            }
            if isWhole { engine.state.withLock { $0.confirmsDeletions = false } }
        }
        if isWhole { settled.formUnion(placed.keys) }
        try await flush()
        return verdict
    }

    private func note(_ problem: FileProblem) {
        if problem.isTransient, let path = RelativePath(problem.name) { found.again.insert(path) }
        engine.activity.note(problem.message, at: problem.name)
        guard found.problems.count < FolderStatus.problemLimit else { return }
        found.problems.append(FolderProblem(path: problem.name, message: problem.message))
    }

    /// Decides what follows from each look.
    private func note(
        _ observations: [(name: String, observed: Observation, status: IndexedStatus?)]
    ) async throws {
        guard !observations.isEmpty else { return }
        let facts = try await engine.facts(observations.map(\.name))
        let now = engine.environment.time.wall().seconds
        var returned: [String] = []
        for (observation, facts) in zip(observations, facts) {
            if placed[observation.name] != nil { settled.insert(observation.name) }
            var observed = observation.observed
            // The scanner says that the contents are what they were; what that is only the index knows.
            if case .item(var item) = observed, item.kind == .file, item.blocksHash == nil {
                item.blocksHash = facts.local?.file.blocksHash
                observed = .item(item)
            }
            let update = LocalChanges.update(
                of: observation.name, observed: observed, previous: facts.localVersion,
                global: facts.global, placed: placed[observation.name],
                isKept: !place.selection.isLeftOut(observation.name), rules: engine.rules, unixSeconds: now)
            switch update {
            case .unchanged:
                if let status = observation.status, facts.local != nil {
                    others.append(.note(observation.name, status))
                }
            case .forget:
                others.append(.forget(observation.name))
            case .set(let version):
                let change = AnnouncementOrder.Change(previous: facts.localVersion, version: version)
                statuses[observation.name] = observation.status ?? facts.local?.status
                held.append(change)
                heldBlocks += version.file.blocks.count
                if version.file.isDeleted { found.deleted += 1 } else { found.changed += 1 }
                if version.isOnDisk, !version.file.isDeleted {
                    if facts.local == nil { created += 1 }
                    let wasHere = facts.local?.status != nil && facts.local?.file.isDeleted == false
                    if !wasHere { returned.append(observation.name) }
                }
            }
        }
        engine.returned(returned)
    }

    private func flush() async throws {
        var changes = others
        let order = AnnouncementOrder(held)
        let origins = Dictionary(order.renames.map { ($0.to, $0.from) }, uniquingKeysWith: { first, _ in first })
        for version in order.versions {
            let name = version.file.name
            guard var file = try await engine.withBlocks(version.file) else {
                // What it was is not known any more: its contents are read by the next scan.
                changes.append(.forget(name))
                continue
            }
            // Syncthing 1 finds a renamed file by weak hashes too, which only the old name's blocks may have.
            if let origin = origins[name], let old = try await engine.index.local(engine.folder, origin)?.file,
                old.blocksHash == file.blocksHash, !old.blocks.isEmpty
            {
                file.blocks = old.blocks
                file.blockSize = old.blockSize
            }
            let full = LocalVersion(file: file, flags: version.flags, isOnDisk: version.isOnDisk)
            changes.append(.set(LocalEntry(full, statuses[name])))
        }
        others = []
        held = []
        statuses = [:]
        heldBlocks = 0
        try await engine.apply(changes, place, placed: settled)
        settled = []
    }
}

/// What the index knows of names, for the scanner.
private struct IndexedNames: KnownEntries {
    let index: IndexStore
    let folder: FolderID

    func children(of directory: String) async throws -> [KnownEntry] {
        try await index.localChildren(of: folder, directory: directory).compactMap { KnownEntry($0) }
    }

    func children(of directory: String, named names: [String]) async throws -> [KnownEntry] {
        try await index.localChildren(of: folder, directory: directory, named: names).compactMap { KnownEntry($0) }
    }
}

extension KnownEntry {
    /// Nil for what is not on this disk.
    fileprivate init?(_ entry: LocalEntry) {
        guard !entry.file.isDeleted, let status = FileAccess.FileStatus(entry) else { return nil }
        self.init(
            name: entry.file.name, status: status, hasPermissions: !entry.file.hasNoPermissions,
            symlinkTarget: entry.file.symlinkTarget, blockSize: Int(entry.file.blockSize),
            blocksHash: entry.file.blocksHash, isIgnored: entry.flags.contains(.ignored),
            mustRescan: !entry.flags.isDisjoint(with: [.mustRescan, .unsupported]))
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
                blocksHash: contents.blocksHash)
        case .directory:
            self.init(
                kind: .directory, permissions: status.permissions, modifiedSeconds: status.modified.seconds,
                modifiedNanoseconds: status.modified.nanoseconds)
        case .symlink(let target):
            self.init(
                kind: .symlink, modifiedSeconds: status.modified.seconds,
                modifiedNanoseconds: status.modified.nanoseconds, symlinkTarget: target)
        }
    }

    /// What is known, with the permissions and the time that the disk has now.
    init(_ known: KnownEntry, _ status: FileAccess.FileStatus) {
        let kind: FileInfo.Kind =
            switch known.status.type {
            case .directory: .directory
            case .symlink: .symlink
            case .regular, .other: .file
            }
        self.init(
            kind: kind, size: status.size, permissions: status.permissions, modifiedSeconds: status.modified.seconds,
            modifiedNanoseconds: status.modified.nanoseconds, blockSize: Int32(clamping: known.blockSize),
            blocksHash: known.blocksHash, symlinkTarget: known.symlinkTarget)
    }
}
