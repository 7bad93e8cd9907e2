/// The requests of programs that wait for the agent: each ends once, by an answer, at its deadline, because its caller is dying, or
/// with the connection that it was asked over, if it may not be asked twice. Pure; `Waiter` is what is needed to answer.
///
/// An agent is silent when a request's deadline passed and nothing at all came since that was asked: it hangs, or was stopped.
/// How long others wait counts from the first such request, until the agent says something.
package struct PendingRequests<Waiter> {
    private struct Pending {
        var waiter: Waiter
        var asked: Duration
        var limit: Duration
        var deadline: Duration
        /// The thread that waits; 0 if nobody knows.
        var caller: Int32
        /// Whether it waits for the next connection if it loses the one that it was asked over.
        var isRepeatable: Bool
        var isInterrupted = false
    }

    /// How often the caller of an interrupted request is looked at.
    package static var interruptedPause: Duration { .milliseconds(50) }

    private var pending: [UInt64: Pending] = [:]
    /// Interrupted before they were added: the kernel is asked about that first.
    private var early: Set<UInt64> = []
    /// Whether there is an agent that could say something.
    private var isConnected = false
    /// When it said something; the start of the connection counts.
    private var lastHeard = Duration.zero
    private var lastPing: Duration?
    private var silentSince: Duration?
    package let limit: Int

    package init(limit: Int = 4096) { self.limit = limit }

    package var count: Int { pending.count }

    /// Takes a request by a number that no other has, for at most `patience`.
    ///
    /// - Returns: after which pause something is to be done for it; nil if too many wait already.
    package mutating func add(
        _ number: UInt64, _ waiter: Waiter, within patience: Duration, at now: Duration, caller: Int32,
        isRepeatable: Bool = false
    ) -> Duration? {
        guard pending.count < limit else { return nil }
        var deadline = now + patience
        if let end = silenceEnd(of: patience) { deadline = min(deadline, max(end, now + MountDeadlines.silent)) }
        pending[number] = Pending(
            waiter: waiter, asked: now, limit: patience, deadline: deadline, caller: caller, isRepeatable: isRepeatable,
            isInterrupted: early.remove(number) != nil)
        return pause(at: now)
    }

    /// The waiter of an answer that came; nil if it does not wait any more.
    package mutating func take(_ number: UInt64) -> Waiter? { pending.removeValue(forKey: number)?.waiter }

    /// The connection is over: gives those that end with it. All others wait for the next one, until their own deadlines: these
    /// are `remaining`.
    package mutating func disconnected() -> [Waiter] {
        endSilence()
        isConnected = false
        let ended = pending.filter { !$0.value.isRepeatable }
        for number in ended.keys { pending[number] = nil }
        return ended.values.map(\.waiter)
    }

    package var remaining: [(number: UInt64, waiter: Waiter)] {
        pending.map { ($0.key, $0.value.waiter) }.sorted { $0.0 < $1.0 }
    }

    /// All of them: nobody waits any more.
    package mutating func takeAll() -> [Waiter] {
        defer { (pending, isConnected, silentSince, lastPing) = ([:], false, nil, nil) }
        return pending.values.map(\.waiter)
    }

    /// Those that have waited too long.
    package mutating func expired(at now: Duration) -> [(number: UInt64, waiter: Waiter)] {
        var numbers = pending.filter { $0.value.deadline <= now }.map(\.key).sorted()
        if isConnected, silentSince == nil,
            numbers.contains(where: { pending[$0].map { $0.asked >= lastHeard } ?? false })
        {
            silentSince = pending.values.map(\.asked).filter { $0 >= lastHeard }.min()
            for (number, request) in pending where request.asked >= lastHeard {
                let end = silenceEnd(of: request.limit) ?? request.deadline
                pending[number]?.deadline = min(request.deadline, end)
            }
            numbers = pending.filter { $0.value.deadline <= now }.map(\.key).sorted()
        }
        return numbers.compactMap { number in take(number).map { (number, $0) } }
    }

    // MARK: silence

    /// Something came from the agent, or it has just been reached.
    package mutating func heard(at now: Duration) {
        lastHeard = max(lastHeard, now)
        isConnected = true
        endSilence()
    }

    private mutating func endSilence() {
        if silentSince != nil {
            for (number, request) in pending { pending[number]?.deadline = request.asked + request.limit }
        }
        silentSince = nil
        lastPing = nil
    }

    /// Whether the agent is to be asked now if it runs: somebody waits for it longer than for one that is silent.
    package mutating func takePing(at now: Duration) -> Bool {
        guard let ping = nextPing, ping <= now else { return false }
        lastPing = now
        return true
    }

    private var nextPing: Duration? {
        guard isConnected, silentSince == nil, lastPing == nil else { return nil }
        let patient = pending.values.filter {
            $0.asked >= lastHeard && $0.limit > MountDeadlines.ofSilence($0.limit)
        }
        return patient.map(\.asked).min().map { $0 + MountDeadlines.pingPause }
    }

    private func silenceEnd(of limit: Duration) -> Duration? {
        silentSince.map { $0 + MountDeadlines.ofSilence(limit) }
    }

    // MARK: interrupts

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
        let pause = max(min(first, nextPing ?? first) - now, .zero)
        return pending.values.contains(where: \.isInterrupted) ? min(pause, Self.interruptedPause) : pause
    }
}
