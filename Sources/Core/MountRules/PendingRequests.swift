/// The requests of programs that wait for the agent: each ends once, by an answer, at its deadline, or because its caller is
/// dying. Pure; `Waiter` is what is needed to answer.
package struct PendingRequests<Waiter> {
    private struct Pending {
        var waiter: Waiter
        var deadline: Duration
        /// The thread that waits; 0 if nobody knows.
        var caller: Int32
        var isInterrupted = false
    }

    /// How often the caller of an interrupted request is looked at.
    package static var interruptedPause: Duration { .milliseconds(50) }

    private var pending: [UInt64: Pending] = [:]
    /// Interrupted before they were added: the kernel is asked about that first.
    private var early: Set<UInt64> = []
    package let limit: Int

    package init(limit: Int = 4096) { self.limit = limit }

    package var count: Int { pending.count }

    /// Takes a request by a number that no other has. False if too many wait already.
    package mutating func add(_ number: UInt64, _ waiter: Waiter, deadline: Duration, caller: Int32) -> Bool {
        guard pending.count < limit else { return false }
        pending[number] = Pending(
            waiter: waiter, deadline: deadline, caller: caller, isInterrupted: early.remove(number) != nil)
        return true
    }

    /// The waiter of an answer that came; nil if it does not wait any more.
    package mutating func take(_ number: UInt64) -> Waiter? { pending.removeValue(forKey: number)?.waiter }

    package mutating func takeAll() -> [Waiter] {
        defer { pending = [:] }
        return pending.values.map(\.waiter)
    }

    /// Those that have waited too long.
    package mutating func expired(at now: Duration) -> [(number: UInt64, waiter: Waiter)] {
        let numbers = pending.filter { $0.value.deadline <= now }.map(\.key).sorted()
        return numbers.compactMap { number in take(number).map { (number, $0) } }
    }

    /// A signal came for the caller. It is only looked at whether that is dying: a caught signal is none of our business.
    package mutating func interrupted(_ number: UInt64) {
        guard pending[number] == nil else {
            pending[number]?.isInterrupted = true
            return
        }
        // One that has ended is never added.
        if early.count >= limit { early = [] }
        early.insert(number)
    }

    package var interrupted: [(number: UInt64, caller: Int32)] {
        pending.filter(\.value.isInterrupted).map { ($0.key, $0.value.caller) }.sorted { $0.0 < $1.0 }
    }

    /// When something is to be done at the latest, from now on; nil for nothing.
    package func pause(at now: Duration) -> Duration? {
        guard let first = pending.values.map(\.deadline).min() else { return nil }
        let pause = max(first - now, .zero)
        return pending.values.contains(where: \.isInterrupted) ? min(pause, Self.interruptedPause) : pause
    }
}
