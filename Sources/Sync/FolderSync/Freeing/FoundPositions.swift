import Synchronization

/// Positions that a transaction has found; it may be run by another thread.
final class FoundPositions: Sendable {
    private let positions = Mutex<Set<Int>>([])

    var sorted: [Int] { positions.withLock { $0.sorted() } }

    func insert(_ position: Int) { positions.withLock { _ = $0.insert(position) } }
}
