import AgentConfiguration
import AgentContext
import AsyncTools
import BlockExchange
import Cryptography
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

    /// Called with one configuration at a time, by `ConfigurationChanges`.
    func apply(_ new: Configuration) async throws {
        let old = configuration.current
        configuration.set(new)
        pausesChanged.notify()
        rates.set(new)
        policies.set(new.policies)
        let wantedDevices = Dictionary(uniqueKeysWithValues: new.devices.map { ($0.id, $0) })
        for device in devices.all where wantedDevices[device.id] == nil {
            _ = devices.remove(device.id)
            await device.stop()
            try await index.dropDevice(device.id)
        }
        let wantedFolders = Dictionary(uniqueKeysWithValues: new.folders.map { ($0.id, $0) })
        var touched: Set<DeviceID> = []
        for folder in folders.all where wantedFolders[folder.id] == nil {
            touched.formUnion(folder.configuration.devices)
            folders.remove(folder.id)
            await folder.runner.stop()
            try await index.removeFolder(folder.id)
        }
        for wanted in new.folders {
            if let folder = folders.folder(wanted.id) {
                let old = folder.configuration
                guard old != wanted else { continue }
                touched.formUnion(old.devices)
                touched.formUnion(wanted.devices)
                try await folder.exchange.applyRoles(wanted)
                try await folderTools.threads.runIfActive { folder.configure(wanted) }
            } else {
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
        if !touched.isEmpty { devices.linkChanged() }
        radioChanged.notify()
        mountsChanged.notify()
        events.post("configuration-changed")
    }
}
