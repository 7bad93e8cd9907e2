import AgentConfiguration
import AgentContext
import AgentServer
import BlockExchange
import CLinux
import ControlAPI
import Cryptography
import FolderWatcher
import Foundation
import Logging
import MachineState
import NIOCore
import PeerLinks
import Proxies
import Reachability
import ServiceLifecycle
import SyncAgent
import SyncDecisions
import Threads
import Transport
import TransportBluetooth
import TransportTCP
import TransportVirtual

/// `agent run`: the one place that joins transports, agent and control server.
enum AgentProgram {
    /// Runs until SIGTERM, SIGINT or the control verb `stop`.
    ///
    /// - Parameter virtualAir: the socket of a virtual radio to take part in; nil for none.
    static func run(
        _ places: AgentPlaces, _ options: CommandEnvironment.RunOptions, virtualAir: String? = nil,
        ready: @escaping @Sendable () async -> Void
    ) async throws {
        do {
            try places.createDirectories()
            let lock = try AgentLock.take(places)
            defer { withExtendedLifetime(lock) {} }
            // Many small files are open at once while they are made durable together.
            DescriptorLimit.raise()
            shareHeaps()
            let file = ConfigurationFile(places)
            let configuration = try file.load()
            let records = RecordRing()
            let logger = try logger(options, configuration, records, LogFile(places.log))
            let stopping = StopRequest()
            let network = try DiscoveryNetwork.local()
            let makeDiscovery: DeviceDiscoveryMaker = { device, listening, isKnown in
                LocalDiscovery(
                    device: device, instanceID: Int64(bitPattern: SecureRandom.uint64()), network: network,
                    clock: ContinuousClock(), logger: logger, listening: listening, isKnown: isKnown)
            }
            let reach = try ReachSettings(configuration, environment: ProcessInfo.processInfo.environment)
            let sharedPort = SharedPort()
            let makeReach: WideReachMaker = { identity in
                try NetworkReach(
                    reach, identity: identity, secret: try LinkKeyFile.load(from: places), sharedPort: sharedPort,
                    logger: logger)
            }
            let tcp = TCPTransport(setUpLimit: 512, setUpLimitPerAddress: 64, sharedPort: sharedPort)
            // What listens also dials, where it may: both need the same port.
            var transports: [any LinkTransport] = [
                try NetworkReach.proxiedStreams(reach.proxies, .streams).map { ProxiedLinks(base: tcp, streams: $0) }
                    ?? tcp
            ]
            var nearby: [any NearbyDevices] = []
            if let virtualAir {
                let virtual = VirtualTransport(air: virtualAir, name: virtualName(configuration.listen))
                transports.append(virtual)
                nearby.append(VirtualNearby(virtual))
                logger.notice(
                    "using the virtual radio at \(virtualAir) instead of Bluetooth; for tests and demonstrations only")
            }
            let bluetooth = try bluetooth(configuration.bluetooth, logger)
            if let bluetooth {
                transports.append(bluetooth.transport)
                nearby.append(bluetooth)
            }
            let links = try PageEntrance(http: configuration.http, places: places, logger: logger).endpoint()
            let machine = BluetoothRadio.hasSystemBus ? try MachineObserver(logger: logger) : nil
            let desktop = try SessionDesktop(
                ProcessInfo.processInfo.environment, escape: NoticeText.escaped, logger: logger)
            let language = SpokenLanguage.translation(Terminal.liveVariables)
            let setup = AgentSetup(
                places: places, configurationFile: file, transports: transports,
                makeDiscovery: configuration.discovery.local && reach.proxyUse != .only
                    ? makeDiscovery : nil,
                makeReach: reach.isUsed ? makeReach : nil, proxyUse: reach.proxyUse,
                testTransport: TCPTransport(), nearby: nearby,
                radio: bluetooth?.radio,
                web: AgentSetup.Web(
                    address: { links.address }, remark: { links.remark }, problem: { links.problem },
                    link: { try links.link(folder: $0, path: $1, expires: $2) },
                    logIn: { try links.loginLink(used: $0) }, logOut: { try await links.logOut() },
                    setPassword: { try await links.setPassword($0) }, fingerprint: { links.fingerprint }),
                examine: MachineReading(places, variables: Terminal.liveVariables, isAgent: true).facts,
                machine: machine,
                notices: desktop.map { DesktopBoard(desktop: $0.notifications, translation: language) },
                tray: desktop.map { DesktopTray(tray: $0.tray, translation: language) },
                mounts: AgentMounts(places, ProcessInfo.processInfo.environment).tools,
                watchProgram: WatchProgram.besideExecutable(), logger: logger,
                requestStop: { stopping.request() })
            let agent = try await Agent(setup)
            try await agent.listen()
            let server = AgentServer(
                agent: agent.handlers, socketPath: places.controlSocket, links: links,
                pace: { await agent.paceLinks($0) },
                surroundings: AgentServer.Surroundings(
                    records: records, announce: { agent.announce($0) }, code: { try QRCode.modules($0) },
                    now: { WallTime.now.seconds }),
                logger: logger,
                onListening: {
                    // Commands that found no agent until now have edited the file themselves.
                    await agent.catchUpWithConfiguration()
                    await ready()
                })
            let services = services(server, agent, bluetooth, machine, desktop, stopping, logger)
            let group = ServiceGroup(
                configuration: ServiceGroupConfiguration(
                    services: services, gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
            try await group.run()
        } catch {
            throw ControlError(describing: error)
        }
    }

    // Those named first end last: what the server still answers when the agent has ended are errors, not silence, and links are closed
    // before what carries them.
    // Each with a name: the library would make one of the whole service as text, with all of its tables.
    private static func services(
        _ server: AgentServer, _ agent: Agent, _ bluetooth: BluetoothRadio?, _ machine: MachineObserver?,
        _ desktop: SessionDesktop?, _ stopping: StopRequest, _ logger: Logger
    ) -> [ServiceGroupConfiguration.ServiceConfiguration] {
        var services: [ServiceGroupConfiguration.ServiceConfiguration] = [
            .init(service: server, serviceName: "server")
        ]
        if let bluetooth { services.append(.init(service: bluetooth, serviceName: "bluetooth")) }
        if let machine {
            services.append(.init(service: MachineFollowing(observer: machine), serviceName: "machine"))
        }
        if let desktop {
            let following = following(desktop, agent, stopping, logger)
            services.append(.init(service: following, serviceName: "desktop"))
        }
        return services + [
            .init(service: agent, serviceName: "agent"),
            .init(service: agent.mountServer, serviceName: "mounts"),
            .init(service: Settling(), serviceName: "memory"),
            .init(service: stopping, successTerminationBehavior: .gracefullyShutdownGroup, serviceName: "stop request"),
        ]
    }

    /// What the user does with the icon and the notices.
    private static func following(
        _ desktop: SessionDesktop, _ agent: Agent, _ stopping: StopRequest, _ logger: Logger
    ) -> DesktopFollowing {
        DesktopFollowing(
            desktop: desktop,
            open: { view in
                do { try await openPage(view, of: agent) } catch {
                    logger.warning("the page was not opened: \(error)")
                }
            },
            setPaused: { isPaused in
                do { try await agent.setAllPaused(isPaused) } catch {
                    logger.warning("nothing was \(isPaused ? "paused" : "resumed"): \(error)")
                }
            }, quit: { stopping.request() })
    }

    /// Opens a view of the page in the user's browser, as `synctrain ui` does: the program gets a file, not the link, among its
    /// arguments.
    private static func openPage(_ view: String, of agent: Agent) async throws {
        let variables = ProcessInfo.processInfo.environment
        guard let command = OpeningProgram.command(variables) else {
            throw ControlError(
                .failed, "xdg-open is not installed, and SYNCTRAIN_OPEN names no program; use `synctrain ui`.")
        }
        guard let page = try agent.loginPage(showing: view) else { return }
        try await OpeningProgram.runForAgent(command, page, variables: variables)
    }

    /// Has all threads share two heaps. With one for each, as the C library has it, what many threads allocate and others let go
    /// keeps pages of all of them: docs/reliability.md has the figures.
    private static func shareHeaps() { clinux_limit_heaps(2) }

    /// Bluetooth, unless it is switched off or the machine has no system bus to reach bluetoothd by.
    private static func bluetooth(_ settings: Configuration.Bluetooth, _ logger: Logger) throws -> BluetoothRadio? {
        guard settings.isEnabled, BluetoothRadio.hasSystemBus else { return nil }
        return try BluetoothRadio(BluetoothConfiguration(adapter: settings.adapter), logger)
    }

    /// What this device is called on the virtual radio: as it listens there.
    private static func virtualName(_ listen: [String]) -> String? {
        for text in listen {
            if case .virtual(let name)? = try? LinkAddress(parsing: text) { return name }
        }
        return nil
    }

    private static func logger(
        _ options: CommandEnvironment.RunOptions, _ configuration: Configuration, _ records: RecordRing,
        _ file: LogFile?
    ) throws -> Logger {
        let isTerminal = isatty(STDERR_FILENO) == 1
        let isJSON =
            switch options.logFormat {
            case .json: true
            case .text: false
            case nil: configuration.log.format == .json || configuration.log.format == .auto && !isTerminal
            }
        let level = Logger.Level(rawValue: (options.logLevel?.rawValue ?? configuration.log.level.rawValue)) ?? .info
        LoggingSystem.bootstrap { label in
            MultiplexLogHandler([
                LineLogHandler.standardError(level: level, isJSON: isJSON, file: file),
                LineLogHandler.ring(records, label: label, level: min(level, .info)),
            ])
        }
        return Logger(label: "synctrain")
    }
}

/// Ends the service group when somebody asks for it.
private final class StopRequest: Service {
    private let requests: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() { (requests, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    func request() { continuation.yield() }

    func run() async {
        await cancelWhenGracefulShutdown { for await _ in self.requests { return } }
    }
}

extension LocalDiscovery: DeviceDiscovery {
    package func run(heard: @escaping @Sendable (DeviceID) async -> Void) async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.run() }
            group.addTask { for await sighting in self.sightings { await heard(sighting.device) } }
        }
    }

    /// Says that this device is here, so that those that were heard of hear of it.
    package func lookAround() async { announce() }

    package var nearby: [Transport.NearbyDevice] {
        entries().flatMap { entry in
            entry.addresses.prefix(1).map {
                Transport.NearbyDevice(id: entry.device.description, address: $0, kind: .tcp)
            }
        }
    }

    package var problem: String? {
        switch state {
        case .off, .running: nil
        case .impaired(let message), .failed(let message): message
        }
    }
}
