import BlockExchange
import Logging
import NIOCore
import NIOPosix
import Synchronization
import Transport

/// Finds other devices on the local network and tells them of this one.
///
/// Announces every interval, and soon after a device has appeared or restarted. Interfaces that come and go are taken
/// up at each announcement, and a socket that cannot be opened is tried again then.
package final class LocalDiscovery: Sendable {
    /// Whether it works, for the user's eyes.
    package enum State: Equatable, Sendable {
        /// Not running.
        case off
        case running
        /// Running without some of its sockets; the message says which and why.
        case impaired(String)
        /// None of its sockets could be opened; it goes on trying. The message says why and what to do.
        case failed(String)
    }

    /// A device that has just appeared, restarted or changed its addresses.
    package struct Sighting: Equatable, Sendable {
        package var device: DeviceID
        package var addresses: [LinkAddress]

        package init(device: DeviceID, addresses: [LinkAddress]) {
            self.device = device
            self.addresses = addresses
        }
    }

    package struct Timing: Sendable {
        package var interval: Duration
        /// Least time between two announcements.
        package var gap: Duration
        package var lifetime: Duration

        package init(
            interval: Duration = .seconds(30), gap: Duration = .seconds(1), lifetime: Duration = .seconds(90)
        ) {
            self.interval = interval
            self.gap = gap
            self.lifetime = lifetime
        }
    }

    private struct Shared {
        var table: DiscoveryTable
        var state = State.off
        var wake: AsyncStream<Void>.Continuation?
    }

    private let device: DeviceID
    private let instanceID: Int64
    private let network: DiscoveryNetwork
    private let timing: Timing
    private let group: any EventLoopGroup
    private let logger: Logger
    private let listening: @Sendable () -> [LinkAddress]
    private let isKnown: @Sendable (DeviceID) -> Bool
    private let now: @Sendable () -> Duration
    private let sleep: @Sendable (Duration) async throws -> Void
    private let shared: Mutex<Shared>
    private let sightingsContinuation: AsyncStream<Sighting>.Continuation

    /// The devices seen, as they are seen; for one task to iterate. The newest 64 wait; ends with the last reference to
    /// this object.
    package let sightings: AsyncStream<Sighting>

    /// - Parameters:
    ///   - instanceID: a number drawn at the agent's start.
    ///   - clock: measures intervals and lifetimes.
    ///   - listening: where this device listens at the moment; nothing is announced while it is empty.
    ///   - isKnown: whether the user has added a device. Called on an event loop; must not block.
    package init(
        device: DeviceID, instanceID: Int64, network: DiscoveryNetwork, timing: Timing = Timing(),
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton, clock: some Clock<Duration>, logger: Logger,
        listening: @escaping @Sendable () -> [LinkAddress], isKnown: @escaping @Sendable (DeviceID) -> Bool
    ) {
        self.device = device
        self.instanceID = instanceID
        self.network = network
        self.timing = timing
        self.group = group
        self.logger = logger
        self.listening = listening
        self.isKnown = isKnown
        let start = clock.now
        now = { start.duration(to: clock.now) }
        sleep = { try await clock.sleep(until: clock.now.advanced(by: $0), tolerance: nil) }
        shared = Mutex(Shared(table: DiscoveryTable(lifetime: timing.lifetime)))
        (sightings, sightingsContinuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(64))
    }

    deinit { sightingsContinuation.finish() }

    package var state: State { shared.withLock { $0.state } }

    /// Where `device` was last heard of; empty when it has not announced itself for the lifetime of an entry.
    package func addresses(of device: DeviceID) -> [LinkAddress] {
        let now = now()
        return shared.withLock { $0.table.addresses(of: device, at: now) }
    }

    /// All devices that have announced themselves of late, known ones and strangers.
    package func entries() -> [DiscoveryTable.Entry] {
        let now = now()
        return shared.withLock { $0.table.entries(at: now) }
    }

    /// Announces and listens until the task is cancelled. One call at a time.
    package func run() async {
        let (wakes, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        shared.withLock { $0.wake = wake }
        var sockets = Sockets(network: network)
        await withTaskGroup { tasks in
            tasks.addTask { [sleep, timing] in
                repeat { wake.yield() } while (try? await sleep(timing.interval)) != nil
                wake.finish()
            }
            for await _ in wakes {
                await sockets.open(on: group) { [weak self] in self?.receive($0) }
                report(sockets.state)
                sockets.send(announcement)
                // What is heard in the gap waits for its end: a flood of new devices makes us no louder.
                guard (try? await sleep(timing.gap)) != nil else { break }
            }
            tasks.cancelAll()
        }
        await sockets.close()
        shared.withLock { $0.wake = nil }
        report(.off)
    }

    /// Announces soon, because this device's own addresses have changed.
    package func announce() { _ = shared.withLock { $0.wake }?.yield() }

    private var announcement: ByteBuffer? {
        let announcement = DiscoveryAnnouncement(device: device, listeningOn: listening(), instanceID: instanceID)
        return announcement.addresses.isEmpty ? nil : announcement.encoded
    }

    private func receive(_ envelope: AddressedEnvelope<ByteBuffer>) {
        guard let source = IPAddress(envelope.remoteAddress),
            let announcement = try? DiscoveryAnnouncement(datagram: envelope.data), announcement.device != device
        else { return }
        let now = now()
        let isKnown = isKnown(announcement.device)
        let (change, addresses) = shared.withLock { shared in
            let change = shared.table.receive(announcement, from: source, isKnown: isKnown, at: now)
            return (change, shared.table.addresses(of: announcement.device, at: now))
        }
        switch change {
        case .refreshed, .refused:
            break
        case .appeared:
            announce()
            fallthrough
        case .moved:
            sightingsContinuation.yield(Sighting(device: announcement.device, addresses: addresses))
        }
    }

    private func report(_ state: State) {
        let now = now()
        let old = shared.withLock { shared in
            shared.table.removeExpired(at: now)
            defer { shared.state = state }
            return shared.state
        }
        guard state != old else { return }
        switch state {
        case .off, .running: logger.debug("local discovery: \(state)")
        case .impaired(let message), .failed(let message): logger.warning("\(message)")
        }
    }
}

/// The sockets of one run, and why those that are not open are not.
private struct Sockets {
    private struct Socket {
        var endpoint: DiscoveryNetwork.Endpoint
        var channel: (any Channel)?
        var problem: String?
        var joined: Set<Int> = []
    }

    private var sockets: [Socket]

    init(network: DiscoveryNetwork) { sockets = network.endpoints.map { Socket(endpoint: $0) } }

    /// Opens what is not open, and joins the group on interfaces that are new.
    mutating func open(
        on group: any EventLoopGroup, receive: @escaping @Sendable (AddressedEnvelope<ByteBuffer>) -> Void
    ) async {
        for index in sockets.indices {
            if sockets[index].channel?.isActive != true {
                sockets[index].joined = []
                do {
                    sockets[index].channel = try await DiscoveryNetwork.open(
                        sockets[index].endpoint, on: group, receive: receive)
                    sockets[index].problem = nil
                } catch {
                    sockets[index].channel = nil
                    sockets[index].problem = "\(sockets[index].endpoint.name): \(error)"
                }
            }
            await join(index)
        }
    }

    private mutating func join(_ index: Int) async {
        guard let channel = sockets[index].channel as? any MulticastChannel, let group = sockets[index].endpoint.group
        else { return }
        let devices = (try? DiscoveryNetwork.multicastInterfaces()) ?? []
        // An interface that has gone has taken its membership along; should it come back, it is joined again.
        sockets[index].joined.formIntersection(devices.map(\.interfaceIndex))
        for device in devices where !sockets[index].joined.contains(device.interfaceIndex) {
            guard (try? await channel.joinGroup(group, device: device).get()) != nil else { continue }
            sockets[index].joined.insert(device.interfaceIndex)
        }
    }

    func send(_ datagram: ByteBuffer?) {
        guard let datagram else { return }
        for socket in sockets {
            guard let channel = socket.channel, let destinations = try? socket.endpoint.destinations() else { continue }
            for destination in destinations {
                // An interface that is down or without a route says so for each datagram; the others hear us.
                channel.writeAndFlush(AddressedEnvelope(remoteAddress: destination, data: datagram), promise: nil)
            }
        }
    }

    var state: LocalDiscovery.State {
        let problems = sockets.compactMap(\.problem)
        if problems.isEmpty { return .running }
        let text = problems.joined(separator: "; ")
        return problems.count < sockets.count
            ? .impaired("local discovery works in part (\(text))")
            : .failed(
                "local discovery cannot open its port (\(text)); "
                    + "stop the program that uses the port, or switch discovery off and give devices an address")
    }

    mutating func close() async {
        for index in sockets.indices {
            guard let channel = sockets[index].channel else { continue }
            channel.close(promise: nil)
            try? await channel.closeFuture.get()
            sockets[index].channel = nil
        }
    }
}
