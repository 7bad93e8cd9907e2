/// What a link is for, beside requests.
package enum LinkRole: Sendable {
    case primary
    case secondary
}

/// Whether a role that a link was given still holds, and whose indexes it takes. Pure.
struct RoleStanding {
    struct Given: Sendable {
        var role: LinkRole
        fileprivate var demotionCount: Int
    }

    /// False from the end of the primary's role until the peer says again what it shares: its indexes come elsewhere.
    private(set) var takesIndexes = true
    /// How often the primary's role has ended, whether it had begun or still waited for its turn.
    private var demotionCount = 0

    func give(_ role: LinkRole) -> Given { Given(role: role, demotionCount: demotionCount) }

    /// False once the role was ended that the link had then.
    func holds(_ given: Given) -> Bool { given.demotionCount == demotionCount }

    /// Ends the primary's role.
    ///
    /// - Parameter hasBegun: whether indexes are exchanged.
    /// - Returns: whether what is exchanged ends. A link that has not begun keeps what the peer said already.
    mutating func demote(hasBegun: Bool) -> Bool {
        demotionCount += 1
        if hasBegun { takesIndexes = false }
        return hasBegun
    }

    /// The peer has said what it shares.
    mutating func hearConfig() { takesIndexes = true }
}
