import Glibc

/// What poll(2) is asked about a descriptor and what it answers.
package struct PollEvents: OptionSet, Hashable, Sendable {
    package let rawValue: Int16

    package init(rawValue: Int16) { self.rawValue = rawValue }

    package static let readable = PollEvents(rawValue: Int16(POLLIN))
    package static let writable = PollEvents(rawValue: Int16(POLLOUT))
    /// Told without being asked: the other end is gone, or an error waits.
    package static let ended = PollEvents(rawValue: Int16(POLLHUP | POLLERR | POLLNVAL))
}

/// Waits for descriptors in a thread that may wait.
package struct Poll {
    private var entries: [pollfd] = []

    package init() {}

    /// - Parameter interest: nil leaves the descriptor out, its end included; empty waits for its end only.
    package mutating func add(_ descriptor: CInt, _ interest: PollEvents?) {
        entries.append(pollfd(fd: interest == nil ? -1 : descriptor, events: interest?.rawValue ?? 0, revents: 0))
    }

    /// Waits until something has happened or `limit` is over; nil waits for ever. Gives what happened, in the order of
    /// `add`.
    package mutating func wait(_ limit: Duration?) -> [PollEvents] {
        let result = poll(&entries, nfds_t(entries.count), limit?.pollMilliseconds ?? -1)
        return entries.map { result > 0 ? PollEvents(rawValue: $0.revents) : [] }
    }
}

extension Duration {
    /// In the unit of poll(2), rounded up so that a wait never ends just before its time.
    package var pollMilliseconds: CInt {
        guard self > .zero else { return 0 }
        let (seconds, attoseconds) = components
        guard seconds < 2_000_000 else { return 2_000_000_000 }
        return CInt(seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
