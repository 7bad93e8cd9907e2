import Transport

/// Whether this device searches for absent devices by radio, for which of them and how hard. Pure.
package enum RadioSearch {
    /// How long a device that had a link by radio is not searched for: it is dialled without a search first, and may dial.
    package static let patience: Duration = .seconds(60)

    /// A known device that can be reached by radio, as it is at one moment.
    package struct Candidate: Equatable, Sendable {
        /// Its addresses on radios.
        package var addresses: Set<LinkAddress>
        /// Whether it has a link, over anything.
        package var isConnected = false
        package var isPaused = false
        /// Whether anything may go over a radio with it.
        package var isPermitted = true
        /// Whether a person waits for it.
        package var isSought = false
        /// Whether something is known to wait for a link with it.
        package var hasWork = false
        /// How long ago its link by radio ended; nil if its last link was none, or it has had none since the agent started.
        package var unseen: Duration?

        package init(
            addresses: Set<LinkAddress>, isConnected: Bool = false, isPaused: Bool = false, isPermitted: Bool = true,
            isSought: Bool = false, hasWork: Bool = false, unseen: Duration? = nil
        ) {
            self.addresses = addresses
            self.isConnected = isConnected
            self.isPaused = isPaused
            self.isPermitted = isPermitted
            self.isSought = isSought
            self.hasWork = hasWork
            self.unseen = unseen
        }
    }

    package enum Effort: Equatable, Sendable {
        case none
        /// In the duty cycle of the configuration, together with all others.
        case background
        /// Nearly all of the time, by its own dial.
        case searching
    }

    /// What to do now for all devices together.
    package struct Plan: Equatable, Sendable {
        /// What is listened for in the next window of the duty cycle; empty for no scan at all.
        package var targets: Set<LinkAddress> = []
        /// When to decide again though nothing is said to have changed; nil for not before.
        package var recheck: Duration?

        package init(targets: Set<LinkAddress> = [], recheck: Duration? = nil) {
            self.targets = targets
            self.recheck = recheck
        }
    }

    /// - Parameter isHeldBack: whether a policy of this device (a low battery) holds back what waits by itself.
    package static func effort(for device: Candidate, isHeldBack: Bool) -> Effort {
        guard !device.addresses.isEmpty, !device.isConnected, !device.isPaused else { return .none }
        if device.isSought { return .searching }
        guard device.isPermitted, !isHeldBack else { return .none }
        if device.hasWork { return .background }
        guard let unseen = device.unseen else { return .background }
        return unseen >= patience ? .background : .none
    }

    /// - Parameter interval: of the duty cycle; nil for no search in the background.
    package static func plan(_ devices: [Candidate], isHeldBack: Bool, interval: Duration?) -> Plan {
        guard let interval else { return Plan() }
        var plan = Plan()
        for device in devices {
            switch effort(for: device, isHeldBack: isHeldBack) {
            case .background: plan.targets.formUnion(device.addresses)
            // Its own dial searches; whether it still does is to be seen later.
            case .searching: plan.recheck = min(plan.recheck ?? interval, interval)
            case .none:
                guard !device.isConnected, !device.isPaused, device.isPermitted, !isHeldBack,
                    !device.addresses.isEmpty, let unseen = device.unseen
                else { continue }
                // Work may come up before it has been away for long.
                let rest = min(max(patience - unseen, .seconds(1)), interval)
                plan.recheck = min(plan.recheck ?? rest, rest)
            }
        }
        return plan
    }
}

/// Why a device may be dialled by radio at this moment. Times are on the agent's monotonic clock.
package struct RadioStanding: Equatable, Sendable {
    /// How long a device is dialled without a search after it was heard or its link was lost. bluetoothd knows it for so long.
    package static let lifetime: Duration = .seconds(30)
    /// How long a person's request is heeded; whoever goes on waiting asks again.
    package static let request: Duration = .seconds(45)

    private var heardUntil: Duration?
    private var soughtUntil: Duration?
    /// When the last link ended, if it was by radio.
    package private(set) var lastLinkEnd: Duration?

    package init(heardUntil: Duration? = nil, soughtUntil: Duration? = nil, lastLinkEnd: Duration? = nil) {
        self.heardUntil = heardUntil
        self.soughtUntil = soughtUntil
        self.lastLinkEnd = lastLinkEnd
    }

    /// It was heard, or had a link until now.
    package mutating func heard(at now: Duration) { heardUntil = now + Self.lifetime }

    package mutating func sought(at now: Duration) { soughtUntil = now + Self.request }

    /// - Parameter wasByRadio: whether it was in range of the radio until now; if not, it is searched for without delay.
    package mutating func linkEnded(at now: Duration, wasByRadio: Bool) {
        if wasByRadio { heard(at: now) }
        lastLinkEnd = wasByRadio ? now : nil
    }

    package func isSought(at now: Duration) -> Bool { soughtUntil.map { now < $0 } == true }

    /// What a dial may do; nil for no dial.
    package func effort(at now: Duration) -> RadioEffort? {
        if isSought(at: now) { return .searching }
        return heardUntil.map { now < $0 } == true ? .connecting : nil
    }
}
