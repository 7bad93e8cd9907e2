import Synchronization

/// Tells the links of a folder that this device has something to announce.
final class AnnouncementFeed: Sendable {
    private let subscribers = Mutex<[ObjectIdentifier: Signal]>([:])

    /// A signal for every change of this device's index, until `unsubscribe`.
    func subscribe() -> Signal {
        let signal = Signal()
        subscribe(signal)
        return signal
    }

    /// Has `signal` notified of every change of this device's index, until `unsubscribe`.
    func subscribe(_ signal: Signal) { subscribers.withLock { $0[ObjectIdentifier(signal)] = signal } }

    func unsubscribe(_ signal: Signal) {
        subscribers.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(signal)) }
    }

    /// There may be something to announce.
    func changed() { for signal in subscribers.withLock({ Array($0.values) }) { signal.notify() } }
}
