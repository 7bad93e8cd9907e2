import AsyncTools
import BlockExchange
import FolderSync
import IndexStore
import Synchronization
import ThumbnailService
import Thumbnails

/// Thumbnails of what is not here, for file managers: the program that one starts to make a thumbnail is refused the file, and
/// before it hears of that, the agent's own thumbnail is where the file manager looks next.
final class MountThumbnails: Sendable {
    /// How long a program waits at most; the mount waits a little longer.
    private static let patience = Duration.milliseconds(1500)
    private static let waitingLimit = 256
    private static let runningLimit = 32
    private static let failureLimit = 4096
    /// By then the file manager has noted that it got none.
    private static let failurePause = Duration.seconds(5)

    /// What it needs of the agent.
    struct Terms: Sendable {
        /// Nil where there are no thumbnails.
        var desktop: DesktopThumbnails?
        /// Where the folder is mounted, absolute.
        var directory: String
        /// Bytes that may come from other devices for one thumbnail, as the configuration says now; 0 for no thumbnails.
        var fetchLimit: @Sendable () -> Int64
    }

    private struct Wish: Sendable {
        var subject: ThumbnailSubject
        var place: DesktopThumbnail
        let settled = Latch()
    }

    private let terms: Terms
    private let folder: FolderID
    private let index: IndexStore
    private let clock: any Clock<Duration>
    private let wishes = BoundedQueue<Wish>(limit: waitingLimit)
    private let running = Budget(limit: runningLimit)
    private let failures = Mutex<[DesktopThumbnail]>([])
    private let failed = Signal()

    init(folder: FolderID, index: IndexStore, clock: any Clock<Duration>, terms: Terms) {
        (self.folder, self.index, self.clock, self.terms) = (folder, index, clock, terms)
    }

    /// A program that makes thumbnails was refused a version of a file. Returns when there is a thumbnail, there will be none, or it
    /// takes too long.
    ///
    /// - Throws: what reading the index throws.
    func offer(_ path: String, version: UInt64) async throws {
        guard terms.desktop != nil, let found = try await index.global(folder, path), found.isPresent,
            let file = try await index.file(folder, path), MountTree.version(of: file) == version,
            let place = DesktopThumbnail(path: terms.directory + "/" + path, modified: file.modifiedSeconds)
        else { return }
        let limit = terms.fetchLimit()
        guard limit > 0,
            let subject = ThumbnailSubject(folder: folder, file: file, holders: found.holders, fetchLimit: limit)
        else { return note(failure: place) }
        let wish = Wish(subject: subject, place: place)
        guard wishes.sendIfRoom(wish) else { return note(failure: place) }
        await wish.settled.wait(atMost: Self.patience, clock: clock)
    }

    /// Does what is asked, until the task is cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.forgetFailures() }
            while let wish = await wishes.next(), await running.take(1) {
                group.addTask {
                    await self.fulfil(wish)
                    self.running.give(1)
                }
            }
            group.cancelAll()
        }
    }

    private func fulfil(_ wish: Wish) async {
        defer { wish.settled.open() }
        do {
            if try await terms.desktop?.offer(wish.subject, as: wish.place) == true { return }
        } catch {
            // No thumbnail; `synctrain thumbnail` says why.
        }
        note(failure: wish.place)
    }

    private func note(failure place: DesktopThumbnail) {
        failures.withLock { failures in
            if failures.count < Self.failureLimit { failures.append(place) }
        }
        failed.notify()
    }

    /// A file manager never asks again for what it once got no thumbnail of. Here the reason may be another one tomorrow.
    private func forgetFailures() async {
        do {
            while true {
                await failed.wait()
                try await clock.sleep(for: Self.failurePause)
                let places = failures.withLock { failures in
                    defer { failures = [] }
                    return failures
                }
                try await terms.desktop?.forgetFailures(of: places)
            }
        } catch {
            // Cancelled: the mount is gone.
        }
    }
}
