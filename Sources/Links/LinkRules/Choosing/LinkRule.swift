import BlockExchange

/// What becomes of a new link to a device that has links already. Pure, and such that both ends keep the same link.
///
/// A link that works is closed only by a rule that gives the same answer on both ends, or because the device that dialled the
/// new one wants it so. Where an end cannot know, it probes what it has, or waits for the peer to decide: two ends that each
/// close the other's favourite would be left with none.
package struct LinkRule: Sendable, Equatable {
    package enum Verdict: Sendable, Equatable {
        /// The new link is added to those there are.
        case keep
        /// The new link is taken; these get no further requests and are closed.
        case replace([LinkNumber])
        case refuse(Refusal)
        /// Nothing is decided yet; decide again when the wait is over or a link has ended.
        case wait(Wait)
    }

    package enum Refusal: String, Sendable, Equatable {
        /// There are as many links as both want.
        case enough
        /// A better one works.
        case worse
        /// Both dialled at the same moment; the other link is kept.
        case crossing
        /// The peer had its time to choose, and closed neither.
        case undecided
    }

    package enum Wait: Sendable, Equatable {
        /// Find out whether these links still work: the peer dials as if it had none.
        case probe([LinkNumber])
        /// The peer decides by a rule of its own: see for so long which one it closes.
        case peersChoice(Duration)
    }

    /// Links that come up within so long of each other may have been dialled at the same moment.
    static let crossingWindow: Duration = .seconds(10)
    /// Of links of two tiers only those so close together. A peer that dials a worse way later has lost the better link, however young
    /// that is: who has one ends what it dials of worse tiers.
    static let crossingTiersWindow: Duration = .seconds(2)
    /// How long a Syncthing gets to close one of two links.
    static let crossingPatience: Duration = .seconds(5)

    package var local: DeviceID
    package var peer: DeviceID
    /// Whether the peer is a synctrain, which decides by this same rule.
    package var peerKnowsRule: Bool
    /// How many links both want; see `ConnectionCount`.
    package var wanted: Int

    package init(local: DeviceID, peer: DeviceID, peerKnowsRule: Bool, wanted: Int = 1) {
        self.local = local
        self.peer = peer
        self.peerKnowsRule = peerKnowsRule
        self.wanted = max(1, wanted)
    }

    /// - Parameters:
    ///   - active: the links in use, in any order, without those that are being replaced.
    ///   - alive: those of which something was heard since the new one came up.
    ///   - waited: how long the new one has waited for a decision.
    package func decide(
        active: [LinkView], new: LinkView, alive: Set<LinkNumber> = [], waited: Duration = .zero
    ) -> Verdict {
        let better = active.filter { $0.way.tier < new.way.tier }
        guard better.isEmpty else {
            let doubtful = better.filter {
                !alive.contains($0.number) && !areCrossing($0, new, within: Self.crossingTiersWindow)
            }.map(\.number)
            return new.isOurs || doubtful.count < better.count ? .refuse(.worse) : .wait(.probe(doubtful))
        }
        let worse = active.filter { $0.way.tier > new.way.tier }.map(\.number)
        let same = active.filter { $0.way.tier == new.way.tier }
        switch decide(among: same, new, alive, waited) {
        case .keep: return worse.isEmpty ? .keep : .replace(worse)
        case .replace(let replaced): return .replace((replaced + worse).sorted())
        case let verdict: return verdict
        }
    }

    /// Among links of one tier.
    private func decide(
        among same: [LinkView], _ new: LinkView, _ alive: Set<LinkNumber>, _ waited: Duration
    ) -> Verdict {
        guard !same.isEmpty else { return .keep }
        let mayAdd = new.way.mayBeOneOfSeveral && same.allSatisfy(\.way.mayBeOneOfSeveral)
        // Only the end that sees it dialled for it: the other may take both ways for the same.
        let slower = new.isOurs && new.way == .localTCP ? same.filter { $0.way == .wideTCP } : []
        if mayAdd, same.count < wanted {
            return slower.isEmpty || !peerKnowsRule ? .keep : .replace(slower.map(\.number))
        }
        guard mayAdd, wanted > 1 else { return decideOne(same, new, waited) }

        if !slower.isEmpty, peerKnowsRule { return .replace(slower.map(\.number)) }
        let crossing = same.filter { $0.isOurs != new.isOurs && areCrossing($0, new) }.max { $0.since < $1.since }
        if let crossing, peerKnowsRule {
            return wins(new, over: crossing) ? .replace([crossing.number]) : .refuse(.crossing)
        }
        guard !new.isOurs else { return .refuse(.enough) }
        // A peer that dials more than both want has lost some of those that this end counts.
        let doubtful = same.filter { !alive.contains($0.number) }.map(\.number)
        return doubtful.isEmpty ? .refuse(.enough) : .wait(.probe(doubtful))
    }

    /// Where only one link is wanted, or possible.
    private func decideOne(_ same: [LinkView], _ new: LinkView, _ waited: Duration) -> Verdict {
        let replaced = same.map(\.number)
        guard let youngest = same.max(by: { $0.since < $1.since }) else { return .keep }
        let isCrossing = youngest.isOurs != new.isOurs && areCrossing(youngest, new)
        // A device that dials again has lost the link that the other end still counts, or wants a better one.
        if !isCrossing, peerKnowsRule || !new.isOurs { return .replace(replaced) }
        guard peerKnowsRule else {
            return waited < Self.crossingPatience
                ? .wait(.peersChoice(Self.crossingPatience - waited)) : .refuse(.undecided)
        }
        return wins(new, over: youngest) ? .replace(replaced) : .refuse(.crossing)
    }

    private func areCrossing(_ old: LinkView, _ new: LinkView, within window: Duration = crossingWindow) -> Bool {
        let distance = new.since - old.since
        return distance < window && distance > .zero - window
    }

    /// By what both ends know: what carries the link, and who dialled it.
    private func wins(_ new: LinkView, over old: LinkView) -> Bool {
        if new.way.crossingRank != old.way.crossingRank { return new.way.crossingRank < old.way.crossingRank }
        return dialler(of: new) < dialler(of: old)
    }

    private func dialler(of link: LinkView) -> DeviceID { link.isOurs ? local : peer }
}
