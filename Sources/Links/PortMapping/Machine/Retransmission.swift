/// When a datagram that got no answer is sent again: after 250 ms, then after twice as long each time (RFC 6886 section 3.1).
struct Retransmission: Sendable, Equatable {
    private(set) var due: Duration
    private var wait: Duration = .milliseconds(250)
    private var left: Int

    /// - Parameter sends: how often it is sent in all; the first time is at `now`.
    init(at now: Duration, sends: Int) {
        left = max(sends, 1) - 1
        due = now + wait
    }

    /// To be asked once `due` has come: whether it is to be sent again now. If not, there is no answer.
    mutating func sendsAgain(at now: Duration) -> Bool {
        guard left > 0 else { return false }
        left -= 1
        wait = wait * 2
        due = now + wait
        return true
    }
}
