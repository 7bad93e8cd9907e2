import Transport

/// Decides which relay to join, and when again: from outcome to next step.
package struct MembershipMachine: Sendable {
    package enum Step: Equatable, Sendable {
        /// Get the list of the pool at this URL.
        case fetchPool(String)
        /// Measure how far these are.
        case measure([RelayAddress])
        case join(RelayAddress)
        /// Wait; sooner when somebody asks for it, by `hurried`.
        case wait(Duration, after: RelayError)
        /// Nothing will change until the settings do.
        case stop(RelayError)
    }

    package enum Outcome: Equatable, Sendable {
        /// The first, before any step.
        case begun
        case fetched([RelayAddress])
        case measured([RelayMeasurement])
        /// The pool could not be fetched, or a relay not be joined, or joined no longer.
        case ended(RelayError, joinedFor: Duration?)
        case waited
        /// The wait was cut short because something has changed, as the network.
        case hurried
    }

    private let source: RelaySource
    private var backoff = RejoinBackoff()
    /// The relays of the pool that are still to be tried, the best first.
    private var untried: [RelayAddress] = []
    /// Why the last one was not joined.
    private var lastError: RelayError?

    package init(source: RelaySource) { self.source = source }

    /// - Parameter random: for the order of the pool and the length of waits.
    package mutating func step(
        after outcome: Outcome, using random: inout some RandomNumberGenerator
    ) -> Step {
        switch outcome {
        case .begun, .waited: return next()
        case .hurried:
            backoff.reset()
            return next()
        case .fetched(let addresses):
            let chosen = RelayPool.chosen(of: addresses, using: &random)
            guard !chosen.isEmpty else { return wait(after: .emptyPool, using: &random) }
            return .measure(chosen)
        case .measured(let measurements):
            untried = RelayPool.order(measurements, using: &random)
            return untried.isEmpty ? wait(after: .emptyPool, using: &random) : next()
        case .ended(let error, let joinedFor):
            return step(after: error, joinedFor: joinedFor, using: &random)
        }
    }

    private mutating func next() -> Step {
        switch source {
        case .fixed(let address): return .join(address)
        case .pool(let url):
            guard !untried.isEmpty else { return .fetchPool(url) }
            return .join(untried.removeFirst())
        }
    }

    private mutating func step(
        after error: RelayError, joinedFor: Duration?, using random: inout some RandomNumberGenerator
    ) -> Step {
        if let joinedFor, joinedFor >= RejoinBackoff.proven { backoff.reset() }
        if case .fixed = source, !error.isTransient { return .stop(error) }
        return wait(after: error, using: &random)
    }

    private mutating func wait(after error: RelayError, using random: inout some RandomNumberGenerator) -> Step {
        // Of a pool the next relay is tried soon; the long waits are for a pool of which none can be joined.
        let pause = backoff.next(random: Double.random(in: 0..<1, using: &random))
        return .wait(untried.isEmpty ? pause : min(pause, .seconds(2)), after: error)
    }
}

extension RelayError {
    static let emptyPool = RelayError(
        .invalidPool, "the pool's list has no relay that can be used; use another pool, or a relay's own address")
}
