import AsyncTools
import BlockExchange
import Fetching
import FileAccess
import FolderSync
import IndexStore
import MountProtocol
import Names
import Reconciliation
import SyncDecisions
import Synchronization

/// Renames for a program what is not on this disk, or not all of it: a device that has it does, and announces it. No content is
/// sent. docs/decisions/mount.md.
final class AbsentRename: Sendable {
    /// How often is looked whether the new name is here: what the index says may come before the disk has it.
    private static let lookPause: Duration = .milliseconds(200)

    private let folder: Folder
    private let entries: EntrySource
    private let listing: MountListing
    private let breaker = Mutex(RenameBreaker())

    init(folder: Folder, entries: EntrySource, listing: MountListing) {
        self.folder = folder
        self.entries = entries
        self.listing = listing
    }

    private var clock: any Clock<Duration> { entries.fetching.time.clock }
    private func now() -> MonotonicTime { entries.fetching.time.monotonic() }

    /// Returns once this device sees the new name and no old one.
    ///
    /// - Throws: `MountFailure`: `absent` if nothing was changed and the program is to copy, `busy` while something of it is written to,
    ///   `silence` if it is not known what came of it; `IgnoreError`; what index and disk say; `CancellationError`.
    func run(_ from: RelativePath, to: RelativePath) async throws {
        let deadline = now() + RenameAsking.limit
        guard !to.isBelow(from), !from.isBelow(to) else { throw MountFailure.invalid }
        let context = try folder.runner.reading()
        try context.requireSelectable(to.text)
        if let parent = to.parent, try await entries.index.global(folder.id, parent.text)?.isPresent != true {
            throw MountFailure.absent
        }
        guard let tree = try await RenameTree(at: from, in: context) else { throw MountFailure.absent }
        guard !tree.isOpen else { throw MountFailure.busy }
        // What nobody else has yet would stay behind.
        guard tree.isUnchanged else { throw MountFailure.absent }
        let request = RenameRequest(
            folder: folder.id, from: from.text, to: to.text, nameCount: tree.nameCount, digest: tree.digest)
        try await ask(request, try await devices(tree.holders), deadline)
        try await waitUntilSeen(from.text, to: to.text, deadline)
    }

    /// Those who can be asked, full ones first.
    private func devices(_ holders: Set<DeviceID>) async throws -> [DeviceID] {
        let modes = try await entries.index.modes(in: folder.id)
        let now = now()
        let breaker = breaker.withLock { $0 }
        let askable = entries.fetching.sessions(holders.sorted()).filter {
            $0.value.isOpen && $0.value.takesRenames(in: folder.id) && breaker.mayAsk($0.key, at: now)
        }
        func rank(_ device: DeviceID) -> Int { modes[device] == PeerMode.full.rawValue ? 0 : 1 }
        return askable.keys.sorted { (rank($0), $0) < (rank($1), $1) }
    }

    /// Returns once a device has renamed it.
    private func ask(_ request: RenameRequest, _ devices: [DeviceID], _ deadline: MonotonicTime) async throws {
        var asking = RenameAsking(devices)
        var action = asking.begin()
        while true {
            switch action {
            case .done: return
            case .nobody: throw MountFailure.absent
            case .unknown(let device):
                breaker.withLock { $0.failed(device, at: now()) }
                throw MountFailure.silence
            case .askAgain(let device, let pause):
                try await clock.sleep(for: pause)
                action = asking.next(after: try await event(of: request, to: device, deadline))
            case .ask(let device): action = asking.next(after: try await event(of: request, to: device, deadline))
            }
        }
    }

    private func event(
        of request: RenameRequest, to device: DeviceID, _ deadline: MonotonicTime
    ) async throws -> RenameAsking.Event {
        let patience = min(RenameAsking.patience, deadline - now())
        guard patience > .zero, let source = entries.fetching.sessions([device])[device] else { return .notAsked }
        do {
            let answer = try await clock.within(patience) { try await source.rename(request) }
            breaker.withLock { $0.answered(device) }
            return .answered(answer.outcome)
        } catch RequestError.refused {
            return .notAsked
        } catch is RequestError {
            return .noAnswer
        }
    }

    /// What is renamed elsewhere is announced, and of what is here this device gives the files their new names.
    private func waitUntilSeen(_ from: String, to: String, _ deadline: MonotonicTime) async throws {
        let signal = Signal()
        let stream = folder.boards.changes.changes()
        let (listing, clock) = (listing, clock)
        let isSeen = try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                for await _ in stream { signal.notify() }
                try Task.checkCancellation()
                return false
            }
            group.addTask { [self] in
                while true {
                    if try await listing.look(from) == nil, try await listing.look(to) != nil { return true }
                    guard now() < deadline else { return false }
                    await signal.wait(atMost: Self.lookPause, clock: clock)
                    try Task.checkCancellation()
                }
            }
            defer { group.cancelAll() }
            return try await group.next() ?? false
        }
        guard isSeen else { throw MountFailure.silence }
    }
}
