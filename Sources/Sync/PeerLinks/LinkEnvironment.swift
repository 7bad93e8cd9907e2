import AgentConfiguration
import AgentContext
import BlockExchange
import ControlAPI
import Fetching
import FolderSync
import IndexStore
import LinkRules
import LinkSecurity
import Logging
import SyncDecisions
import Transport

/// What a device session needs of the agent around it.
package struct LinkEnvironment: Sendable {
    package typealias TestDial = @Sendable (LinkAddress, _ timeout: Duration, DeviceID) async throws -> DeviceID

    package var localDevice: DeviceID
    /// What this device is called towards devices that it knows.
    package var deviceName: @Sendable () -> String
    /// As the configuration has them.
    package var knownDevices: @Sendable () -> [DeviceConfiguration]
    /// Of the effort, only radios take notice.
    package var dial: @Sendable (LinkAddress, RadioEffort, DeviceID) async throws -> SecureLink
    /// Where others than the user say that the device is.
    ///
    /// - Parameter isSought: whether it is worth asking for more.
    package var found: @Sendable (DeviceID, _ isSought: Bool) -> [AddressSource: [String]]
    /// How long `found` gives the same answer, unless an event about the device comes first.
    package var foundPause: @Sendable (DeviceID) -> Duration
    /// A person waits for the device: others may be asked about it at once.
    package var expect: @Sendable (DeviceID) -> Void
    /// What may be dialled of a device's addresses, as far as that is the same for all devices.
    package var dialPolicy: @Sendable () -> DialPolicy
    /// The networks that this machine is in now.
    package var networks: @Sendable () -> MachineNetworks
    /// Of all devices together.
    package var dialBudget: SharedDialBudget
    /// How many links to one device this one asks for.
    package var connections: @Sendable () -> Int
    package var folders: FolderRegistry
    /// A link has come or gone.
    package var linkChanged: @Sendable () -> Void
    package var index: IndexStore
    package var transfers: TransferRegistry
    package var events: EventHub
    package var time: AgentTime
    package var partials: PartialBlocks
    /// What this device and others are downloading.
    package var downloads: DownloadBoard
    /// Answers what a paired device asks about files that are dropped.
    package var serveDrop: @Sendable (BlockRequest, DeviceID) async -> BlockAnswer
    /// What may go over a slow link; nil where nothing is in the way.
    package var slowLinkPolicy: @Sendable (FolderID, DeviceID) -> SlowLinkPolicy?
    package var held: @Sendable () -> HeldTransfers
    /// Nil for a link that has none.
    package var limits: @Sendable (LinkRoute, DeviceID) -> LinkLimits?
    /// Connects to an address of the device directly and from a port of its own, closes the link, and says who was there. Throws
    /// `LinkError` or `LinkSecurityError`. Nil where no device is tested.
    package var dialTest: TestDial?
    /// What a device says of its folders; does not wait.
    ///
    /// - Parameter isComplete: whether it may name all of them over that link.
    package var heard: @Sendable (ClusterConfig, DeviceID, _ isComplete: Bool) -> Void
    /// Pauses a device for good that went over a quota; does not wait.
    package var pause: @Sendable (DeviceID, DeviceQuota) -> Void
    /// Notes for good that a device keeps a folder encrypted; does not wait.
    package var distrust: @Sendable (FolderID, DeviceID) -> Void
    package var logger: Logger

    package init(
        localDevice: DeviceID, deviceName: @escaping @Sendable () -> String,
        knownDevices: @escaping @Sendable () -> [DeviceConfiguration],
        dial: @escaping @Sendable (LinkAddress, RadioEffort, DeviceID) async throws -> SecureLink,
        found: @escaping @Sendable (DeviceID, _ isSought: Bool) -> [AddressSource: [String]],
        foundPause: @escaping @Sendable (DeviceID) -> Duration, expect: @escaping @Sendable (DeviceID) -> Void,
        dialPolicy: @escaping @Sendable () -> DialPolicy, networks: @escaping @Sendable () -> MachineNetworks,
        dialBudget: SharedDialBudget, connections: @escaping @Sendable () -> Int, folders: FolderRegistry,
        linkChanged: @escaping @Sendable () -> Void, index: IndexStore, transfers: TransferRegistry, events: EventHub,
        time: AgentTime,
        partials: PartialBlocks, downloads: DownloadBoard = DownloadBoard(),
        serveDrop: @escaping @Sendable (BlockRequest, DeviceID) async -> BlockAnswer,
        slowLinkPolicy: @escaping @Sendable (FolderID, DeviceID) -> SlowLinkPolicy?,
        held: @escaping @Sendable () -> HeldTransfers, limits: @escaping @Sendable (LinkRoute, DeviceID) -> LinkLimits?,
        dialTest: TestDial? = nil,
        heard: @escaping @Sendable (ClusterConfig, DeviceID, _ isComplete: Bool) -> Void,
        pause: @escaping @Sendable (DeviceID, DeviceQuota) -> Void = { _, _ in },
        distrust: @escaping @Sendable (FolderID, DeviceID) -> Void, logger: Logger
    ) {
        self.localDevice = localDevice
        self.deviceName = deviceName
        self.knownDevices = knownDevices
        self.dial = dial
        self.found = found
        self.foundPause = foundPause
        self.expect = expect
        self.dialPolicy = dialPolicy
        self.networks = networks
        self.dialBudget = dialBudget
        self.connections = connections
        self.folders = folders
        self.linkChanged = linkChanged
        self.index = index
        self.transfers = transfers
        self.events = events
        self.time = time
        self.partials = partials
        self.downloads = downloads
        self.serveDrop = serveDrop
        self.slowLinkPolicy = slowLinkPolicy
        self.held = held
        self.limits = limits
        self.dialTest = dialTest
        self.heard = heard
        self.pause = pause
        self.distrust = distrust
        self.logger = logger
    }

    func mayUse(
        _ kind: LinkKind, _ route: LinkRoute, with device: DeviceID, for purpose: SlowLinkPolicy.Purpose,
        of folder: FolderID
    ) -> Bool {
        guard held().obstacle(to: purpose, over: route) == nil else { return false }
        if kind == .relay, folders.folder(folder)?.configuration.usesRelays == false { return false }
        guard kind.isSlow else { return true }
        return slowLinkPolicy(folder, device)?.obstacle(to: purpose, over: kind) == nil
    }

    /// A known device is told the name and the time, others neither.
    ///
    /// - Parameter connections: how many are wanted with the device.
    package func hello(isKnown: Bool, connections: Int) -> Hello {
        Hello(
            deviceName: isKnown ? deviceName() : "", clientName: AgentVersion.clientName,
            clientVersion: AgentVersion.wire, connectionCount: isKnown ? Int32(clamping: connections) : 0,
            timestamp: isKnown ? time.wall().unixNanoseconds : 0)
    }
}
