import AgentConfiguration
import BlockExchange
import FolderSync
import Logging

/// The folders as one device has them over one link: what it is told of them, and what becomes of what it says.
struct SharedFolders: Sendable {
    let device: DeviceID
    let localDevice: DeviceID
    /// What this device is called.
    let deviceName: @Sendable () -> String
    /// All that this one knows.
    let knownDevices: @Sendable () -> [DeviceConfiguration]
    let folders: FolderRegistry
    /// Whether the link may carry the index of a folder now.
    let mayCarry: @Sendable (FolderID) -> Bool
    /// What the device says that it is, in its Hello.
    let client: @Sendable () -> String
    /// Notes for good that the device keeps a folder encrypted; does not wait.
    let distrust: @Sendable (FolderID) -> Void
    let logger: Logger

    /// How each folder is shared with the device over the link.
    func terms() -> [FolderID: IndexExchange.Terms] {
        var terms: [FolderID: IndexExchange.Terms] = [:]
        for folder in folders.all { terms[folder.id] = self.terms(of: folder) }
        return terms
    }

    func terms(of folder: FolderID) -> IndexExchange.Terms? { folders.folder(folder).flatMap(terms) }

    private func terms(of folder: Folder) -> IndexExchange.Terms? {
        switch folder.exchange.terms(for: device) {
        case .open where !mayCarry(folder.id), .paused where !mayCarry(folder.id): .withheld
        case let terms: terms
        }
    }

    /// What is known of the indexes of each folder with open terms.
    func facts(_ terms: [FolderID: IndexExchange.Terms]) async throws -> [FolderID: IndexExchange.Facts] {
        var facts: [FolderID: IndexExchange.Facts] = [:]
        for (id, terms) in terms where terms == .open {
            facts[id] = try await folders.folder(id)?.exchange.facts(of: device)
        }
        return facts
    }

    /// What the device is told: every folder shared with it, this device and it in each; of one that is paused, that it is.
    func clusterConfig() async throws -> ClusterConfig {
        var config = ClusterConfig(takesReachTests: true)
        let known = Dictionary(knownDevices().map { ($0.id, $0) }) { first, _ in first }
        let name = deviceName()
        for folder in folders.all {
            guard let terms = terms(of: folder), terms == .open || terms == .paused else { continue }
            var entry = try await folder.exchange.clusterConfigEntry(for: device, localDevice: localDevice)
            for index in entry.devices.indices {
                let id = entry.devices[index].id
                if id == localDevice { entry.devices[index].describeItself(name) }
                if let configuration = known[id] { entry.devices[index].describe(configuration) }
            }
            config.folders.append(entry)
        }
        return config
    }

    /// Performs what the exchange of indexes asks for; to announce is the link's part.
    func perform(_ action: IndexExchange.Action) async throws {
        switch action {
        case .announce: break
        case .offer(let folder, let label):
            await folders.pending.offered([FolderOffer(folder: folder, label: label, device: device)])
        case .distrust(let id):
            guard let folder = folders.folder(id)?.exchange else { return }
            // What an encrypted folder holds cannot be read here, and the device must never get what is here.
            if folder.isTrusted(device) {
                logger.warning(
                    "\(device.shortID) keeps the folder \(id) encrypted, so this device does not send it unencrypted")
            }
            try await folder.distrust(device)
            distrust(id)
        case .settle(let settlement):
            try await folders.folder(settlement.folder)?.exchange.settle(
                settlement, with: device, client: client())
        case .release(let folder): folders.folder(folder)?.exchange.linkEnded(with: device)
        }
    }
}
