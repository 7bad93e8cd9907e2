import BlockExchange
import Transport

/// All that is decided about the links with one device: which addresses are dialled, which links are kept, which of them has
/// the index exchange, and which are doubted. A value made of the machines that each decide a part; after each event the owner
/// performs the actions in their order, and comes back with `time` at `nextWake`.
package struct DeviceLinks: Sendable {
    package struct Settings: Sendable {
        package var connections = ConnectionSet.Settings()
        package var dials = DialPlan.Settings()

        package init() {}
    }

    /// What sending over a way costs now.
    package struct Cost: Sendable, Equatable {
        package var isMetered: Bool
        /// Bytes per second that the user allows; nil for no limit.
        package var limit: Double?

        package init(isMetered: Bool = false, limit: Double? = nil) {
            self.isMetered = isMetered
            self.limit = limit
        }
    }

    package enum Event: Sendable {
        case addresses(AddressSource, [String])
        case policy(DialPolicy)
        case costs([LinkWay: Cost])
        /// The networks that this machine has an address in, and those addresses.
        case networks([NetworkPrefix], own: Set<IPAddress>)
        /// The address by which others see this machine has changed.
        case outsideChanged
        /// Somebody waits for the device, or it was heard nearby.
        case asked
        case dialFailed(DialPlan.Attempt, DialFailure)
        /// A link has come up, and its Hello is not yet sent; `attempt` is the dial that it came of.
        case arrived(LinkView, LinkProbes.Path, attempt: DialPlan.Attempt?)
        case hello(LinkNumber, connectionCount: Int32, knowsRule: Bool)
        case configSent(LinkNumber)
        case configReceived(LinkNumber, isSecondary: Bool)
        /// Something came over the link, or was acknowledged, that was sent after a probe.
        case answered(LinkNumber)
        /// A retired link has nothing under way.
        case idle(LinkNumber)
        /// What a link carried while it was kept busy, in bytes per second.
        case measured(LinkNumber, rate: Double)
        /// What was sent over the link has not been acknowledged for a while.
        case unacknowledged(LinkNumber)
        /// This side closes these links, and they have not ended yet.
        case closing([LinkNumber])
        /// - Parameter isLost: neither side closed it on purpose.
        case ended(LinkNumber, isLost: Bool)
        case time
    }

    package enum Action: Sendable, Equatable {
        case dial(DialPlan.Attempt)
        /// Nothing is to be reported of it any more.
        case cancel(DialPlan.Attempt)
        case link(ConnectionSet.Action)
        /// Close the link: it does not answer, or its network is gone.
        case giveUp(LinkNumber, LinkProbes.Reason)
    }

    private struct Arrival {
        var view: LinkView
        var path: LinkProbes.Path
        var attempt: DialPlan.Attempt?
        /// The peer's ClusterConfig has come over it.
        var hasConfig = false
    }

    /// A link that ends sooner, without the peer's ClusterConfig, was refused: the peer does not know this device yet, say. That
    /// says nothing of the way. One that hangs for longer may be on a way that loses large packets.
    static let refusalLimit: Duration = .seconds(10)

    private var plan: DialPlan
    private var upgrades = LinkUpgrades()
    private var connections: ConnectionSet
    private var probes = LinkProbes()
    private var costs: [LinkWay: Cost] = [:]
    /// Links that have not ended, by number.
    private var arrivals: [LinkNumber: Arrival] = [:]
    private var standing = DialPlan.Standing.none
    private var currentWay: LinkWay?
    /// The end of the last link was none that somebody wanted.
    private var wasLost = false

    /// - Parameter seed: of the jitter.
    package init(local: DeviceID, peer: DeviceID, seed: UInt64, settings: Settings = Settings()) {
        plan = DialPlan(seed: seed, settings: settings.dials)
        connections = ConnectionSet(local: local, peer: peer, settings: settings.connections)
    }

    // MARK: reading

    /// Links that carry requests, the primary among them.
    package var openLinks: [LinkNumber] { connections.openLinks }
    package var primary: LinkNumber? { connections.primary }
    /// The link that says how the device is connected.
    package var best: LinkView? { connections.best }
    package var active: [LinkView] { connections.active }
    /// The addresses that are tried, as far as they are known.
    package var targets: [DialTarget] { plan.targets }
    /// The addresses that are not tried, and why.
    package var obstacles: [DialTarget: DialObstacle] { plan.obstacles }
    package var dialsUnderWay: [DialPlan.Attempt] { plan.underWay }

    package var nextWake: Duration? {
        [plan.nextWake, connections.nextWake, probes.nextWake, standing.wish.next].compactMap { $0 }.min()
    }

    // MARK: events

    package mutating func handle(_ event: Event, at now: Duration) -> [Action] {
        var actions: [Action] = []
        switch event {
        case .addresses(let source, let texts):
            if source == .local { actions += probe(.heardAt(Self.hosts(of: texts)), at: now) }
            actions += plan(.addresses(source, texts), at: now)
        case .policy(let policy): actions += plan(.policy(policy), at: now)
        case .costs(let costs): self.costs = costs
        case .networks(let networks, let own):
            upgrades.networkChanged()
            actions += probe(.networks(own), at: now)
            actions += plan(.networks(networks), at: now)
        case .outsideChanged: actions += probe(.outsideChanged, at: now)
        case .asked: actions += plan(.asked, at: now)
        case .dialFailed(let attempt, let failure): actions += plan(.failed(attempt, failure), at: now)
        case .arrived(let view, let path, let attempt):
            arrivals[view.number] = Arrival(view: view, path: path, attempt: attempt)
            if let attempt { actions += plan(.arrived(attempt, tier: view.way.tier), at: now) }
            actions += links(.arrived(view), at: now)
        case .hello(let number, let connectionCount, let knowsRule):
            guard let view = arrivals[number]?.view else { break }
            actions += links(.hello(view, connectionCount: connectionCount, knowsRule: knowsRule), at: now)
        case .configSent(let number): actions += links(.configSent(number), at: now)
        case .configReceived(let number, let isSecondary):
            arrivals[number]?.hasConfig = true
            actions += links(.configReceived(number, isSecondary: isSecondary), at: now)
        case .answered(let number):
            actions += probe(.answered(number), at: now) + links(.answered(number), at: now)
        case .idle(let number): actions += links(.idle(number), at: now)
        case .measured(let number, let rate):
            guard let way = arrivals[number]?.view.way else { break }
            upgrades.measured(way, rate: rate, at: now)
        case .unacknowledged(let number): actions += probe(.unacknowledged(number), at: now)
        case .closing(let numbers): for number in numbers { actions += links(.closing(number), at: now) }
        case .ended(let number, let isLost):
            wasLost = isLost && !wasRefused(number, at: now)
            actions += probe(.ended(number), at: now) + links(.ended(number), at: now)
            // A link that ends before it was admitted: its dial is still counted.
            if let attempt = arrivals.removeValue(forKey: number)?.attempt {
                actions += plan(.failed(attempt, .refusedByPeer), at: now)
            }
        case .time:
            actions += probe(.time, at: now) + links(.time, at: now)
            actions += plan(.time, at: now)
        }
        return actions + settle(at: now)
    }

    private func wasRefused(_ number: LinkNumber, at now: Duration) -> Bool {
        guard let arrival = arrivals[number], !arrival.hasConfig else { return false }
        return now - arrival.view.since < Self.refusalLimit
    }

    private static func hosts(of texts: [String]) -> Set<IPAddress> {
        Set(texts.compactMap { try? DialTarget(parsing: $0) }.filter { $0.kind == .tcp }.compactMap(\.ipAddress))
    }

    private mutating func plan(_ event: DialPlan.Event, at now: Duration) -> [Action] {
        plan.handle(event, at: now).map { action in
            switch action {
            case .dial(let attempt): .dial(attempt)
            case .cancel(let attempt): .cancel(attempt)
            }
        }
    }

    private mutating func probe(_ event: LinkProbes.Event, at now: Duration) -> [Action] {
        var actions: [Action] = []
        for action in probes.handle(event, at: now) {
            switch action {
            case .probe(let number): actions.append(.link(.probe([number])))
            case .giveUp(let number, let reason): actions.append(.giveUp(number, reason))
            case .redial: actions += plan(.asked, at: now)
            }
        }
        return actions
    }

    private mutating func links(_ event: ConnectionSet.Event, at now: Duration) -> [Action] {
        var actions: [Action] = []
        connections.doubtful = probes.doubtful
        for action in connections.handle(event, at: now) {
            actions.append(.link(action))
            switch action {
            case .admit(let number):
                guard let arrival = arrivals[number] else { break }
                actions += probe(.began(number, arrival.path), at: now)
                guard let attempt = arrivals[number]?.attempt else { break }
                arrivals[number]?.attempt = nil
                actions += note(at: now)
                actions += plan(.linked(attempt, standing), at: now)
            case .refuse(let number, _):
                guard let attempt = arrivals[number]?.attempt else { break }
                arrivals[number]?.attempt = nil
                actions += plan(.failed(attempt, .cancelled), at: now)
            default: break
            }
        }
        return actions
    }

    /// Brings what is worth dialling in line with the links that there are.
    private mutating func settle(at now: Duration) -> [Action] { note(at: now) + plan(.links(standing), at: now) }

    /// Takes in which way is in use, and works out how the device is connected.
    private mutating func note(at now: Duration) -> [Action] {
        let best = connections.best
        if let best, best.way != currentWay {
            upgrades.began(best.way, wasPeersChoice: currentWay != nil && !best.isOurs, at: now)
        } else if best == nil, currentWay != nil {
            if wasLost { upgrades.lost(at: now) } else { upgrades.ended() }
        }
        currentWay = best?.way
        let doubtful = probes.doubtful
        let sound = connections.active.filter { !doubtful.contains($0.number) }
        let wish = upgrades.wish(
            over: sound.isEmpty ? nil : best.map { worth($0.way, at: now) },
            candidates: plan.ways.map { worth($0, at: now) }.sorted { $0.way.rawValue < $1.way.rawValue }, at: now)
        standing = DialPlan.Standing(
            isConnected: !sound.isEmpty, wish: wish, further: connections.further,
            isDialler: connections.active.first?.isOurs ?? true, tier: best?.way.tier)
        return []
    }

    private func worth(_ way: LinkWay, at now: Duration) -> LinkWorth {
        upgrades.worth(way, isMetered: costs[way]?.isMetered ?? false, limit: costs[way]?.limit, at: now)
    }
}
