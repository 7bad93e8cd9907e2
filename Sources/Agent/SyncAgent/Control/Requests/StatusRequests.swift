import AgentConfiguration
import AgentContext
import BlockExchange
import ControlAPI
import Fetching
import FolderSync
import IndexStore
import PeerLinks
import ThumbnailService
import Transport

/// Says how the agent, its folders and its devices are.
struct StatusRequests: RequestGroup {
    let configuration: RunningConfiguration
    let finder: FolderFinder
    let devices: DeviceRegistry
    let index: IndexStore
    let listeners: ListenerBoard
    let transfers: TransferRegistry
    let policies: PolicyBoard
    let thumbnails: ThumbnailBoard
    let pending: PendingRegistry
    let discovery: (any DeviceDiscovery)?
    let web: AgentSetup.Web?
    let radio: AgentSetup.Radio?
    let mounts: MountKeeper
    let startedAt: WallTime

    func add(to table: inout EndpointHandlers) {
        table.on(Endpoints.status) { try await status() }
        table.on(Endpoints.pending) { try await pendingList() }
    }

    func pendingList() async throws -> PendingList {
        PendingList(devices: try await pendingDevices(), folders: try await pendingFolders())
    }

    func status() async throws -> AgentStatus {
        let outlooks = FolderOutlookReading(
            localDevice: configuration.localDevice, devices: devices, index: index)
        var folders: [FolderStatus] = []
        for folder in finder.all {
            var status = await FolderStatusReading(folder: folder, index: index).status()
            await outlooks.add(to: &status, of: folder)
            if status.state == "idle", transfers.isFetching(folder.id) { status.state = "fetching" }
            folders.append(status)
        }
        let radio = radio?.status()
        return AgentStatus(
            device: configuration.localDevice.description, name: configuration.current.name,
            version: AgentVersion.current, startedAt: startedAt.rfc3339,
            listening: Self.reachable(listeners.addresses, radio), http: web?.address(), httpRemark: web?.remark(),
            httpFingerprint: web?.fingerprint(), folders: folders,
            devices: devices.all.map(\.status), transfers: transfers.all,
            bluetooth: radio, policies: policies.status,
            problems: [discovery?.problem.map { "\($0)" }, web?.problem()].compactMap { $0 }
                + thumbnails.problems.map { "\($0)" } + pauses,
            pending: try await pendingDevices().count + pendingFolders().count, mounts: await mounts.statuses)
    }

    /// Where others reach this device now: by Bluetooth only while its adapter can be used, at the adapter's address.
    static func reachable(_ listening: [LinkAddress], _ radio: RadioStatus?) -> [String] {
        listening.compactMap { address in
            guard case .bluetooth = address else { return address.description }
            guard let radio, radio.isUsable, let own = radio.address else { return nil }
            return LinkAddress.bluetooth(own).description
        }
    }

    /// Devices that the agent paused.
    private var pauses: [Phrase] {
        devices.all.compactMap { device in
            let state = device.state
            guard let quota = state.exceededQuota else { return nil }
            let name = state.name.isEmpty ? "\(device.id)" : state.name
            return Phrase(
                "\(name) is paused: \(quota.text); `synctrain resume --device \(ShellWord.quoted(name))` resumes it")
        }
    }

    private func pendingDevices() async throws -> [ControlAPI.PendingDevice] {
        let known = Set(devices.all.map(\.id.description))
        return try await pending.devices().filter { !known.contains($0.id) }
    }

    private func pendingFolders() async throws -> [ControlAPI.PendingFolder] {
        let known = Set(finder.all.map(\.id.rawValue))
        // Of a device that was removed meanwhile nothing can be accepted.
        let sources = Set(devices.all.map(\.id.description))
        return try await pending.folders().filter { !known.contains($0.id) && sources.contains($0.device) }
    }
}
