import AgentConfiguration
import AgentContext
import AsyncTools
import BlockExchange
import IndexStore
import Logging
import Phrases
import Reconciliation
import Synchronization

/// What a folder tells other devices and hears from them: which index each has of the other's, and the indexes themselves.
package final class FolderExchange: Sendable {
    /// How long announcements wait for the first scan after the agent's start, from the first of them on.
    private static let firstScanPatience: Duration = .seconds(10)

    private struct State {
        var receivingFrom: Set<DeviceID> = []
        var firstIndexes = FirstIndexes()
        /// Counts what peers announced, so that others can see whether more comes.
        var batchCount = 0
        /// Devices that said that they keep the folder encrypted; the configuration has those of earlier links.
        var untrusted: Set<DeviceID> = []
        var gaps = IndexGaps()
        /// Until when announcements wait for the first scan; nil before the first of them.
        var firstScanDeadline: MonotonicTime?
    }

    package let id: FolderID
    private let boards: FolderBoards
    private let index: IndexStore
    private let events: EventHub
    private let time: AgentTime
    private let logger: Logger
    private let state = Mutex(State())

    /// The folder's index must exist in `index`.
    init(boards: FolderBoards, index: IndexStore, events: EventHub, time: AgentTime, logger: Logger) {
        id = boards.places.configuration.id
        self.boards = boards
        self.index = index
        self.events = events
        self.time = time
        var logger = logger
        logger[metadataKey: "folder"] = "\(id)"
        self.logger = logger
    }

    private var configuration: FolderConfiguration { boards.places.configuration }

    /// Whether the index of another device is on its way.
    package var isReceiving: Bool { state.withLock { !$0.receivingFrom.isEmpty } }

    package var batchCount: Int { state.withLock { $0.batchCount } }

    // MARK: who shares

    package func isConfigured(for device: DeviceID) -> Bool { configuration.devices.contains(device) }

    /// Whether the device may have the folder unencrypted.
    package func isTrusted(_ device: DeviceID) -> Bool {
        !configuration.untrusted.contains(device) && !state.withLock { $0.untrusted.contains(device) }
    }

    package func isShared(with device: DeviceID) -> Bool { terms(for: device) == .open }

    /// How the folder is shared with a device, whatever the link between them may carry; nil: not at all.
    package func terms(for device: DeviceID) -> IndexExchange.Terms? {
        let configuration = configuration
        guard configuration.devices.contains(device) else { return nil }
        guard isTrusted(device) else { return .encryptedThere }
        return configuration.isPaused ? .paused : .open
    }

    /// The settings change. Who is no longer named as untrusted there is trusted again, because somebody removed the name.
    package func configure(from old: FolderConfiguration, to new: FolderConfiguration) {
        state.withLock { $0.untrusted.subtract(Set(old.untrusted).subtracting(new.untrusted)) }
    }

    /// The device keeps the folder encrypted: from now on it gets nothing of it, and what it announced before does not count.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`. It is distrusted anyway; some of what it announced may still
    ///   count.
    package func distrust(_ device: DeviceID) async throws {
        state.withLock { _ = $0.untrusted.insert(device) }
        try await index.dropDevice(device, in: id)
        boards.inbox.pullEverything()
    }

    /// The folder is not shared with the device any more: what it announced does not count from now on. To be called once the
    /// settings do not name it.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`. Some of what it announced may still count.
    package func forget(_ device: DeviceID) async throws {
        state.withLock { _ = $0.receivingFrom.remove(device) }
        try await index.dropDevice(device, in: id)
        boards.announcements.changed()
        boards.changes.everythingChanged()
        boards.inbox.pullEverything()
    }

    /// Makes the index refuse what devices announce that may only read. Before links exchange anything of the folder.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`. The next call does the rest.
    package func applyRoles(_ configuration: FolderConfiguration) async throws {
        let result = try await index.setReaders(
            of: id, to: Set(configuration.readers),
            writers: Set(configuration.devices).subtracting(configuration.readers), isIgnored: boards.places.ignores)
        guard result.applied > 0 else { return }
        boards.announcements.changed()
        boards.inbox.pullEverything()
    }

    // MARK: which index

    /// What a device is told of the folder, and who else shares it. Nobody but itself is told of a device that may not have the
    /// folder unencrypted: whom it introduces devices to would share the folder with that one.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func clusterConfigEntry(for device: DeviceID, localDevice: DeviceID) async throws -> ClusterConfig.Folder {
        let configuration = configuration
        // Before anybody hears of it.
        _ = try await index.noteOwnMode(
            Int64(configuration.statedMode.rawValue), in: id, at: time.wall().seconds)
        let own = try await index.localIndex(of: id)
        let last = try await index.lastAnnounced(of: id)
        var devices = [ClusterConfig.Device(id: localDevice, maxSequence: last, indexID: own.indexID)]
        for other in configuration.devices where other != localDevice && (other == device || isTrusted(other)) {
            let known = other == device ? try await index.remoteIndex(of: id, device: other) : nil
            devices.append(
                ClusterConfig.Device(
                    id: other, maxSequence: known?.maxSequence ?? 0, indexID: known?.indexID ?? .none))
        }
        // A peer that was only told less would take the folder for one that is no longer shared.
        return ClusterConfig.Folder(
            id: id, label: configuration.label, stopReason: configuration.isPaused ? 1 : 0,
            mode: configuration.statedMode, takesKeepRequests: true,
            refusesChanges: configuration.readers.contains(device), takesRenameRequests: true, devices: devices)
    }

    /// What is known of this device's index and of another one's.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func facts(of device: DeviceID) async throws -> IndexExchange.Facts {
        func position(_ state: IndexStore.IndexState) -> IndexPosition {
            IndexPosition(indexID: state.indexID, sequence: state.maxSequence)
        }
        return IndexExchange.Facts(
            own: position(try await index.localIndex(of: id)),
            peers: try await index.remoteIndex(of: id, device: device).map(position))
    }

    /// Stores which index a device has now, and what it said of it.
    ///
    /// - Parameter client: the client name of the device's Hello.
    /// - Throws: `IndexStoreError`; the folder then says that something is missing.
    package func settle(_ settlement: IndexExchange.Settlement, with device: DeviceID, client: String) async throws {
        let announced = settlement.position
        // What it says now must not be taken for the index that it had on an earlier link.
        boards.peers.set(device, nil)
        try await storing(from: device) {
            if settlement.namesWhatIsStored {
                try await index.nameRemoteIndex(of: id, device: device, as: announced.indexID)
            } else {
                try await index.setRemoteIndex(of: id, device: device, to: announced.indexID)
            }
            let mode = PeerMode(
                settlement.mode, takesKeepRequests: settlement.takesKeepRequests, client: client)
            try await index.noteMode(mode.rawValue, of: device, in: id)
        }
        let known = try await index.remoteIndex(of: id, device: device)?.maxSequence ?? 0
        state.withLock { state in
            state.firstIndexes.exchange(
                with: device, index: announced.indexID, known: known, announced: announced.sequence)
            state.gaps.exchange(with: device, known: known, announced: announced.sequence)
        }
        boards.peers.set(
            device, IndexStore.IndexState(indexID: announced.indexID, maxSequence: announced.sequence),
            takesKeepRequests: settlement.takesKeepRequests)
        if boards.peers.note(device, refusesChanges: settlement.refusesChanges) { boards.changes.everythingChanged() }
    }

    /// Forgets which index of a device is stored: another one comes that has no name yet, or a part of it is missing. What is
    /// stored stays until the index comes from the start.
    ///
    /// - Throws: `IndexStoreError`; the folder then says that something is missing. `CancellationError`.
    package func forgetIndexName(of device: DeviceID) async throws {
        guard try await index.remoteIndex(of: id, device: device) != nil else { return }
        try await storing(from: device) { try await index.nameRemoteIndex(of: id, device: device, as: .none) }
    }

    /// The link with the device is over, or it shares the folder no longer.
    package func linkEnded(with device: DeviceID) {
        // The link may have broken in the middle of a message.
        state.withLock { _ = $0.receivingFrom.remove(device) }
        boards.peers.ended(device, at: time.monotonic())
    }

    // MARK: the indexes

    /// Returns when the folder was scanned since the agent started, or a while after the first call. To be called before `apply`.
    ///
    /// The while is one for all: a scan may take hours, and an index has hundreds of parts.
    ///
    /// A process that was killed may have put a version into its place and not noted it. The first scan takes the file for that
    /// version as long as the index has it; once a newer one is announced, it would be taken for a change made here.
    package func waitForFirstScan() async {
        let now = time.monotonic()
        let deadline = state.withLock { state in
            let deadline = state.firstScanDeadline ?? now + Self.firstScanPatience
            state.firstScanDeadline = deadline
            return deadline
        }
        guard deadline > now else { return }
        await boards.inbox.firstScan.wait(atMost: deadline - now, clock: time.clock)
    }

    /// Stores what a device announced.
    ///
    /// - Throws: `IndexStoreError`. The folder then says that something is missing; not with `tooManyEntries` and
    ///   `tooManyEntryBytes`, for which the device is to be paused, and asked for its index from the start when it is
    ///   resumed. `CancellationError`, and the batch may be stored.
    package func apply(_ batch: IndexBatch, from device: DeviceID) async throws {
        let isNews = state.withLock { state in
            state.batchCount += 1
            if batch.isLast { state.receivingFrom.remove(device) } else { state.receivingFrom.insert(device) }
            return state.firstIndexes.isNews(batch, from: device)
        }
        boards.inbox.announcementArrived.notify()
        let ignores = boards.places.ignores
        let names = isNews ? batch.files.map(\.name) : []
        let (result, log) = try await storing(from: device) {
            try await ChangeNotes.noting(names, in: index, id, at: events.now.seconds) {
                try await index.applyIndex(
                    of: id, device: device, files: batch.files, replacesAll: batch.isFullIndex && batch.isFirst,
                    isIgnored: ignores)
            }
        }
        state.withLock { $0.gaps.stored(from: device, through: result.remoteSequence) }
        logger.trace("index", metadata: ["entries": "\(result.applied)", "sequence": "\(result.remoteSequence)"])
        boards.announcements.changed()
        if batch.isFullIndex {
            boards.changes.everythingChanged()
        } else {
            boards.changes.changed(result, names: batch.files.map(\.name))
        }
        noteDeletions(batch.files, from: device)
        if batch.isFullIndex {
            // Names that it no longer has may be other than before, too.
            boards.inbox.pullEverything()
        } else if result.changedCount > 0 {
            boards.inbox.pull(batch.files.map(\.name))
        } else {
            // A deletion that loses changes nothing, and is to be answered all the same: see `LocalChanges.outliving`.
            let deleted = batch.files.filter { $0.isDeleted && !$0.isInvalid }.map(\.name)
            if !deleted.isEmpty { boards.inbox.pull(deleted) }
        }
        await record(log)
        events.post("index-updated", device: device, folder: id)
    }

    /// Runs `body`, which stores what `device` announced. If that cannot be stored the folder says so until it is. A device that
    /// announces more than it may begins again when it is resumed.
    private func storing<Result>(from device: DeviceID, _ body: () async throws -> Result) async throws -> Result {
        do {
            let result = try await body()
            // Sharing ended while this was stored: `forget` may not have seen it.
            if !isConfigured(for: device) { try await forget(device) }
            return result
        } catch let error as IndexStoreError where error.isOverQuota {
            state.withLock { _ = $0.receivingFrom.remove(device) }
            try await index.nameRemoteIndex(of: id, device: device, as: .none)
            throw error
        } catch let error as IndexStoreError where error.isAboutStoring {
            noteGap(
                of: device,
                Phrase("\(error.text); it resumes automatically then, or at once with `synctrain fetch`"))
            throw error
        }
    }

    /// Something that a device announced is not stored.
    private func noteGap(of device: DeviceID, _ reason: Phrase) {
        let isNew = state.withLock { state in
            defer { state.gaps.failed(from: device, reason: reason) }
            // What was begun is not received any more.
            state.receivingFrom.remove(device)
            return state.gaps.reason(among: [device]) != reason
        }
        if isNew { logger.error("\(reason)") }
        events.post("folder-changed", folder: id)
    }

    /// Why something that the folder's devices announced is not stored; nil if all is.
    package var gap: Phrase? {
        let devices = configuration.devices
        return state.withLock { $0.gaps.reason(among: devices) }
    }

    private func noteDeletions(_ files: [FileInfo], from device: DeviceID) {
        guard configuration.role(of: device) != .read, files.contains(where: \.isDeleted) else { return }
        // That others know of a deletion made here changes nothing that is needed, but a line of the selection may wait for it.
        if case .success(let place) = boards.places.current, !place.moved.isEmpty {
            let moved = Set(place.moved)
            let names = files.filter { $0.isDeleted && moved.contains($0.name) }.map(\.name)
            if !names.isEmpty { boards.inbox.pull(names) }
        }
        guard configuration.kind == .sendReceive else { return }
        boards.inbox.note(deletions: files.filter { $0.isDeleted && !$0.isInvalid })
    }

    /// Keeps what happened for `synctrain log`; that it cannot be kept stops nothing.
    private func record(_ changes: [RecordedChange]) async {
        guard !changes.isEmpty else { return }
        do {
            try await index.record(changes, in: id)
        } catch {
            logger.warning("changes cannot be recorded for `synctrain log`: \(error)")
        }
        events.post("files-changed", folder: id)
    }

    /// Our own index after a sequence, as it is announced.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func updates(after sequence: Int64, limit: Int) async throws -> [FileInfo] {
        try await index.localUpdates(of: id, after: sequence, limit: limit)
    }

    /// A signal for every change of our own index, until `unsubscribe`.
    package func subscribe() -> Signal { boards.announcements.subscribe() }

    /// Has `signal` notified of every change of our own index, until `unsubscribe`.
    package func subscribe(_ signal: Signal) { boards.announcements.subscribe(signal) }

    package func unsubscribe(_ signal: Signal) { boards.announcements.unsubscribe(signal) }
}
