import AgentContext
import AsyncTools
import BlockExchange
import ControlAPI
import Fetching
import FileAccess
import FolderSync
import IndexStore
import LocalSocket
import MountProtocol
import MountRules
import MountServer
import Selection
import Synchronization

/// Does what programs change through one mount. Everything is done in the folder's own directory, as any program of this machine
/// would do it; what needs the selection or the index takes its turn with scans and pulls.
final class ProgramChanges: Sendable {
    /// How often a name is tried that something is being put in the place of, and how long apart.
    private static let openTries = 500
    private static let openPause = Duration.milliseconds(10)
    /// Of a file's permissions, that its owner may write.
    private static let ownerWrites: UInt16 = 0o200

    private let folder: Folder
    private let entries: EntrySource
    private let listing: MountListing
    private let download: AbsentDownload
    private let absentRename: AbsentRename
    private let files: OpenForWriting

    init(folder: Folder, entries: EntrySource, listing: MountListing, environment: FetchEnvironment) {
        self.folder = folder
        self.entries = entries
        self.listing = listing
        download = AbsentDownload(folder: folder, entries: entries, environment: environment)
        absentRename = AbsentRename(folder: folder, entries: entries, listing: listing)
        let (boards, time) = (folder.boards, entries.fetching.time)
        files = OpenForWriting(time: time) { holds in
            let names = boards.writing.announceOnce(holds, unless: EditorNames.isUnfinishedByGit)
            boards.inbox.written(names.compactMap { RelativePath($0.text) }, at: time.monotonic())
        }
    }

    /// Whether what is changed here is announced to others, and counts there.
    static func access(to folder: Folder) -> MountAccess {
        let configuration = folder.configuration
        if configuration.kind == .receiveOnly { return .receivesOnly }
        return folder.boards.peers.refuseChanges(configuration.devices) ? .reader : .writable
    }

    // MARK: files

    func openWriting(
        _ path: String, version: UInt64, disk: UInt64, _ opening: MountOpening, permissions: UInt16
    ) async throws -> MountReply {
        let name = try writable(path)
        let found = try await listing.look(path)
        if let found {
            try await prepare(name, found, version: version, disk: disk, opening)
        } else {
            guard opening.contains(.creates) else { throw MountFailure.notFound }
            // Who makes a file that nobody may write to, as Git does, writes to it all the same.
            try await create(name, permissions: permissions | Self.ownerWrites)
        }
        let hold = try await hold(path)
        let handle: UInt64
        do {
            handle = try files.open(hold)
        } catch {
            folder.boards.writing.close(hold)
            throw error
        }
        do {
            let file = try await onDisk { root in
                let file = try root.open(writing: name)
                if opening.contains(.truncates), try file.status().size > 0 { try file.truncate(to: 0) }
                if found == nil, permissions & Self.ownerWrites == 0 {
                    try file.setPermissions(UInt32(permissions))
                }
                return file
            }
            guard let entry = try await listing.look(path) else { throw MountFailure.stale }
            return MountReply(
                .openedWriting(handle: handle, entry, directory: nil),
                LocalSocket.Enclosed(number: file.number, owner: file))
        } catch {
            close(handle)
            throw error
        }
    }

    /// Makes a file under a name that nobody has, where what is new needs no line. Blocks its thread. Nil where it is not so, and
    /// nothing was done.
    func createNow(_ path: String, _ opening: MountOpening, permissions: UInt16) throws -> MountReply? {
        let name = try writable(path)
        // What others have announced since the mount asked for the names is met as by a file that is made in the folder's directory.
        let found: MountListing.Found = opening.contains(.isNew) ? (nil, nil) : try listing.findNow(path)
        let isQuiet = EditorNames.isTemporary(name.text)
        guard found.entry == nil, try isQuiet || !isLeftOut(name), let hold = folder.boards.writing.open(path) else {
            return nil
        }
        var handle: UInt64?
        var isMade = false
        defer {
            if !isMade {
                if let handle { _ = files.close(handle) }
                folder.boards.writing.close(hold)
            }
        }
        let opened = try files.open(hold)
        handle = opened
        if isQuiet { quiet(name) }
        guard let (file, directory) = try make(name, permissions: permissions) else { return nil }
        let onDisk = MountTree.OnDisk(status: try file.status())
        guard let entry = MountTree.entry(name.name, found.index?.file, isDirectory: false, onDisk: onDisk) else {
            throw MountFailure.stale
        }
        isMade = true
        return MountReply(
            .openedWriting(handle: opened, entry, directory: directory),
            LocalSocket.Enclosed(number: file.number, owner: file))
    }

    /// The file, and the time of its directory since. Nil if something has the name, or may have it in another spelling, or its
    /// directory is not here.
    private func make(_ name: RelativePath, permissions: UInt16) throws -> (OpenFile, directory: MountChange.Time?)? {
        let root = try folder.boards.places.current.get().root
        guard let directory = try? root.directory(name.parent), !root.mayHaveTwins(in: directory) else { return nil }
        do {
            let file = try root.open(writing: name, creating: UInt32(permissions), isExclusive: true)
            let time = (try? directory.status())?.modified
            return (
                file,
                time.map { MountChange.Time(seconds: $0.seconds, nanoseconds: MountTree.nanoseconds($0.nanoseconds)) }
            )
        } catch {
            guard error.code == .exists || error.code == .notFound else { throw error }
            return nil
        }
    }

    private func quiet(_ name: RelativePath) {
        let time = entries.fetching.time.monotonic()
        folder.boards.writing.quiet(name.text, until: time + EditorNames.pause, at: time)
    }

    /// Has something be there to write to that is the version which the program means.
    private func prepare(
        _ name: RelativePath, _ found: MountEntry, version: UInt64, disk: UInt64, _ opening: MountOpening
    ) async throws {
        if opening.contains(.isExclusive), opening.contains(.creates) { throw MountFailure.exists }
        switch found.kind {
        case .file: break
        case .directory: throw MountFailure.isADirectory
        case .symlink: throw MountFailure.invalid
        }
        guard version == 0 || found.version == version || disk != 0 && found.disk == disk else {
            throw MountFailure.stale
        }
        guard !found.isHere else {
            if try isLeftOut(name) { try await claim(name, .nothing, found.version) }
            return
        }
        try await bringHere(name, found, isEmptied: opening.contains(.truncates))
    }

    /// Has an absent file be on this disk: what others have, or nothing in its place.
    private func bringHere(_ name: RelativePath, _ found: MountEntry, isEmptied: Bool) async throws {
        if isEmptied {
            return try await claim(name, .file(permissions: UInt32(found.permissions)), found.version)
        }
        let failure: (any Error)?
        do {
            try await download.run(name.text)
            failure = nil
        } catch {
            failure = error
        }
        // What was put there although the program has ended meanwhile is claimed all the same: a file that is not selected hides
        // what other devices do with the name. Nobody cancels a task of its own; it ends with the step's turn.
        let claiming = Task { [self] in
            guard try isLeftOut(name) else { return }
            if failure != nil {
                guard let now = try await listing.look(name.text), now.isHere, now.version == found.version else {
                    return
                }
            }
            try await claim(name, .nothing, found.version)
        }
        let claimed = await claiming.result
        if let failure { throw failure }
        try claimed.get()
        try Task.checkCancellation()
    }

    private func create(_ name: RelativePath, permissions: UInt16) async throws {
        let isQuiet = EditorNames.isTemporary(name.text)
        if isQuiet { quiet(name) }
        if try isLeftOut(name), !isQuiet {
            return try await claim(name, .file(permissions: UInt32(permissions)), 0)
        }
        try await onDisk { root in
            if let parent = name.parent { try root.createDirectories(parent, durability: .deferred) }
            _ = try root.open(writing: name, creating: UInt32(permissions))
        }
    }

    /// Returns once nothing will be put in the place of the file that has the name.
    private func hold(_ path: String) async throws -> WritingBoard.Hold {
        for _ in 0..<Self.openTries {
            if let hold = folder.boards.writing.open(path) { return hold }
            try await entries.fetching.time.clock.sleep(for: Self.openPause)
        }
        throw MountFailure.busy
    }

    /// What was written is scanned. False for a handle that is not one of these.
    @discardableResult
    func close(_ handle: UInt64) -> Bool {
        guard let hold = files.close(handle) else { return OpenForWriting.isHandle(handle) }
        guard let path = folder.boards.writing.close(hold) else { return true }
        // It may have been open for longer than such a name is told to nobody, and is about to get another.
        if EditorNames.isTemporary(path), let name = RelativePath(path) { quiet(name) }
        written([path])
        return true
    }

    func end() { for handle in files.handles { close(handle) } }

    func change(_ path: String, _ change: MountChange) async throws -> MountReply {
        let name = try writable(path)
        guard let found = try await listing.look(path) else { throw MountFailure.notFound }
        if change.size != nil, found.kind != .file { throw MountFailure.isADirectory }
        if change.permissions != nil, found.kind == .symlink { throw MountFailure.notSupported }
        if !found.isHere {
            // What nobody has here cannot be announced otherwise.
            guard let size = change.size else { throw MountFailure.notSupported }
            try await bringHere(name, found, isEmptied: size == 0)
        } else if found.kind == .file, change.size != nil, try isLeftOut(name) {
            try await claim(name, .nothing, found.version)
        }
        try await onDisk { root in
            if let size = change.size { try root.open(writing: name).truncate(to: size) }
            if let permissions = change.permissions { try root.setPermissions(UInt32(permissions), of: name) }
            if let time = change.modified {
                try root.setModificationTime(
                    FileTime(seconds: time.seconds, nanoseconds: Int32(clamping: time.nanoseconds)), of: name)
            }
        }
        written([path])
        return try await entry(path)
    }

    // MARK: names

    func makeDirectory(_ path: String, permissions: UInt16) async throws -> MountReply {
        let name = try writable(path)
        // What is put into it would stay on all devices; a file manager that finds no trash offers to delete.
        guard !TrashNames.isTrash(path) else { throw MountFailure.refused }
        guard try await listing.look(path) == nil else { throw MountFailure.exists }
        if try isLeftOut(name) {
            try await claim(name, .directory(permissions: UInt32(permissions)), 0)
        } else {
            try await onDisk { try $0.makeDirectory(name, permissions: UInt32(permissions)) }
            written([path])
        }
        return try await entry(path)
    }

    func makeSymlink(_ path: String, target: [UInt8]) async throws -> MountReply {
        let name = try writable(path)
        guard try await listing.look(path) == nil else { throw MountFailure.exists }
        let isQuiet = EditorNames.isTemporary(name.text)
        if try isLeftOut(name), !isQuiet {
            try await claim(name, .symlink(target: target), 0)
        } else {
            try await onDisk { root in
                if let parent = name.parent { try root.createDirectories(parent, durability: .deferred) }
                try root.createSymlink(name, target: target, durability: .deferred)
            }
            written([path])
        }
        return try await entry(path)
    }

    func remove(_ path: String, isDirectory: Bool) async throws -> MountReply {
        let name = try writable(path)
        guard let found = try await listing.look(path) else { throw MountFailure.notFound }
        guard isDirectory == (found.kind == .directory) else {
            throw isDirectory ? MountFailure.notADirectory : MountFailure.isADirectory
        }
        if isDirectory, try await listing.holdsSomething(path) { throw MountFailure.notEmpty }
        let context = try folder.runner.reading()
        if found.isHere, !context.selection.isLeftOut(path), !context.hasLineWhileSpace(path),
            try await !isNotedForWriting(path)
        {
            try await onDisk { try $0.removeForProgram(name, isDirectory: isDirectory) }
            written([path])
        } else {
            try await folder.runner.perform(RemoveNameStep(path: name))
        }
        return MountReply(.done)
    }

    func rename(_ from: String, to: String, version: UInt64, keepsOther: Bool) async throws -> MountReply {
        let (source, target) = (try writable(from), try writable(to))
        guard let found = try await listing.look(from) else { throw MountFailure.notFound }
        if source == target { return MountReply(.done) }
        let other = try await listing.look(to)
        if keepsOther, other != nil { throw MountFailure.exists }
        guard found.isHere else { return try await renameAbsent(source, to: target, isFree: other == nil) }
        let context = try folder.runner.reading()
        let isPlain =
            found.kind != .directory && (other?.isHere ?? true) && other?.kind != .directory
            && !context.selection.isLeftOut(to) && !context.hasLineWhileSpace(from)
        if isPlain, try await !isNotedForWriting(from) {
            try await onDisk { root in
                if let parent = target.parent { try root.createDirectories(parent, durability: .deferred) }
                try root.rename(
                    source, to: target, replacing: keepsOther ? .nothing : .anything, durability: .deferred)
            }
        } else {
            let step = RenameNameStep(
                from: source, to: target, keepsOther: keepsOther, isMeant: Self.isMeant(version))
            do {
                try await folder.runner.perform(step)
            } catch ProgramRefusal.absent {
                return try await renameAbsent(source, to: target, isFree: other == nil)
            }
        }
        folder.boards.writing.rename(from, to: to)
        written([from, to])
        return MountReply(.done)
    }

    /// Has a device rename that has all of it. What takes the place of something is copied.
    private func renameAbsent(_ from: RelativePath, to: RelativePath, isFree: Bool) async throws -> MountReply {
        guard isFree else { throw MountFailure.absent }
        try await absentRename.run(from, to: to)
        return MountReply(.done)
    }

    func synchronize(_ directory: String) async throws -> MountReply {
        let name = RelativePath(directory)
        guard directory.isEmpty || name != nil else { throw MountFailure.notFound }
        do {
            try await onDisk { try $0.directory(name).synchronize() }
        } catch let error as FileAccessError where error.isAbsence {
            // Nothing of it is here that could be lost.
        }
        return MountReply(.done)
    }

    // MARK: the selection

    /// Selects (`1`) or deselects (`0`) a name with all that is below it.
    func setPin(_ path: String, _ value: [UInt8]) async throws -> MountReply {
        guard !path.isEmpty else { throw MountFailure.invalid }
        switch String(decoding: value, as: UTF8.self) {
        case "1": _ = try await folder.runner.perform(SelectStep(paths: [path]))
        case "0": _ = try await folder.runner.deselect(DeselectStep(paths: [path], local: .free))
        default: throw MountFailure.invalid
        }
        return MountReply(.done)
    }

    // MARK: -

    /// - Parameter version: what the program knows of the name, as the mount has it; 0 for nothing in particular.
    private static func isMeant(_ version: UInt64) -> @Sendable (FileInfo) -> Bool {
        { version == 0 || MountTree.version(of: $0) == version }
    }

    private func claim(_ name: RelativePath, _ making: ClaimNameStep.Making, _ version: UInt64) async throws {
        try await folder.runner.perform(
            ClaimNameStep(path: name, making: making, isMeant: Self.isMeant(version)))
    }

    private func entry(_ path: String) async throws -> MountReply {
        guard let entry = try await listing.look(path) else { throw MountFailure.stale }
        return MountReply(.entry(entry))
    }

    private func isNotedForWriting(_ path: String) async throws -> Bool {
        try await entries.index.global(folder.id, path)?.local?.isNotedForWriting ?? false
    }

    private func isLeftOut(_ name: RelativePath) throws -> Bool {
        try folder.boards.places.current.get().selection.isLeftOut(name.text)
    }

    /// A name that programs may change. Throws `readOnly` where nothing is, `refused` for what is the folder's own.
    private func writable(_ path: String) throws(MountFailure) -> RelativePath {
        guard Self.access(to: folder) == .writable else { throw .readOnly }
        guard let name = RelativePath(path) else { throw path.isEmpty ? .busy : .invalid }
        guard !name.isInternal, name.internalTwin == nil, !name.isTemporary, !InternalContent.contains(path) else {
            throw .refused
        }
        return name
    }

    private func onDisk<Result: Sendable>(
        _ body: @escaping @Sendable (RootDirectory) throws -> Result
    ) async throws -> Result {
        let root = try folder.boards.places.current.get().root
        return try await entries.fetching.threads.runIfActive { try body(root) }
    }

    private func written(_ paths: [String]) {
        folder.boards.inbox.written(
            paths.compactMap { RelativePath($0) }, at: entries.fetching.time.monotonic())
    }
}

/// Puts an absent file into its place before a program writes to it.
struct AbsentDownload: Sendable {
    let folder: Folder
    let entries: EntrySource
    let environment: FetchEnvironment

    /// - Throws: `MountFailure`; what the index says; `CancellationError`.
    func run(_ path: String) async throws {
        guard let entry = try await entries.index.global(folder.id, path) else { throw MountFailure.notFound }
        let root = FetchJob.Root(folder: folder, entry: entry, place: try folder.boards.places.current.get())
        let job = FetchJob(
            roots: [root], isForced: false, index: entries.index, environment: environment,
            transfers: entries.transfers, deviceNames: { _ in [] })
        let failed = Mutex<ControlError?>(nil)
        try await job.run(failures: []) { event in
            if case .failed(_, let error) = event { failed.withLock { $0 = error } }
        }
        guard let error = failed.withLock({ $0 }) else { return }
        let failure = MountFailure(describing: error)
        if failure == .noHolder, !entries.fetching.sessions(entry.holders).isEmpty,
            try await isOvertaken(path, entry.file?.version)
        {
            throw MountFailure.stale
        }
        throw failure
    }

    /// Whether there is another version within the patience. Who is connected and has this one no longer has another, and
    /// announces it in a moment.
    private func isOvertaken(_ path: String, _ version: VersionVector?) async throws -> Bool {
        let (changes, clock) = (folder.boards.changes.changes(), entries.fetching.time.clock)
        let (index, id) = (entries.index, folder.id)
        return try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                if try await index.global(id, path)?.file?.version != version { return true }
                for await _ in changes where try await index.global(id, path)?.file?.version != version { return true }
                return false
            }
            group.addTask {
                try await clock.sleep(for: MountDeadlines.patience)
                return false
            }
            defer { group.cancelAll() }
            return try await group.next() ?? false
        }
    }
}
