/// How many invitations a relay may send: a burst at once, and then so many per second.
///
/// Each makes this device connect to an address of the relay's choice, so a relay that sends them without end would make
/// it a tool against others. A burst is enough for a company's devices that all come back after a restart of the relay.
package struct InvitationBudget: Equatable, Sendable {
    package static let burst = 64
    /// Time in which one more becomes allowed.
    package static let interval = Duration.milliseconds(250)

    /// When the budget is whole again if nothing is taken.
    private var full: Duration?

    package init() {}

    /// Takes one; false if none is left.
    package mutating func take(at now: Duration) -> Bool {
        let start = max(full ?? now, now)
        guard start + Self.interval - now <= Self.interval * Self.burst else { return false }
        full = start + Self.interval
        return true
    }
}
