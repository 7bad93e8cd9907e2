/// Decides which addresses of one device are dialled, and when. A value: events in, actions out; after each event the owner
/// performs the actions and comes back with `time` at `nextWake`.
///
/// - What is worth dialling comes from `LinkUpgrades`; what is allowed, from `DialPolicy`.
/// - Groups have a head start of one or two seconds before the next, so that stale addresses of one do not hold up the others;
///   within a group dials start 250 ms apart, local ones 100 ms (RFC 8305 section 5).
/// - At most 8 dials of a device are under way, 6 of them direct, and at most 64 start in a minute, whatever anybody says.
/// - A link that is admitted cancels the dials of its own group and of worse ones; those of better ones go on. A dial that has led to a
///   link of no worse tier is not cancelled for that: the peer may prefer that link, and both sides have to choose by the same rule.
package struct DialPlan: Sendable {
    package struct Settings: Sendable {
        package var localStagger: Duration = .milliseconds(100)
        package var stagger: Duration = .milliseconds(250)
        /// How long the groups before have, before this one starts.
        package var headStarts: [DialGroup: Duration] = [
            .wide: .milliseconds(1000), .relay: .milliseconds(1500), .radio: .milliseconds(5000),
        ]
        /// The head start before ways that have turned out unsteady.
        package var unsteadyHeadStart: Duration = .seconds(5)
        package var dialsAtOnce = 8
        /// The others are kept for relays and radios.
        package var directDialsAtOnce = 6
        package var dialsPerMinute = 64
        /// A lost link lets all addresses be dialled at once, so often in two minutes.
        package var forcedRedials = 3
        /// A further connection is dialled so long after the one before, by the side that dialled the first, and by the other.
        package var furtherPause: Duration = .seconds(1)
        package var furtherPatience: Duration = .seconds(15)
        package var furtherRetry: Duration = .seconds(60)

        package init() {}
    }

    /// One dial.
    package struct Attempt: Hashable, Sendable {
        package var number: Int
        package var target: DialTarget
        package var group: DialGroup
        package var source: AddressSource
        /// It is for one more connection beside those there are.
        package var isFurther: Bool
    }

    /// How the device is connected.
    package struct Standing: Sendable, Equatable {
        package var isConnected: Bool
        /// What of the ways that there are is worth dialling.
        package var wish: LinkUpgrades.Wish
        /// Further connections that both want beside those there are.
        package var further: Int
        /// Whether this side dialled the first.
        package var isDialler: Bool
        /// Of the best link; nil if there is none.
        package var tier: Int?

        package init(
            isConnected: Bool, wish: LinkUpgrades.Wish, further: Int = 0, isDialler: Bool = true, tier: Int? = nil
        ) {
            self.tier = tier
            self.isConnected = isConnected
            self.wish = wish
            self.further = further
            self.isDialler = isDialler
        }

        /// Nothing is connected and everything is worth dialling.
        package static let none = Standing(
            isConnected: false, wish: LinkUpgrades.Wish(ways: Set(LinkWay.allCases)))
    }

    package enum Event: Sendable {
        /// What a source says now, in the place of what it said before.
        case addresses(AddressSource, [String])
        case policy(DialPolicy)
        /// This machine has other addresses than before, or has left a network.
        case networks([NetworkPrefix])
        case failed(Attempt, DialFailure)
        /// The dial produced a link that is neither admitted nor refused yet.
        case arrived(Attempt, tier: Int)
        /// The dial has led to a link that was admitted, with how the device is connected from then on.
        case linked(Attempt, Standing)
        case links(Standing)
        /// Somebody waits for the device, or it was heard nearby: no back-off.
        case asked
        case time
    }

    package enum Action: Sendable, Equatable {
        case dial(Attempt)
        /// Nothing is to be reported of it any more.
        case cancel(Attempt)
    }

    let settings: Settings
    private var book = AddressBook()
    private var tries = AddressTries()
    private(set) var policy = DialPolicy()
    private var networks: [NetworkPrefix] = []
    private var standing = Standing.none
    package private(set) var underWay: [Attempt] = []
    /// The tiers of links that dials have led to and that are neither admitted nor refused yet, by the dials' numbers.
    private var arrived: [Int: Int] = [:]
    private var nextNumber = 0
    private var groupStarts: [Rank: Duration] = [:]
    private var lastStarts: [Rank: Duration] = [:]
    /// Whether the last dial of a group was to an IPv4 address; none after one to a name.
    private var lastFamily: [Rank: Bool] = [:]
    private var starts: [Duration] = []
    private var forced: [Duration] = []
    private var furtherDue: Duration = .zero
    private var linkedTarget: DialTarget?
    private var jitter: JitterSource
    /// When to come back with `time`; nil if only another event can change anything.
    package private(set) var nextWake: Duration?

    /// A group, after the others if its way is unsteady.
    private struct Rank: Hashable, Comparable {
        var isLate: Bool
        var group: DialGroup

        static func < (left: Self, right: Self) -> Bool {
            left.isLate == right.isLate ? left.group < right.group : right.isLate
        }
    }

    private struct Candidate {
        var entry: AddressBook.Entry
        var group: DialGroup
        var due: Duration
    }

    /// - Parameter seed: of the jitter; any number that differs between devices.
    package init(seed: UInt64, settings: Settings = Settings()) {
        self.settings = settings
        jitter = JitterSource(seed: seed)
    }

    /// The addresses that are kept of all that were named, in the order in which they were named.
    package var targets: [DialTarget] { book.entries.map(\.target) }

    /// The ways that there are addresses for and that may be used.
    package var ways: Set<LinkWay> {
        book.entries.reduce(into: []) { ways, entry in
            let group = group(entry)
            if policy.allow(entry.target) { ways.formUnion(group.ways) }
        }
    }

    /// The addresses that the policy keeps from being dialled.
    package var obstacles: [DialTarget: DialObstacle] {
        book.entries.reduce(into: [:]) { obstacles, entry in
            obstacles[entry.target] = policy.obstacle(to: entry.target)
        }
    }

    package mutating func handle(_ event: Event, at now: Duration) -> [Action] {
        var actions: [Action] = []
        switch event {
        case .addresses(let source, let texts): book.set(source, texts)
        case .policy(let policy):
            // Where a name led may be allowed now.
            if policy.allowed != self.policy.allowed { tries.reset(isNewNetwork: true, at: now) }
            self.policy = policy
            book.set(hasProxy: policy.hasProxy, isProxyOnly: !policy.allowsDirect)
            actions += cancel(underWay.filter { !policy.allow($0.target) }, at: now)
        case .networks(let networks):
            self.networks = networks
            // They would wait for answers to packets that left by an address that is gone.
            actions += cancel(underWay.filter { $0.group != .radio }, at: now)
            tries.reset(isNewNetwork: true, at: now)
        case .failed(let attempt, let failure): failed(attempt, failure, at: now)
        case .arrived(let attempt, let tier): if underWay.contains(attempt) { arrived[attempt.number] = tier }
        case .linked(let attempt, let standing):
            actions += linked(attempt, standing, at: now) + changed(to: standing, at: now)
        case .links(let standing): actions += changed(to: standing, at: now)
        case .asked: tries.reset(isNewNetwork: false, at: now)
        case .time: break
        }
        return actions + start(at: now)
    }

    // MARK: events

    private mutating func failed(_ attempt: Attempt, _ failure: DialFailure, at now: Duration) {
        guard remove(attempt) else { return }
        if attempt.isFurther {
            let pause = failure == .noRoom ? settings.furtherPause : settings.furtherRetry
            furtherDue = now + pause + pause * jitter.next() / 4
            // Says nothing of the address.
            guard failure != .refusedByPeer, failure != .cancelled else { return }
        }
        tries.failed(
            AddressBook.Entry(target: attempt.target, source: attempt.source), failure, isUpgrade: standing.isConnected,
            jitter: jitter.next(), at: now)
    }

    private mutating func linked(_ attempt: Attempt, _ standing: Standing, at now: Duration) -> [Action] {
        guard remove(attempt) else { return [] }
        tries.linked(attempt.target, at: now)
        linkedTarget = attempt.target
        if attempt.isFurther { furtherDue = now + settings.furtherPause }
        guard !attempt.isFurther else { return [] }
        return cancel(
            underWay.filter { $0.group >= attempt.group && !$0.isFurther && !isDecidedElsewhere($0, standing) }, at: now
        )
    }

    private mutating func changed(to standing: Standing, at now: Duration) -> [Action] {
        let wasConnected = self.standing.isConnected
        self.standing = standing
        if !wasConnected, standing.isConnected {
            furtherDue = now + (standing.isDialler ? settings.furtherPause : settings.furtherPatience)
        }
        let unwanted = underWay.filter { attempt in
            guard !isDecidedElsewhere(attempt, standing) else { return false }
            return attempt.isFurther ? !standing.isConnected || standing.further == 0 : !isWished(attempt.group)
        }
        let actions = cancel(unwanted, at: now)
        if wasConnected, !standing.isConnected {
            linkedTarget = nil
            forced.removeAll { now - $0 >= .seconds(120) }
            if forced.count < settings.forcedRedials {
                forced.append(now)
                tries.reset(isNewNetwork: false, at: now)
            }
        }
        return actions
    }

    private mutating func remove(_ attempt: Attempt) -> Bool {
        guard let index = underWay.firstIndex(of: attempt) else { return false }
        underWay.remove(at: index)
        arrived[attempt.number] = nil
        return true
    }

    /// Whether a dial has led to a link that the rule of links takes or refuses.
    private func isDecidedElsewhere(_ attempt: Attempt, _ standing: Standing) -> Bool {
        guard let tier = arrived[attempt.number], let best = standing.tier else { return false }
        return tier <= best
    }

    private mutating func cancel(_ attempts: [Attempt], at now: Duration) -> [Action] {
        for attempt in attempts { failed(attempt, .cancelled, at: now) }
        return attempts.map(Action.cancel)
    }

    // MARK: starting

    private func group(_ entry: AddressBook.Entry) -> DialGroup {
        DialGroup(entry.target, from: entry.source, networks: networks)
    }

    private func isWished(_ group: DialGroup) -> Bool {
        !standing.wish.ways.isDisjoint(with: group.ways) || !standing.wish.later.isDisjoint(with: group.ways)
    }

    private func rank(_ group: DialGroup) -> Rank {
        Rank(isLate: standing.wish.ways.isDisjoint(with: group.ways), group: group)
    }

    private mutating func start(at now: Duration) -> [Action] {
        var actions = startFurther(at: now)
        var wake = mayStartFurther && furtherDue > now ? furtherDue : nil
        func wakeAt(_ moment: Duration) { wake = wake.map { min($0, moment) } ?? moment }

        var ranks: [Rank: [Candidate]] = [:]
        for entry in book.entries where !underWay.contains(where: { $0.target == entry.target }) {
            let group = group(entry)
            guard isWished(group), policy.allow(entry.target) else { continue }
            let due = tries.due(entry.target)
            if due > now { wakeAt(due) }
            ranks[rank(group), default: []].append(Candidate(entry: entry, group: group, due: due))
        }
        let begun = Set(underWay.filter { !$0.isFurther }.map { rank($0.group) })
            .union(ranks.filter { $0.value.contains { $0.due <= now } }.keys)
        groupStarts = groupStarts.filter { begun.contains($0.key) }
        // A group that is due in a moment has its head start as well.
        var expected: [Rank: Duration] = [:]
        for (rank, candidates) in ranks {
            guard let due = candidates.map(\.due).min(), due <= now + AddressTries.shortest else { continue }
            expected[rank] = max(now, due)
        }
        for rank in begun { expected[rank] = groupStarts[rank] ?? now }

        for rank in ranks.keys.sorted() {
            guard let due = ranks[rank]?.filter({ $0.due <= now }), !due.isEmpty else { continue }
            let gate = expected.filter { $0.key < rank }.map { $0.value + headStart(of: rank) }.max() ?? now
            guard gate <= now else {
                wakeAt(gate)
                continue
            }
            let stagger = rank.group == .local ? settings.localStagger : settings.stagger
            let next = max(now, lastStarts[rank].map { $0 + stagger } ?? now)
            guard next <= now else {
                wakeAt(next)
                continue
            }
            // The end of a dial is an event, at which this is decided again.
            guard hasRoom(for: rank.group) else { continue }
            if let moment = rateLimitEnd(at: now) {
                wakeAt(moment)
                break
            }
            let candidate = lastFamily[rank].map { Self.interleaved(due, after: $0) } ?? due[0]
            lastFamily[rank] = candidate.entry.target.ipAddress?.isIPv4
            actions.append(begin(candidate.entry, candidate.group, isFurther: false, at: now))
            if groupStarts[rank] == nil { groupStarts[rank] = now }
            lastStarts[rank] = now
            // For the rest of this group, and for the groups after it.
            if due.count > 1 { wakeAt(now + stagger) }
        }
        nextWake = wake
        return actions
    }

    /// The next to dial: in order, but of the other family than the one before (RFC 8305 section 4).
    private static func interleaved(_ due: [Candidate], after wasIPv4: Bool) -> Candidate {
        due.first { $0.entry.target.ipAddress?.isIPv4 != wasIPv4 } ?? due[0]
    }

    private func headStart(of rank: Rank) -> Duration {
        rank.isLate ? settings.unsteadyHeadStart : settings.headStarts[rank.group] ?? .zero
    }

    private func hasRoom(for group: DialGroup) -> Bool {
        guard underWay.count < settings.dialsAtOnce else { return false }
        guard group < .relay else { return true }
        return underWay.count(where: { $0.group < .relay }) < settings.directDialsAtOnce
    }

    /// When another dial may start; nil if one may now.
    private mutating func rateLimitEnd(at now: Duration) -> Duration? {
        starts.removeAll { now - $0 >= .seconds(60) }
        return starts.count < settings.dialsPerMinute ? nil : (starts.first ?? now) + .seconds(60)
    }

    private mutating func begin(
        _ entry: AddressBook.Entry, _ group: DialGroup, isFurther: Bool, at now: Duration
    ) -> Action {
        nextNumber += 1
        let attempt = Attempt(
            number: nextNumber, target: entry.target, group: group, source: entry.source, isFurther: isFurther)
        underWay.append(attempt)
        starts.append(now)
        tries.started(entry.target, at: now)
        return .dial(attempt)
    }

    // MARK: further connections

    private var mayStartFurther: Bool {
        standing.isConnected && standing.further > 0 && !underWay.contains(where: \.isFurther) && furtherEntry != nil
    }

    /// Where the device is connected by a dial of this side, or else the first direct address.
    private var furtherEntry: AddressBook.Entry? {
        let direct = book.entries.filter { $0.target.kind == .tcp && policy.allow($0.target) }
        return direct.first { $0.target == linkedTarget } ?? direct.min { group($0) < group($1) }
    }

    private mutating func startFurther(at now: Duration) -> [Action] {
        guard mayStartFurther, furtherDue <= now, let entry = furtherEntry,
            !underWay.contains(where: { $0.target == entry.target }), hasRoom(for: group(entry)),
            rateLimitEnd(at: now) == nil
        else { return [] }
        return [begin(entry, group(entry), isFurther: true, at: now)]
    }
}

/// Random numbers that spread what many devices do at the same moment (SplitMix64). Not for secrets.
struct JitterSource: Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    /// Uniform in 0..<1.
    mutating func next() -> Double {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        mixed ^= mixed >> 31
        return Double(mixed >> 11) / 9_007_199_254_740_992
    }
}
