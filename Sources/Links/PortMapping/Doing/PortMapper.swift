import NIOCore
import NIOPosix
import Transport

/// Has every router that leads to the internet map the ports that this device listens on, and keeps them mapped.
///
/// One `RouterClient` per router and port. `run` owns them; everything else only tells it something.
package actor PortMapper {
    private struct Key: Hashable {
        var gateway: Gateway
        var port: ListenedPort
    }

    private struct Running {
        var client: RouterClient
        /// Whether it was told to end: another for the same router and port begins only after it.
        var isEnding = false
    }

    private enum Command: Sendable { case look, stop }

    /// More ports than that are not mapped.
    package static let maximumPortCount = 4

    /// What is to be announced now, after every change; the first element comes with the first change. For one reader; a slow
    /// one misses intermediate states.
    package nonisolated let addresses: AsyncStream<[MappedAddress]>

    private let announce: AsyncStream<[MappedAddress]>.Continuation
    private let commands: AsyncStream<Command>
    private nonisolated let command: AsyncStream<Command>.Continuation
    private let identity: MappingIdentity
    private let settings: MappingSettings
    private let group: any EventLoopGroup
    private let http: GatewayHTTP
    private let clock: any Clock<Duration>
    private let networks: @Sendable () -> NetworkView
    private var ports: [ListenedPort] = []
    private var clients: [Key: Running] = [:]
    private var found: [Key: RouterReport] = [:]
    private var announced: [MappedAddress] = []
    private var view = NetworkView(interfaces: [], defaultRoutes: [])
    private var hasLooked = false
    private var mustRestart = false

    /// - Parameters:
    ///   - group: the event loops for the sockets; the caller shuts them down.
    ///   - http: performs requests to routers.
    ///   - networks: what networks there are at the moment of the call.
    package init(
        identity: MappingIdentity, settings: MappingSettings = MappingSettings(),
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton, http: @escaping GatewayHTTP,
        clock: any Clock<Duration> = ContinuousClock(),
        networks: @escaping @Sendable () -> NetworkView = { NetworkView.current() }
    ) {
        self.identity = identity
        self.settings = settings
        self.group = group
        self.http = http
        self.clock = clock
        self.networks = networks
        (addresses, announce) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        (commands, command) = AsyncStream.makeStream()
    }

    /// Says which ports are listened on. Mappings of others are deleted.
    package func listen(on ports: [ListenedPort]) {
        self.ports = Array(ports.filter { $0.number != 0 }.prefix(Self.maximumPortCount))
        command.yield(.look)
    }

    /// Says that routes or addresses may have changed, or that the machine has slept: routers are asked again.
    package func networkChanged() {
        mustRestart = true
        command.yield(.look)
    }

    /// Deletes this device's mappings and lets `run` return, after 2 s at most.
    package nonisolated func stop() { command.yield(.stop) }

    /// What each router said, in the order of preference.
    package var reports: [RouterReport] {
        let order = view.gateways
        return found.values.sorted { left, right in
            let leftRank = order.firstIndex(of: left.gateway) ?? order.count
            let rightRank = order.firstIndex(of: right.gateway) ?? order.count
            return (leftRank, left.port.number) < (rightRank, right.port.number)
        }
    }

    /// Sentences for people: one for each router and port, or why there is none.
    package var summaries: [String] {
        guard found.isEmpty else { return reports.map(\.summary) }
        return hasLooked && view.gateways.isEmpty
            ? ["No router to ask for a port: this machine has no default route through one."] : []
    }

    /// Runs until `stop`, or until the task is cancelled; mappings then stay until their leases end. To be called once.
    package func run() async {
        let (heard, hear) = AsyncStream<MappingMachine.Event>.makeStream(bufferingPolicy: .bufferingOldest(16))
        let announcements = await AnnouncementSockets.open(on: group) { hear.yield($0) }
        await withDiscardingTaskGroup { group in
            async let _: Void = tick()
            async let _: Void = pass(on: heard)
            look(in: &group)
            for await next in commands {
                if case .stop = next { break }
                look(in: &group)
            }
            // Each deletes what it has mapped and ends; the group waits for them.
            for running in clients.values { running.client.order(.end) }
        }
        for channel in announcements { channel.close(promise: nil) }
        announce.finish()
    }

    /// For systems that do not tell of changes.
    private func tick() async {
        while (try? await clock.sleep(for: settings.renewal)) != nil { command.yield(.look) }
    }

    private func pass(on events: AsyncStream<MappingMachine.Event>) async {
        for await event in events {
            for running in clients.values { running.client.deliver(event) }
        }
    }

    /// Starts and ends clients, so that there is one for each router and port that there is.
    private func look(in group: inout DiscardingTaskGroup) {
        let now = networks()
        let hasChanged = now != view
        view = now
        hasLooked = true
        let wanted = view.gateways.flatMap { gateway in ports.map { Key(gateway: gateway, port: $0) } }
        for (key, running) in clients where !wanted.contains(key) && !running.isEnding {
            clients[key]?.isEnding = true
            running.client.order(view.gateways.contains(key.gateway) ? .end : .gone)
            // The report goes at once, and with it the address: whether the router still maps it does not matter.
            found[key] = nil
        }
        for key in wanted {
            if let running = clients[key] {
                if mustRestart || hasChanged, !running.isEnding { running.client.order(.begin) }
                continue
            }
            let client = RouterClient(gateway: key.gateway, port: key.port, group: self.group, http: http, clock: clock)
            clients[key] = Running(client: client)
            let machine = MappingMachine(
                gateway: key.gateway, port: key.port, identity: identity, ownAddresses: view.ownAddresses,
                settings: settings)
            group.addTask {
                await client.run(machine) { await self.note($0, of: key) }
                await self.ended(key)
            }
        }
        mustRestart = false
        update()
    }

    private func note(_ report: RouterReport, of key: Key) {
        guard view.gateways.contains(key.gateway), ports.contains(key.port) else { return }
        found[key] = report
        update()
    }

    private func ended(_ key: Key) {
        // Wanted again meanwhile, perhaps.
        if clients.removeValue(forKey: key)?.isEnding == true { command.yield(.look) }
        // What it said last stays to be read, unless the mapping has gone with it.
        if case .failed = found[key]?.outcome { return }
        found[key] = nil
        update()
    }

    private func update() {
        let current = MappedAddress.announced(reports)
        guard current != announced else { return }
        announced = current
        announce.yield(current)
    }
}
