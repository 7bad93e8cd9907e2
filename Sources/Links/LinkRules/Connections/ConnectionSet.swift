import BlockExchange

/// The connections to one device: which are admitted, which of them has the index exchange, and which is asked for blocks. A
/// value; after each event the owner performs the actions in their order, and comes back with `time` at `nextWake`.
///
/// - The primary has the full ClusterConfig, the indexes and DownloadProgress. The others get `ClusterConfig{secondary}` and carry
///   requests and responses only.
/// - The first connection is the primary; while it lives it stays so, whatever comes after it.
/// - A full ClusterConfig on another connection means that the peer has promoted that one. A Syncthing never follows, so this
///   end does. Of two synctrains the one with the higher id follows, the other only if that has not settled it in 5 s: if both
///   followed at once, they would swap for ever.
/// - A connection that is replaced carries requests until one that replaces it does, and goes when it is idle or after 5 s. One
///   in doubt goes at once.
/// - A replaced primary whose replacement ends first is closed if the peer still has it as its primary: the peer would not send its
///   ClusterConfig again, and this end accepts no index before one. The device is redialled.
/// - What this side closes is promoted no more: where all are closed at once, none takes over from the one that ends first.
/// - The device is disconnected when the last connection has gone.
package struct ConnectionSet: Sendable {
    package struct Settings: Sendable {
        /// What this device says in its Hello.
        package var own = ConnectionCount.standard
        /// When further connections get their ClusterConfig, as in Syncthing.
        package var promotionDelay: Duration = .seconds(1)
        /// When the first gets it. Between two that crossed, the rule of crossing links decides, so it need not wait.
        package var firstPromotionDelay: Duration = .zero
        package var followDelay: Duration = .seconds(5)
        package var retirement: Duration = .seconds(5)
        /// How long a connection has to answer a probe.
        package var probeLimit: Duration = .seconds(2)
        /// New connections that wait for a decision; further ones are refused.
        package var waitingLimit = 4

        package init() {}
    }

    package enum Event: Sendable, Equatable {
        /// TLS is done, and the Hello not yet sent.
        case arrived(LinkView)
        /// The peer's Hello came, with the number of connections in it.
        case hello(LinkView, connectionCount: Int32, knowsRule: Bool)
        /// Something came over the connection after it was probed.
        case answered(LinkNumber)
        /// The ClusterConfig that was asked for was handed to the connection: requests may follow it.
        case configSent(LinkNumber)
        case configReceived(LinkNumber, isSecondary: Bool)
        /// A retired connection has nothing under way in either direction; the answer to `retire`.
        case idle(LinkNumber)
        /// This side closes the connection: until it ends nothing more is decided for it.
        case closing(LinkNumber)
        case ended(LinkNumber)
        case time
    }

    package enum Action: Sendable, Equatable {
        /// Go on with the Hello.
        case proceed(LinkNumber)
        /// The connection belongs to the set from now on.
        case admit(LinkNumber)
        /// Close the connection without a word; it never belonged to the set.
        case refuse(LinkNumber, LinkRule.Refusal)
        /// Find out whether these answer, and report `answered`.
        case probe([LinkNumber])
        /// Send no more requests over it, and report `idle` once. Not said again before that report.
        case retire(LinkNumber)
        case close(LinkNumber, Reason)
        /// Start the index exchange on it: it begins with the full ClusterConfig, and then goes on from what each has of the
        /// other. The peer's own full ClusterConfig may have come on it already.
        case promote(LinkNumber)
        /// Stop the index exchange on it. It carries requests from now on.
        case demote(LinkNumber)
        case sendSecondary(LinkNumber)
        case connected
        case disconnected
    }

    package enum Reason: String, Sendable {
        case replaced = "replacing connection"
        case silent = "the connection does not answer"
    }

    private enum Role: Equatable {
        case waiting(since: Duration, until: Duration)
        case active
        case retiring(until: Duration)
    }

    private struct Connection {
        var view: LinkView
        var role: Role
        /// Whether a ClusterConfig was asked for, and whether it was sent.
        var isStarted = false
        var isOpen = false
        /// Whether the peer has sent one.
        var isReady = false
        /// This side has closed it, and it has not ended yet.
        var isClosing = false
        /// It was the primary, and the peer, which has said on it what it shares, knows of no other.
        var isOnlyPeersPrimary = false
        /// It was retired, and has not reported `idle` yet: whoever waits for that still does, whatever role it has by now.
        var isIdleAwaited = false
        /// Links that were heard since this one waits.
        var alive: Set<LinkNumber> = []
    }

    private let settings: Settings
    private var rule: LinkRule
    private var connections: [LinkNumber: Connection] = [:]
    /// The active ones in order of arrival, the primary first.
    private var order: [LinkNumber] = []
    private var isConnected = false
    /// Whether any was the primary since the device is connected.
    private var hasPromoted = false
    private var promotionDue: Duration?
    private var followDue: Duration?
    /// Where the peer's last full ClusterConfig came.
    private var peerPrimary: LinkNumber?
    package private(set) var primary: LinkNumber?
    /// Links that may no longer reach the device.
    package var doubtful: Set<LinkNumber> = []

    package init(local: DeviceID, peer: DeviceID, settings: Settings = Settings()) {
        self.settings = settings
        rule = LinkRule(local: local, peer: peer, peerKnowsRule: false)
    }

    // MARK: reading

    /// How many connections both want; one before the first Hello.
    package var wanted: Int { rule.wanted }

    /// Connections to dial beside those there are.
    package var further: Int {
        guard !order.isEmpty, active.allSatisfy(\.way.mayBeOneOfSeveral) else { return 0 }
        return max(0, wanted - order.count)
    }

    package var active: [LinkView] { order.compactMap { connections[$0]?.view } }

    /// The one that says how the device is connected.
    package var best: LinkView? {
        active.min { left, right in
            (left.way.tier, left.way == .localTCP ? 0 : 1, left.number)
                < (right.way.tier, right.way == .localTCP ? 0 : 1, right.number)
        }
    }

    /// Links that carry requests now: those that are replaced, too, until one that replaces them does.
    package var openLinks: [LinkNumber] {
        let open = openActive
        return open.isEmpty ? retiring.filter { connections[$0]?.isOpen == true && !doubtful.contains($0) } : open
    }

    private var openActive: [LinkNumber] {
        order.filter { number in
            guard let connection = connections[number], connection.isOpen else { return false }
            return number == primary || connection.isReady
        }
    }

    /// When to come back with `time`; nil if nothing waits.
    package var nextWake: Duration? {
        let ends = connections.values.compactMap { connection -> Duration? in
            switch connection.role {
            case .waiting(_, let until), .retiring(let until): until
            case .active: nil
            }
        }
        return (ends + [promotionDue, followDue].compactMap { $0 }).min()
    }

    // MARK: events

    package mutating func handle(_ event: Event, at now: Duration) -> [Action] {
        var actions: [Action] = []
        switch event {
        case .arrived(let view):
            if case .refuse(let refusal) = verdict(on: view), !order.isEmpty {
                return [.refuse(view.number, refusal)]
            }
            return [.proceed(view.number)]
        case .hello(let view, let connectionCount, let knowsRule):
            guard connections[view.number] == nil else { return [] }
            rule.wanted = ConnectionCount.wanted(own: settings.own, peer: connectionCount)
            rule.peerKnowsRule = knowsRule
            let waitingCount = connections.values.count { if case .waiting = $0.role { true } else { false } }
            guard waitingCount < settings.waitingLimit else { return [.refuse(view.number, .enough)] }
            connections[view.number] = Connection(view: view, role: .waiting(since: now, until: now))
            actions += decide(view.number, at: now)
        case .answered(let number):
            for waiting in waiting { connections[waiting]?.alive.insert(number) }
            actions += decideWaiting(at: now)
        case .configSent(let number): connections[number]?.isOpen = true
        case .configReceived(let number, let isSecondary):
            actions += received(number, isSecondary: isSecondary, at: now)
        case .idle(let number): actions += wasIdle(number)
        case .closing(let number): closing(number)
        case .ended(let number): actions += ended(number, at: now)
        case .time: actions += advance(at: now)
        }
        return actions + settle(at: now)
    }

    /// Where nothing else carries requests it is in use again, and is retired once more when it is not.
    private mutating func wasIdle(_ number: LinkNumber) -> [Action] {
        guard let connection = connections[number], connection.isIdleAwaited else { return [] }
        connections[number]?.isIdleAwaited = false
        guard case .retiring = connection.role, !openActive.isEmpty else { return [] }
        return close(number, .replaced)
    }

    private mutating func received(_ number: LinkNumber, isSecondary: Bool, at now: Duration) -> [Action] {
        guard connections[number] != nil else { return [] }
        connections[number]?.isReady = true
        return followed(number, isSecondary: isSecondary, at: now)
    }

    private mutating func followed(_ number: LinkNumber, isSecondary: Bool, at now: Duration) -> [Action] {
        guard !isSecondary else { return [] }
        peerPrimary = number
        for other in connections.keys { connections[other]?.isOnlyPeersPrimary = false }
        guard number != primary, usable.contains(number) else {
            if number == primary { followDue = nil }
            return []
        }
        let follows = primary == nil || !rule.peerKnowsRule || rule.peer < rule.local
        guard !follows else { return follow(number) }
        followDue = now + settings.followDelay
        return []
    }

    private mutating func follow(_ number: LinkNumber) -> [Action] {
        followDue = nil
        var actions: [Action] = []
        if let primary, connections[primary] != nil { actions.append(.demote(primary)) }
        return actions + promote(number)
    }

    private mutating func closing(_ number: LinkNumber) {
        if case .waiting = connections[number]?.role { return remove(number) }
        connections[number]?.isClosing = true
    }

    private mutating func ended(_ number: LinkNumber, at now: Duration) -> [Action] {
        guard connections[number] != nil else { return [] }
        remove(number)
        return decideWaiting(at: now)
    }

    private mutating func advance(at now: Duration) -> [Action] {
        var actions: [Action] = []
        for (number, connection) in connections.sorted(by: { $0.key < $1.key }) {
            switch connection.role {
            case .active: continue
            case .retiring(let until): if until <= now { actions += close(number, .replaced) }
            case .waiting(_, let until):
                guard until <= now else { continue }
                if case .wait(.probe(let silent)) = verdict(on: connection, at: now) {
                    for number in silent { actions += close(number, .silent) }
                }
                actions += decide(number, at: now)
            }
        }
        if let due = followDue, due <= now {
            followDue = nil
            if let peerPrimary, peerPrimary != primary, usable.contains(peerPrimary) { actions += follow(peerPrimary) }
        }
        return actions
    }

    // MARK: deciding

    private var waiting: [LinkNumber] {
        connections.filter { if case .waiting = $0.value.role { true } else { false } }.keys.sorted()
    }

    private func verdict(on new: Connection, at now: Duration) -> LinkRule.Verdict {
        guard case .waiting(let since, _) = new.role else { return .keep }
        return verdict(on: new.view, alive: new.alive, waited: now - since)
    }

    private func verdict(
        on new: LinkView, alive: Set<LinkNumber> = [], waited: Duration = .zero
    ) -> LinkRule.Verdict {
        let doubted = active.map(\.number).filter(doubtful.contains)
        guard !doubted.isEmpty else {
            return rule.decide(active: active, new: new, alive: alive, waited: waited)
        }
        // It was dialled because they may be gone, by this side or by the peer, which is in doubt as well.
        let sound = active.filter { !doubtful.contains($0.number) }
        switch rule.decide(active: sound, new: new, alive: alive, waited: waited) {
        case .keep: return .replace(doubted)
        case .replace(let replaced): return .replace((replaced + doubted).sorted())
        case let verdict: return verdict
        }
    }

    private mutating func decideWaiting(at now: Duration) -> [Action] {
        var actions: [Action] = []
        for number in waiting { actions += decide(number, at: now) }
        return actions
    }

    private mutating func decide(_ number: LinkNumber, at now: Duration) -> [Action] {
        guard let new = connections[number], case .waiting(let since, let until) = new.role else { return [] }
        switch verdict(on: new, at: now) {
        case .keep: return admit(number, replacing: [], at: now)
        case .replace(let replaced): return admit(number, replacing: replaced, at: now)
        case .refuse(let refusal):
            connections[number] = nil
            return [.refuse(number, refusal)]
        case .wait(.peersChoice(let pause)):
            connections[number]?.role = .waiting(since: since, until: now + max(pause, .milliseconds(1)))
            return []
        case .wait(.probe(let doubtful)):
            // Probed once: what answers later is reported by `answered`, what does not is closed at the end.
            guard until <= now else { return [] }
            connections[number]?.role = .waiting(since: since, until: now + settings.probeLimit)
            return [.probe(doubtful)]
        }
    }

    private mutating func admit(_ number: LinkNumber, replacing replaced: [LinkNumber], at now: Duration) -> [Action] {
        connections[number]?.role = .active
        var actions: [Action] = [.admit(number)]
        for old in replaced where order.contains(old) {
            guard !doubtful.contains(old) else {
                // Who waits for an answer over it asks again at once.
                let wasPrimary = primary == old
                if wasPrimary { actions.append(.demote(old)) }
                actions += close(old, .silent)
                continue
            }
            connections[old]?.role = .retiring(until: now + settings.retirement)
            order.removeAll { $0 == old }
            if primary == old {
                primary = nil
                connections[old]?.isOnlyPeersPrimary = peerPrimary == old
                actions.append(.demote(old))
            }
        }
        order.append(number)
        let delay = primary != nil ? settings.promotionDelay : hasPromoted ? .zero : settings.firstPromotionDelay
        promotionDue = promotionDue.map { min($0, now + delay) } ?? now + delay
        return actions
    }

    private mutating func close(_ number: LinkNumber, _ reason: Reason) -> [Action] {
        guard connections[number] != nil else { return [] }
        remove(number)
        return [.close(number, reason)]
    }

    private mutating func remove(_ number: LinkNumber) {
        connections[number] = nil
        order.removeAll { $0 == number }
        if primary == number { primary = nil }
        if peerPrimary == number { peerPrimary = nil }
    }

    // MARK: roles

    /// Brings roles in line with what there is.
    private mutating func settle(at now: Duration) -> [Action] {
        var actions: [Action] = []
        while order.isEmpty, let rescued = retiring.last {
            // The one that replaced it has gone first.
            if connections[rescued]?.isOnlyPeersPrimary == true {
                actions += close(rescued, .replaced)
                continue
            }
            connections[rescued]?.role = .active
            order = [rescued]
        }
        actions += retireReplaced()
        if !order.isEmpty, !isConnected {
            isConnected = true
            actions.append(.connected)
        }
        if order.isEmpty {
            promotionDue = nil
            followDue = nil
            hasPromoted = false
            if isConnected {
                isConnected = false
                actions.append(.disconnected)
            }
            return actions
        }
        // The primary has gone: the next takes over at once. The first of all waits its delay.
        if primary == nil, hasPromoted { promotionDue = now }
        guard let due = promotionDue, due <= now else { return actions }
        promotionDue = nil
        if primary == nil, let next = nextPrimary { actions += promote(next) }
        for number in usable where number != primary && connections[number]?.isStarted == false {
            connections[number]?.isStarted = true
            actions.append(.sendSecondary(number))
        }
        return actions
    }

    /// From the first that is open on, those that are replaced get no more requests. The one place that retires.
    private mutating func retireReplaced() -> [Action] {
        guard !openActive.isEmpty else { return [] }
        let due = retiring.filter { connections[$0]?.isIdleAwaited == false }
        for number in due { connections[number]?.isIdleAwaited = true }
        return due.map { .retire($0) }
    }

    private var retiring: [LinkNumber] {
        connections.filter { if case .retiring = $0.value.role { true } else { false } }.keys.sorted()
    }

    /// The one that the peer has chosen, or the one that has been there longest.
    private var nextPrimary: LinkNumber? {
        if let peerPrimary, usable.contains(peerPrimary) { return peerPrimary }
        return usable.first
    }

    /// The active ones that this side has not closed.
    private var usable: [LinkNumber] { order.filter { connections[$0]?.isClosing == false } }

    private mutating func promote(_ number: LinkNumber) -> [Action] {
        primary = number
        hasPromoted = true
        order.removeAll { $0 == number }
        order.insert(number, at: 0)
        connections[number]?.isStarted = true
        return [.promote(number)]
    }
}
