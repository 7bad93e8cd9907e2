import AgentConfiguration
import LinkRules
import Phrases

/// The policies that hold at a moment, and what each lets over a link. Pure.
package struct HeldTransfers: Equatable, Sendable {
    package var holds: [TransferPolicies.Hold] = []
    /// Bytes per second each way, where one of them limits.
    package var meteredRate: Int64 = 0
    /// Whether a connection that is metered is so for the local network, too.
    package var includesLocalNetwork = false

    package init() {}

    /// - Parameter isIgnored: whether the user has set all policies aside.
    package init(_ policies: TransferPolicies, in conditions: MachineConditions, isIgnored: Bool) {
        guard !isIgnored else { return }
        holds = policies.holds(in: conditions)
        // What does not count is no difference.
        guard !holds.isEmpty else { return }
        meteredRate = policies.meteredRate
        includesLocalNetwork = policies.includesLocalNetwork
    }

    /// What keeps a use of such a link from being made, the strictest first; nil if nothing does.
    package func obstacle(to purpose: SlowLinkPolicy.Purpose, over route: LinkRoute) -> TransferPolicies.Hold? {
        holds.filter { concerns($0, route) && Self.obstructs($0.restraint, purpose) }
            .max { $0.restraint < $1.restraint }
    }

    /// Whether the machine runs on its battery, so far as a policy says something of that.
    package var isOnBattery: Bool { holds.contains { $0.cause == .battery } }

    /// What a link of this route may carry in a second each way; nil for no limit.
    package func rate(over route: LinkRoute) -> Int64? {
        holds.contains { $0.restraint == .limit && concerns($0, route) } ? meteredRate : nil
    }

    /// What each way costs where a policy says so: only those that differ from a way that is free and has no limit.
    package var costs: [LinkWay: DeviceLinks.Cost] {
        var costs: [LinkWay: DeviceLinks.Cost] = [:]
        for way in LinkWay.allCases {
            let route: LinkRoute = way.isRadio ? .radio : way == .localTCP ? .localNetwork : .internet
            let isMetered = holds.contains { $0.cause == .metered && concerns($0, route) }
            let cost = DeviceLinks.Cost(isMetered: isMetered, limit: rate(over: route).map { Double($0) })
            if cost != DeviceLinks.Cost() { costs[way] = cost }
        }
        return costs
    }

    private func concerns(_ hold: TransferPolicies.Hold, _ route: LinkRoute) -> Bool {
        switch (hold.cause, route) {
        case (.battery, _), (.metered, .internet): true
        case (.metered, .localNetwork): includesLocalNetwork
        case (.metered, .radio): false
        }
    }

    private static func obstructs(_ restraint: TransferPolicies.Restraint, _ purpose: SlowLinkPolicy.Purpose) -> Bool {
        switch purpose {
        case .index: false
        case .kept: restraint >= .onDemandOnly
        case .onDemand, .answer: restraint >= .pause
        }
    }
}

/// Why something may not go over a link.
package enum LinkObstacle: Equatable, Sendable {
    case slowLink(SlowLinkPolicy.Obstacle)
    case policy(TransferPolicies.Hold)

    package var isPolicy: Bool {
        if case .policy = self { true } else { false }
    }

    /// For programs.
    package var reason: String {
        switch self {
        case .slowLink: "bluetooth"
        case .policy(let hold): hold.cause.rawValue
        }
    }

    /// Why something waits, and what to do, to be read after the names or numbers of what waits.
    package func text(folder: String) -> Phrase {
        switch self {
        case .slowLink(let obstacle): obstacle.text(folder: folder)
        case .policy(let hold): "\(hold.text); \(hold.remedy)"
        }
    }

    /// What to do as a command for a shell; nil where it takes something that only the user knows.
    package func command(folder: String) -> String? {
        switch self {
        case .slowLink(let obstacle): obstacle.command(folder: folder)
        case .policy: "synctrain policy ignore --for 1h"
        }
    }
}

extension TransferPolicies.Hold {
    /// Why, as a part of a sentence.
    package var text: Phrase {
        let what =
            switch restraint {
            case .nothing: Phrase("nothing waits")
            case .limit: Phrase("transfers are limited")
            case .onDemandOnly: Phrase("only requested files are downloaded")
            case .pause: Phrase("only indexes are exchanged")
            }
        return switch cause {
        case .metered: Phrase("the connection is metered; \(what) (on-metered)")
        case .battery: Phrase("the battery is low; \(what) (on-battery)")
        }
    }

    package var remedy: Phrase {
        restraint == .onDemandOnly
            ? Phrase(
                "`synctrain policy ignore --for 1h` suspends the policies, `synctrain fetch` downloads a file")
            : Phrase("`synctrain policy ignore --for 1h` suspends the policies")
    }
}
