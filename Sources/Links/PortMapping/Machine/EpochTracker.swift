/// Notices from a router's clock that it restarted and lost its mappings.
///
/// Conservative, after RFC 6886 section 3.6 and RFC 6887 section 8.5: the router's seconds must advance with ours, give or take
/// an eighth for NAT-PMP or a sixteenth for PCP, and 2 s.
struct EpochTracker: Sendable, Equatable {
    private var last: (epoch: Int64, at: Duration)?

    static func == (left: EpochTracker, right: EpochTracker) -> Bool {
        left.last?.epoch == right.last?.epoch && left.last?.at == right.last?.at
    }

    /// Takes the epoch of an answer received at `now`; whether the router lost its state since the last one.
    mutating func hasRestarted(epoch: UInt32, isPCP: Bool, at now: Duration) -> Bool {
        let current = Int64(epoch)
        defer { last = (current, now) }
        guard let last else { return false }
        // Both are below 2^33, so that nothing here overflows.
        let ours = Int64(clamping: min(max((now - last.at).components.seconds, 0), 1 << 32))
        let theirs = current - last.epoch
        guard isPCP else { return theirs < ours * 7 / 8 - 2 }
        return theirs < -1 || ours + 2 < theirs - theirs / 16 || theirs + 2 < ours - ours / 16
    }
}
