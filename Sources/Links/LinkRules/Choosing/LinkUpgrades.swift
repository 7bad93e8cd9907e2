/// Which ways to a device are worth dialling, beside what is connected, and when: so that a better way is taken soon, and
/// two ways never alternate. A value; the owner reports links and measurements.
///
/// - A way of a better tier is worth dialling at once: a relay gives way to a direct path as soon as there is one.
/// - Within a tier, a way has to be 1.5 times as fast, the link in use a minute old, and a way that was left for a faster one is
///   not taken again for five minutes.
/// - A way whose link is lost within a minute of its start is unsteady: it waits 30 s, then twice as long each time, at most ten
///   minutes. Without any link it is still dialled, after the others.
/// - In any minute at most four upgrades.
package struct LinkUpgrades: Sendable {
    static let shortLife: Duration = .seconds(60)
    static let firstHold: Duration = .seconds(30)
    static let longestHold: Duration = .seconds(600)
    /// A link that lived so long clears what is held against its way.
    static let steadyLife: Duration = .seconds(300)
    static let leftHold: Duration = .seconds(300)
    static let dwell: Duration = .seconds(60)
    static let peersChoiceHold: Duration = .seconds(600)
    static let upgradesPerMinute = 4
    /// How long a measurement is trusted.
    static let measurementLife: Duration = .seconds(900)

    /// What is to be dialled.
    package struct Wish: Sendable, Equatable {
        /// Ways to dial now, each after its head start.
        package var ways: Set<LinkWay> = []
        /// Ways to dial only if none of the others leads to a link soon.
        package var later: Set<LinkWay> = []
        /// When there may be more to dial though nothing else has changed; nil if never.
        package var next: Duration?

        package var isEmpty: Bool { ways.isEmpty && later.isEmpty }
    }

    private struct Hold {
        var until: Duration
        var failures: Int
    }

    private struct Current {
        var way: LinkWay
        var since: Duration
    }

    private struct Measurement {
        var rate: Double
        var at: Duration
    }

    private var current: Current?
    private var holds: [LinkWay: Hold] = [:]
    private var lefts: [LinkWay: Duration] = [:]
    private var upgrades: [Duration] = []
    /// Until when the way that the peer chose is not left for another of its tier.
    private var peersChoiceEnd: Duration?
    private var measurements: [LinkWay: Measurement] = [:]

    package init() {}

    // MARK: events

    /// The best of the links in use goes another way than before, or is the first.
    ///
    /// - Parameter wasPeersChoice: The peer dialled it although this end had a link that works.
    package mutating func began(_ way: LinkWay, wasPeersChoice: Bool = false, at now: Duration) {
        if let current, current.way != way {
            note(upgradeAt: now)
            if current.way.tier == way.tier { lefts[current.way] = now + Self.leftHold }
        }
        if current?.way != way { current = Current(way: way, since: now) }
        peersChoiceEnd = wasPeersChoice ? now + Self.peersChoiceHold : nil
    }

    /// The last link of the way in use was lost: not closed for a better one, nor by the user.
    package mutating func lost(at now: Duration) {
        guard let current else { return }
        let life = now - current.since
        if life >= Self.steadyLife {
            holds[current.way] = nil
        } else if life < Self.shortLife {
            let failures = min(holds[current.way]?.failures ?? 0, 10)
            let pause = min(Self.longestHold, Self.firstHold * (1 << failures))
            holds[current.way] = Hold(until: now + pause, failures: failures + 1)
        }
        ended()
    }

    /// No link is in use any more, for a reason that says nothing of its way.
    package mutating func ended() {
        current = nil
        peersChoiceEnd = nil
    }

    /// Another network: what was held against ways was of the old one.
    package mutating func networkChanged() {
        holds = [:]
        lefts = [:]
        measurements = [:]
        peersChoiceEnd = nil
    }

    /// What a link carried while it was kept busy for a second or more, in bytes per second.
    package mutating func measured(_ way: LinkWay, rate: Double, at now: Duration) {
        guard rate.isFinite, rate > 0 else { return }
        let known = measurements[way].flatMap { now - $0.at < Self.measurementLife ? $0.rate : nil }
        measurements[way] = Measurement(rate: known.map { $0 * 0.75 + rate * 0.25 } ?? rate, at: now)
    }

    // MARK: -

    /// What a way is worth, with what was measured of it lately.
    package func worth(_ way: LinkWay, isMetered: Bool = false, limit: Double? = nil, at now: Duration) -> LinkWorth {
        let measured = measurements[way].flatMap { now - $0.at < Self.measurementLife ? $0.rate : nil }
        return LinkWorth(way, measuredRate: measured, isMetered: isMetered, limit: limit)
    }

    /// What is to be dialled now.
    ///
    /// - Parameters:
    ///   - active: the best link in use; nil while there is none, or none that answers.
    ///   - candidates: the ways that there are addresses for and that may be used.
    package func wish(over active: LinkWorth?, candidates: [LinkWorth], at now: Duration) -> Wish {
        var wish = Wish()
        guard let active else {
            for candidate in candidates {
                if isHeld(candidate.way, at: now) {
                    wish.later.insert(candidate.way)
                } else {
                    wish.ways.insert(candidate.way)
                }
            }
            return wish
        }
        let budgetEnd = upgrades.count >= Self.upgradesPerMinute ? upgrades[0] + .seconds(60) : .zero
        for candidate in candidates where candidate.way != active.way && candidate.isUpgrade(over: active) {
            var earliest = max(budgetEnd, holds[candidate.way]?.until ?? .zero)
            if candidate.way.tier == active.way.tier {
                let dwellEnd = (current?.since ?? .zero) + Self.dwell
                earliest = max(earliest, dwellEnd, lefts[candidate.way] ?? .zero, peersChoiceEnd ?? .zero)
            }
            if earliest <= now {
                wish.ways.insert(candidate.way)
            } else {
                wish.next = wish.next.map { min($0, earliest) } ?? earliest
            }
        }
        return wish
    }

    private func isHeld(_ way: LinkWay, at now: Duration) -> Bool { (holds[way]?.until ?? .zero) > now }

    private mutating func note(upgradeAt now: Duration) {
        upgrades.removeAll { now - $0 >= .seconds(60) }
        upgrades.append(now)
        if upgrades.count > Self.upgradesPerMinute { upgrades.removeFirst() }
    }
}
