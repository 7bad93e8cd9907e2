import BlockExchange
import Synchronization

/// The last word of each admin of its folders, until the configuration follows it: one at a time for each, however often
/// it says something.
final class IntroductionInbox: Sendable {
    private let waiting = Mutex<[DeviceID: ClusterConfig]>([:])

    /// Whether somebody has to be told that there is something; false while one is under way already.
    func put(_ config: ClusterConfig, from device: DeviceID) -> Bool {
        waiting.withLock { waiting in
            defer { waiting[device] = config }
            return waiting[device] == nil
        }
    }

    func take(from device: DeviceID) -> ClusterConfig? { waiting.withLock { $0.removeValue(forKey: device) } }
}
