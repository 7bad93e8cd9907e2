import BlockExchange

/// Whom to ask to rename what is not on this disk, and what follows from the answers. Pure.
package struct RenameAsking: Sendable {
    /// Devices that are asked at most, one after the other.
    package static let deviceLimit = 3
    /// How often a device is asked again that was asked too often.
    static let retryLimit = 5
    static let retryPause: Duration = .seconds(1)
    /// How long a device may take to answer: it waits for its turn and looks at all names.
    package static let patience: Duration = .seconds(40)
    /// How long all of it may take, until the new name is seen here.
    package static let limit: Duration = .seconds(50)

    package enum Action: Equatable, Sendable {
        case ask(DeviceID)
        /// The same device, after a pause.
        case askAgain(DeviceID, after: Duration)
        /// It is renamed.
        case done
        /// Nobody renames it; nothing was changed.
        case nobody
        /// The device may have renamed it or not.
        case unknown(DeviceID)
    }

    package enum Event: Equatable, Sendable {
        case answered(RenameAnswer.Outcome)
        /// The device was not asked after all.
        case notAsked
        /// It was asked, and no answer came.
        case noAnswer
    }

    private var rest: [DeviceID]
    private var current: DeviceID?
    private var retries = 0

    /// - Parameter devices: that can be asked, the best first.
    package init(_ devices: [DeviceID]) { rest = Array(devices.prefix(Self.deviceLimit)) }

    package mutating func begin() -> Action {
        guard !rest.isEmpty else {
            current = nil
            return .nobody
        }
        let next = rest.removeFirst()
        (current, retries) = (next, 0)
        return .ask(next)
    }

    package mutating func next(after event: Event) -> Action {
        guard let current else { return .nobody }
        switch event {
        case .answered(.done): return .done
        case .answered(.tooSoon) where retries < Self.retryLimit:
            retries += 1
            return .askAgain(current, after: Self.retryPause)
        case .answered, .notAsked: return begin()
        // To ask another one, or to copy, could be the same change a second time.
        case .noAnswer: return .unknown(current)
        }
    }
}

/// Devices that did not answer are not asked to rename anything for a while. Pure.
package struct RenameBreaker: Sendable {
    package static let pause: Duration = .seconds(30)

    private var silentUntil: [DeviceID: MonotonicTime] = [:]

    package init() {}

    package mutating func failed(_ device: DeviceID, at now: MonotonicTime) {
        silentUntil = silentUntil.filter { $0.value > now }
        silentUntil[device] = now + Self.pause
    }

    package mutating func answered(_ device: DeviceID) { silentUntil[device] = nil }

    package func mayAsk(_ device: DeviceID, at now: MonotonicTime) -> Bool {
        silentUntil[device].map { $0 <= now } ?? true
    }
}
