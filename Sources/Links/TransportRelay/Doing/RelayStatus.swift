import Transport

/// How it stands with a relay that this device listens at, for people. Times are those of `RelayTime.monotonic`.
package struct RelayStatus: Equatable, Sendable {
    package enum Phase: String, Sendable {
        /// A pool's list is fetched and its relays are measured.
        case choosing
        case connecting
        case joined
        case waiting
        /// Only changed settings help; `problem` says which.
        case stopped
    }

    package var source: RelaySource
    package var phase: Phase
    /// The relay that is joined, or was tried last.
    package var relay: RelayAddress?
    package var joinedSince: Duration?
    /// How long a ping to the joined relay and its answer took together.
    package var roundTrip: Duration?
    /// Why the relay is not joined, or was not until it was; nil from joining on.
    package var problem: RelayError?
    /// When it is tried again, while waiting.
    package var nextTry: Duration?
    /// Sessions that went through their installer.
    package var sessionCount = 0
    /// Sessions that were offered and did not come about.
    package var failedSessionCount = 0
    /// Why the last of them did not.
    package var sessionProblem: RelayError?
    /// Invitations that were not followed: too many at once, or from a device that is not wanted.
    package var refusedInvitationCount = 0

    package init(source: RelaySource, phase: Phase) {
        self.source = source
        self.phase = phase
    }

    /// What to announce to others: the joined relay without its token; nil while none is joined.
    package var announcement: String? { phase == .joined ? relay?.announcement : nil }
}

/// Where the relay client gets time from; tests give their own.
package struct RelayTime: Sendable {
    package var clock: any Clock<Duration>
    /// Never goes back.
    package var monotonic: @Sendable () -> Duration

    package init(clock: any Clock<Duration>, monotonic: @escaping @Sendable () -> Duration) {
        self.clock = clock
        self.monotonic = monotonic
    }

    package static var system: RelayTime {
        let origin = ContinuousClock.now
        return RelayTime(clock: ContinuousClock()) { ContinuousClock.now - origin }
    }
}
