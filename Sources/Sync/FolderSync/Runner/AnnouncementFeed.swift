import AsyncTools
import Synchronization

/// Tells the links of a folder that this device has something to announce.
package final class AnnouncementFeed: Sendable {
    private let subscribers = Mutex<[ObjectIdentifier: Signal]>([:])

    /// A signal for every change of this device's index, until `unsubscribe`.
    package func subscribe() -> Signal {
        let signal = Signal()
        subscribe(signal)
        return signal
    }

    /// Has `signal` notified of every change of this device's index, until `unsubscribe`.
    package func subscribe(_ signal: Signal) { subscribers.withLock { $0[ObjectIdentifier(signal)] = signal } }

    package func unsubscribe(_ signal: Signal) {
        subscribers.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(signal)) }
    }

    /// There may be something to announce.
    package func changed() { for signal in subscribers.withLock({ Array($0.values) }) { signal.notify() } }
}
