import AgentConfiguration
import BlockExchange
import ControlAPI
import Fetching
import FileAccess
import FolderSync
import Foundation
import IndexStore
import Logging
import Synchronization
import Thumbnails

/// Gives thumbnails: from the cache, from a folder that devices share theirs in, or newly made; each content once for all
/// who ask with the same limit, a few at a time, the newest request first.
package final class ThumbnailBoard: Sendable {
    /// What it needs of the agent.
    package struct Environment: Sendable {
        package var maker: ThumbnailMaker
        /// Nil for none.
        package var shared: Shared?
        package var logger: Logger
    }

    /// Where devices share theirs.
    package struct Shared: Sendable {
        package var folder: FolderID
        package var directory: String
        package var index: IndexStore
        package var folders: FolderRegistry

        package init(folder: FolderID, directory: String, index: IndexStore, folders: FolderRegistry) {
            self.folder = folder
            self.directory = directory
            self.index = index
            self.folders = folders
        }
    }

    /// Contents that are made at once: some wait for other devices while others keep the programs busy.
    private static let runningLimit = 4
    private static let waitingLimit = 256
    private static let failureLimit = 4096
    private static let failureTime: Duration = .seconds(3600)

    private typealias Step = ThumbnailQueue<ThumbnailSubject>.Step
    private typealias Waiting = CheckedContinuation<[UInt8], any Error>

    private struct State {
        var queue = ThumbnailQueue<ThumbnailSubject>(runningLimit: runningLimit, waitingLimit: waitingLimit)
        var failures = FailureMemory<ThumbnailName>(limit: failureLimit, lifetime: failureTime)
        var waiting: [Int: Waiting] = [:]
        var tasks: [ThumbnailSubject: Task<Void, Never>] = [:]
        var nextWaiter = 0
        var isClosed = false
    }

    private let environment: Environment
    private let cache: ThumbnailCache
    private let state = Mutex(State())

    package init(_ environment: Environment, cache: ThumbnailCache) {
        self.environment = environment
        self.cache = cache
    }

    /// As the configuration says.
    package convenience init(
        _ settings: ThumbnailSettings, _ places: AgentPlaces, _ fetching: FetchEnvironment, cache blocks: BlockCache,
        index: IndexStore, folders: FolderRegistry, isMetered: @escaping @Sendable () -> Bool, logger: Logger
    ) {
        // Of a run that was cut off.
        if settings.isEnabled { try? FileManager.default.removeItem(atPath: places.thumbnailWork) }
        let maker = ThumbnailMaker(
            fetching: fetching, keep: { blocks.keep($0, hash: $1, of: $2) },
            sandbox: ThumbnailSandbox(now: fetching.time.monotonic), workDirectory: places.thumbnailWork,
            limits: ThumbnailMaker.Limits(usual: settings.fetchLimit, slow: settings.slowFetchLimit),
            isMetered: isMetered)
        let shared = settings.folder.map {
            Shared(folder: $0, directory: settings.directory, index: index, folders: folders)
        }
        self.init(
            Environment(maker: maker, shared: shared, logger: logger),
            cache: ThumbnailCache(
                directory: settings.cache ?? places.thumbnails, byteLimit: Int(clamping: settings.byteLimit)))
    }

    package var problems: [String] { environment.maker.sandbox.problems }

    private var fetching: FetchEnvironment { environment.maker.fetching }
    private var now: Duration { fetching.time.monotonic() }

    /// A JPEG whose sides have at most 255 pixels. Throws `noThumbnail`, `busy` if too many newer ones are waited for,
    /// and what fetching throws. Whoever is cancelled is not waited for.
    package func thumbnail(of subject: ThumbnailSubject) async throws -> [UInt8] {
        let cached = try await fetching.threads.runIfActive { [cache] in cache.thumbnail(subject.name) }
        if let cached { return cached }
        guard !state.withLock({ $0.failures.holds(subject.name, at: now) }) else { throw Self.none(subject) }
        let waiter = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let steps: [Step]? = state.withLock { state in
                    guard !state.isClosed, !Task.isCancelled else { return nil }
                    state.waiting[waiter] = continuation
                    return state.queue.ask(subject, waiter: waiter)
                }
                guard let steps else { return continuation.resume(throwing: CancellationError()) }
                perform(steps)
            }
        } onCancel: {
            let (continuation, steps) = state.withLock { state in
                (state.waiting.removeValue(forKey: waiter), state.queue.leave(waiter))
            }
            continuation?.resume(throwing: CancellationError())
            perform(steps)
        }
    }

    /// A PNG of a thumbnail; nil if none can be made of it. Throws what `ThumbnailMaker.png(of:)` throws.
    func png(of thumbnail: [UInt8]) async throws -> [UInt8]? { try await environment.maker.png(of: thumbnail) }

    /// Ends all that is under way; nothing is made any more.
    package func close() {
        let (tasks, waiting) = state.withLock { state in
            state.isClosed = true
            defer { state.waiting = [:] }
            return (Array(state.tasks.values), Array(state.waiting.values))
        }
        for task in tasks { task.cancel() }
        for continuation in waiting { continuation.resume(throwing: CancellationError()) }
    }

    // MARK: -

    private func perform(_ steps: [Step]) {
        for step in steps {
            switch step {
            case .start(let subject):
                // Kept, so that it can be ended with its last waiter or the agent.
                state.withLock { state in
                    let task = Task { await self.run(subject) }
                    state.tasks[subject] = task
                    if state.isClosed || !state.queue.isWanted(subject) { task.cancel() }
                }
            case .stop(let subject): state.withLock { $0.tasks[subject] }?.cancel()
            case .turnAway(let waiter):
                state.withLock { $0.waiting.removeValue(forKey: waiter) }?.resume(
                    throwing: ControlError(
                        .busy, "more than \(Self.waitingLimit) newer thumbnails are queued; try again",
                        isRetryable: true))
            }
        }
    }

    private func run(_ subject: ThumbnailSubject) async {
        let result: Result<[UInt8], any Error>
        do {
            if let made = try await shared(subject) {
                result = .success(made)
            } else if let made = try await environment.maker.make(subject) {
                await keep(made, of: subject)
                result = .success(made)
            } else {
                let now = now
                state.withLock { $0.failures.note(subject.name, at: now) }
                result = .failure(Self.none(subject))
            }
        } catch {
            result = .failure(error)
        }
        let (waiting, steps) = state.withLock { state in
            state.tasks[subject] = nil
            let (waiters, steps) = state.queue.ended(subject)
            return (waiters.compactMap { state.waiting.removeValue(forKey: $0) }, steps)
        }
        for continuation in waiting { continuation.resume(with: result) }
        perform(steps)
    }

    private static func none(_ subject: ThumbnailSubject) -> ControlError {
        ControlError(
            .noThumbnail,
            "\(subject.file.name): no thumbnail, because the file cannot be read as a picture or film; `synctrain open` shows "
                + "the file itself", path: subject.file.name)
    }

    // MARK: a shared folder

    /// The thumbnail that another device, or an earlier run, put into the shared folder; nil if there is none.
    private func shared(_ subject: ThumbnailSubject) async throws -> [UInt8]? {
        guard let shared = environment.shared else { return nil }
        let (folder, index) = (shared.folder, shared.index)
        let path = shared.directory + "/" + subject.name.path
        // The folder may not be there, or not readable: then thumbnails are made.
        guard let found = try? await index.global(folder, path), found.isPresent,
            let file = try? await index.file(folder, path), file.kind == .file,
            (1...Int64(ThumbnailCheck.byteLimit)).contains(file.size)
        else { return nil }
        let gathered = Mutex<[Int: [UInt8]]>([:])
        let fetch = BlockFetch(folder: folder, file: file, holders: found.holders, environment: fetching)
        do {
            try await fetch.run(Array(file.blocks.indices)) { block, buffer, _ in
                gathered.withLock { $0[block] = Array(buffer.readableBytesView) }
            }
        } catch is ControlError {
            return nil
        }
        let bytes = gathered.withLock { gathered in gathered.sorted { $0.key < $1.key }.flatMap(\.value) }
        guard ThumbnailCheck.isThumbnail(bytes) else { return nil }
        // Not fetched another time.
        try await fetching.threads.runIfActive { [cache] in cache.keep(bytes, as: subject.name) }
        return bytes
    }

    /// Puts a thumbnail into the shared folder, if that keeps it, or else into the cache.
    private func keep(_ bytes: [UInt8], of subject: ThumbnailSubject) async {
        let target = environment.shared.flatMap { shared -> (RootDirectory, String)? in
            let path = shared.directory + "/" + subject.name.path
            guard let folder = shared.folders.folder(shared.folder), folder.configuration.kind != .receiveOnly,
                case .success(let place) = folder.boards.places.current, !place.selection.isIgnored(path)
            else { return nil }
            return (place.root, path)
        }
        do {
            try await fetching.threads.runIfActive { [cache] in
                if let (root, path) = target,
                    ThumbnailCache.write(bytes, to: path, in: root, durability: .immediate)
                {
                    return
                }
                cache.keep(bytes, as: subject.name)
            }
        } catch {
            environment.logger.debug("a thumbnail was not cached: \(error)")
        }
    }
}
