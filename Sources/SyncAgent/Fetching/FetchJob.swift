import Arithmetic
import BlockExchange
import ControlAPI
import FileAccess
import IndexStore
import NIOPosix
import Synchronization

/// One `fetch`: finds the files that are meant, gets several at a time, and puts them into their places in groups that
/// are made durable together.
struct FetchJob: Sendable {
    /// One thing that was asked for, found in the index.
    struct Root: Sendable {
        var folder: FolderSession
        var entry: GlobalEntry
        var place: FolderPlace?
        /// What the entry itself becomes, and what is below it goes below that; its own place if nil.
        var output: FetchTarget?
        /// A directory that what is below the entry goes right into.
        var outputRoot: RootDirectory?
    }

    private static let filesAtOnce = 16
    private static let filesPerCommit = 256

    let roots: [Root]
    let isForced: Bool
    let index: IndexStore
    let environment: FetchEnvironment
    let transfers: TransferRegistry
    let deviceNames: @Sendable (Set<DeviceID>) -> [String]

    private struct Ready: Sendable {
        var folder: FolderSession
        var file: FileInfo
        var target: FetchTarget
        var commit: StagedCommit?
        var isInPlace: Bool
        var isSelected: Bool
    }

    private final class Tally: Sendable {
        let counts = Mutex((files: Int64(0), bytes: Int64(0), failed: Int64(0)))
    }

    /// Emits `plan` first, then what happens, then `done`. Throws only what ends the whole fetch.
    func run(failures: [FetchEvent], emit: @Sendable (FetchEvent) async throws -> Void) async throws {
        let start = environment.time.monotonic()
        var plan = Aggregate()
        for root in roots {
            let below =
                root.entry.isDirectory ? root.entry.below : Aggregate(files: 1, bytes: root.entry.file?.size ?? 0)
            plan.files.addClamped(below.files)
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
            if entry.isDirectory {
                try await environment.threads.runIfActive { _ = try target.root.createDirectories(target.path) }
                return
            }
            guard let found = try await index.file(root.folder.id, entry.path) else {
                throw ControlError(.noSuchPath, "\(entry.path) was deleted meanwhile", path: entry.path)
            }
            let isSelected = root.place.map { !$0.selection.isIgnored(entry.path) } ?? false
            var ready = Ready(
                folder: root.folder, file: found, target: target,
                isInPlace: root.output == nil && root.outputRoot == nil, isSelected: isSelected)
            if found.kind.isSymlink {
                let wasPresent = try await link(found, target)
                await outbox.sendOrDrop(
                    .file(path: found.name, output: target.absolutePath, size: 0, wasPresent: wasPresent))
                return
            }
            let transfer = transfers.begin(folder: root.folder.id, path: entry.path, bytesTotal: found.size)
            defer { transfers.end(transfer) }
            let fetch = FileFetch(
                folder: root.folder.id, file: found, holders: entry.holders, target: target, isForced: isForced,
                environment: environment)
            let outcome = try await fetch.run { bytes, holder in
                transfers.progressed(transfer, by: bytes, from: holder)
                guard let report = progress.add(bytes, from: holder, at: environment.time.monotonic()) else { return }
                await outbox.sendOrDrop(
                    .progress(
                        path: entry.path, bytesDone: report.bytesDone, bytesTotal: total,
                        bytesPerSecond: report.bytesPerSecond, holders: deviceNames(report.holders)))
            }
            switch outcome {
            case .present:
                if ready.isInPlace { await remember(ready) }
                await outbox.sendOrDrop(finished(ready, wasPresent: true, tally))
            case .staged(let commit):
                ready.commit = commit
                guard await commits.send(ready) else { throw CancellationError() }
            }
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            let error = failure(error, of: entry, root)
            tally.counts.withLock { $0.failed += 1 }
            await outbox.sendOrDrop(.failed(path: entry.path, error: error))
        }
    }

    /// What went wrong with an entry, the disk's errors with a path that tells where.
    private func failure(_ error: any Error, of entry: GlobalEntry, _ root: Root) -> ControlError {
        guard let error = error as? FileAccessError, let target = try? target(of: entry, root) else {
            return ControlError(describing: error, path: entry.path)
        }
        let isInPlace = root.output == nil && root.outputRoot == nil
        if isInPlace, error.code == .notADirectory, let obstacle = try? target.root.obstacle(above: target.path) {
            return ControlError(
                .alreadyExists, FolderEngine.obstacleMessage(obstacle, to: entry.path, in: root.folder.id),
                path: entry.path)
        }
        return ControlError(error, path: target.absolutePath, from: place(of: target, root.folder, isInPlace))
    }

    /// What paths beneath the target's root are told from.
    private func place(of target: FetchTarget, _ folder: FolderSession, _ isInPlace: Bool) -> String {
        isInPlace ? "\(folder.id):" : target.root.path == "/" ? "/" : target.root.path + "/"
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
            throw ControlError(.failed, "the folder's place on this disk cannot be opened; see `synctrain status`")
        }
        let path = try RelativePath(parsing: entry.path)
        guard !path.isInternal, !path.isTemporary else {
            throw ControlError(
                .failed, "\(entry.path) is a name that Syncthing keeps for itself; fetch it to another with -o",
                path: entry.path)
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
                throw ControlError(
                    .alreadyExists, "\(target.absolutePath) exists; move it away or use -o for another name",
                    path: file.name)
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
            // Files of different roots lie on different disks perhaps: a group is of one root.
            for (_, files) in Dictionary(grouping: group, by: { ObjectIdentifier($0.target.root) }) {
                await commit(files, tally, outbox)
            }
        }
    }

    private func commit(_ group: [Ready], _ tally: Tally, _ outbox: BoundedQueue<FetchEvent>) async {
        guard let root = group.first?.target.root else { return }
        let commits = group.compactMap(\.commit)
        let results: [Result<FileAccess.FileStatus, FileAccessError>]
        do {
            results = try await environment.threads.runIfActive { root.commit(commits) }
        } catch {
            return
        }
        for (ready, result) in zip(group, results) {
            switch result {
            case .success(let status):
                if ready.isInPlace { await remember(ready, status) }
                await outbox.sendOrDrop(finished(ready, wasPresent: false, tally))
            case .failure(let error):
                tally.counts.withLock { $0.failed += 1 }
                let error = ControlError(
                    error, path: ready.target.absolutePath, from: place(of: ready.target, ready.folder, ready.isInPlace)
                )
                await outbox.sendOrDrop(.failed(path: ready.file.name, error: error))
            }
        }
    }

    private func finished(_ ready: Ready, wasPresent: Bool, _ tally: Tally) -> FetchEvent {
        tally.counts.withLock { counts in
            counts.files += 1
            counts.bytes.addClamped(ready.file.size)
        }
        return .file(
            path: ready.file.name, output: ready.target.absolutePath, size: ready.file.size, wasPresent: wasPresent)
    }

    private func remember(_ ready: Ready, _ status: FileAccess.FileStatus? = nil) async {
        let root = ready.target.root
        let path = ready.target.path
        guard
            let status = try? await environment.threads.runIfActive({ try status ?? root.status(of: path) })
        else { return }
        await ready.folder.fetched(ready.file, status, isSelected: ready.isSelected)
    }
}
