import AsyncTools
import Synchronization

/// Tells the links of a folder that this device has something to announce.
package final class AnnouncementFeed: Sendable {
    /// In the order in which they came.
    private let subscribers = Mutex<[Signal]>([])

    /// A signal for every change of this device's index, until `unsubscribe`.
    package func subscribe() -> Signal {
        let signal = Signal()
        subscribe(signal)
        return signal
    }

    /// Has `signal` notified of every change of this device's index, until `unsubscribe`.
    package func subscribe(_ signal: Signal) {
        subscribers.withLock { subscribers in
            if !subscribers.contains(where: { $0 === signal }) { subscribers.append(signal) }
        }
    }

    package func unsubscribe(_ signal: Signal) { subscribers.withLock { $0.removeAll { $0 === signal } } }

    /// There may be something to announce.
    package func changed() { for signal in subscribers.withLock({ $0 }) { signal.notify() } }
}
