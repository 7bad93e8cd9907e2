import NIOCore

/// Who is on an air, who wants to speak with whom, and the connections that came of it. Lives on one event loop.
final class AirSwitchboard {
    /// A device that wants a link with another, from its line to the accepted link.
    private struct Dial {
        var client: AirClient
        var target: String
        var source: String
        var modes: [VirtualConnection.Mode]
        var stage = Stage.waiting
    }

    private enum Stage: Equatable {
        /// The target does not advertise or is out of range.
        case waiting
        /// The radios are making a connection.
        case connecting
        /// The target was told and has not accepted.
        case offered(token: UInt64)
    }

    private struct Advertiser {
        var client: AirClient
        var modes: [VirtualConnection.Mode]
        var capabilities: String?
    }

    /// Weaker signals are not heard.
    static let leastSignal = -100
    static let usualSignal = -60
    private static let dialLimit = 1024
    /// Before the number of a device that dials without a name.
    private static let nameless = "nameless"

    private(set) var conditions: RadioConditions
    private var advertisers: [String: Advertiser] = [:]
    private var signals: [String: Int] = [:]
    private var dials: [ObjectIdentifier: Dial] = [:]
    private var pumps: [ObjectIdentifier: StreamPump] = [:]
    private var past = AirStatistics()
    private var nextToken: UInt64 = 1
    private var namelessCount = 0
    private var chance: RadioChance
    private let clock: AirClock
    private let eventLoop: any EventLoop

    init(_ conditions: RadioConditions, clock: AirClock, seed: UInt64, eventLoop: any EventLoop) {
        self.conditions = conditions
        self.clock = clock
        self.eventLoop = eventLoop
        chance = RadioChance(seed: seed)
    }

    // MARK: requests

    func handle(_ request: AirRequest, from client: AirClient) {
        switch request {
        case .advertise(let name, let modes, let capabilities):
            guard advertisers[name] == nil else {
                return client.answer(.refused(.nameInUse, "\(name) is already on this radio"))
            }
            advertisers[name] = Advertiser(client: client, modes: modes, capabilities: capabilities)
            client.answer(.done(""))
            connectWaiting()
        case .capabilities(let name):
            guard let advertiser = advertisers[name], signal(between: "-", name) != nil else {
                return client.answer(.refused(.gone, "\(name) is not in range"))
            }
            client.answer(.done(advertiser.capabilities ?? ""))
        case .dial(let target, let source, let modes):
            guard dials.count < Self.dialLimit else { return client.answer(.refused(.busy, "too many dials")) }
            namelessCount += source == nil ? 1 : 0
            dials[ObjectIdentifier(client)] = Dial(
                client: client, target: target, source: source ?? "\(Self.nameless)-\(namelessCount)", modes: modes)
            connectWaiting()
        case .accept(let token): accept(token, by: client)
        case .nearby(let name):
            for device in nearby(name) { client.answer(.device(device)) }
            client.answer(.done(""))
        case .change(let setting, let value):
            do {
                var conditions = conditions
                try conditions.set(setting, value)
                change(conditions)
                client.answer(.done(""))
            } catch {
                client.answer(.refused(.notUnderstood, "\(error)"))
            }
        case .signal(let name, let strength):
            setSignal(strength, of: name)
            client.answer(.done(""))
        case .cut:
            client.answer(.done("\(cut())"))
        case .statistics: client.answer(.done(statistics.json))
        }
    }

    /// A device has closed a connection that is no link.
    func left(_ client: AirClient) {
        dials[ObjectIdentifier(client)] = nil
        for (name, advertiser) in advertisers where advertiser.client === client {
            advertisers[name] = nil
            for (key, dial) in dials where dial.target == name { dials[key]?.stage = .waiting }
        }
    }

    // MARK: control

    func change(_ conditions: RadioConditions) {
        self.conditions = conditions
        for pump in pumps.values { pump.change(conditions) }
    }

    func setSignal(_ strength: Int, of name: String) {
        signals[name] = strength
        for pump in pumps.values where pump.names.contains(name) {
            pump.setInRange(signal(between: pump.names[0], pump.names[1]) != nil)
        }
        connectWaiting()
    }

    /// Ends all connections and gives their number.
    func cut() -> Int {
        let pumps = Array(pumps.values)
        for pump in pumps { pump.cut() }
        return pumps.count
    }

    func closeAll() {
        for advertiser in advertisers.values { advertiser.client.close() }
        for dial in dials.values { dial.client.close() }
        for pump in pumps.values { pump.closeAll() }
    }

    var statistics: AirStatistics {
        var statistics = past
        statistics.openConnections = pumps.count
        for pump in pumps.values { Self.add(pump, to: &statistics) }
        return statistics
    }

    func nearby(_ name: String?) -> [NearbyDevice] {
        advertisers.compactMap { other, advertiser in
            guard other != name, let signal = signal(between: other, name ?? "-") else { return nil }
            return NearbyDevice(name: other, signal: signal, modes: advertiser.modes)
        }.sorted { ($1.signal, $0.name) < ($0.signal, $1.name) }
    }

    // MARK: connections

    /// Nil if they do not hear one another.
    private func signal(between first: String, _ second: String) -> Int? {
        let signal = min(signals[first] ?? Self.usualSignal, signals[second] ?? Self.usualSignal)
        return signal >= Self.leastSignal ? signal : nil
    }

    private func connectWaiting() {
        for (key, dial) in dials where dial.stage == .waiting {
            guard let advertiser = advertisers[dial.target], signal(between: dial.source, dial.target) != nil else {
                continue
            }
            guard mode(for: dial, advertiser) != nil else {
                dials[key] = nil
                dial.client.answer(.refused(.incompatible, "\(dial.target) supports none of the requested protocols"))
                continue
            }
            dials[key]?.stage = .connecting
            // The advertisement that is waited for, and the packets that make a connection and a channel on it.
            let wait =
                conditions.advertisingInterval * Double.random(in: 0..<1, using: &chance)
                + conditions.connectionInterval * 3
            eventLoop.assumeIsolated().scheduleTask(deadline: clock.deadline(of: clock.now + wait)) {
                self.offer(key)
            }
        }
    }

    private func offer(_ key: ObjectIdentifier) {
        guard let dial = dials[key], dial.stage == .connecting else { return }
        guard let advertiser = advertisers[dial.target], signal(between: dial.source, dial.target) != nil else {
            dials[key]?.stage = .waiting
            return
        }
        dials[key]?.stage = .offered(token: nextToken)
        advertiser.client.answer(.offered(token: nextToken))
        nextToken += 1
    }

    private func accept(_ token: UInt64, by client: AirClient) {
        guard let (key, dial) = dials.first(where: { $0.value.stage == .offered(token: token) }),
            let advertiser = advertisers[dial.target], let mode = mode(for: dial, advertiser)
        else { return client.answer(.refused(.gone, "the other device stopped waiting")) }
        dials[key] = nil
        let connection = VirtualConnection(mode, conditions, seed: chance.next(), start: clock.now)
        let pump = StreamPump(
            connection, central: dial.client, peripheral: client, names: [dial.source, dial.target], clock: clock,
            eventLoop: eventLoop
        ) { self.ended($0) }
        pumps[ObjectIdentifier(pump)] = pump
        past.connections += 1
        let value = mode == .values ? ValueEnd.valueLimit(conditions) : nil
        dial.client.answer(.linked(mode, remote: dial.target, value: value))
        client.answer(.linked(mode, remote: dial.source, value: value))
        dial.client.become(.central, of: pump)
        client.become(.peripheral, of: pump)
        pump.run()
    }

    private func mode(for dial: Dial, _ advertiser: Advertiser) -> VirtualConnection.Mode? {
        dial.modes.first { advertiser.modes.contains($0) && !($0 == .l2cap && conditions.refusesChannels) }
    }

    private func ended(_ pump: StreamPump) {
        pumps[ObjectIdentifier(pump)] = nil
        if pump.connection.link.end != nil { past.lostConnections += 1 }
        Self.add(pump, to: &past)
    }

    private static func add(_ pump: StreamPump, to statistics: inout AirStatistics) {
        for side in VirtualLink.Side.allCases {
            // Devices without a name are new with each dial: they are counted together, or the sums would grow for ever.
            let names = pump.names.map { $0.hasPrefix(nameless + "-") ? nameless : $0 }
            let direction = "\(names[side.rawValue])>\(names[side.other.rawValue])"
            statistics.directions[direction, default: .init()] += pump.connection.statistics(from: side)
        }
    }
}
