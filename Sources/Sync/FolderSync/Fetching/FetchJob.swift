import Arithmetic
import AsyncTools
import BlockExchange
import ControlAPI
import Fetching
import FileAccess
import FolderScanner
import IndexStore
import Synchronization

/// One `fetch`: finds the files that are meant, gets several at a time, and puts them into their places in groups that
/// are made durable together.
package struct FetchJob: Sendable {
    /// One thing that was asked for, found in the index.
    package struct Root: Sendable {
        package var folder: Folder
        package var entry: GlobalEntry
        package var place: FolderPlace?
        /// What the entry itself becomes, and what is below it goes below that; its own place if nil.
        package var output: FetchTarget?
        /// A directory that what is below the entry goes right into.
        package var outputRoot: RootDirectory?

        package init(
            folder: Folder, entry: GlobalEntry, place: FolderPlace? = nil, output: FetchTarget? = nil,
            outputRoot: RootDirectory? = nil
        ) {
            self.folder = folder
            self.entry = entry
            self.place = place
            self.output = output
            self.outputRoot = outputRoot
        }
    }

    private static let filesAtOnce = 16
    private static let filesPerCommit = 256
    /// How often, and how long apart, a file is tried that is locked though nobody here fetches it.
    private static let lockedTries = 20
    private static let lockedPause = Duration.milliseconds(250)

    package let roots: [Root]
    package let isForced: Bool
    package let index: IndexStore
    package let environment: FetchEnvironment
    package let transfers: TransferRegistry
    package let deviceNames: @Sendable (Set<DeviceID>) -> [String]

    package init(
        roots: [Root], isForced: Bool, index: IndexStore, environment: FetchEnvironment, transfers: TransferRegistry,
        deviceNames: @escaping @Sendable (Set<DeviceID>) -> [String]
    ) {
        self.roots = roots
        self.isForced = isForced
        self.index = index
        self.environment = environment
        self.transfers = transfers
        self.deviceNames = deviceNames
    }

    private struct Ready: Sendable {
        var folder: Folder
        var file: FileInfo
        var target: FetchTarget
        var commit: StagedCommit
        /// Whether the target is the file's own place in its folder.
        var isInPlace: Bool
    }

    private final class Tally: Sendable {
        let counts = Mutex((files: Int64(0), bytes: Int64(0), failed: Int64(0)))
    }

    /// Emits `plan` first, then what happens, then `done`. Throws only what ends the whole fetch.
    package func run(failures: [FetchEvent], emit: @Sendable (FetchEvent) async throws -> Void) async throws {
        let start = environment.time.monotonic()
        var plan = Aggregate()
        for root in roots {
            let below =
                root.entry.isDirectory ? root.entry.below : Aggregate(files: 1, bytes: root.entry.file?.size ?? 0)
            plan.files.addClamped(below.fileCount)
            plan.bytes.addClamped(below.bytes)
        }
        let total = plan.bytes
        try await emit(.plan(files: plan.files, bytes: plan.bytes))
        for failure in failures { try await emit(failure) }
        let tally = Tally()
        tally.counts.withLock { $0.failed += Int64(failures.count) }
        let outbox = BoundedQueue<FetchEvent>(limit: 64)
        let commits = BoundedQueue<Ready>(limit: Self.filesPerCommit)
        let progress = FetchProgress()

        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                do {
                    try await fetchAll(tally, outbox, commits, progress, total: total)
                } catch {
                    commits.finish()
                    throw error
                }
                commits.finish()
            }
            group.addTask {
                await commitAll(commits, tally, outbox)
                outbox.finish()
            }
            do {
                while let event = await outbox.next() { try await emit(event) }
                try Task.checkCancellation()
                try await group.waitForAll()
            } catch {
                group.cancelAll()
                throw error
            }
        }
        let seconds = (environment.time.monotonic() - start).components
        let counts = tally.counts.withLock { $0 }
        try await emit(
            .done(
                files: counts.files, bytes: counts.bytes, failed: counts.failed,
                seconds: Double(seconds.seconds) + Double(seconds.attoseconds) / 1e18))
    }

    // MARK: getting

    private func fetchAll(
        _ tally: Tally, _ outbox: BoundedQueue<FetchEvent>, _ commits: BoundedQueue<Ready>, _ progress: FetchProgress,
        total: Int64
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            var running = 0
            for root in roots {
                try await visit(root.entry, of: root) { entry in
                    if running == Self.filesAtOnce {
                        try await group.next()
                        running -= 1
                    }
                    running += 1
                    group.addTask {
                        try await fetch(entry, of: root, tally, outbox, commits, progress, total: total)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Calls `body` for `entry` and all below it, each directory before what is in it.
    private func visit(_ entry: GlobalEntry, of root: Root, body: (GlobalEntry) async throws -> Void) async throws {
        var waiting = [entry]
        while let entry = waiting.popLast() {
            try Task.checkCancellation()
            if !entry.path.isEmpty, root.outputRoot == nil || entry.path != root.entry.path { try await body(entry) }
            guard entry.isDirectory else { continue }
            let children = try await index.children(root.folder.id, of: entry.path)
            waiting += children.reversed()
        }
    }

    private func fetch(
        _ entry: GlobalEntry, of root: Root, _ tally: Tally, _ outbox: BoundedQueue<FetchEvent>,
        _ commits: BoundedQueue<Ready>, _ progress: FetchProgress, total: Int64
    ) async throws {
        do {
            let target = try target(of: entry, root)
            if root.output == nil, root.outputRoot == nil { try await checkTwin(of: target, in: root.folder) }
            if entry.isDirectory {
                try await environment.threads.runIfActive { _ = try target.root.createDirectories(target.path) }
                return
            }
            guard let found = try await index.file(root.folder.id, entry.path) else {
                throw FetchError.deletedMeanwhile(entry.path)
            }
            let isInPlace = root.output == nil && root.outputRoot == nil
            if found.kind.isSymlink {
                let wasPresent = try await link(found, target)
                if isInPlace { try await note([(found.name, target)], in: root.folder) }
                await outbox.sendOrDrop(finished(found, target, wasPresent: wasPresent, tally))
                return
            }
            let fetch = FileFetch(
                folder: root.folder.id, file: found, holders: entry.holders, target: target, isForced: isForced,
                former: isInPlace ? try await former(found.name, at: target, in: root.folder) : nil,
                environment: environment)
            let outcome = try await whenUnlocked(found, in: root.folder.id, isStored: isInPlace) { transfer in
                try await fetch.run { bytes, holder in
                    transfers.progressed(transfer, by: bytes, from: holder)
                    guard let report = progress.add(bytes, from: holder, at: environment.time.monotonic()) else {
                        return
                    }
                    await outbox.sendOrDrop(
                        .progress(
                            path: entry.path, bytesDone: report.bytesDone, bytesTotal: total,
                            bytesPerSecond: report.bytesPerSecond, holders: deviceNames(report.holders)))
                }
            }
            switch outcome {
            case .present(let status):
                if isInPlace {
                    try await root.folder.runner.perform(AdoptFetchedStep(file: found, seen: status))
                    try await note([(found.name, target)], in: root.folder)
                }
                await outbox.sendOrDrop(finished(found, target, wasPresent: true, tally))
            case .staged(let commit):
                let ready = Ready(
                    folder: root.folder, file: found, target: target, commit: commit, isInPlace: isInPlace)
                guard await commits.send(ready) else { throw CancellationError() }
            }
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            let isInPlace = root.output == nil && root.outputRoot == nil
            let told = (try? target(of: entry, root)).map {
                failure(error, of: entry.path, at: $0, of: root.folder, isInPlace)
            }
            tally.counts.withLock { $0.failed += 1 }
            await outbox.sendOrDrop(
                .failed(path: entry.path, error: told ?? ControlError(describing: error, path: entry.path)))
        }
    }

    /// Runs `attempt`, a transfer of its own. While a pull or another fetch has the file's temporary file it waits for the end of
    /// that, and then runs it again.
    ///
    /// - Throws: what `attempt` does; `FileAccessError` (`busy`) if the file stays locked though nobody here fetches it.
    private func whenUnlocked(
        _ file: FileInfo, in folder: FolderID, isStored: Bool,
        _ attempt: (_ transfer: Int) async throws -> FileFetch.Outcome
    ) async throws -> FileFetch.Outcome {
        var tries = 0
        while true {
            do {
                let transfer = transfers.begin(
                    folder: folder, path: file.name, bytesTotal: file.size, isStored: isStored)
                defer { transfers.end(transfer) }
                return try await attempt(transfer)
            } catch let error as FileAccessError where error.code == .busy && error.operation == .lock {
                // From its last byte until it is in its place, nobody says of a file that it is on its way.
                tries = transfers.stored(of: folder)[file.name] == nil ? tries + 1 : 0
                guard tries < Self.lockedTries else { throw error }
                try await environment.time.clock.sleep(for: Self.lockedPause)
            }
        }
    }

    /// What is in the place, if it was fetched there on purpose, is not selected and has not changed since; else nil.
    private func former(
        _ name: String, at target: FetchTarget, in folder: Folder
    ) async throws -> FileAccess.FileStatus? {
        guard let note = try await index.fetched([name], in: folder.id)[name],
            try folder.boards.places.current.get().selection.isLeftOut(name)
        else { return nil }
        let status = try await environment.threads.runIfActive { try target.root.status(of: target.path) }
        return status.flatMap { $0.isAs(note) ? $0 : nil }
    }

    /// Throws `FetchError.twin` where something that is called otherwise has the place.
    private func checkTwin(of target: FetchTarget, in folder: Folder) async throws {
        try await environment.threads.runIfActive {
            guard let twin = try target.root.twin(of: target.path) else { return }
            throw FetchError.twin(twin.text, file: target.path.text, folder: folder.id)
        }
    }

    /// What went wrong with a file, the disk's errors with a path that tells where.
    private func failure(
        _ error: any Error, of name: String, at target: FetchTarget, of folder: Folder, _ isInPlace: Bool
    ) -> ControlError {
        guard let error = error as? FileAccessError else { return ControlError(describing: error, path: name) }
        if isInPlace, error.code == .notADirectory, let obstacle = try? target.root.obstacle(above: target.path) {
            return ControlError(
                describing: FetchError.blocked(by: obstacle.text, file: name, folder: folder.id), path: name)
        }
        let place = isInPlace ? "\(folder.id):" : target.root.path == "/" ? "/" : target.root.path + "/"
        return ControlError(error, path: target.absolutePath, from: place)
    }

    private func target(of entry: GlobalEntry, _ root: Root) throws -> FetchTarget {
        let top = root.entry.path
        let below = top.isEmpty ? entry.path : String(entry.path.utf8.dropFirst(top.utf8.count + 1)) ?? entry.path
        if let outputRoot = root.outputRoot {
            return FetchTarget(root: outputRoot, path: try RelativePath(parsing: below))
        }
        if let output = root.output {
            guard entry.path != top else { return output }
            return FetchTarget(root: output.root, path: try output.path.appending(below))
        }
        guard let place = root.place else {
            throw FetchError.noPlace(root.folder.id)
        }
        let path = try RelativePath(parsing: entry.path)
        guard !path.isInternal, !path.isTemporary else {
            throw FetchError.internalName(entry.path)
        }
        return FetchTarget(root: place.root, path: path)
    }

    /// Makes a symbolic link; true if it was there already.
    private func link(_ file: FileInfo, _ target: FetchTarget) async throws -> Bool {
        try await environment.threads.runIfActive {
            if let existing = try target.root.status(of: target.path) {
                if existing.type == .symlink, try target.root.readSymlink(target.path) == file.symlinkTarget {
                    return true
                }
                throw FetchError.targetExists(path: target.absolutePath, file: file.name, .other)
            }
            if let parent = target.path.parent { _ = try target.root.createDirectories(parent) }
            try target.root.createSymlink(target.path, target: file.symlinkTarget)
            return false
        }
    }

    // MARK: committing

    private func commitAll(
        _ commits: BoundedQueue<Ready>, _ tally: Tally, _ outbox: BoundedQueue<FetchEvent>
    ) async {
        while let first = await commits.next() {
            var group = [first]
            while group.count < Self.filesPerCommit, let more = commits.nextIfReady() { group.append(more) }
            // Files of different roots lie on different disks perhaps: what is committed together is of one root.
            for (_, files) in Dictionary(grouping: group, by: { ObjectIdentifier($0.target.root) }) {
                await commit(files, tally, outbox)
            }
        }
    }

    private func commit(_ group: [Ready], _ tally: Tally, _ outbox: BoundedQueue<FetchEvent>) async {
        let outcomes: [PlacementOutcome]
        do {
            outcomes = try await place(group)
        } catch is CancellationError {
            return
        } catch {
            outcomes = group.map { _ in .failed(error) }
        }
        for (ready, outcome) in zip(group, outcomes) {
            let error: any Error
            switch outcome {
            case .done:
                await outbox.sendOrDrop(finished(ready.file, ready.target, wasPresent: false, tally))
                continue
            case .failed(let failure): error = failure
            case .outdated: error = FetchError.outdated(ready.file.name)
            default: error = FileAccessError(.changedOnDisk, .rename, path: ready.target.path.text)
            }
            tally.counts.withLock { $0.failed += 1 }
            let told = failure(error, of: ready.file.name, at: ready.target, of: ready.folder, ready.isInPlace)
            await outbox.sendOrDrop(.failed(path: ready.file.name, error: told))
        }
    }

    /// Puts files of one root into their places: by their folder's placer where that is in their folder.
    private func place(_ group: [Ready]) async throws -> [PlacementOutcome] {
        guard let first = group.first else { return [] }
        guard first.isInPlace else {
            let (root, commits) = (first.target.root, group.map(\.commit))
            return try await environment.threads.runIfActive { root.commit(commits) }.map { result in
                switch result {
                case .success: .done(archived: nil)
                case .failure(let error): .failed(error)
                }
            }
        }
        let units = group.enumerated().map { position, ready in
            [
                StagedPlacement(
                    position: position, content: .version(ready.file), path: ready.target.path,
                    root: ready.target.root, replacement: ready.commit.replacement, commit: ready.commit,
                    fate: .discarded, isRequested: true)
            ]
        }
        var outcomes = [PlacementOutcome](repeating: .outdated, count: group.count)
        for (position, outcome) in try await first.folder.runner.place(units) { outcomes[position] = outcome }
        let placed = zip(group, outcomes).compactMap { ready, outcome in
            if case .done = outcome { (ready.file.name, ready.target) } else { nil }
        }
        try await note(placed, in: first.folder)
        return outcomes
    }

    /// Notes of files that are in their places now and not selected that they are there on purpose.
    private func note(_ files: [(name: String, target: FetchTarget)], in folder: Folder) async throws {
        let place = try folder.boards.places.current.get()
        let notes = try await environment.threads.runIfActive {
            try files.compactMap { name, target -> FetchedFile? in
                guard place.selection.isLeftOut(name), let status = try target.root.status(of: target.path) else {
                    return nil
                }
                return FetchedFile(name: name, status)
            }
        }
        if !notes.isEmpty { try await index.noteFetched(notes, in: folder.id) }
    }

    private func finished(
        _ file: FileInfo, _ target: FetchTarget, wasPresent: Bool, _ tally: Tally
    ) -> FetchEvent {
        tally.counts.withLock { counts in
            counts.files += 1
            counts.bytes.addClamped(file.size)
        }
        return .file(path: file.name, output: target.absolutePath, size: file.size, wasPresent: wasPresent)
    }
}

/// Tells the index of a file that was in its place already and is the version that was fetched.
private struct AdoptFetchedStep: FolderStep {
    let file: FileInfo
    /// What was there before its bytes were compared.
    let seen: FileAccess.FileStatus

    func run(_ folder: FolderContext, _ work: inout FolderWork) async throws {
        let (root, path) = (folder.root, try RelativePath(parsing: file.name))
        // What was changed meanwhile is for a scan.
        guard let now = try await folder.onDisk({ try root.status(of: path) }), now.isUnchanged(since: seen) else {
            return work.effects.rescan(file.name)
        }
        let flags: LocalFlags = folder.selection.isLeftOut(file.name) ? .ignored : []
        try await folder.index.apply(
            [
                .set(
                    LocalEntry(
                        file: file, flags: flags, status: IndexedStatus(now.settled(at: folder.tools.diskTime())))
                )
            ],
            &work)
    }
}

extension FileAccess.FileStatus {
    /// Whether it is what was fetched there.
    package func isAs(_ file: FetchedFile) -> Bool {
        size == file.size && modified.seconds == file.modifiedSeconds
            && modified.nanoseconds == file.modifiedNanoseconds
    }
}

extension FileAccess.FileStatus {
    /// Whether a regular file is as the index says, as far as its size and time of change tell.
    package func isAs(_ file: FileInfo) -> Bool {
        let time = FileTime(seconds: file.modifiedSeconds, nanoseconds: file.modifiedNanoseconds)
        return size == file.size && time.isKept(as: modified, beside: nil)
    }

    /// Whether a file that was fetched and has not changed since is a former version, and others have `global` by now.
    package func isFormer(of global: FileInfo?) -> Bool {
        guard let global, !global.isInvalid else { return false }
        return global.isDeleted || type == .regular && !isAs(global)
    }
}

extension FetchedFile {
    /// The file as it is on this disk now.
    package init(name: String, _ status: FileAccess.FileStatus) {
        self.init(
            name: name, size: status.size, modifiedSeconds: status.modified.seconds,
            modifiedNanoseconds: status.modified.nanoseconds)
    }
}
