import AgentConfiguration
import BlockExchange
import ControlAPI
import Cryptography
import IndexStore
import LinkSecurity
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import Synchronization
import Transport

/// What an agent is made of that is not its own to choose.
public struct AgentSetup: Sendable {
    /// A radio that is listened on whatever the configuration says of addresses.
    public struct Radio: Sendable {
        public var address: LinkAddress
        public var status: @Sendable () -> RadioStatus

        public init(address: LinkAddress, status: @escaping @Sendable () -> RadioStatus) {
            self.address = address
            self.status = status
        }
    }

    /// Where links to files lead.
    public struct Web: Sendable {
        /// `http://host:port`; nil while nothing is listened on.
        public var address: @Sendable () -> String?
        /// What is the matter, with what to do.
        public var problem: @Sendable () -> String?
        /// A link to a path of a folder that is good until then, in seconds since 1970.
        public var link: @Sendable (_ folder: String, _ path: String, _ expires: Int64) throws -> String
        /// A link that logs a browser in; calls `used` when one has.
        public var logIn: @Sendable (_ used: @escaping @Sendable () -> Void) throws -> LoginLink
        /// Logs all browsers out; how many there were.
        public var logOut: @Sendable () -> Int

        public init(
            address: @escaping @Sendable () -> String?, problem: @escaping @Sendable () -> String?,
            link: @escaping @Sendable (_ folder: String, _ path: String, _ expires: Int64) throws -> String,
            logIn: @escaping @Sendable (_ used: @escaping @Sendable () -> Void) throws -> LoginLink,
            logOut: @escaping @Sendable () -> Int
        ) {
            self.address = address
            self.problem = problem
            self.link = link
            self.logIn = logIn
            self.logOut = logOut
        }
    }

    public var places: AgentPlaces
    public var configurationFile: ConfigurationFile
    public var transports: [any LinkTransport]
    /// Makes what finds devices near-by; nil for none.
    public var makeDiscovery: DeviceDiscoveryMaker?
    /// What else finds devices to pair with.
    public var nearby: [any NearbyDevices]
    /// Bluetooth; nil where it is not used.
    public var radio: Radio?
    /// Links to files; nil for none.
    public var web: Web?
    /// Who knows how the machine is connected and powered; nil for nobody.
    public var machine: (any MachineStateSource)?
    public var time: AgentTime
    /// The program that watches directories; nil for scans only.
    public var watchProgram: String?
    public var logger: Logger
    /// Ends the program in an orderly way; called by the control verb `stop`.
    public var requestStop: @Sendable () -> Void

    public init(
        places: AgentPlaces, configurationFile: ConfigurationFile, transports: [any LinkTransport],
        makeDiscovery: DeviceDiscoveryMaker?, nearby: [any NearbyDevices] = [], radio: Radio? = nil,
        web: Web? = nil, machine: (any MachineStateSource)? = nil, time: AgentTime = .system,
        watchProgram: String? = nil, logger: Logger,
        requestStop: @escaping @Sendable () -> Void
    ) {
        self.places = places
        self.configurationFile = configurationFile
        self.transports = transports
        self.makeDiscovery = makeDiscovery
        self.nearby = nearby
        self.radio = radio
        self.web = web
        self.machine = machine
        self.time = time
        self.watchProgram = watchProgram
        self.logger = logger
        self.requestStop = requestStop
    }
}

/// The agent: starts and stops the sessions of devices and folders as the configuration says, and hands links to them.
/// What happens in a folder or on a link is their own business.
public final class Agent: Service, Sendable {
    enum Job: Sendable {
        case device(DeviceSession)
        case folder(FolderRunner)
        /// An attempt to pair, which goes on though the user may have gone.
        case pairing(@Sendable () async -> Void)
        /// What an admin says of its folders.
        case introduction(@Sendable () async -> Void)
        /// What is left to do of a transfer whose user has gone.
        case drop(@Sendable () async -> Void)
        /// The end of a file that leads to a login link.
        case loginPage(@Sendable () async -> Void)
    }

    /// How long a dial and a TLS handshake may take.
    static let linkTimeout: Duration = .seconds(10)
    /// How long a dial by radio may take: a device is looked for, connected, and asked what it offers before its channel.
    static let radioTimeout: Duration = .seconds(45)

    let setup: AgentSetup
    let localDevice: DeviceID
    let authenticator: LinkAuthenticator
    let index: IndexStore
    let cache: BlockCache
    let folders: FolderRegistry
    let devices: DeviceRegistry
    let pending: PendingRegistry
    let pairing: PairingRegistry
    let invitations: InvitationBoard
    let introduced = IntroductionInbox()
    let drops = DropRegistry()
    let thumbnails: ThumbnailBoard
    let events: EventHub
    let threads: NIOThreadPool
    let fetching: FetchEnvironment
    let transfers: TransferRegistry
    let listings = ListingCache()
    let searches = SearchCache()
    private let partials = PartialBlocks()
    /// How fast blocks go out and come in.
    let limiters: (up: RateLimiter, down: RateLimiter)
    /// How fast files go out by links.
    let linkPace: RateLimiter
    private let linkRate: SharedRate
    let slowLinkPolicy: @Sendable (FolderID, DeviceID) -> SlowLinkPolicy?
    /// One change of the configuration at a time.
    let gate = Budget(limit: 1)
    let startedAt: WallTime
    let configuration: Mutex<Configuration>
    /// As it was when the agent was started.
    let startConfiguration: Configuration
    let discovery: (any DeviceDiscovery)?
    private let listeners = ListenerBoard()
    private let strangers = Mutex(StrangerSlots())
    private let sharedLimits: SharedLimits
    let policies: PolicyBoard
    /// The configuration says anew what rests until when.
    let pausesChanged = Signal()
    /// A device may be absent, or no longer.
    let radioChanged = Signal()
    private let jobs: AsyncStream<Job>
    private let addJob: AsyncStream<Job>.Continuation

    /// Opens identity, index and cache and makes the folders; nothing is listened on or dialled before `listen` and
    /// `run`. Throws `ConfigurationError`, `IndexStoreError` or another error with a message for people.
    public init(_ setup: AgentSetup) async throws {
        self.setup = setup
        let files = try DeviceIdentityFiles.load(from: setup.places)
        let identity = try LinkIdentity(certificatePEM: files.certificatePEM, keyPEM: files.privateKeyPEM)
        authenticator = try LinkAuthenticator(identity: identity, handshakeLimit: Self.linkTimeout)
        localDevice = identity.device
        let configuration = try setup.configurationFile.load()
        let policies = PolicyBoard(configuration.policies, source: setup.machine)
        self.policies = policies
        let held = { @Sendable in policies.held }
        let shared = SharedLimits(configuration.limits, held: held)
        sharedLimits = shared
        let now = { @Sendable in
            let seconds = setup.time.wall().seconds
            return shared.rates(at: seconds, utcOffset: WallTime.utcOffset(seconds))
        }
        limiters = (
            RateLimiter(time: setup.time) { now().up }, RateLimiter(time: setup.time) { now().down }
        )
        let linkRate = SharedRate(configuration.http.rate)
        self.linkRate = linkRate
        linkPace = RateLimiter(time: setup.time) { linkRate.current }
        self.configuration = Mutex(configuration)
        startConfiguration = configuration
        index = try IndexStore.open(path: setup.places.index)
        cache = try BlockCache(
            directory: setup.places.blockCache, byteLimit: Int(clamping: configuration.cache.byteLimit))
        threads = NIOThreadPool.singleton
        transfers = TransferRegistry(now: setup.time.monotonic)
        startedAt = setup.time.wall()
        let events = EventHub(run: String(SecureRandom.uint64(), radix: 36), wall: setup.time.wall)
        self.events = events
        pending = PendingRegistry(index: index, events: events, time: setup.time, logger: setup.logger)
        folders = FolderRegistry(pending: pending, logger: setup.logger)
        let devices = DeviceRegistry()
        self.devices = devices
        let wall = setup.time.wall
        let invitations = InvitationBoard(now: { wall().seconds })
        invitations.replace(try await index.invitations())
        self.invitations = invitations
        pairing = try PairingRegistry(
            identity: identity, usual: authenticator, handshakeLimit: Self.linkTimeout,
            knownDevices: { devices.all.map(\.id) }, isInviting: { invitations.isOpen }, time: setup.time)
        (jobs, addJob) = AsyncStream.makeStream(of: Job.self)
        discovery = setup.makeDiscovery?(
            localDevice, { [listeners] in listeners.addresses }, { devices.device($0) != nil })
        var settings = BlockScheduler.Settings()
        settings.windowByteCount = Int(clamping: configuration.fetch.deviceWindowByteCount)
        let local = LocalBlocks(cache: cache, index: index, folders: folders, threads: threads)
        let slowLinkPolicy = { @Sendable [folders] (folder: FolderID, device: DeviceID) -> SlowLinkPolicy? in
            folders.folder(folder).map {
                SlowLinkPolicy($0.configuration, with: devices.device(device)?.state.bluetooth ?? .all)
            }
        }
        self.slowLinkPolicy = slowLinkPolicy
        fetching = FetchEnvironment(
            sessions: { devices.sessions($0) }, slowLinkPolicy: slowLinkPolicy, held: held,
            linksChanged: { devices.linkChanges() },
            dialNow: { ids in for id in ids { await devices.device(id)?.dialNow() } },
            seek: { ids in
                var isSought = false
                for id in ids where await devices.device(id)?.seek() == true { isSought = true }
                return isSought
            },
            localBlock: { await local.block($0) }, blocksHere: { await local.blocksHere($0) },
            budget: Budget(limit: Int(clamping: configuration.fetch.windowByteCount)), threads: threads,
            time: setup.time, settings: settings)
        // Nobody waits for one small picture of many so much that the radio is to search for its holder.
        var forThumbnails = fetching
        forThumbnails.seek = { _ in false }
        thumbnails = ThumbnailBoard(
            configuration.thumbnails, setup, forThumbnails, cache: cache, index: index, folders: folders,
            policies: policies)
        for warning in files.warnings { setup.logger.warning("\(warning)") }
        LoginPage.removeAll(in: setup.places.runtimeDirectory)
        try await apply(configuration)
    }

    /// Binds everything that is listened on. Throws `LinkError` with the address and what to do.
    public func listen() async throws {
        var addresses = try configuration.withLock { $0.listen }.map { try LinkAddress(parsing: $0) }
        if let radio = setup.radio { addresses.append(radio.address) }
        for address in addresses {
            guard let transport = setup.transports.first(where: { $0.serves(address) }) else {
                throw LinkError(
                    .unsupportedAddress, "cannot listen on \(address): unsupported address; use tcp://HOST:PORT",
                    isTransient: false)
            }
            let listener = try await transport.listen(on: address, install: pairing.install)
            listeners.add(listener)
            setup.logger.info("listening on \(listener.address)")
        }
    }

    /// What is listened on, with the ports that were given.
    public var listeningAddresses: [LinkAddress] { listeners.addresses }

    /// Runs until the service group shuts down or the task is cancelled.
    public func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                for listener in self.listeners.all {
                    group.addTask { await self.accept(from: listener) }
                }
                if let discovery = self.discovery, self.configuration.withLock({ $0.discovery.local }) {
                    group.addTask {
                        await discovery.run { device in
                            await self.devices.device(device)?.dialNow()
                        }
                    }
                }
                group.addTask { await self.endPauses() }
                group.addTask { await self.followPolicies() }
                group.addTask { await self.followRadio() }
                for await job in self.jobs {
                    switch job {
                    case .device(let session): group.addTask { await session.run() }
                    case .folder(let runner): group.addTask { await runner.run() }
                    case .pairing(let work), .drop(let work), .introduction(let work), .loginPage(let work):
                        group.addTask { await work() }
                    }
                }
                group.cancelAll()
            }
        }
        thumbnails.close()
        for listener in listeners.all { await listener.close() }
        do {
            try index.close()
        } catch {
            // Everything committed is in it; only the numbers of own announcements will jump at the next start.
            setup.logger.warning("the index was not closed cleanly: \(error)")
        }
        setup.logger.info("stopped")
    }

    // MARK: links

    private func accept(from listener: LinkListener<SecureLink>) async {
        await withDiscardingTaskGroup { group in
            for await link in listener {
                group.addTask { await self.serve(link) }
            }
        }
    }

    /// Runs a link that somebody dialled.
    private func serve(_ link: SecureLink) async {
        let purpose = StrangerSlots.Purpose(applicationProtocol: link.applicationProtocol)
        if purpose == .introduction, let device = devices.device(link.peer) {
            await device.serve(link)
            return
        }
        guard strangers.withLock({ $0.take(for: purpose) }) else {
            setup.logger.debug(
                "\(link.peer) from \(link.information.remoteAddress) is refused: too many unknown devices are connected"
            )
            await link.close()
            return
        }
        defer { strangers.withLock { $0.free(for: purpose) } }
        switch purpose {
        case .pairing: await pairing.serve(link)
        case .invitation: await serveInvitation(link)
        case .introduction: await introduce(link)
        }
    }

    /// Exchanges Hellos with an unknown device and notes it as pending.
    private func introduce(_ link: SecureLink) async {
        let session = PeerSession(
            link: link,
            hello: Hello(deviceName: "", clientName: AgentVersion.clientName, clientVersion: AgentVersion.wire),
            time: setup.time, partials: partials, logger: setup.logger)
        let owner = StrangerSession(device: link.peer, address: link.information.remoteAddress, pending: pending)
        _ = await session.run(owner: owner)
        setup.logger.info(
            "unknown device \(link.peer) from \(link.information.remoteAddress); to add it: synctrain device add \(link.peer)"
        )
    }

    /// - Parameter effort: what may be done to find a device on a radio first.
    func dial(
        _ address: LinkAddress, _ effort: RadioEffort = .searching, install: @escaping LinkInstaller<SecureLink>
    ) async throws -> SecureLink {
        guard let transport = setup.transports.first(where: { $0.serves(address) }) else {
            throw LinkError(.unsupportedAddress, "cannot dial \(address): unsupported address", isTransient: false)
        }
        let timeout = address.isSlow ? Self.radioTimeout : Self.linkTimeout
        guard let radio = transport as? any RadioTransport else {
            return try await transport.dial(address, timeout: timeout, install: install)
        }
        return try await radio.dial(address, effort, timeout: timeout, install: install)
    }

    /// Has the agent run something until it ends by itself or the agent does.
    func start(_ job: Job) { addJob.yield(job) }

    private var linkEnvironment: LinkEnvironment {
        LinkEnvironment(
            localDevice: localDevice, deviceName: { self.configuration.withLock { $0.name } },
            dial: { try await self.dial($0, $1, install: self.pairing.dialling($2)) },
            discoveredAddresses: { [discovery] in discovery?.addresses(of: $0) ?? [] }, folders: folders,
            devices: devices, index: index, transfers: transfers, events: events, time: setup.time, partials: partials,
            drops: drops, slowLinkPolicy: slowLinkPolicy, held: { [policies] in policies.held },
            limits: { [limiters, sharedLimits] route in
                guard route != .radio else { return nil }
                return LinkLimits(up: limiters.up, down: limiters.down, holds: { sharedLimits.hold(for: route) })
            }, heard: { self.heard($0, from: $1) }, distrust: { self.distrust($0, $1) }, logger: setup.logger)
    }

    private var folderTools: FolderTools {
        FolderTools(
            localDevice: localDevice, fetching: fetching, transfers: transfers, time: setup.time,
            utcOffset: WallTime.utcOffset,
            knownDevices: {
                self.configuration.withLock { configuration in
                    [(self.localDevice, configuration.name)] + configuration.devices.map { ($0.id, $0.name) }
                }
            }, logger: setup.logger)
    }

    // MARK: configuration

    /// Makes the sessions what the configuration says. Called with one change at a time, by `Reconfiguration`.
    func apply(_ new: Configuration) async throws {
        configuration.withLock { $0 = new }
        pausesChanged.notify()
        sharedLimits.set(new.limits)
        limiters.up.limitsChanged()
        limiters.down.limitsChanged()
        linkRate.set(new.http.rate)
        linkPace.limitsChanged()
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
                try await threads.runIfActive { folder.configure(wanted) }
            } else {
                try await index.addFolder(
                    wanted.id, newIndexID: IndexID(rawValue: SecureRandom.uint64()), label: wanted.label)
                let tools = folderTools
                let folder = try await threads.runIfActive { [index, events, setup] in
                    Folder(wanted, index: index, tools: tools, events: events, watchProgram: setup.watchProgram)
                }
                try await folder.exchange.applyRoles(wanted)
                folders.insert(folder)
                addJob.yield(.folder(folder.runner))
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
                addJob.yield(.device(device))
            }
        }
        for id in touched { await devices.device(id)?.announceFolders() }
        // What waits for a network may come over Bluetooth now, or the other way round.
        if !touched.isEmpty { devices.linkChanged() }
        radioChanged.notify()
        events.post("configuration-changed")
    }
}

/// What is listened on; shared with those who need to know before there is anything.
private final class ListenerBoard: Sendable {
    private let listeners = Mutex<[LinkListener<SecureLink>]>([])

    var all: [LinkListener<SecureLink>] { listeners.withLock { $0 } }
    var addresses: [LinkAddress] { listeners.withLock { $0.map(\.address) } }

    func add(_ listener: LinkListener<SecureLink>) { listeners.withLock { $0.append(listener) } }
}
