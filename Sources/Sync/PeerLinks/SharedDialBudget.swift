import AgentContext
import LinkRules
import Phrases
import Synchronization

/// How many dials to all devices together are under way.
package final class SharedDialBudget: Sendable {
    private let budget = Mutex(DialBudget())

    package init() {}

    /// False if there is no room.
    package func take() -> Bool { budget.withLock { $0.take() } }

    package func give() { budget.withLock { $0.give() } }
}

/// What a dial came to that led to no link.
package struct DialReport: Equatable, Sendable {
    package var message: Phrase
    package var time: WallTime
    package var source: AddressSource
}
