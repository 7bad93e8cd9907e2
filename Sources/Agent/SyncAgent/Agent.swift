import AgentConfiguration
import AgentContext
import AsyncTools
import BlockExchange
import ControlAPI
import Cryptography
import Fetching
import FileDrop
import FolderSync
import IndexStore
import LinkRules
import LinkSecurity
import Logging
import NIOCore
import NIOPosix
import Pairing
import PeerLinks
import ServiceLifecycle
import SyncDecisions
import Synchronization
import ThumbnailService
import Transport

/// The agent: opens what it is made of, serves links, and starts and stops. What happens in a folder or on a link is their
/// own business, what a request does that of its group.
package final class Agent: Service, Sendable {
    let setup: AgentSetup
    let configuration: RunningConfiguration
    let changes: ConfigurationChanges
    let index: IndexStore
    let cache: BlockCache
    let folders: FolderRegistry
    let devices: DeviceRegistry
    let pending: PendingRegistry
    let pairing: PairingRegistry
    let invitations: InvitationBoard
    let drops = DropRegistry()
    let uploads: UploadRegistry
    let thumbnails: ThumbnailBoard
    let events: EventHub
    let fetching: FetchEnvironment
    let transfers: TransferRegistry
    let listeners: ListenerBoard
    let dialer: LinkDialer
    let ways: WayFinder
    let discovery: (any DeviceDiscovery)?
    let rates: AgentRates
    let policies: PolicyFollower
    let tasks: AgentTasks
    private let networks: NetworkWatch
    let reach: (any WideReach)?
    let mounts: MountBoard
    let mountKeeper: MountKeeper
    let startedAt: WallTime
    private let pauses: PauseEnder
    private let radio: RadioFollower
    private let admins: AdminFollower
    private let partials = PartialBlocks()
    private let strangers = Mutex(StrangerSlots())
    private let strangerLog = Mutex(StrangerLog())

    /// Opens identity, index and cache and makes the folders; nothing is listened on or dialled before `listen` and
    /// `run`. Throws `ConfigurationError`, `IndexStoreError` or another error with a message for people.
    package init(_ setup: AgentSetup) async throws {
        self.setup = setup
        let (time, logger) = (setup.time, setup.logger)
        let files = try DeviceIdentityFiles.load(from: setup.places)
        let identity = try LinkIdentity(certificatePEM: files.certificatePEM, keyPEM: files.privateKeyPEM)
        let authenticator = try LinkAuthenticator(identity: identity, handshakeLimit: LinkDialer.timeout)
        let loaded = try setup.configurationFile.load()
        let configuration = RunningConfiguration(loaded, of: identity.device)
        self.configuration = configuration
        let policies = PolicyBoard(loaded.policies, source: setup.machine)
        let held = { @Sendable in policies.held }
        rates = AgentRates(loaded, held: held, time: time)
        index = try IndexStore.open(path: setup.places.index)
        cache = try BlockCache(directory: setup.places.blockCache, byteLimit: Int(clamping: loaded.cache.byteLimit))
        transfers = TransferRegistry(now: time.monotonic)
        startedAt = time.wall()
        events = EventHub(run: String(SecureRandom.uint64(), radix: 36), wall: time.wall)
        pending = PendingRegistry(
            index: index, ignored: { configuration.current.ignored },
            isKnown: { id in configuration.current.devices.contains { $0.id == id } }, events: events, time: time,
            logger: logger)
        let folders = FolderRegistry(pending: pending)
        let devices = DeviceRegistry()
        (self.folders, self.devices) = (folders, devices)
        let invitations = InvitationBoard(now: { time.wall().seconds })
        invitations.replace(try await index.invitations())
        self.invitations = invitations
        let pairing = try PairingRegistry(
            identity: identity, usual: authenticator, handshakeLimit: LinkDialer.timeout,
            knownDevices: { devices.all.map(\.id) }, isInviting: { invitations.isOpen }, time: time)
        let dialer = LinkDialer(transports: setup.transports)
        networks = NetworkWatch()
        let reach = try setup.makeReach?(identity)
        self.reach = reach
        let listeners = ListenerBoard()
        let discovery = setup.makeDiscovery?(
            identity.device, { listeners.addresses }, { devices.device($0) != nil })
        (self.pairing, self.dialer, self.listeners, self.discovery) = (pairing, dialer, listeners, discovery)
        let finder = WayFinder(
            dialer: dialer, discovery: discovery, reach: reach, proxyUse: setup.proxyUse,
            configuration: configuration, held: held)
        ways = finder
        tasks = AgentTasks()
        self.policies = PolicyFollower(
            policies: policies, rates: rates, devices: devices, events: events, time: time, logger: logger)
        let slowLinkPolicy = { @Sendable (folder: FolderID, device: DeviceID) -> SlowLinkPolicy? in
            folders.folder(folder).map {
                SlowLinkPolicy($0.configuration, with: devices.device(device)?.state.bluetooth ?? .all)
            }
        }
        radio = RadioFollower(
            transports: setup.transports, configuration: configuration, devices: devices, folders: folders,
            policies: policies, slowLinkPolicy: slowLinkPolicy, changed: Signal(), time: time)
        let local = LocalBlocks(
            of: identity.device, cache: cache, index: index, folders: folders, threads: .singleton)
        let downloads = SharedDownloads(
            board: DownloadBoard(), localDevice: identity.device, folders: folders, index: index)
        fetching = Self.fetching(
            loaded, devices: devices, local: local, downloads: downloads, slowLinkPolicy: slowLinkPolicy, held: held,
            time: time)
        // Nobody waits for one small picture of many so much that the radio is to search for its holder.
        var forThumbnails = fetching
        forThumbnails.seek = { _ in false }
        thumbnails = ThumbnailBoard(
            loaded.thumbnails, setup.places, forThumbnails, cache: cache, index: index, folders: folders,
            isMetered: { setup.machine?.conditions.isMetered ?? false }, logger: setup.logger)
        uploads = UploadRegistry(
            file: UploadFile(path: setup.places.uploads), find: { folders.folder($0) }, threads: fetching.threads,
            time: time, logger: logger)
        let inbox = IntroductionInbox(configuration)
        let (pausesChanged, mountsChanged) = (Signal(), Signal())
        mounts = MountBoard(now: time.monotonic)
        mountKeeper = MountKeeper(
            configuration: configuration, board: mounts, tools: setup.mounts, changed: mountsChanged, time: time,
            logger: logger, begin: { [tasks] in tasks.start($0) })
        let sessions = SessionKeeper(
            configuration: configuration, rates: rates, policies: policies, folders: folders, devices: devices,
            index: index, cache: cache, invitations: invitations, events: events, tasks: tasks,
            folderTools: FolderTools(
                localDevice: identity.device, fetching: fetching, transfers: transfers, time: time,
                utcOffset: WallTime.utcOffset, knownDevices: { configuration.knownDevices }, logger: logger),
            linkEnvironment: LinkEnvironment(
                localDevice: identity.device, deviceName: { configuration.current.name },
                knownDevices: { configuration.current.devices },
                dial: { try await finder.dial($0, $1, to: $2, install: pairing.dialling($2)) },
                found: { finder.addresses(of: $0, isSought: $1) },
                foundPause: { finder.pause(beforeSeeking: $0) }, expect: { finder.expect($0) },
                dialPolicy: { finder.policy },
                networks: { [networks] in networks.current }, dialBudget: SharedDialBudget(),
                connections: { configuration.current.network.connections }, folders: folders,
                linkChanged: { devices.linkChanged() },
                index: index, transfers: transfers, events: events, time: time, partials: partials,
                downloads: downloads.board, serveDrop: { [drops] in await drops.serve($0, from: $1) },
                slowLinkPolicy: slowLinkPolicy, held: held,
                limits: { [rates] in rates.limits(for: $0, of: $1) },
                dialTest: Self.testDial(over: setup.testTransport, pairing: pairing),
                heard: { inbox.put($0, from: $1, isComplete: $2) }, pause: { inbox.putPause($0, over: $1) },
                distrust: { inbox.putDistrust($0, $1) },
                logger: logger),
            watchProgram: setup.watchProgram, pausesChanged: pausesChanged, mountsChanged: mountsChanged,
            radioChanged: radio.changed)
        changes = ConfigurationChanges(
            file: setup.configurationFile, running: configuration, apply: { try await sessions.apply($0, $1) })
        pauses = PauseEnder(
            configuration: { [configuration] in configuration.current },
            end: { [changes] now in try await changes.endPauses(at: now) }, changed: pausesChanged, time: time,
            logger: logger)
        admins = AdminFollower(
            inbox: inbox, localDevice: identity.device, changes: changes, index: index, places: setup.places,
            exceededQuota: { devices.device($0)?.state.exceededQuota }, time: time, logger: logger)
        for warning in files.warnings { logger.warning("\(warning)") }
        LoginPage.removeAll(in: setup.places.runtimeDirectory)
        try await sessions.apply(loaded, .start)
    }

    /// Connects to a device to see who answers, and hangs up.
    private static func testDial(
        over transport: (any LinkTransport)?, pairing: PairingRegistry
    ) -> LinkEnvironment.TestDial? {
        guard let transport else { return nil }
        return { address, timeout, device in
            let link = try await transport.dial(address, timeout: timeout, install: pairing.dialling(device))
            // Who is there is known: how long the other end takes to hang up is no part of the test.
            link.channel.close(promise: nil)
            return link.peer
        }
    }

    private static func fetching(
        _ configuration: Configuration, devices: DeviceRegistry, local: LocalBlocks, downloads: SharedDownloads,
        slowLinkPolicy: @escaping @Sendable (FolderID, DeviceID) -> SlowLinkPolicy?,
        held: @escaping @Sendable () -> HeldTransfers, time: AgentTime
    ) -> FetchEnvironment {
        var settings = BlockScheduler.Settings()
        settings.windowByteCount = Int(clamping: configuration.fetch.deviceWindowByteCount)
        let window = Int(clamping: configuration.fetch.windowByteCount)
        // A quarter is kept for what a person waits for.
        let budget = SharedFetchBudget(limit: window, reserve: window / 4)
        return FetchEnvironment(
            sessions: { devices.sources($0) }, slowLinkPolicy: slowLinkPolicy, held: held,
            linksChanged: { devices.linkChanges() },
            dialNow: { ids in for id in ids { await devices.device(id)?.dialNow() } },
            seek: { ids in
                var isSought = false
                for id in ids where await devices.device(id)?.seek() == true { isSought = true }
                return isSought
            },
            localBlock: { await local.block($0, for: $1) }, blocksHere: { await local.blocksHere($0, for: $1) },
            budget: budget, threads: .singleton,
            time: time, settings: settings, downloads: downloads)
    }

    /// Binds everything that is listened on. Throws `LinkError` with the address and what to do.
    package func listen() async throws {
        var addresses = try configuration.current.listen.map { try LinkAddress(parsing: $0) }
        if let radio = setup.radio { addresses.append(radio.address) }
        // With `proxy-only` no TCP port is opened: other devices connect over relays, which are reached through the proxy.
        if setup.proxyUse == .only {
            addresses.removeAll { if case .tcp = $0 { true } else { false } }
        }
        for address in addresses {
            guard let transport = setup.transports.first(where: { $0.serves(address) }) else {
                throw LinkError(
                    .unsupportedAddress, "cannot listen on \(address): unsupported address; use tcp://HOST:PORT",
                    isTransient: false)
            }
            let listener = try await transport.listen(on: address, install: pairing.install)
            listeners.add(listener)
            // What became of Bluetooth the radio says itself.
            if address != setup.radio?.address { setup.logger.info("listening on \(listener.address)") }
        }
    }

    /// Runs until the service group shuts down or the task is cancelled. An index that cannot be closed is logged.
    package func run() async {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                for listener in self.listeners.all {
                    group.addTask { await self.accept(from: listener) }
                }
                if let discovery = self.discovery, self.configuration.current.discovery.local {
                    group.addTask {
                        await discovery.run { device in
                            await self.devices.device(device)?.dialNow()
                        }
                    }
                }
                group.addTask {
                    await self.networks.run(clock: self.setup.time.clock, logger: self.setup.logger) {
                        for device in self.devices.all { await device.networkChanged() }
                        await self.reach?.networkChanged()
                    }
                }
                if let reach = self.reach { group.addTask { await reach.run(self.reachHooks) } }
                group.addTask { await self.pauses.run() }
                group.addTask { await self.policies.run() }
                group.addTask { await self.radio.run() }
                group.addTask { await self.admins.run() }
                group.addTask { await self.uploads.run() }
                group.addTask { await self.mountKeeper.run() }
                if let board = self.setup.notices { group.addTask { await self.noticeFollower(board).run() } }
                if let board = self.setup.tray { group.addTask { await self.trayFollower(board).run() } }
                await self.tasks.run()
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

    private var reachHooks: WideReachHooks {
        WideReachHooks(
            listening: { [listeners] in listeners.addresses }, install: pairing.install,
            serve: { await self.serve($0) },
            found: { [devices] in await devices.device($0)?.dialNow() },
            outsideChanged: { [devices] in for device in devices.all { await device.outsideChanged() } },
            isKnown: { [devices] in devices.device($0) != nil },
            isIgnored: { [configuration] in configuration.current.ignored.contains($0) })
    }

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
        if purpose == .introduction, configuration.current.ignored.contains(link.peer) {
            setup.logger.debug("\(link.peer) from \(link.information.remoteAddress) is ignored")
            return await link.close()
        }
        let address = AddressGroup(remoteAddress: link.information.remoteAddress)
        guard strangers.withLock({ $0.take(for: purpose, from: address) }) else {
            setup.logger.debug(
                "\(link.peer) from \(link.information.remoteAddress) is refused: too many unknown devices are connected"
            )
            await link.close()
            return
        }
        defer { strangers.withLock { $0.free(for: purpose, from: address) } }
        switch purpose {
        case .pairing: await pairing.serve(link)
        case .invitation: await invitationHost.serve(link)
        case .introduction: await introduce(link)
        }
    }

    /// Exchanges Hellos with an unknown device and notes it as pending.
    private func introduce(_ link: SecureLink) async {
        let session = PeerSession(
            link: link, of: configuration.localDevice,
            hello: Hello(deviceName: "", clientName: AgentVersion.clientName, clientVersion: AgentVersion.wire),
            time: setup.time, partials: partials, logger: setup.logger)
        let owner = StrangerSession(device: link.peer, address: link.information.remoteAddress, pending: pending)
        _ = await session.run(owner: owner)
        // It may have been added meanwhile.
        guard devices.device(link.peer) == nil else { return }
        guard strangerLog.withLock({ $0.names(link.peer, at: setup.time.monotonic()) }) else {
            return setup.logger.debug("unknown device \(link.peer) from \(link.information.remoteAddress)")
        }
        setup.logger.info(
            "unknown device \(link.peer) from \(link.information.remoteAddress); to add it: synctrain device add \(link.peer)"
        )
    }
}
