import BlockExchange
import ControlAPI
import GlobalDiscovery
import HTTPExchange
import LinkSecurity
import Logging
import NIOCore
import PeerLinks
import PortMapping
import Proxies
import Synchronization
import Transport
import TransportRelay
import TransportTCP

/// `WideReach` over the networks that there are.
package final class NetworkReach: WideReach {
    private struct State {
        var hooks: WideReachHooks?
        var mapped: [LinkAddress] = []
        var listenings: [RelayListening<SecureLink>] = []
        var networks = SeenNetworks(.current())
    }

    private let settings: ReachSettings
    private let discovery: GlobalDiscovery
    private let relay: RelayTransport
    private let mapper: PortMapper
    private let time = RelayTime.system
    private let logger: Logger
    private let state: StateBox

    /// Read by closures that are made before the rest.
    private final class StateBox: Sendable {
        let state = Mutex(State())
        let settings: ReachSettings

        init(_ settings: ReachSettings) { self.settings = settings }

        /// What discovery servers are told.
        var announced: [String] {
            let (hooks, mapped, listenings) = state.withLock { ($0.hooks, $0.mapped, $0.listenings) }
            return settings.announced(
                listening: hooks?.listening() ?? [], mapped: mapped, own: NetworkView.current().ownAddresses,
                relays: listenings.compactMap(\.status.announcement))
        }
    }

    /// - Parameter secret: bytes that others do not know and that stay the same; the ports at routers follow from them.
    /// - Throws: `LinkSecurityError` if no TLS contexts can be made.
    package init(
        _ settings: ReachSettings, identity: LinkIdentity, secret: [UInt8], sharedPort: SharedPort, logger: Logger
    ) throws {
        self.settings = settings
        self.logger = logger
        let state = StateBox(settings)
        self.state = state
        let requests = try Self.streams(settings.proxies, .requests, sharedPort)
        let exchange = try DiscoveryNetworking.exchange(over: requests, identity: identity, servers: settings.servers)
        discovery = GlobalDiscovery(
            servers: settings.servers, exchange: exchange, clock: ContinuousClock(), announced: { state.announced })
        let webPKI = try ServiceTLS(identity: nil, trust: .webPKI, applicationProtocols: ["http/1.1"])
        relay = RelayTransport(
            identity: identity, dialing: try Self.streams(settings.proxies, .streams, sharedPort),
            isProxied: settings.proxies.streams != nil, time: time
        ) { url in
            let url = try HTTPURL(parsing: url)
            let answer = try await HTTPExchange(streams: requests).answer(
                to: HTTPRequest(.get, url, limits: HTTPLimits(bodyByteCount: RelayPool.maximumByteCount)),
                tls: url.scheme == .https ? webPKI : nil)
            guard answer.status == 200 else {
                throw RelayError(.invalidPool, "the list of relays could not be fetched: HTTP status \(answer.status)")
            }
            return Array(answer.body.readableBytesView)
        }
        mapper = PortMapper(identity: MappingIdentity(secret: secret), http: Self.routerRequest)
    }

    /// Streams for `use`, through the proxy if one is set.
    ///
    /// - Throws: `LinkSecurityError`.
    private static func streams(
        _ proxies: ProxySettings, _ use: ProxySettings.Use, _ sharedPort: SharedPort
    ) throws -> any StreamDialing {
        // What leaves from the port that is listened on opens it in some routers.
        try proxiedStreams(proxies, use) ?? DirectStreams(sharedPort: sharedPort)
    }

    /// Streams for `use` through the proxy; nil where none is set.
    ///
    /// - Throws: `LinkSecurityError`.
    package static func proxiedStreams(
        _ proxies: ProxySettings, _ use: ProxySettings.Use
    ) throws -> ProxiedStreams? {
        guard proxies.proxy(for: use) != nil else { return nil }
        let tls = try ServiceTLS(identity: nil, trust: .webPKI, applicationProtocols: ["http/1.1"])
        return ProxiedStreams(
            settings: proxies, use: use, direct: DirectStreams(),
            secure: { channel, host in tls.install(on: channel, host: host).map { _ in () } })
    }

    /// A request to a router in this network: never through a proxy.
    private static func routerRequest(_ request: GatewayHTTPRequest) async throws -> GatewayHTTPAnswer {
        let wanted = HTTPRequest(
            request.method == .get ? .get : .post, try HTTPURL(parsing: request.url.description),
            fields: request.headers.map { HTTPField($0.name, $0.value) }, body: ByteBuffer(bytes: request.body),
            limits: HTTPLimits(timeout: request.timeout, bodyByteCount: request.maximumBodyByteCount))
        let answer = try await HTTPExchange(streams: DirectStreams(localAddress: request.localAddress))
            .answer(to: wanted, tls: nil)
        return GatewayHTTPAnswer(status: answer.status, body: Array(answer.body.readableBytesView))
    }

    // MARK: WideReach

    package func run(_ hooks: WideReachHooks) async {
        let listenings = settings.relays.map { source in
            relay.listen(
                at: source, standing: { hooks.isKnown($0) ? .known : hooks.isIgnored($0) ? .refused : .stranger },
                install: hooks.install)
        }
        state.state.withLock { state in
            state.hooks = hooks
            state.listenings = listenings
        }
        if settings.mapsPorts { await mapper.listen(on: ports(hooks.listening())) }
        await withTaskGroup(of: Void.self) { group in
            if !settings.servers.isEmpty {
                group.addTask { await self.discovery.run(found: hooks.found, report: { self.log($0) }) }
            }
            for listening in listenings {
                group.addTask { await self.follow(listening) }
                group.addTask { await self.accept(listening, hooks) }
            }
            if settings.mapsPorts {
                group.addTask { await self.mapper.run() }
                group.addTask { await self.followMappings(hooks) }
            }
            await withTaskCancellationHandler {
                await group.waitForAll()
            } onCancel: {
                mapper.stop()
            }
        }
        for listening in listenings { await listening.links.close() }
    }

    package func addresses(of device: DeviceID, isSought: Bool) -> [String] {
        guard !settings.servers.isEmpty else { return [] }
        // The table of lookups knows what is worth asking; `found` tells of what comes of it.
        if isSought { discovery.lookUp(device) }
        return discovery.cachedAddresses(of: device)
    }

    package func find(_ device: DeviceID) async -> [String] {
        guard !settings.servers.isEmpty else { return [] }
        discovery.expect(device)
        return await discovery.addresses(of: device)
    }

    package func expect(_ device: DeviceID) {
        guard !settings.servers.isEmpty else { return }
        discovery.expect(device)
        discovery.lookUp(device)
    }

    package func pause(beforeSeeking device: DeviceID) -> Duration {
        settings.servers.isEmpty ? .seconds(3600) : discovery.pause(beforeLookingUp: device)
    }

    package func networkChanged() async {
        let current = NetworkView.current()
        guard state.state.withLock({ $0.networks.haveChanged(to: current) }) else { return }
        discovery.networkChanged()
        await mapper.networkChanged()
        for listening in state.state.withLock({ $0.listenings }) { listening.networkChanged() }
    }

    /// Connects to a device through the relay that it has joined.
    ///
    /// - Throws: `LinkError` (`unreachable` if the device has not joined that relay), or what `install` failed with;
    ///   nothing is left open then. `CancellationError`.
    package func dial(
        _ relay: RelayAddress, to device: DeviceID, timeout: Duration, install: @escaping LinkInstaller<SecureLink>
    ) async throws -> SecureLink {
        try await self.relay.dial(relay, device: device, timeout: timeout, install: install)
    }

    package var mappedAddresses: [LinkAddress] { state.state.withLock { $0.mapped } }

    package var report: ReachReport {
        get async {
            let listenings = state.state.withLock { $0.listenings }
            return ReachReport(
                announcedAddresses: settings.announces ? state.announced : [],
                servers: discovery.states.map { state in
                    ReachReport.Server(
                        url: "\(state.server)", announcedSeconds: state.announcing?.sinceSuccess.map(Self.seconds),
                        nextSeconds: state.announcing?.untilNext.map(Self.seconds),
                        problem: (state.announcing?.problem ?? state.lookingUp?.problem).map { "\($0)" })
                },
                relays: listenings.map { report($0.status) },
                routers: settings.mapsPorts ? await mapper.summaries : [], proxy: settings.proxyText)
        }
    }

    // MARK: following

    private func ports(_ listening: [LinkAddress]) -> [ListenedPort] {
        listening.compactMap { address in
            guard case .tcp(_, let port) = address, address.ipAddress?.isLoopback != true else { return nil }
            return ListenedPort(.tcp, port)
        }
    }

    private func follow(_ listening: RelayListening<SecureLink>) async {
        var announcement: String?
        for await status in listening.statuses {
            if status.announcement != announcement {
                announcement = status.announcement
                discovery.addressesChanged()
                logger.info(
                    announcement.map { "joined the relay \($0)" } ?? "no relay of \(listening.status.source) is joined")
            }
        }
    }

    private func accept(_ listening: RelayListening<SecureLink>, _ hooks: WideReachHooks) async {
        await withDiscardingTaskGroup { group in
            for await link in listening.links { group.addTask { await hooks.serve(link) } }
        }
    }

    private func followMappings(_ hooks: WideReachHooks) async {
        var outside = OutsideAddresses()
        for await addresses in mapper.addresses {
            let mapped = addresses.compactMap(\.linkAddress)
            state.state.withLock { $0.mapped = mapped }
            discovery.addressesChanged()
            if outside.hasMoved(to: mapped) { await hooks.outsideChanged() }
            if !mapped.isEmpty { logger.info("routers map \(mapped.map(\.description).joined(separator: ", "))") }
        }
    }

    private func log(_ event: GlobalDiscoveryEvent) {
        switch event {
        case .announced(let server, let addresses):
            logger.debug("announced \(addresses.joined(separator: ", ")) at \(server)")
        case .announcementFailed(_, let problem), .lookupFailed(_, let problem): logger.warning("\(problem)")
        }
    }

    private func report(_ status: RelayStatus) -> ReachReport.Relay {
        let now = time.monotonic()
        return ReachReport.Relay(
            source: "\(status.source)", address: status.relay?.announcement, state: status.phase.rawValue,
            joinedSeconds: status.joinedSince.map { Self.seconds(now - $0) },
            roundTripMilliseconds: status.roundTrip.map { Int($0 / .milliseconds(1)) },
            problem: status.problem?.text)
    }

    private static func seconds(_ duration: Duration) -> Int { Int(duration.components.seconds) }
}
