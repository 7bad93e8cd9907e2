import LinkRules
import Synchronization

/// How many dials to all devices together are under way.
final class SharedDialBudget: Sendable {
    private let budget = Mutex(DialBudget())

    /// False if there is no room.
    func take() -> Bool { budget.withLock { $0.take() } }

    func give() { budget.withLock { $0.give() } }
}

/// What a dial came to that led to no link.
struct DialReport: Equatable, Sendable {
    var message: String
    var time: WallTime
    var source: AddressSource
}
