import AgentConfiguration
import AgentContext
import AsyncTools
import BlockExchange
import Cryptography
import Fetching
import FolderSync
import IndexStore
import PeerLinks

/// Makes the sessions of devices and folders what the configuration says.
struct SessionKeeper: Sendable {
    let configuration: RunningConfiguration
    let rates: AgentRates
    let policies: PolicyBoard
    let folders: FolderRegistry
    let devices: DeviceRegistry
    let index: IndexStore
    let cache: BlockCache
    let invitations: InvitationBoard
    let events: EventHub
    /// Runs the sessions.
    let tasks: AgentTasks
    let folderTools: FolderTools
    let linkEnvironment: LinkEnvironment
    /// The program that watches directories; nil for scans only.
    let watchProgram: String?
    /// Notified when pauses may end at another time.
    let pausesChanged: Signal
    /// Notified when the folders to mount, or the settings of mounts, may have changed.
    let mountsChanged: Signal
    /// Notified when other devices may be absent.
    let radioChanged: Signal

    /// Called with one configuration at a time, by `ConfigurationChanges`; before that once, at the start.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`. If only the index could not be brought in line, all else is done, and the
    ///   next call does the rest.
    func apply(_ new: Configuration, _ reason: ConfigurationReason) async throws {
        let old = configuration.current
        configuration.set(new)
        pausesChanged.notify()
        rates.set(new)
        policies.set(new.policies)
        // Where some ran, it was asked whether none is meant.
        let trust = IndexLeftovers.Trust(
            hasNoFolders: reason == .confirmed || !folders.all.isEmpty,
            hasNoDevices: reason == .confirmed || !devices.all.isEmpty)
        var failure: (any Error)?
        do {
            try await invitations.settle(from: old, to: new, in: index)
        } catch {
            failure = error
            if reason == .start {
                folderTools.logger.error("used invitations could not be settled: \(error)")
                failure = nil
            }
        }
        let wantedDevices = Dictionary(uniqueKeysWithValues: new.devices.map { ($0.id, $0) })
        for device in devices.all where wantedDevices[device.id] == nil {
            _ = devices.remove(device.id)
            await device.stop()
        }
        let wantedFolders = Dictionary(uniqueKeysWithValues: new.folders.map { ($0.id, $0) })
        var touched: Set<DeviceID> = []
        for folder in folders.all where wantedFolders[folder.id] == nil {
            touched.formUnion(folder.configuration.devices)
            folders.remove(folder.id)
            await folder.runner.stop()
        }
        // Another folder may get the id of one that was removed.
        try await folderTools.threads.runIfActive { [cache] in cache.removeAll(but: Set(wantedFolders.keys)) }
        for wanted in new.folders {
            guard let folder = folders.folder(wanted.id), folder.configuration != wanted else { continue }
            touched.formUnion(folder.configuration.devices)
            touched.formUnion(wanted.devices)
            try await folder.exchange.applyRoles(wanted)
            try await folderTools.threads.runIfActive { folder.configure(wanted) }
        }
        // What is not shared any more must not be sent while the index drops what was announced of it.
        for id in touched { await devices.device(id)?.announceFolders() }
        let isReshared = !touched.isEmpty
        touched = []
        failure = await removeLeftovers(of: new, trust, reason) ?? failure
        for wanted in new.folders where folders.folder(wanted.id) == nil {
            try await index.addFolder(
                wanted.id, newIndexID: IndexID(rawValue: SecureRandom.uint64()), label: wanted.label)
            let folder = try await folderTools.threads.runIfActive {
                Folder(
                    wanted, index: index, tools: folderTools, events: events, watchProgram: watchProgram,
                    isExclusive: true)
            }
            try await folder.exchange.applyRoles(wanted)
            folders.insert(folder)
            tasks.start { await folder.runner.run() }
            touched.formUnion(wanted.devices)
        }
        for wanted in new.devices {
            if let device = devices.device(wanted.id) {
                if device.state.bluetooth != wanted.bluetooth { touched.insert(wanted.id) }
                await device.configure(wanted)
            } else {
                let lastSeen = try await index.lastSeen()[wanted.id].map { WallTime(seconds: $0) }
                let device = DeviceSession(wanted, lastSeen: lastSeen, environment: linkEnvironment)
                devices.insert(device)
                tasks.start { await device.run() }
            }
        }
        for id in touched { await devices.device(id)?.announceFolders() }
        for id in FollowedDevices.gaining(from: old, to: new) { await devices.device(id)?.hearAgain() }
        // What waits for a network may come over Bluetooth now, or the other way round.
        if isReshared || !touched.isEmpty { devices.linkChanged() }
        radioChanged.notify()
        mountsChanged.notify()
        events.post("configuration-changed")
        if let failure { throw failure }
    }

    /// Removes from the index what the configuration does not name; gives what was in the way of that, which at the start is only
    /// logged. The rows of folders go beside all else.
    private func removeLeftovers(
        of configuration: Configuration, _ trust: IndexLeftovers.Trust, _ reason: ConfigurationReason
    ) async -> (any Error)? {
        do {
            let leftovers = IndexLeftovers(
                known: try await index.knownDevices(), seen: Set(try await index.lastSeen().keys), in: configuration,
                added: reason.added, trust)
            warn(of: leftovers)
            for folder in leftovers.folders {
                // It was removed by its user, in an editor perhaps: no admin's offer brings it back.
                if !reason.added.contains(folder) { try await index.setDeclined(folder, true) }
                try await index.beginRemoval(of: folder)
            }
            if reason == .start || !leftovers.folders.isEmpty { tasks.start { await finishRemovals() } }
            for share in leftovers.shares {
                if let folder = folders.folder(share.folder) {
                    try await folder.exchange.forget(share.device)
                } else {
                    try await index.dropDevice(share.device, in: share.folder)
                }
            }
            for device in leftovers.devices { try await index.dropDevice(device) }
            return nil
        } catch {
            guard reason == .start else { return error }
            folderTools.logger.error("what was removed from the configuration is still in the index: \(error)")
            return nil
        }
    }

    private func finishRemovals() async {
        do {
            try await index.finishRemovals()
        } catch is CancellationError {
            // The next start goes on with it.
        } catch {
            folderTools.logger.error("removed folders are still in the index: \(error)")
        }
    }

    private func warn(of leftovers: IndexLeftovers) {
        let kept = [
            ("folders", leftovers.keptFolders.map(\.rawValue)),
            ("devices", leftovers.keptDevices.sorted().map { "\($0.shortID)" }),
        ]
        for (kind, names) in kept where !names.isEmpty {
            folderTools.logger.warning(
                "config.toml names no \(kind); `synctrain reload --yes` removes these from the index, too: \(names.joined(separator: ", "))"
            )
        }
    }
}
