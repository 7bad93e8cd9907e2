import AgentContext
import BlockExchange
import FolderSync
import MountProtocol
import Synchronization

/// The files that programs have open for writing through one mount. Says which have been open so long that what they hold by now
/// is to be announced.
final class OpenForWriting: Sendable {
    /// How long a file may be open before it is announced, and how long until it is announced again.
    static let announcingPause = Duration.seconds(60)
    private static let limit = 1024
    /// Handles of readers count from 1.
    private static let firstHandle: UInt64 = 1 << 63

    private struct Opened {
        var hold: WritingBoard.Hold
        /// When it is to be announced.
        var due: MonotonicTime
    }

    private struct State {
        var files: [UInt64: Opened] = [:]
        var next = firstHandle
        /// Waits for the first file that is due. It ends by itself when none is open then: files are opened and closed often.
        var watch: Task<Void, Never>?
    }

    private let time: AgentTime
    private let announce: @Sendable (Set<WritingBoard.Hold>) -> Void
    private let state = Mutex(State())

    /// - Parameter announce: is given what is to be announced now; called on any thread.
    init(time: AgentTime, announce: @escaping @Sendable (Set<WritingBoard.Hold>) -> Void) {
        self.time = time
        self.announce = announce
    }

    deinit { state.withLock { $0.watch }?.cancel() }

    /// Whether a handle is one of these, open or not.
    static func isHandle(_ handle: UInt64) -> Bool { handle >= firstHandle }

    /// Gives a handle for a file that is opened.
    ///
    /// - Throws: `tooMany`.
    func open(_ hold: WritingBoard.Hold) throws(MountFailure) -> UInt64 {
        let due = time.monotonic() + Self.announcingPause
        return try state.withLock { state throws(MountFailure) in
            guard state.files.count < Self.limit else { throw .tooMany }
            let handle = state.next
            state.next &+= 1
            state.files[handle] = Opened(hold: hold, due: due)
            if state.watch == nil {
                state.watch = Task { [weak self, time] in
                    var pause: Duration? = Self.announcingPause
                    while !Task.isCancelled, let next = pause {
                        try? await time.clock.sleep(for: next)
                        pause = self?.announceDue()
                    }
                }
            }
            return handle
        }
    }

    /// What the handle stood for; nil if it is none.
    func close(_ handle: UInt64) -> WritingBoard.Hold? {
        state.withLock { $0.files.removeValue(forKey: handle)?.hold }
    }

    var handles: [UInt64] { state.withLock { Array($0.files.keys) } }

    /// Has what is due announced, and gives the pause until more is; nil if nothing is open.
    private func announceDue() -> Duration? {
        let now = time.monotonic()
        let (holds, first) = state.withLock { state in
            var holds: Set<WritingBoard.Hold> = []
            for (handle, file) in state.files where file.due <= now {
                holds.insert(file.hold)
                state.files[handle]?.due = now + Self.announcingPause
            }
            let first = state.files.values.map(\.due).min()
            // All that is opened from now on is due later than what was waited for.
            if first == nil { state.watch = nil }
            return (holds, first)
        }
        if !holds.isEmpty { announce(holds) }
        return first.map { max(.zero, $0 - now) }
    }
}
