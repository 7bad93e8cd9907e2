import BlockExchange
import FileAccess
import IndexStore
import Names
import Phrases
import Reconciliation
import Selection

/// Carries a plan out, action by action; what an action finds other than the plan saw it is left alone and scanned.
struct PlanExecution {
    private let folder: FolderContext
    private let facts: [NameKey: NameFacts]
    /// What is to follow, for the step that carries the plan out.
    private(set) var work: FolderWork
    private var changes: [LocalChange] = []
    /// Whether something was moved or removed that is not durable yet.
    private var isDurable = true
    /// Whether nothing was left undone by an error.
    private(set) var isComplete = true
    /// Files that other devices deleted and that were removed.
    private(set) var deletedFiles = 0
    /// Whether it was said what is wrong with the name of the action under way.
    private var hasComplained = false
    /// Opened when something is to go there.
    private var archive: VersionArchive?
    /// The second name, in the archive, of what the action under way replaces.
    private var kept: VersionArchive.Kept?
    private var newcomers = Newcomers()
    /// What is known of the disks of directories that something new comes to; nil of ordinary ones.
    private var foldingDirectories: [RelativePath?: DiskTraits?] = [:]
    /// What is fetched under another name, because a file that stays has the place.
    private var renamedFetches: [FileStaging.Item] = []
    private let attributes: AttributeWriter?
    /// Names in the archive of what was archived.
    private var archived: Set<RelativePath> = []

    private static let changesPerTransaction = 1000

    init(folder: FolderContext, facts: [NameFacts], work: FolderWork) {
        self.folder = folder
        self.work = work
        attributes = folder.attributeWriter
        self.facts = Dictionary(facts.map { (NameKey($0.name), $0) }, uniquingKeysWith: { first, _ in first })
    }

    private var root: RootDirectory { folder.root }

    /// Carries out all actions up to the first file that is to be fetched, and returns all that is to be fetched. What
    /// comes after them is planned again when they are here.
    mutating func perform(_ plan: Plan) async throws -> [FileStaging.Item] {
        var fetches: [FileStaging.Item] = []
        let course = PlanCourse(plan)
        if !course.placed.isEmpty { try await folder.index.store.notePlacing(course.placed, in: folder.id) }
        var isOver = false
        for stage in course.stages {
            try Task.checkCancellation()
            switch stage {
            case .group(let change): fetches += try await items(of: change)
            case .fetch(let file, let occupant):
                if !isOver, let item = try await item(file, occupant) { fetches.append(item) }
            case .step(let step):
                isOver = isOver || !fetches.isEmpty
                if isOver { continue }
                try await carryOut(step)
                if changes.count >= Self.changesPerTransaction { try await flush() }
            }
        }
        fetches += renamedFetches
        try await flush(placed: Set(names: course.placed.map(\.name)))
        return fetches
    }

    // MARK: steps

    private mutating func carryOut(_ step: Action) async throws {
        guard let name = step.name else { return }
        (kept, hasComplained) = (nil, false)
        // Only then: what is wrong again was wrong all the time.
        defer { if !hasComplained { work.effects.problems.clear(name) } }
        // From before it is looked at what is there until it is gone: what a program writes to it in between would be lost.
        let open = folder.writing.place(step.changedNames)
        defer { folder.writing.placed(step.changedNames.filter { !open.contains($0) }) }
        do {
            if let name = open.first { throw FileAccessError(.changedOnDisk, .remove, path: name.text) }
            if let (path, operation) = step.replacedFile { try await folder.refuseWritten(path, operation) }
            if let (file, arrival) = step.newcomer {
                switch try await makeRoom(for: file, arrival) {
                case .free: break
                case .none: return
                case .elsewhere(let item): return renamedFetches.append(item)
                }
            }
            switch step {
            case .nothing, .blocked, .fetch: break
            case .forget(let name): changes.append(.forget(name))
            case .record(let version): try await record(version, status(of: name))
            case .adopt(let file, let local, let change): try await adopt(file, local, change)
            case .makeDirectory(let file, let occupant): try await makeDirectory(file, occupant)
            case .makeSymlink(let file, let occupant): try await makeSymlink(file, occupant)
            case .rename(let from, let tombstone, let file, let occupant):
                try await rename(from, tombstone, file, occupant)
            case .delete(let local, let tombstone, let keepsCopy):
                try await delete(local, tombstone, keepsCopy: keepsCopy, by: tombstone?.modifiedBy)
            }
            if let kept, let archive {
                let root = root
                try await folder.onDisk {
                    // Else a loss of power could leave the file in its old place with the time that it gets now.
                    if archive.rules?.isTagging == false { try root.synchronizeFileSystem() }
                    try archive.finish(kept)
                }
            }
        } catch let error as FileAccessError {
            if let kept, let archive { try await folder.onDisk { archive.withdraw(kept) } }
            // The source may be what is not as the index has it.
            if case .rename(let from, _, _, _) = step, FailedChange(error.code).needsScan { rescan(from.file.name) }
            guard step.putsSomething else { return failed(name, error) }
            try await obstructed(name, error)
        }
    }

    /// Notes what became of a name, with its block list.
    private mutating func record(_ version: LocalVersion, _ status: IndexedStatus?) async throws {
        guard let file = try await folder.index.withBlocks(version.file) else { return rescan(version.file.name) }
        // What the disk has of attributes is what it had.
        let noted = file.diskAttributes == nil && version.isOnDisk
        let disk = noted ? facts[file.name]?.local?.file.diskAttributes : nil
        set(LocalVersion(file: file.noting(disk), flags: version.flags, isOnDisk: version.isOnDisk), status)
    }

    /// Has the index say so, and `problems` what is missing.
    private mutating func set(_ version: LocalVersion, _ status: IndexedStatus?) {
        changes.append(.set(LocalEntry(version, version.isOnDisk ? status : nil)))
        if folder.noteMissingAttributes(of: version.file, &work) { hasComplained = true }
    }

    private mutating func adopt(_ file: FileInfo, _ local: LocalVersion, _ change: MetadataChange) async throws {
        let path = try RelativePath(parsing: file.name)
        let expected = expected(file.name)
        let (root, attributes) = (root, attributes)
        let (status, disk) = try await changeDisk { () throws -> (FileAccess.FileStatus?, FileAttributes?) in
            guard let expected, let now = try root.status(of: path), now.isUnchanged(since: expected) else {
                throw FileAccessError(.changedOnDisk, .setPermissions, path: path.text)
            }
            var disk: DiskAttributes?
            if let attributes, change.contains(.attributes) {
                disk = try root.set(
                    permissions: change.contains(.permissions) ? file.permissions & 0o777 : nil,
                    attributes.change(for: file), of: path, expecting: expected)
            } else if change.contains(.permissions) {
                try root.setPermissions(file.permissions & 0o777, of: path)
            }
            if change.contains(.modificationTime) {
                // It would hide when a program wrote to it a moment ago.
                guard try root.status(of: path)?.isUnchanged(since: expected.beforeRenaming) == true else {
                    throw FileAccessError(.changedOnDisk, .setPermissions, path: path.text)
                }
                let time = FileTime(seconds: file.modifiedSeconds, nanoseconds: file.modifiedNanoseconds)
                try root.setModificationTime(time, of: path)
            }
            return try root.status(of: path, having: disk, attributes)
        }
        // Somebody has changed attributes since they were set: the next look reads it.
        if let status, status.changed == nil { work.effects.rescans.insert(path) }
        try await record(LocalVersion(file: file.noting(disk), isOnDisk: true), status.map { IndexedStatus($0) })
    }

    private mutating func makeDirectory(_ file: FileInfo, _ occupant: Occupant) async throws {
        let path = try RelativePath(parsing: file.name)
        try await clear(path, occupant, by: file.modifiedBy)
        let (root, attributes) = (root, attributes)
        let keepsNone = file.hasNoPermissions || folder.ignoresPermissions(at: file.name)
        let permissions = keepsNone ? nil : file.permissions & 0o777
        let (status, disk) = try await changeDisk { () throws -> (FileAccess.FileStatus?, FileAttributes?) in
            try root.createDirectories(path, durability: .deferred)
            let disk = try root.finish(path, file, permissions, attributes)
            return try root.status(of: path, having: disk, attributes)
        }
        set(.current(file.noting(disk)), status.map { IndexedStatus($0) } ?? .unknown)
    }

    private mutating func makeSymlink(_ file: FileInfo, _ occupant: Occupant) async throws {
        let path = try RelativePath(parsing: file.name)
        let replacement = try await replacement(path, occupant, by: file.modifiedBy)
        let root = root
        try await changeDisk {
            if let parent = path.parent { try root.createDirectories(parent, durability: .deferred) }
            try root.createSymlink(
                path, target: file.symlinkTarget, replacing: replacement, durability: .deferred)
        }
        let status = try await changeDisk { () throws -> FileAccess.FileStatus? in
            let time = FileTime(seconds: file.modifiedSeconds, nanoseconds: file.modifiedNanoseconds)
            try root.setModificationTime(time, of: path)
            return try root.status(of: path)
        }
        changes.append(
            .set(LocalEntry(file: file, status: status.map { IndexedStatus($0) } ?? .unknown)))
    }

    private mutating func rename(
        _ from: LocalVersion, _ tombstone: FileInfo, _ file: FileInfo, _ occupant: Occupant
    ) async throws {
        let source = try RelativePath(parsing: from.file.name)
        let target = try RelativePath(parsing: file.name)
        guard let full = try await folder.index.withBlocks(file) else { return rescan(file.name) }
        guard let expected = expected(from.file.name) else { return rescan(from.file.name) }
        let replacement = try await replacement(target, occupant, by: file.modifiedBy)
        let (root, attributes) = (root, attributes)
        let keepsNone = file.hasNoPermissions || folder.ignoresPermissions(at: file.name)
        let permissions = keepsNone ? nil : file.permissions & 0o777
        try await changeDisk {
            if let parent = target.parent { try root.createDirectories(parent, durability: .deferred) }
            try root.rename(source, to: target, replacing: replacement, expecting: expected, durability: .deferred)
        }
        let (status, disk) = try await changeDisk { () throws -> (FileAccess.FileStatus?, FileAttributes?) in
            let disk = try root.finish(target, file, permissions, attributes)
            try root.setModificationTime(
                FileTime(seconds: file.modifiedSeconds, nanoseconds: file.modifiedNanoseconds), of: target)
            return try root.status(of: target, having: disk, attributes)
        }
        set(.current(full.noting(disk)), status.map { IndexedStatus($0) } ?? .unknown)
        changes.append(.set(LocalEntry(file: tombstone)))
        if folder.scrub.damaged(from.file.name) != nil {
            try await folder.index.store.renameDamaged(from.file.name, to: file.name, in: folder.id)
        }
    }

    private mutating func delete(
        _ local: LocalVersion, _ tombstone: FileInfo?, keepsCopy: Bool, by device: ShortID?
    ) async throws {
        let path = try RelativePath(parsing: local.file.name)
        if local.file.kind == .directory {
            guard try await removeDirectory(path, local, over: tombstone) else { return }
        } else if keepsCopy {
            try await setAside(path, by: device ?? folder.tools.localDevice.shortID)
        } else {
            try await removeFile(path)
        }
        if tombstone != nil, local.file.kind != .directory { deletedFiles += 1 }
        changes.append(tombstone.map { .set(LocalEntry(file: $0)) } ?? .forget(local.file.name))
    }

    // MARK: making room

    private enum Room {
        case free
        /// It cannot come now.
        case none
        /// It comes under another name.
        case elsewhere(FileStaging.Item)
    }

    /// Makes room for something new on a disk that takes several names for one.
    private mutating func makeRoom(for file: FileInfo, _ arrival: Newcomers.Arrival) async throws -> Room {
        let (root, path) = (root, try RelativePath(parsing: file.name))
        guard let place = try await traits(where: path) else { return .free }
        if root.changesName(of: path) {
            let refused = FileAccessError(.nameRefused, .create, path: path.text)
            complain(refused.text(from: "\(folder.id):"), at: path.text)
            return .none
        }
        var twin: Newcomers.Twin?
        if let found = try await onDisk({ try root.twin(of: path) }) {
            let facts = try await folder.index.facts(found.text)
            let isLeaving = facts?.global?.isDeleted == true
            twin = Newcomers.Twin(path: found, leaving: isLeaving ? facts?.localVersion?.file.kind : nil)
        }
        switch newcomers.judge(path, arrival, over: twin, on: place) {
        case .room: return .free
        case .renaming(let old):
            try await changeDisk { try root.rename(old, to: path, durability: .deferred) }
            return .free
        case .later: rescan(path.text)
        case .taken(let other):
            switch try await settleClash(of: file, with: twin?.path) {
            case .room where newcomers.judge(path, arrival, over: nil, on: place) == .room: return .free
            case .fetch(let item): return .elsewhere(item)
            case .settled: break
            case .stay, .room: complain(ProblemText.twin(other, of: path.text, in: folder.id), at: path.text)
            }
        }
        return .none
    }

    /// What the disk makes of the names beside this one. Asked for once for each directory: a plan has thousands of names.
    private mutating func traits(where path: RelativePath) async throws -> DiskTraits? {
        if let known = foldingDirectories[path.parent] { return known }
        let root = root
        let found = try await onDisk { try root.nearestTraits(of: path) }
        foldingDirectories[path.parent] = .some(found)
        return found
    }

    private mutating func settleClash(
        of file: FileInfo, with occupant: RelativePath?
    ) async throws -> CaseClashes.Outcome {
        guard let occupant else { return .stay }
        return try await CaseClashes(folder: folder)
            .settle(file, holders: facts[file.name]?.holders ?? [], over: occupant, &work)
    }

    /// What a file or link is to find in its place, so that it can take it at one instant: the loser of a conflict has
    /// got its second name by then. A directory goes first.
    private mutating func replacement(
        _ path: RelativePath, _ occupant: Occupant, by device: ShortID
    ) async throws -> Replacement {
        switch occupant {
        case .nothing: return .nothing
        case .replaced(let local) where local.file.kind == .directory:
            try await clear(path, occupant, by: device)
            return .nothing
        case .replaced, .conflicting:
            guard let expected = expected(path.text) else {
                throw FileAccessError(.changedOnDisk, .rename, path: path.text)
            }
            if case .conflicting = occupant {
                let copy = try folder.loserName(of: path, by: device)
                let root = root
                let left = try await changeDisk { try root.preserve(path, as: copy, expecting: expected) }
                try await folder.conflictCopyMade(copy, of: path, &work)
                return .exactly(left)
            } else if let archive = try archive(for: expected) {
                let version = try await changeDisk { try archive.keep(path, expecting: expected) }
                kept = version
                archived.insert(version.lastName)
                return .exactly(version.left)
            }
            return .exactly(expected)
        }
    }

    /// Lets what is in the place of a directory, or a directory in the place of something else, go.
    private mutating func clear(_ path: RelativePath, _ occupant: Occupant, by device: ShortID) async throws {
        switch occupant {
        case .nothing: return
        case .conflicting: try await setAside(path, by: device)
        case .replaced(let local):
            if local.file.kind == .directory {
                let root = root
                _ = try await changeDisk { try root.removeDirectory(path, durability: .deferred) }
            } else {
                try await removeFile(path)
            }
        }
    }

    /// Removes a file or link that is what the index says; anything else stays, and is scanned.
    private mutating func removeFile(_ path: RelativePath) async throws {
        guard let expected = expected(path.text) else {
            throw FileAccessError(.changedOnDisk, .remove, path: path.text)
        }
        let root = root
        if let archive = try archive(for: expected) {
            // What the disk folds to this name has been renamed, and is to stay.
            guard try await onDisk({ try root.twin(of: path) }) == nil else { return }
            archived.insert(
                try await changeDisk { try archive.take(path, expecting: expected, durability: .deferred) })
            return
        }
        _ = try await changeDisk { try root.remove(path, expecting: expected, durability: .deferred) }
    }

    /// Where something like this goes instead of being removed; nil for nowhere.
    private mutating func archive(for status: FileAccess.FileStatus) throws -> VersionArchive? {
        guard status.type == .regular else { return nil }
        if archive == nil { archive = try folder.archive.open() }
        return archive
    }

    /// Keeps the loser of a conflict under its own name: the next scan announces it as a new file.
    private mutating func setAside(_ path: RelativePath, by device: ShortID) async throws {
        let copy = try folder.loserName(of: path, by: device)
        guard let expected = expected(path.text) else {
            throw FileAccessError(.changedOnDisk, .rename, path: path.text)
        }
        let root = root
        try await changeDisk { try root.rename(path, to: copy, replacing: .nothing, expecting: expected) }
        try await folder.conflictCopyMade(copy, of: path, &work)
    }

    /// Removes a directory with what may go with it. False if it stays.
    private mutating func removeDirectory(
        _ path: RelativePath, _ local: LocalVersion, over tombstone: FileInfo?
    ) async throws -> Bool {
        // What was removed in it must be known to the index before one looks at what is left.
        try await flush()
        let items = try await folder.itemsOnDisk(below: path)
        switch DirectoryRemoval.verdict(on: items) {
        case .remove(let first):
            let kinds = Dictionary(
                items.map { (NameKey($0.name), $0.isDirectory) }, uniquingKeysWith: { first, _ in first })
            let root = root
            try await changeDisk {
                for name in first {
                    guard let item = RelativePath(name) else { continue }
                    if kinds[name] == true {
                        try root.removeDirectory(item, durability: .deferred)
                    } else {
                        try root.remove(item, expecting: nil, durability: .deferred)
                    }
                }
                try root.removeDirectory(path, durability: .deferred)
            }
            try await rescan(below: path)
            return true
        case .rescan(let names):
            for name in names { rescan(name) }
        case .holdsUnsyncable(let names): complain(ProblemText.holdsUnsyncable(names), at: path.text)
        case .holdsDeleted(let names): complain(ProblemText.holdsDeleted(names), at: path.text)
        case .holdsIgnored(let names): complain(ProblemText.holdsIgnored(names), at: path.text)
        case .holdsKept(let names):
            guard let tombstone else {
                complain(ProblemText.holdsKept(names), at: path.text)
                return false
            }
            if let version = LocalChanges.retaining(
                local, over: tombstone, rules: folder.rules, unixSeconds: folder.now)
            {
                try await record(version, status(of: path.text))
            }
        }
        return false
    }

    /// What the index still has below a directory that is gone was removed by somebody else, and nobody has looked since.
    private mutating func rescan(below directory: RelativePath) async throws {
        let left = try await folder.index.store.localDescendants(
            of: folder.id, below: directory.text, limit: FolderMemory.temporaryLimit)
        for entry in left.entries { rescan(entry.path) }
    }

    // MARK: files

    /// Makes room for a file where that takes more than replacing another, and says what is to be fetched; nil if it
    /// cannot be.
    private mutating func item(_ file: FileInfo, _ occupant: Occupant) async throws -> FileStaging.Item? {
        let name = file.name
        do {
            let path = try RelativePath(parsing: name)
            guard !path.isInternal, !path.isTemporary else { return nil }
            var item = FileStaging.Item(file: file, holders: facts[name]?.holders ?? [])
            switch occupant {
            case .nothing:
                switch try await makeRoom(for: file, .downloaded) {
                case .free: break
                case .none: return nil
                case .elsewhere(let renamed): return renamed
                }
            case .replaced(let local) where local.file.kind == .directory:
                try await clear(path, occupant, by: file.modifiedBy)
            case .replaced, .conflicting:
                guard let expected = expected(name) else {
                    rescan(name)
                    return nil
                }
                item.replacement = .exactly(expected)
                if case .conflicting = occupant {
                    item.fate = .conflictCopy(try folder.loserName(of: path, by: file.modifiedBy))
                } else if expected.type == .regular {
                    item.fate = .archived
                }
            }
            return item
        } catch let error as FileAccessError {
            try await obstructed(name, error)
            return nil
        }
    }

    /// What is to be fetched and what is to go of a group; nothing if something is wrong with one of its files.
    private mutating func items(of change: GroupChange) async throws -> [FileStaging.Item] {
        var items: [FileStaging.Item] = []
        for action in change.actions {
            let made: FileStaging.Item? =
                switch action {
                case .fetch(let file, let occupant): try await item(file, occupant)
                case .delete(let local, let tombstone, let keepsCopy): removal(local, tombstone, keepsCopy: keepsCopy)
                default: nil
                }
            guard var item = made else {
                isComplete = false
                return []
            }
            item.group = change.group
            items.append(item)
        }
        return items
    }

    private mutating func removal(
        _ local: LocalVersion, _ tombstone: FileInfo?, keepsCopy: Bool
    ) -> FileStaging.Item? {
        let name = local.file.name
        do {
            let path = try RelativePath(parsing: name)
            guard let expected = expected(name), expected.type == .regular else {
                rescan(name)
                return nil
            }
            var item = FileStaging.Item(file: tombstone ?? local.file, holders: [], replacement: .exactly(expected))
            item.file.version = facts[name]?.global?.version ?? local.file.version
            item.removal = tombstone.map { .set(LocalEntry(file: $0)) } ?? .forget(name)
            if keepsCopy {
                let device = tombstone?.modifiedBy ?? folder.tools.localDevice.shortID
                item.fate = .conflictCopy(try folder.loserName(of: path, by: device))
            } else {
                item.fate = .archived
            }
            return item
        } catch let error as FileAccessError {
            failed(name, error)
        } catch {
            rescan(name)
        }
        return nil
    }

    // MARK: -

    /// Makes what was done durable, and then lets the index say it.
    ///
    /// - parameter placed: of which it was noted that something is put there, and where that is over.
    private mutating func flush(placed: Set<NameKey> = []) async throws {
        if let archive, !archived.isEmpty {
            let names = archived
            archived = []
            try await changeDisk { try archive.expire(after: names) }
        }
        if !isDurable {
            let root = root
            try await onDisk { try root.synchronizeFileSystem() }
            isDurable = true
        }
        let done = changes
        changes = []
        try await folder.index.apply(done, placed: placed, &work)
    }

    /// Changes the disk. Also what fails half-way is made durable by the next `flush`: a look takes it for what it finds.
    private mutating func changeDisk<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        isDurable = false
        return try await onDisk(body)
    }

    private func onDisk<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await folder.onDisk(body)
    }

    /// What the index saw at a name, for comparing with what is there now; nil if that is in doubt.
    private func expected(_ name: String) -> FileAccess.FileStatus? {
        guard !folder.writing.isOpen(name), let entry = facts[name]?.local, let status = FileAccess.FileStatus(entry)
        else { return nil }
        // Looked at right after it was written: another write may have left the same times.
        guard status.type != .regular || status.changed != nil else { return nil }
        return status
    }

    private func status(of name: String) -> IndexedStatus? { facts[name]?.local?.status }

    private mutating func complain(_ message: Phrase, at name: String) {
        isComplete = false
        hasComplained = true
        work.effects.problems.noteUndone(message, at: name)
    }

    private mutating func rescan(_ name: String) {
        isComplete = false
        work.effects.doubt(name)
    }

    /// Something occupies the place of `name`: a file or link above it gives way, or `problems` names it.
    private mutating func obstructed(_ name: String, _ error: FileAccessError) async throws {
        if error.code == .directoryNotEmpty {
            complain(ProblemText.directoryInTheWay, at: name)
            return rescan(name)
        }
        // A link above it leads outside the root, or may.
        guard error.code == .notADirectory || error.code == .outsideRoot, let path = RelativePath(name),
            let obstacle = try? folder.obstacle(to: path)
        else { return failed(name, error) }
        do {
            guard try await !DirectoryClaims(folder: folder).settle(obstacle.path, &work) else {
                isComplete = false
                return work.effects.pull.add([name])
            }
        } catch let error as FileAccessError {
            return failed(name, error)
        }
        complain(obstacle.text, at: name)
        work.effects.doubted.insert(obstacle.path)
    }

    private mutating func failed(_ name: String, _ error: FileAccessError) {
        let failure = FailedChange(error.code)
        if failure.isProblem { complain(error.text(from: "\(folder.id):"), at: name) }
        if failure.needsScan { rescan(name) }
        if failure.isShortOfSpace { work.effects.counts.isShortOfSpace = true }
    }
}
