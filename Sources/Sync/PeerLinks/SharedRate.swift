import Synchronization

/// A rate as the configuration has it now.
final class SharedRate: Sendable {
    private let rate: Mutex<Int64?>

    /// - Parameter rate: bytes per second; nil for no limit.
    init(_ rate: Int64?) { self.rate = Mutex(rate) }

    var current: Int64? { rate.withLock { $0 } }

    func set(_ new: Int64?) { rate.withLock { $0 = new } }
}
