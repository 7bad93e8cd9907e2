import Transport

/// Which links are doubted after this machine's network has changed, and when they are given up: the hand-over of a laptop on
/// a train. A value; the owner performs the actions, and comes back with `time` at `nextWake`.
///
/// TCP does not say that its path is gone: a link would stay for the 300 s that BEP allows. So all that may have lost its path is
/// dialled again at once, beside the old link, which is probed and given up within 2.5 s.
package struct LinkProbes: Sendable {
    /// How long a probe waits: four round trips, but at least and at most so long.
    static let shortest: Duration = .seconds(1)
    static let longest: Duration = .milliseconds(2500)
    /// A link over which nothing is acknowledged, in a network that has not changed, may recover: until so long, what is dialled
    /// meanwhile takes its place as soon as it is there.
    static let stallPatience: Duration = .seconds(15)
    /// An address that has gone may come back within so long, as when it is renewed.
    static let addressGrace: Duration = .seconds(1)
    /// Anybody in this network can announce a device: so often within that window it is asked because of that.
    static let hearsayLimit = 3
    static let hearsayWindow: Duration = .seconds(60)

    package struct Path: Sendable, Equatable {
        package var way: LinkWay
        /// This end's address of the link; nil where there is none or it is not known.
        package var localAddress: IPAddress?
        /// The other end's; of a relay: the relay's.
        package var remoteAddress: IPAddress?
        package var roundTrip: Duration?

        package init(
            _ way: LinkWay, localAddress: IPAddress?, remoteAddress: IPAddress? = nil, roundTrip: Duration? = nil
        ) {
            self.way = way
            self.localAddress = localAddress
            self.remoteAddress = remoteAddress
            self.roundTrip = roundTrip
        }
    }

    package enum Event: Sendable {
        case began(LinkNumber, Path)
        case ended(LinkNumber)
        /// The addresses of this machine now, and whether its default route is another.
        case networks(Set<IPAddress>)
        /// The address by which others see this machine has changed: the router, a relay or a discovery server says so.
        case outsideChanged
        /// The device announces itself in this network, with these addresses. Anybody can send such a datagram.
        case heardAt(Set<IPAddress>)
        /// What was sent has not been acknowledged for two seconds.
        case unacknowledged(LinkNumber)
        /// Something came over the link that was sent after it was probed.
        case answered(LinkNumber)
        case time
    }

    package enum Action: Sendable, Equatable {
        /// Ask for an answer over the link and report `answered`.
        case probe(LinkNumber)
        case giveUp(LinkNumber, Reason)
        /// Dial the device again, whatever is connected: `DialPlan.Event.networks`, and links in doubt count for nothing.
        case redial
    }

    package enum Reason: String, Sendable {
        case addressGone = "this device left the network of the link"
        case silent = "the link does not answer after a change of the network"
        case stalled = "the other device acknowledges nothing that is sent"
    }

    private struct Doubt {
        /// Since when nothing has shown that the link works.
        var since: Duration
        var until: Duration
        var reason: Reason
        /// Only an announcement speaks against the link.
        var isHearsay = false
    }

    private var paths: [LinkNumber: Path] = [:]
    private var doubts: [LinkNumber: Doubt] = [:]
    /// Where the device said last that it is in this network.
    private var heardAt: Set<[UInt8]> = []
    /// When links were doubted because of that, within the window.
    private var hearsay: [Duration] = []

    package init() {}

    /// Given up, and yet to end: that takes as long as a farewell over a dead link.
    private var givenUp: Set<LinkNumber> = []

    /// Links that count as lost when it is decided what to dial. One against which there is only hearsay counts until it is given up.
    package var doubtful: Set<LinkNumber> { givenUp.union(doubts.filter { !$0.value.isHearsay }.keys) }

    package var nextWake: Duration? { doubts.values.map(\.until).min() }

    package mutating func handle(_ event: Event, at now: Duration) -> [Action] {
        switch event {
        case .began(let number, let path): paths[number] = path
        case .ended(let number):
            paths[number] = nil
            doubts[number] = nil
            givenUp.remove(number)
        case .networks(let addresses): return changed(addresses, at: now)
        case .outsideChanged:
            let outside = paths.filter { $0.value.way == .wideTCP || $0.value.way == .relay }
            let steady = outside.keys.filter { beginning(of: $0) == nil }
            return doubt(steady.sorted(), at: now) + (outside.isEmpty ? [] : [.redial])
        case .heardAt(let addresses):
            let isThere = Set(addresses.map(\.bytes))
            // One that has moved may name the address that it had for a while yet.
            let hasMoved = !heardAt.isEmpty && isThere != heardAt
            guard !isThere.isEmpty else { return [] }
            heardAt = isThere
            let questionable = paths.filter { number, path in
                guard path.way == .localTCP, doubts[number] == nil, let remote = path.remoteAddress else {
                    return false
                }
                return !remote.isLoopback && (hasMoved || !isThere.contains(remote.bytes))
            }
            hearsay.removeAll { now - $0 >= Self.hearsayWindow }
            guard !questionable.isEmpty, hearsay.count < Self.hearsayLimit else { return [] }
            hearsay.append(now)
            return doubt(questionable.keys.sorted(), isHearsay: true, at: now)
        case .unacknowledged(let number):
            guard let path = paths[number], doubts[number] == nil else { return [] }
            // Others that go the same way may only have had nothing to send: one that works answers at once.
            let alike = paths.filter { $0.value.way == path.way && doubts[$0.key] == nil }.keys.sorted()
            for number in alike {
                doubts[number] = Doubt(since: now, until: now + Self.stallPatience, reason: .stalled)
            }
            return alike.map { .probe($0) }
        case .answered(let number): if doubts[number]?.reason != .addressGone { doubts[number] = nil }
        case .time:
            let due = doubts.filter { $0.value.until <= now }.sorted { $0.key < $1.key }
            for (number, _) in due {
                doubts[number] = nil
                paths[number] = nil
                givenUp.insert(number)
            }
            return due.map { .giveUp($0.key, $0.value.reason) }
        }
        return []
    }

    private mutating func changed(_ addresses: Set<IPAddress>, at now: Duration) -> [Action] {
        var questionable: [LinkNumber] = []
        let isHere = Set(addresses.map(\.bytes))
        for (number, path) in paths.sorted(by: { $0.key < $1.key }) where !path.way.isRadio {
            guard let local = path.localAddress else {
                questionable.append(number)
                continue
            }
            if local.isLoopback { continue }
            if isHere.contains(local.bytes) {
                questionable.append(number)
            } else if doubts[number]?.reason != .addressGone {
                let since = beginning(of: number) ?? now
                let until = min(since + Self.longest, now + Self.addressGrace)
                doubts[number] = Doubt(since: since, until: until, reason: .addressGone)
            }
        }
        let actions = doubt(questionable, at: now)
        return actions + (questionable.isEmpty && doubts.isEmpty ? [] : [.redial])
    }

    /// Since when a link has been in doubt because of the network; nil if it is not.
    private func beginning(of number: LinkNumber) -> Duration? {
        doubts[number].flatMap { $0.reason == .stalled ? nil : $0.since }
    }

    /// A link that is in doubt already keeps its end: changes that follow each other do not keep a dead link.
    private mutating func doubt(_ numbers: [LinkNumber], isHearsay: Bool = false, at now: Duration) -> [Action] {
        var actions: [Action] = []
        for number in numbers where doubts[number]?.reason != .silent || doubts[number]?.isHearsay == true {
            let patience = paths[number]?.roundTrip.map { min(max($0 * 4, Self.shortest), Self.longest) }
            let since = beginning(of: number) ?? now
            let until = min(since + Self.longest, now + (patience ?? Self.longest))
            doubts[number] = Doubt(since: since, until: until, reason: .silent, isHearsay: isHearsay)
            actions.append(.probe(number))
        }
        return actions
    }
}
