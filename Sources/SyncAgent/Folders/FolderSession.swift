import AgentConfiguration
import BlockExchange
import ControlAPI
import Cryptography
import FileAccess
import IndexStore
import Logging
import NIOCore
import NIOPosix
import Reconciliation
import Selection
import Synchronization

/// One folder: its index, what of it is selected, and its place on this disk.
final class FolderSession: Sendable {
    private struct State {
        var configuration: FolderConfiguration
        var place: Result<FolderPlace, FolderHalt>
        var receivingFrom: Set<DeviceID> = []
        /// Counts what peers announced, so that others can see whether more comes.
        var batchCount = 0
        var subscribers: [ObjectIdentifier: Signal] = [:]
        var engine: FolderEngine?
        var firstIndexes = FirstIndexes()
        /// Devices that said that they keep the folder encrypted; the configuration has those of earlier links.
        var untrusted: Set<DeviceID> = []
        /// What the connected devices say of their index on this link: up to where it goes.
        var announcedIndexes: [DeviceID: IndexStore.IndexState] = [:]

        func isTrusted(_ device: DeviceID) -> Bool {
            !untrusted.contains(device) && !configuration.untrusted.contains(device)
        }
        var gaps = IndexGaps()
    }

    let id: FolderID
    let index: IndexStore
    private let state: Mutex<State>
    let served = ServedBlocks()
    let threads: NIOThreadPool
    private let interposer: (any DiskInterposer)?
    let events: EventHub
    let logger: Logger

    /// The folder's index must exist in `index`.
    ///
    /// - Parameter interposer: Asked before anything in the folder is changed; for simulations.
    init(
        _ configuration: FolderConfiguration, index: IndexStore, threads: NIOThreadPool, events: EventHub,
        logger: Logger, interposer: (any DiskInterposer)? = nil
    ) {
        id = configuration.id
        self.index = index
        self.threads = threads
        self.interposer = interposer
        self.events = events
        var logger = logger
        logger[metadataKey: "folder"] = "\(configuration.id)"
        self.logger = logger
        state = Mutex(
            State(configuration: configuration, place: FolderPlace.open(configuration, interposer: interposer)))
        if case .failure(let problem) = state.withLock({ $0.place }) { logger.error("\(problem.message)") }
    }

    var configuration: FolderConfiguration { state.withLock { $0.configuration } }

    /// What works on the folder; nil before it was started and after it was removed.
    var engine: FolderEngine? {
        get { state.withLock { $0.engine } }
        set { state.withLock { $0.engine = newValue } }
    }

    /// Takes new settings; the root and the selection are opened anew.
    func configure(_ configuration: FolderConfiguration) {
        state.withLock { state in
            // Who is no longer named there is trusted again, because somebody removed the name.
            state.untrusted.subtract(Set(state.configuration.untrusted).subtracting(configuration.untrusted))
            state.configuration = configuration
            state.place = FolderPlace.open(configuration, interposer: interposer)
        }
        engine?.configure(configuration)
        engineChanged()
    }

    /// There is more to be read of what changed.
    func changesNoted() { events.post("files-changed", folder: id) }

    /// What `status` says of the folder is other than before.
    func engineChanged() { events.post("folder-changed", folder: id) }

    /// The folder on this disk, with the selection as the file has it now.
    func place() -> Result<FolderPlace, FolderHalt> {
        state.withLock { state in
            if case .success(let place) = state.place, place.isCurrent { return state.place }
            state.place = FolderPlace.open(state.configuration, interposer: interposer)
            return state.place
        }
    }

    /// The folder on this disk for a change of its mode, which is one way out when its ignore file was lost.
    func placeToConvert() throws(FolderHalt) -> FolderPlace {
        var configuration = configuration
        configuration.mode = .full
        return try FolderPlace.open(configuration, interposer: interposer).get()
    }

    func isConfigured(for device: DeviceID) -> Bool { state.withLock { $0.configuration.devices.contains(device) } }

    /// Whether the device may have the folder unencrypted.
    func isTrusted(_ device: DeviceID) -> Bool { state.withLock { $0.isTrusted(device) } }

    func isShared(with device: DeviceID) -> Bool {
        state.withLock {
            !$0.configuration.isPaused && $0.configuration.devices.contains(device) && $0.isTrusted(device)
        }
    }

    /// The device keeps the folder encrypted: from now on it gets nothing of it, and what it announced before does not count.
    func distrust(_ device: DeviceID) async throws {
        state.withLock { _ = $0.untrusted.insert(device) }
        try await index.dropDevice(device, in: id)
        engine?.indexChanged()
    }

    // MARK: index exchange

    func clusterConfigEntry(for device: DeviceID, localDevice: DeviceID) async throws -> ClusterConfig.Folder {
        let configuration = configuration
        let own = try await index.localIndex(of: id)
        let last = try await index.lastAnnounced(of: id)
        var devices = [ClusterConfig.Device(id: localDevice, maxSequence: last, indexID: own.indexID)]
        for other in configuration.devices where other != localDevice {
            let known = other == device ? try await index.remoteIndex(of: id, device: other) : nil
            devices.append(
                ClusterConfig.Device(
                    id: other, maxSequence: known?.maxSequence ?? 0, indexID: known?.indexID ?? .none))
        }
        // A peer that was only told less would take the folder for one that is no longer shared.
        return ClusterConfig.Folder(
            id: id, label: configuration.label, stopReason: configuration.isPaused ? 1 : 0,
            mode: configuration.mode == .full ? .full : .selective, devices: devices)
    }

    /// Settles with a device who needs what of the other's index.
    ///
    /// - Parameters:
    ///   - itKnows: its entry for this device: what it has of our index.
    ///   - itHas: its entry for itself.
    ///   - mode: how much of the folder it keeps.
    ///   - isUnnamed: its index came before this entry, which says which index that was.
    func exchangeIndexes(
        with device: DeviceID, itKnows: ClusterConfig.Device, itHas: ClusterConfig.Device, mode: PeerMode,
        isUnnamed: Bool = false
    ) async throws -> IndexFeed? {
        // What it says now must not be taken for the index that it had on an earlier link.
        state.withLock { $0.announcedIndexes[device] = nil }
        try await storing(from: device) {
            if isUnnamed, try await index.remoteIndex(of: id, device: device) == nil {
                try await index.nameRemoteIndex(of: id, device: device, as: itHas.indexID)
            } else {
                try await index.setRemoteIndex(of: id, device: device, to: itHas.indexID)
            }
            try await index.noteMode(mode.rawValue, of: device, in: id)
        }
        let known = try await index.remoteIndex(of: id, device: device)?.maxSequence ?? 0
        state.withLock { state in
            state.firstIndexes.exchange(with: device, known: known, announced: itHas.maxSequence)
            state.gaps.exchange(with: device, known: known, announced: itHas.maxSequence)
            state.announcedIndexes[device] = IndexStore.IndexState(
                indexID: itHas.indexID, maxSequence: itHas.maxSequence)
        }
        let own = try await index.localIndex(of: id)
        let continues = itKnows.indexID == own.indexID && (0...own.maxSequence).contains(itKnows.maxSequence)
        let after = continues ? itKnows.maxSequence : 0
        return IndexFeed(folder: self, after: after, isFull: after == 0)
    }

    /// The link with the device is over: nothing that it said holds until it says it again.
    func linkEnded(with device: DeviceID) { state.withLock { $0.announcedIndexes[device] = nil } }

    /// Which devices count as copies now.
    func copyRule() async throws -> CopyRule {
        let (configuration, announced) = state.withLock { ($0.configuration, $0.announcedIndexes) }
        let modes = try await index.modes(in: id)
        var rule = CopyRule(isFull: configuration.mode == .full, peers: [:])
        for device in configuration.devices {
            var peer = CopyRule.Peer(mode: modes[device].flatMap(PeerMode.init) ?? .unknown)
            if let announced = announced[device], let known = try await index.remoteIndex(of: id, device: device) {
                peer.isCurrent = known.indexID == announced.indexID && known.maxSequence >= announced.maxSequence
            }
            rule.peers[device] = peer
        }
        return rule
    }

    /// Stores what a device announced.
    func apply(_ batch: IndexBatch, from device: DeviceID) async throws {
        state.withLock { state in
            state.batchCount += 1
            if batch.isLast { state.receivingFrom.remove(device) } else { state.receivingFrom.insert(device) }
        }
        let ignores = ignores()
        let names = state.withLock { $0.firstIndexes.isNews(batch, from: device) } ? batch.files.map(\.name) : []
        let result = try await storing(from: device) {
            try await notingChanges(of: names) {
                try await index.applyIndex(
                    of: id, device: device, files: batch.files, replacesAll: batch.isFullIndex && batch.isFirst,
                    isIgnored: ignores)
            }
        }
        state.withLock { $0.gaps.stored(from: device, through: result.remoteSequence) }
        logger.trace("index", metadata: ["entries": "\(result.applied)", "sequence": "\(result.remoteSequence)"])
        ownIndexChanged()
        if configuration.role(of: device) != .read { engine?.deletionsAnnounced(batch.files) }
        if batch.isFullIndex {
            // Names that it no longer has may be other than before, too.
            engine?.indexChanged()
        } else if result.changedCount > 0 {
            engine?.indexChanged(at: batch.files.map(\.name))
        } else {
            // A deletion that loses changes nothing, and is to be answered all the same: see `LocalChanges.outliving`.
            let deleted = batch.files.filter { $0.isDeleted && !$0.isInvalid }.map(\.name)
            if !deleted.isEmpty { engine?.indexChanged(at: deleted) }
        }
        events.post("index-updated", device: device, folder: id)
    }

    /// Something that a device announced is not stored.
    func noteGap(of device: DeviceID, _ reason: String) {
        let isNew = state.withLock { state in
            defer { state.gaps.failed(from: device, reason: reason) }
            // What was begun is not received any more.
            state.receivingFrom.remove(device)
            return state.gaps.reason(among: [device]) != reason
        }
        if isNew { logger.error("\(reason)") }
        engineChanged()
    }

    /// Our own index after a sequence, as it is announced.
    func updates(after sequence: Int64, limit: Int) async throws -> [FileInfo] {
        try await index.localUpdates(of: id, after: sequence, limit: limit)
    }

    /// Returns once no announcement came from anyone for a moment, or after a second of them.
    ///
    /// Every name that is not kept is announced back as such: while a large index comes in, answering each batch at once
    /// would cost as much as taking it in. `seen` is what the caller knew the last time: nothing new, no wait.
    func quietMoment(since seen: inout Int, clock: any Clock<Duration>) async {
        var now = state.withLock { $0.batchCount }
        for _ in 0..<33 where now != seen {
            seen = now
            guard (try? await clock.sleep(for: .milliseconds(30))) != nil else { return }
            now = state.withLock { $0.batchCount }
        }
        seen = now
    }

    /// A signal for every change of our own index, until `unsubscribe`.
    func subscribe() -> Signal {
        let signal = Signal()
        state.withLock { $0.subscribers[ObjectIdentifier(signal)] = signal }
        return signal
    }

    func unsubscribe(_ signal: Signal) {
        state.withLock { _ = $0.subscribers.removeValue(forKey: ObjectIdentifier(signal)) }
    }

    /// There may be something to announce.
    func ownIndexChanged() {
        for signal in state.withLock({ Array($0.subscribers.values) }) { signal.notify() }
    }

    /// Which names are not wanted. Without a readable selection nothing is: nothing is fetched by mistake, and nothing
    /// is lost, because what is ignored is only announced as not kept.
    func ignores() -> @Sendable (String) -> Bool {
        switch place() {
        case .success(let place): return { place.selection.isLeftOut($0) }
        case .failure: return { _ in true }
        }
    }

    // MARK: what is here

    /// A file that was fetched into its place: from now on known to be on this disk.
    func fetched(_ file: FileInfo, _ status: FileAccess.FileStatus, isSelected: Bool) async {
        let entry = LocalEntry(
            file: file, flags: isSelected ? [] : .ignored, status: IndexedStatus(status))
        do {
            _ = try await index.applyLocal(in: id, [.set(entry)], isIgnored: ignores())
        } catch {
            // The file is in its place and whole; the next look at the folder finds it.
            logger.warning("cannot note that \(file.name) was fetched: \(error)")
        }
        ownIndexChanged()
        engine?.indexChanged(at: [file.name])
    }

    func status() async -> FolderStatus {
        let (configuration, receives) = state.withLock { ($0.configuration, !$0.receivingFrom.isEmpty) }
        let activity = engine?.activity.snapshot ?? FolderActivity.Snapshot()
        var halt = activity.halt
        let place = place()
        switch place {
        case .failure(let failure): halt = halt ?? failure
        case .success:
            // What was wrong with the place is right again, and the engine has not noticed yet.
            guard let reason = halt?.reason, [.rootMissing, .markerMissing, .selection].contains(reason) else { break }
            engine?.scanEverythingSoon()
            halt = nil
        }
        if let gap = state.withLock({ $0.gaps.reason(among: configuration.devices) }) {
            halt = halt ?? FolderHalt(reason: .error, message: gap)
            halt?.isIndexIncomplete = true
        }
        var totals = FolderTotals()
        var refused = 0
        do {
            totals = try await index.totals(of: id)
            let hidden = try await InternalContent.sums(in: id, index, try? place.get().selection)
            totals.global -= hidden.below
            totals.local -= hidden.present
            refused = try await index.refusedCount(in: id, limit: FolderEngine.refusedLimit).count
        } catch {
            halt = FolderHalt(reason: .error, message: "\(error)", isIndexIncomplete: true)
        }
        let need = activity.need
        let state: FolderState =
            if configuration.isPaused {
                .paused
            } else if let halt {
                FolderState(rawValue: halt.reason.rawValue)
            } else if receives {
                .receivingIndex
            } else if activity.isShortOfSpace, need != NeededTotals() {
                .lowSpace
            } else {
                engine?.condition ?? .starting
            }
        var needTotals = need.items.asTotals
        needTotals.deletions = need.deletions
        return FolderStatus(
            id: id.rawValue, label: configuration.label, path: configuration.path, mode: configuration.mode.rawValue,
            type: configuration.kind.rawValue, state: state.rawValue, message: message(state, halt),
            devices: configuration.devices.map(\.description), global: totals.global.asTotals,
            local: totals.local.asTotals, need: needTotals, extraneous: activity.extraneous,
            conflicts: activity.conflicts, errors: Int64(activity.problemCount),
            problems: activity.firstProblems(FolderStatus.problemLimit).map {
                FolderProblem(path: $0.path, message: $0.message)
            },
            watch: configuration.isPaused
                ? nil
                : FolderStatus.Watch(
                    state: activity.watch.state, message: activity.watch.message,
                    watched: Int64(activity.watch.watched)),
            waiting: activity.waiting.map {
                FolderStatus.Waiting(
                    files: $0.files, bytes: $0.bytes, message: $0.obstacle.text(folder: id.rawValue),
                    reason: $0.obstacle.reason)
            }, bluetooth: configuration.bluetooth.rawValue, bluetoothLimit: configuration.bluetoothLimit,
            lastScan: activity.lastScan?.rfc3339,
            refused: Int64(refused), roles: configuration.rolesByDevice,
            isIncomplete: halt?.isIndexIncomplete ?? false)
    }

    private func message(_ state: FolderState, _ halt: FolderHalt?) -> String? {
        if let halt { return halt.message }
        guard state == .lowSpace else { return nil }
        return "the disk has less free than what is needed and minimum-free ask for; free some space, or deselect files"
    }
}

extension Aggregate {
    var asTotals: FolderStatus.Totals { FolderStatus.Totals(files: files, directories: directories, bytes: bytes) }
}
