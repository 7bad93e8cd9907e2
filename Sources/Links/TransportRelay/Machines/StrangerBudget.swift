/// How the device that a relay names as the inviter stands with this one.
package enum InviterStanding: Sendable, Equatable {
    case known
    /// Followed within `StrangerBudget`: it may want to pair, use an invitation, or be added.
    case stranger
    /// Its invitations are not followed.
    case refused
}

/// How many invitations of unknown devices are followed, over all relays: anybody who knows this device's id can send them.
package struct StrangerBudget: Equatable, Sendable {
    package static let atOnce = 1
    package static let perMinute = 6

    private var underWay = 0
    private var starts: [Duration] = []

    package init() {}

    /// Takes one, until `give`; false if none is left.
    package mutating func take(at now: Duration) -> Bool {
        starts.removeAll { now - $0 >= .seconds(60) }
        guard underWay < Self.atOnce, starts.count < Self.perMinute else { return false }
        underWay += 1
        starts.append(now)
        return true
    }

    package mutating func give() { underWay = max(0, underWay - 1) }
}
