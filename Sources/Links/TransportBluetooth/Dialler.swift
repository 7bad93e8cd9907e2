import CBluetooth
import GhostDrop
import Glibc
import Logging
import MessageBus
import NIOCore
import Synchronization
import Threads
import Transport

/// Connects to one peer: by an L2CAP channel if it has one, else by GATT.
struct Dialler<Output: Sendable>: Sendable {
    let core: BluetoothCore
    let discovery: Discovery
    let peer: BluetoothAddress
    let effort: RadioEffort
    let deadline: ContinuousClock.Instant
    /// Whether a link of GhostDrop's first version is wanted.
    let isLegacy: Bool
    let install: LegacyInstaller<Output>
    /// What the peer says of itself, once it was read.
    private var offer: [UInt8] = []

    init(
        core: BluetoothCore, discovery: Discovery, peer: BluetoothAddress, effort: RadioEffort,
        deadline: ContinuousClock.Instant, isLegacy: Bool, install: @escaping LegacyInstaller<Output>
    ) {
        self.core = core
        self.discovery = discovery
        self.peer = peer
        self.effort = effort
        self.deadline = deadline
        self.isLegacy = isLegacy
        self.install = install
    }

    private var remaining: Duration { max(.zero, deadline - ContinuousClock.now) }

    /// The most that one way of connecting may take, so that there is time left for the next.
    private static var channelLimit: Duration { .seconds(10) }
    /// The most that an earlier link to the same device may take to end.
    private static var endingLimit: Duration { .seconds(8) }
    /// The most that bluetoothd may take to read which services the peer has.
    private static var resolvingLimit: Duration { .seconds(20) }

    func dial() async throws -> Output {
        let adapter = try await usableAdapter()
        let device = ObjectTree.devicePath(peer, of: adapter.path)
        let client = core.client
        let isFree: Bool? = try await client.value(within: min(remaining, Self.endingLimit)) {
            $0.mayDial(device) ? true : nil
        }
        guard isFree == true else {
            throw LinkError(
                .failed, "only one GATT link to \(peer) is possible; close the existing one first",
                isTransient: true)
        }
        client.update { $0.uses[device, default: .init()].count += 1 }
        // From here on a link of before that ends leaves the device connected.
        do {
            let output = try await dial(adapter, device)
            client.endUse(device, wasGATT: false)
            return output
        } catch {
            client.endUse(device, wasGATT: false)
            throw error
        }
    }

    private func dial(_ adapter: ObjectTree.Adapter, _ device: String) async throws -> Output {
        // v1 needs to know what the peer says of itself.
        if core.configuration.usesL2CAP, !isLegacy, let known = core.knownPeer(peer) {
            do throws(LinkFailure) {
                return try await channel(adapter, known, device)
            } catch {
                try error.rethrowIfFinal()
                core.remember(nil, at: peer)
                note("the channel of before is not there", error.cause)
            }
        }
        try await find(adapter)
        try await connect(device)
        let (offer, bytes) = try await capabilities(device)
        var dialler = self
        dialler.offer = bytes
        return try await dialler.link(adapter, device, offer)
    }

    private func usableAdapter() async throws -> ObjectTree.Adapter {
        let adapter = try await core.client.value(within: min(remaining, .seconds(5))) { facts in
            facts.state.isUsable ? facts.adapter : nil
        }
        guard let adapter else { throw LinkError(unusable: core.client.facts.state) }
        return adapter
    }

    // MARK: by bluetoothd

    /// Has bluetoothd know the device, by a scan if it does not. bluetoothd forgets a device half a minute after it was
    /// heard or connected last, unless it is paired with it.
    private func find(_ adapter: ObjectTree.Adapter) async throws {
        do {
            let peer = peer
            guard effort == .searching else {
                guard core.client.facts.tree.device(peer, of: adapter.path) != nil else {
                    throw LinkError.outOfRange(peer, "not heard lately")
                }
                return
            }
            let found: Bool? = try await discovery.scan(
                adapter.path, cycle: core.configuration.scanning, limit: remaining
            ) { $0.tree.device(peer, of: adapter.path) == nil ? nil : true }
            guard found == true else { throw LinkError.outOfRange(peer, nil) }
        } catch let error as BusError {
            throw LinkError(asking: peer, error)
        }
    }

    private func connect(_ path: String) async throws {
        let client = core.client
        let before = client.facts.tree.device(at: path)
        do {
            // What somebody else has connected stays when the link ends.
            if before?.isConnected != true, before?.isResolved != true {
                client.update { $0.uses[path, default: .init()].isConnectedForUs = true }
            }
            do {
                _ = try await client.call(path, BlueZ.device, "Connect", timeout: remaining)
            } catch let error as BusError where error.name == "org.bluez.Error.AlreadyConnected" {}
            // That it is connected is not always signalled (5.66), so only the services count.
            let isResolved: Bool? = try await client.value(within: min(remaining, Self.resolvingLimit)) {
                $0.tree.device(at: path)?.isResolved == true ? true : nil
            }
            guard isResolved == true else { throw LinkError.tooSlow(peer) }
        } catch let error as BusError {
            throw LinkError(asking: peer, error)
        }
    }

    private func link(
        _ adapter: ObjectTree.Adapter, _ device: String, _ offer: CapabilitiesValue
    ) async throws -> Output {
        var reason: LinkError?
        if core.configuration.usesL2CAP, offer.capabilities.supportsL2CAP, let psm = offer.psm {
            let kind = core.client.facts.tree.device(at: device)?.addressKind ?? .public
            let known = BluetoothCore.KnownPeer(kind: kind, psm: psm)
            // v1's own apps publish a channel that wants encryption.
            let isEncrypted = offer.capabilities.protocolVersion < Capabilities.synctrainVersion
            do throws(LinkFailure) {
                let output = try await patientChannel(adapter, known, device, isEncrypted: isEncrypted)
                if !isEncrypted { core.remember(known, at: peer) }
                return output
            } catch {
                try error.rethrowIfFinal()
                reason = error.cause as? LinkError
                note("no L2CAP channel, so GATT", error.cause)
            }
        }
        do throws(LinkFailure) {
            return try await isLegacy ? legacyGATT(device) : gatt(device)
        } catch {
            if let reason, !error.isFinal, !(error.cause is LinkError) { throw reason }
            throw error.cause
        }
    }

    private func capabilities(_ device: String) async throws -> (CapabilitiesValue, [UInt8]) {
        // A service that was registered a moment ago is told of after the others.
        let characteristic: String? = try await core.client.value(within: min(remaining, .seconds(5))) {
            $0.tree.characteristic(SurfaceUUID.capabilities, of: device)
        }
        guard let path = characteristic else {
            throw LinkError(
                .refused, "\(peer) does not offer synctrain; start its agent", isTransient: true,
                cause: "no GhostDrop service")
        }
        do {
            let answer = try await core.client.call(
                path, BlueZ.characteristic, "ReadValue", [.properties([:])], timeout: remaining)
            let value: CapabilitiesValue
            let bytes = answer.first?.data ?? []
            do throws(GhostDropError) {
                value = try CapabilitiesValue(parsing: bytes)
            } catch {
                throw LinkError(
                    .failed, "\(peer) sent invalid capabilities; update its agent", isTransient: true,
                    cause: "\(error)")
            }
            guard isLegacy || value.capabilities.protocolVersion >= Capabilities.synctrainVersion else {
                throw LinkError(
                    .refused, "\(peer) speaks GhostDrop's first version only; send files to it with `synctrain drop`",
                    isTransient: false)
            }
            return (value, bytes)
        } catch let error as BusError {
            throw LinkError(asking: peer, error)
        }
    }

    private func note(_ what: String, _ error: any Error) {
        let cause = (error as? LinkError)?.cause ?? "none"
        core.logger.debug(
            "Bluetooth: \(what).", metadata: ["peer": "\(peer)", "error": "\(error)", "cause": "\(cause)"])
    }

    // MARK: L2CAP

    /// Two that open more bearers of ATT at the same time, as bluetoothd does right after it has connected, refuse some of
    /// each other's, and the kernel refuses a channel whose number one of those had (“source CID in use”) until that one's
    /// end is over. That can take long: Linux 6.1 may give one bearer the answer that was another's, both with the same
    /// identifier, and then the end that closes it is answered with a number that it does not know. With Linux 6.12 it is
    /// this end that trips: it ignores the answer which gives the channel a number in use, and waits. (All of it seen on
    /// the air.) A socket alone asks under the same number again and again; of some that ask at once, one has a free one.
    private static var refusalPauses: [Duration] { [.milliseconds(500), .milliseconds(2000)] }
    /// How many ask at once after a refusal: one more than the bearers that bluetoothd adds at most (`Channels` of its
    /// main.conf, 1 to 5).
    private static var raceCount: Int { 5 }
    /// The most that a peer which is connected already may take to answer, where it is asked again.
    private static var answerLimit: Duration { .seconds(3) }

    /// Sockets that two threads hand on. Those that were not answered keep their numbers until the last attempt is over,
    /// on both ends, or the next channel would get the same.
    private final class SocketShelf: Sendable {
        private let sockets: Mutex<[L2CAPSocket]>

        init(_ sockets: [L2CAPSocket] = []) { self.sockets = Mutex(sockets) }

        func add(_ more: [L2CAPSocket]) { sockets.withLock { $0 += more } }

        func takeAll() -> [L2CAPSocket] {
            sockets.withLock { sockets in
                defer { sockets = [] }
                return sockets
            }
        }
    }

    private func patientChannel(
        _ adapter: ObjectTree.Adapter, _ known: BluetoothCore.KnownPeer, _ device: String, isEncrypted: Bool
    ) async throws(LinkFailure) -> Output {
        let unanswered = SocketShelf()
        // The thread of a link holds the shelf longer.
        defer { _ = unanswered.takeAll() }
        // v1's apps are no Linux, and each encrypted channel may ask somebody.
        let raceCount = isEncrypted ? 1 : Self.raceCount
        var count = 1
        for pause in Self.refusalPauses {
            do throws(LinkFailure) {
                // To encrypt, bluetoothd may have to ask somebody.
                return try await channel(
                    adapter, known, device, isEncrypted: isEncrypted, count: count,
                    limit: isEncrypted ? Self.channelLimit : Self.answerLimit, unanswered)
            } catch {
                guard !error.isFinal, let code = (error.cause as? LinkError)?.code,
                    code == .refused || code == .timedOut && !isEncrypted
                else { throw error }
                note("a channel was refused or not answered", error.cause)
            }
            do { try await Task.sleep(for: pause) } catch { throw LinkFailure(error) }
            count = raceCount
        }
        return try await channel(adapter, known, device, isEncrypted: isEncrypted, count: count, unanswered)
    }

    private func channel(
        _ adapter: ObjectTree.Adapter, _ known: BluetoothCore.KnownPeer, _ device: String, isEncrypted: Bool = false,
        count: Int = 1, limit: Duration? = nil, _ unanswered: SocketShelf? = nil
    ) async throws(LinkFailure) -> Output {
        let limit = min(remaining, limit ?? Self.channelLimit)
        let (core, peer) = (core, peer)
        return try await start(.l2cap, device) { stream, connected in
            let asking = SocketShelf(
                try L2CAPSocket.connect(
                    from: adapter.address, adapter.addressKind, to: peer, known.kind, psm: known.psm,
                    isEncrypted: isEncrypted, count: count))
            return {
                // Taken, as what a closure holds stays open as long as it.
                var race = ChannelRace(asking.takeAll())
                do throws(SystemError) {
                    // The stream's end is the dial's cancellation.
                    let socket = try race.run(limit: limit, orEndOf: stream).get()
                    unanswered?.add(race.takePending())
                    let packetLimit = try socket.packetLimit()
                    connected(.success(()))
                    let outcome = PacketPump(
                        stream: stream, packets: socket.descriptor, packetLimit: packetLimit
                    ).run()
                    core.logger.debug(
                        "Bluetooth: a link has ended.", metadata: ["peer": "\(peer)", "how": "\(outcome)"])
                } catch {
                    let isLate = error.code == ETIMEDOUT && !race.pending.isEmpty
                    if isLate { unanswered?.add(race.takePending()) }
                    connected(.failure(isLate ? LinkError.tooSlow(peer) : LinkError(connecting: peer, error)))
                }
            }
        }
    }

    // MARK: GATT

    private func gatt(_ device: String) async throws(LinkFailure) -> Output {
        let way: ValueWay
        do {
            guard let path = core.client.facts.tree.characteristic(SurfaceUUID.data, of: device) else {
                throw LinkError(
                    .refused, "\(peer) does not offer GATT; update its agent", isTransient: true)
            }
            way = try await ValueWay.open(to: path, core: core, limit: remaining)
        } catch let error as BusError {
            throw LinkFailure(LinkError(asking: peer, error))
        } catch let error as SystemError {
            throw LinkFailure(LinkError(connecting: peer, error))
        } catch {
            throw LinkFailure(error)
        }
        let (core, peer) = (core, peer)
        let limit = remaining
        return try await start(.gatt, device) { stream, connected in
            {
                var configuration = GATTStream.Configuration()
                configuration.openingLimit = limit
                let machine = GATTStream(
                    role: .central, maximumPacket: GATTPump.packetLimit(mtu: way.mtu),
                    token: .random(in: 0...UInt32.max), configuration: configuration)
                var pump = GATTPump(inlet: way.inlet, outlet: way.outlet)
                pump.openingLimit = limit
                var isOpen = false
                let outcome = pump.run(machine) {
                    isOpen = true
                    connected(.success(()))
                    return stream
                }
                if !isOpen { connected(.failure(LinkError.tooSlow(peer))) }
                way.close()
                core.logger.debug(
                    "Bluetooth: a link has ended.", metadata: ["peer": "\(peer)", "how": "\(outcome)"])
            }
        }
    }

    // MARK: both

    /// Makes a channel, has a thread connect and pump, and starts the link on the channel when that is done.
    ///
    /// - Parameters:
    ///   - device: its path, whose use by a link that came about ends with the link.
    ///   - prepare: gives what the thread does with the pump's end of the stream, and with a function that is to be told
    ///     once whether the link came about.
    func start(
        _ kind: LinkKind, _ device: String,
        _ prepare: (Descriptor, @escaping @Sendable (Result<Void, any Error>) -> Void) throws -> @Sendable () -> Void
    ) async throws(LinkFailure) -> Output {
        let core = core
        let attempt = LinkAttempt<Output>()
        let information = LinkInformation(kind: kind, remoteAddress: "ble://\(peer)", isInitiator: true)
        let eventLoop = core.group.next()
        let connected = eventLoop.makePromise(of: Void.self)
        let opening: EventLoopFuture<any Channel>
        let wasLink = Flag()
        do {
            try Task.checkCancellation()
            guard core.reserveLink() else {
                throw LinkError(
                    .failed, "there are too many Bluetooth links at the same time; close one", isTransient: true)
            }
            do {
                let ends = try StreamEnds(kind == .gatt ? .forValues : .forPackets)
                let work = try prepare(ends.pumped) { result in
                    if case .success = result {
                        wasLink.raise()
                        core.client.update { facts in
                            facts.uses[device, default: .init()].count += 1
                            if kind == .gatt { facts.uses[device]?.hasGATT = true }
                        }
                    }
                    connected.completeWith(result)
                }
                opening = ends.channel(on: eventLoop) { attempt.opened($0) }
                try OwnedThread.startWaiting("bluetooth-\(kind.rawValue)") {
                    work()
                    if wasLink.isRaised { core.client.endUse(device, wasGATT: kind == .gatt) }
                    core.releaseLink()
                }
            } catch {
                core.releaseLink()
                throw error
            }
        } catch let error as SystemError {
            let failure = LinkError(connecting: peer, error)
            connected.fail(failure)
            throw LinkFailure(failure)
        } catch {
            connected.fail(error)
            throw LinkFailure(error)
        }
        let (install, offer) = (install, offer)
        let hasConnected = connected.futureResult
        let output = opening.flatMap { channel in
            hasConnected.flatMapErrorThrowing { throw LinkFailure($0) }.hop(to: channel.eventLoop).flatMap {
                information.start(on: channel) { install($0, $1, offer) }
            }
        }
        do {
            return try await attempt.output(of: output)
        } catch let error as LinkFailure {
            throw error
        } catch {
            // The link was there: another way to the same peer would not change the installer's mind.
            throw LinkFailure(error, isFinal: true)
        }
    }
}

/// Why one way of connecting failed.
struct LinkFailure: Error {
    var cause: any Error
    /// Whether the next way need not be tried.
    var isFinal: Bool

    init(_ cause: any Error, isFinal: Bool = false) {
        self.cause = cause
        self.isFinal = isFinal || cause is CancellationError
    }

    func rethrowIfFinal() throws {
        if isFinal { throw cause }
    }
}

/// Something that has happened, or has not yet.
private final class Flag: Sendable {
    private let value = Atomic(false)

    var isRaised: Bool { value.load(ordering: .acquiring) }

    func raise() { value.store(true, ordering: .releasing) }
}
