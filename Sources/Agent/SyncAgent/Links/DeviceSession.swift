import AgentConfiguration
import BlockExchange
import ControlAPI
import IndexStore
import LinkSecurity
import Logging
import NIOCore
import Synchronization
import Transport

/// What a device session needs of the agent around it.
struct LinkEnvironment: Sendable {
    var localDevice: DeviceID
    /// What this device is called towards devices that it knows.
    var deviceName: @Sendable () -> String
    /// Of the effort, only radios take notice.
    var dial: @Sendable (LinkAddress, RadioEffort, DeviceID) async throws -> SecureLink
    /// Addresses at which the device was heard on the local network.
    var discoveredAddresses: @Sendable (DeviceID) -> [LinkAddress]
    var folders: FolderRegistry
    var devices: DeviceRegistry
    var index: IndexStore
    var transfers: TransferRegistry
    var events: EventHub
    var time: AgentTime
    var partials: PartialBlocks
    var drops: DropRegistry
    /// What may go over a slow link; nil where nothing is in the way.
    var slowLinkPolicy: @Sendable (FolderID, DeviceID) -> SlowLinkPolicy?
    var held: @Sendable () -> HeldTransfers
    /// Nil for a link that has none.
    var limits: @Sendable (LinkRoute) -> LinkLimits?
    /// What a device says of its folders; does not wait.
    var heard: @Sendable (ClusterConfig, DeviceID) -> Void
    /// Notes for good that a device keeps a folder encrypted; does not wait.
    var distrust: @Sendable (FolderID, DeviceID) -> Void
    var logger: Logger

    func mayUse(
        _ kind: LinkKind, _ route: LinkRoute, with device: DeviceID, for purpose: SlowLinkPolicy.Purpose,
        of folder: FolderID
    ) -> Bool {
        guard held().obstacle(to: purpose, over: route) == nil else { return false }
        guard kind.isSlow else { return true }
        return slowLinkPolicy(folder, device)?.obstacle(to: purpose, over: kind) == nil
    }

    func hello(isKnown: Bool) -> Hello {
        Hello(
            deviceName: isKnown ? deviceName() : "", clientName: AgentVersion.clientName,
            clientVersion: AgentVersion.wire)
    }
}

/// One known device: dials it, takes the links it dials, keeps the one that is in use.
actor DeviceSession {
    private struct Active {
        var session: PeerSession
        var hello: Hello
    }

    /// How long a second link waits to see which of the two a Syncthing peer closes.
    private static let crossingPatience: Duration = .seconds(5)
    /// How often a device that is reached over a slow link is looked for elsewhere, if nothing wakes it before.
    private static let upgradeInterval: Duration = .seconds(30)
    /// A configured device with no address to dial is looked for again after so long, if nothing wakes it before.
    private static let idleInterval: Duration = .seconds(60)

    private static let pauseReason = "the device is paused"
    private static let storageReason = "this device cannot store the index at the moment"

    nonisolated let id: DeviceID
    private var configuration: DeviceConfiguration
    private let environment: LinkEnvironment
    private var active: Active?
    private var isStopped = false
    private var backoff = DialBackoff()
    private var storageBackoff = StorageBackoff()
    /// How fast the last link of each kind was: the next one need not find out while it may be lost already.
    private var rates: [LinkKind: Double] = [:]
    /// What was in the own indexes of shared folders when the last link ended.
    private var ownSequence: Int64?
    private let wake = Signal()
    private let linkEnded = Signal()
    private let snapshot: Mutex<Snapshot>

    /// What others may read of a device without waiting for it.
    struct Snapshot: Sendable {
        var name: String
        var addresses: [String]
        var bluetooth: BluetoothUse
        var isPaused: Bool
        var pausedUntil: Int64?
        var session: PeerSession?
        var client: String?
        /// Of the Hello of the link in use, or of the last one.
        var clientName = ""
        var lastSeen: WallTime?
        var lastError: String?
        /// Bytes over links that have ended.
        var pastBytesIn: Int64 = 0
        var pastBytesOut: Int64 = 0
        /// The admin that brought it.
        var introducedBy: DeviceID?
        var radio = RadioStanding()
        /// The last that it announced could not be stored.
        var hasUnstoredIndex = false
    }

    init(_ configuration: DeviceConfiguration, lastSeen: WallTime?, environment: LinkEnvironment) {
        id = configuration.id
        self.configuration = configuration
        self.environment = environment
        snapshot = Mutex(
            Snapshot(
                name: configuration.name, addresses: configuration.addresses, bluetooth: configuration.bluetooth,
                isPaused: configuration.isPaused, pausedUntil: configuration.pausedUntil, lastSeen: lastSeen,
                introducedBy: configuration.introducedBy))
    }

    nonisolated var state: Snapshot { snapshot.withLock { $0 } }

    /// The link in use; nil while the device is not connected.
    nonisolated var session: PeerSession? { snapshot.withLock { $0.session } }

    nonisolated var status: DeviceStatus {
        let state = state
        return DeviceStatus(
            id: id.description, name: state.name, isConnected: state.session != nil,
            transport: state.session?.information.kind.rawValue,
            address: state.session?.information.remoteAddress, addresses: state.addresses, client: state.client,
            lastSeen: state.lastSeen?.rfc3339, bytesIn: state.pastBytesIn + (state.session?.bytesReceived ?? 0),
            bytesOut: state.pastBytesOut + (state.session?.bytesSent ?? 0), lastError: state.lastError,
            isPaused: state.isPaused, pausedUntil: state.pausedUntil.map { WallTime(seconds: $0).rfc3339 },
            introducedBy: state.introducedBy?.description)
    }

    func configure(_ configuration: DeviceConfiguration) {
        guard configuration != self.configuration else { return }
        let wasPaused = self.configuration.isPaused
        let hasNewAddresses = configuration.addresses != self.configuration.addresses
        self.configuration = configuration
        snapshot.withLock { snapshot in
            snapshot.name = configuration.name
            snapshot.addresses = configuration.addresses
            snapshot.bluetooth = configuration.bluetooth
            snapshot.introducedBy = configuration.introducedBy
            snapshot.isPaused = configuration.isPaused
            snapshot.pausedUntil = configuration.pausedUntil
            if wasPaused != configuration.isPaused { snapshot.lastError = nil }
        }
        if configuration.isPaused {
            active?.session.close(reason: Self.pauseReason)
        } else if wasPaused {
            dialNow()
        }
        if hasNewAddresses { dialNow() }
    }

    /// The device was heard on a network, or something waits for it: no waiting for the back-off.
    ///
    /// - Parameter isAsked: The user asks for it, and may have freed space for the index.
    func dialNow(isAsked: Bool = false) {
        backoff.succeeded()
        if isAsked { storageBackoff.asked() }
        wake.notify()
    }

    /// A person waits for the device: it is searched for by radio, too, for a while. False if no radio reaches it.
    @discardableResult
    func seek() -> Bool {
        let now = environment.time.monotonic()
        snapshot.withLock { $0.radio.sought(at: now) }
        dialNow(isAsked: true)
        return !state.radioAddresses.isEmpty
    }

    /// A search by radio is over: dials the device if it was heard.
    func wasSearchedFor(_ findings: RadioWatch.Findings) {
        let addresses = state.radioAddresses
        if findings.hasHeard(addresses) {
            let now = environment.time.monotonic()
            snapshot.withLock { $0.radio.heard(at: now) }
            dialNow()
        } else if active == nil, let reason = findings.whyAbsent(addresses) {
            note(error: reason)
        }
    }

    /// The device as `RadioSearch` sees it, but for its folders; nil if no radio reaches it.
    nonisolated func radioCandidate(at now: Duration) -> RadioSearch.Candidate? {
        let state = state
        let addresses = state.radioAddresses
        guard !addresses.isEmpty else { return nil }
        return RadioSearch.Candidate(
            addresses: addresses, isConnected: state.session != nil, isPaused: state.isPaused,
            isSought: state.radio.isSought(at: now), unseen: state.radio.lastLinkEnd.map { now - $0 })
    }

    /// Whether something has changed here since the last link that the device may not know of.
    func hasNews() async -> Bool {
        guard let ownSequence else { return false }
        return await sharedSequence() != ownSequence
    }

    private func sharedSequence() async -> Int64? {
        var sum: Int64 = 0
        for folder in environment.folders.all where folder.exchange.isShared(with: id) {
            guard let own = try? await environment.index.localIndex(of: folder.id) else { return nil }
            sum &+= own.maxSequence
        }
        return sum
    }

    /// What the device announces cannot be stored: each link would end as soon as it brings it again.
    func indexWasNotStored() {
        snapshot.withLock { $0.hasUnstoredIndex = true }
        storageBackoff.failed(at: environment.time.monotonic(), random: environment.time.random())
    }

    func indexWasStored() {
        snapshot.withLock { $0.hasUnstoredIndex = false }
        storageBackoff.stored()
    }

    /// How long links are refused yet; nil if they are not.
    private var refusal: Duration? { storageBackoff.pause(at: environment.time.monotonic()) }

    func stop() {
        isStopped = true
        active?.session.close(reason: "this device no longer shares with you")
        wake.notify()
    }

    /// What is shared with the device has changed: nothing more is sent of what is not. The peer is told soon, and sent the
    /// indexes of what it shares, too: a peer that offered a folder does not offer it again when it is accepted.
    func announceFolders() {
        guard let session = active?.session else { return }
        session.share(owner(of: session.kind, session.route).terms())
    }

    private func owner(of kind: LinkKind, _ route: LinkRoute) -> DeviceLinkOwner {
        DeviceLinkOwner(device: self, environment: environment, kind: kind, route: route)
    }

    /// Dials whenever there is no link, until stopped or cancelled; and for a better one while there is a slow one.
    func run() async {
        while !Task.isCancelled, !isStopped {
            if let active {
                await seekBetter(than: active.session)
                continue
            }
            guard !configuration.isPaused else {
                await wake.wait()
                continue
            }
            if let refusal {
                await wake.wait(atMost: refusal, clock: environment.time.clock)
                continue
            }
            let addresses = addressesToDial()
            guard !addresses.isEmpty else {
                await wake.wait(atMost: Self.idleInterval, clock: environment.time.clock)
                continue
            }
            for address in addresses where active == nil && !isStopped && !configuration.isPaused && !Task.isCancelled {
                await dial(address)
            }
            if active == nil, !isStopped {
                let pause = backoff.failed(random: environment.time.random())
                await wake.wait(atMost: pause, clock: environment.time.clock)
            }
        }
    }

    /// Waits while a link is in use; if it is a slow one, tries now and then the addresses that are none. A link that
    /// comes of it takes over.
    private func seekBetter(than session: PeerSession) async {
        guard session.information.kind.isSlow else { return await wake.wait() }
        await wake.wait(atMost: Self.upgradeInterval, clock: environment.time.clock)
        for address in addressesToDial() where !address.isSlow && active?.session === session && !isStopped {
            await dial(address)
        }
    }

    /// Runs a link with this device to its end.
    func serve(_ link: SecureLink) async {
        var logger = environment.logger
        logger[metadataKey: "device"] = "\(id.shortID)"
        logger[metadataKey: "address"] = "\(link.information.remoteAddress)"
        let route = LinkRoute(link.information, networks: LocalNetworks.current())
        let session = PeerSession(
            link: link, of: environment.localDevice, route: route, hello: environment.hello(isKnown: true),
            time: environment.time, partials: environment.partials, rate: rates[link.information.kind],
            limits: environment.limits(route), logger: logger)
        let reason = await session.run(owner: owner(of: session.kind, route))
        rates[session.kind] = session.rate
        await ended(session, reason, logger)
    }

    // MARK: -

    private func addressesToDial() -> [LinkAddress] {
        var addresses: [LinkAddress] = []
        for text in configuration.addresses {
            if text == "dynamic" {
                addresses += environment.discoveredAddresses(id)
            } else if let address = try? LinkAddress(parsing: text) {
                addresses.append(address)
            }
        }
        var seen: Set<LinkAddress> = []
        addresses.removeAll { !seen.insert($0).inserted }
        // The order given, but a slow link only where there is no other, and only if there is a reason to use the radio.
        let mayUseRadio = radioEffort != nil
        return addresses.filter { !$0.isSlow } + addresses.filter { $0.isSlow && mayUseRadio }
    }

    private var radioEffort: RadioEffort? { state.radio.effort(at: environment.time.monotonic()) }

    private func dial(_ address: LinkAddress) async {
        // Others were dialled before, and took their time.
        guard let effort = address.isSlow ? radioEffort : .connecting else { return }
        do {
            let link = try await environment.dial(address, effort, id)
            guard link.peer == id else {
                await link.close()
                note(error: "\(address) is answered by another device, \(link.peer); correct the address or the id")
                return
            }
            if link.information.kind.isSlow { await serveSlow(link) } else { await serve(link) }
        } catch is CancellationError {
            return
        } catch {
            note(error: "\(address): \(error)")
        }
    }

    private enum SlowLinkEvent: Sendable {
        case linkEnded
        case found(SecureLink)
        case soughtInVain
    }

    /// Runs a slow link that this side dialled, and any better one that is found meanwhile, until all of them have ended.
    private func serveSlow(_ link: SecureLink) async {
        await withTaskGroup(of: SlowLinkEvent.self) { group in
            func serve(_ link: SecureLink) {
                group.addTask {
                    await self.serve(link)
                    return .linkEnded
                }
            }
            serve(link)
            group.addTask { await self.seekFastLink() }
            var links = 1
            while links > 0, let event = await group.next() {
                switch event {
                case .linkEnded: links -= 1
                case .found(let link):
                    links += 1
                    serve(link)
                    group.addTask { await self.seekFastLink() }
                case .soughtInVain: group.addTask { await self.seekFastLink() }
                }
            }
            group.cancelAll()
        }
    }

    /// Waits a while, or until something wakes this, and dials the addresses that are not slow if the link in use is.
    private func seekFastLink() async -> SlowLinkEvent {
        await wake.wait(atMost: Self.upgradeInterval, clock: environment.time.clock)
        for address in addressesToDial() where !address.isSlow && !isStopped && !Task.isCancelled {
            guard active?.session.information.kind.isSlow == true else { break }
            guard let link = try? await environment.dial(address, .connecting, id) else { continue }
            if link.peer == id { return .found(link) }
            await link.close()
        }
        return .soughtInVain
    }

    private func note(error: String) {
        let isNew = snapshot.withLock { snapshot in
            defer { snapshot.lastError = error }
            return snapshot.lastError != error
        }
        if isNew { environment.logger.info("cannot reach \(configuration.name): \(error)") }
    }

    func admit(_ session: PeerSession, _ hello: Hello) async -> Bool {
        guard !configuration.isPaused else {
            session.close(reason: Self.pauseReason)
            return false
        }
        guard refusal == nil else {
            session.close(reason: Self.storageReason)
            return false
        }
        while let current = active {
            let choice = LinkChoice.decide(
                local: environment.localDevice, peer: id, active: LinkChoice.Link(current.session.information),
                new: LinkChoice.Link(session.information),
                peerKnowsRule: hello.clientName == AgentVersion.clientName)
            switch choice {
            case .refuse: return false
            case .replace:
                current.session.close(reason: "replaced by another link")
                active = nil
            case .wait:
                await linkEnded.wait(atMost: Self.crossingPatience, clock: environment.time.clock)
                if active?.session === current.session { return false }
            }
        }
        guard !isStopped, !configuration.isPaused, !Task.isCancelled else { return false }
        active = Active(session: session, hello: hello)
        // What was said on an earlier link does not hold on this one.
        for folder in environment.folders.all { folder.exchange.linkEnded(with: id) }
        return true
    }

    /// Lets everybody use the link that was admitted, unless another has taken over meanwhile.
    func opened(_ session: PeerSession, _ hello: Hello) async {
        guard active?.session === session else { return }
        let now = environment.time.wall()
        snapshot.withLock { snapshot in
            snapshot.session = session
            snapshot.client = [hello.clientName, hello.clientVersion].filter { !$0.isEmpty }.joined(separator: " ")
            snapshot.clientName = hello.clientName
            snapshot.lastSeen = now
            snapshot.lastError = nil
        }
        environment.logger.info(
            "connected to \(configuration.name)",
            metadata: [
                "device": "\(id.shortID)", "address": "\(session.information.remoteAddress)",
                "client": "\(hello.clientName) \(hello.clientVersion)",
            ])
        environment.events.post("device-connected", device: id)
        environment.devices.linkChanged()
        await rememberLastSeen(now)
    }

    /// The peer said what it shares: the link is good, and the next dial after its end need not wait.
    func linkIsGood() { backoff.succeeded() }

    private func rememberLastSeen(_ time: WallTime) async {
        do {
            // Also while the agent stops, when this task is cancelled already: that is when the device was seen last.
            try await environment.index.noteSeen(id, at: time.seconds)
        } catch {
            environment.logger.warning("cannot record when a device was last seen: \(error)")
        }
    }

    private func ended(_ session: PeerSession, _ reason: String, _ logger: Logger) async {
        let wasActive = active?.session === session
        let (now, moment) = (environment.time.wall(), environment.time.monotonic())
        snapshot.withLock { snapshot in
            if wasActive { snapshot.radio.linkEnded(at: moment, wasByRadio: session.kind.isSlow) }
            snapshot.pastBytesIn += session.bytesReceived
            snapshot.pastBytesOut += session.bytesSent
            if snapshot.session === session { snapshot.session = nil }
            if wasActive { snapshot.lastSeen = now }
            if active == nil || wasActive { snapshot.lastError = reason }
        }
        if wasActive {
            active = nil
            for folder in environment.folders.all { folder.exchange.linkEnded(with: id) }
            environment.events.post("device-disconnected", device: id, message: reason)
            await rememberLastSeen(now)
            ownSequence = await sharedSequence()
        }
        // Also when another link took over: what was asked for on this one is to be asked for again.
        environment.devices.linkChanged()
        logger.info("link ended: \(reason)")
        linkEnded.notify()
        // A link that this side dialled is being waited for by the dialler itself, which then heeds its back-off.
        if wasActive, !session.information.isInitiator { wake.notify() }
    }
}

extension DeviceSession.Snapshot {
    /// Where a radio reaches it.
    var radioAddresses: Set<LinkAddress> {
        Set(addresses.compactMap { try? LinkAddress(parsing: $0) }.filter(\.isSlow))
    }
}
