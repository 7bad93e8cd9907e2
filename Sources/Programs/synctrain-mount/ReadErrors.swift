import MountProtocol
import MountRules
import Synchronization

/// Why reads of nodes failed since these were last opened: `user.synctrain.error`.
final class ReadErrors: Sendable {
    private static let limit = 1000

    private let texts = Mutex<[UInt64: String]>([:])

    func text(of node: UInt64) -> String? { texts.withLock { $0[node] } }

    func note(_ failure: MountFailure, of node: UInt64) {
        texts.withLock { texts in
            if texts.count >= Self.limit { texts = [:] }
            texts[node] = failure.text
        }
    }

    /// A program has opened it again. Not at a read that succeeds: others of the same file may fail at the same time.
    func clear(_ node: UInt64) {
        texts.withLock { texts in
            if !texts.isEmpty { texts[node] = nil }
        }
    }
}
