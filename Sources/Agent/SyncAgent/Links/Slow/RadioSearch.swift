import Transport

/// Whether this device searches for absent devices by radio, for which of them and how hard. Pure.
enum RadioSearch {
    /// How long a device that had a link by radio is not searched for: it is dialled without a search first, and may dial.
    static let patience: Duration = .seconds(60)

    /// A known device that can be reached by radio, as it is at one moment.
    struct Candidate: Equatable, Sendable {
        /// Its addresses on radios.
        var addresses: Set<LinkAddress>
        /// Whether it has a link, over anything.
        var isConnected = false
        var isPaused = false
        /// Whether anything may go over a radio with it.
        var isPermitted = true
        /// Whether a person waits for it.
        var isSought = false
        /// Whether something is known to wait for a link with it.
        var hasWork = false
        /// How long ago its link by radio ended; nil if its last link was none, or it has had none since the agent started.
        var unseen: Duration?
    }

    enum Effort: Equatable, Sendable {
        case none
        /// In the duty cycle of the configuration, together with all others.
        case background
        /// Nearly all of the time, by its own dial.
        case searching
    }

    /// What to do now for all devices together.
    struct Plan: Equatable, Sendable {
        /// What is listened for in the next window of the duty cycle; empty for no scan at all.
        var targets: Set<LinkAddress> = []
        /// When to decide again though nothing is said to have changed; nil for not before.
        var recheck: Duration?
    }

    /// - Parameter isHeldBack: whether a policy of this device (a low battery) holds back what waits by itself.
    static func effort(for device: Candidate, isHeldBack: Bool) -> Effort {
        guard !device.addresses.isEmpty, !device.isConnected, !device.isPaused else { return .none }
        if device.isSought { return .searching }
        guard device.isPermitted, !isHeldBack else { return .none }
        if device.hasWork { return .background }
        guard let unseen = device.unseen else { return .background }
        return unseen >= patience ? .background : .none
    }

    /// - Parameter interval: of the duty cycle; nil for no search in the background.
    static func plan(_ devices: [Candidate], isHeldBack: Bool, interval: Duration?) -> Plan {
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
struct RadioStanding: Equatable, Sendable {
    /// How long a device is dialled without a search after it was heard or its link was lost. bluetoothd knows it for so long.
    static let lifetime: Duration = .seconds(30)
    /// How long a person's request is heeded; whoever goes on waiting asks again.
    static let request: Duration = .seconds(45)

    private var heardUntil: Duration?
    private var soughtUntil: Duration?
    /// When the last link ended, if it was by radio.
    private(set) var lastLinkEnd: Duration?

    /// It was heard, or had a link until now.
    mutating func heard(at now: Duration) { heardUntil = now + Self.lifetime }

    mutating func sought(at now: Duration) { soughtUntil = now + Self.request }

    /// - Parameter wasByRadio: whether it was in range of the radio until now; if not, it is searched for without delay.
    mutating func linkEnded(at now: Duration, wasByRadio: Bool) {
        if wasByRadio { heard(at: now) }
        lastLinkEnd = wasByRadio ? now : nil
    }

    func isSought(at now: Duration) -> Bool { soughtUntil.map { now < $0 } == true }

    /// What a dial may do; nil for no dial.
    func effort(at now: Duration) -> RadioEffort? {
        if isSought(at: now) { return .searching }
        return heardUntil.map { now < $0 } == true ? .connecting : nil
    }
}
