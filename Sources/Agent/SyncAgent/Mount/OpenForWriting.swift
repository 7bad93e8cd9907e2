import AgentContext
import BlockExchange
import MountProtocol
import Synchronization

/// The files that programs have open for writing through one mount. Names those that have been open so long that others are to
/// hear of what they hold by now.
final class OpenForWriting: Sendable {
    /// How long a file may be open before others hear of it, and how long until they hear of it again.
    static let tellingPause = Duration.seconds(60)
    private static let limit = 1024
    /// Handles of readers count from 1.
    private static let firstHandle: UInt64 = 1 << 63

    private struct Opened {
        var path: String
        /// When others are to hear of it.
        var due: MonotonicTime
    }

    private struct State {
        var files: [UInt64: Opened] = [:]
        var next = firstHandle
        /// Waits for the first file that is due; nil while none is open.
        var watch: Task<Void, Never>?
    }

    private let time: AgentTime
    private let tell: @Sendable (Set<String>) -> Void
    private let state = Mutex(State())

    /// - Parameter tell: is given the names that others are to hear of now; called on any thread, and holds nothing.
    init(time: AgentTime, tell: @escaping @Sendable (Set<String>) -> Void) {
        self.time = time
        self.tell = tell
    }

    deinit { state.withLock { $0.watch }?.cancel() }

    /// Whether a handle is one of these, open or not.
    static func isHandle(_ handle: UInt64) -> Bool { handle >= firstHandle }

    /// Gives a handle for a file that is opened.
    ///
    /// - Throws: `tooMany`.
    func open(_ path: String) throws(MountFailure) -> UInt64 {
        let due = time.monotonic() + Self.tellingPause
        return try state.withLock { state throws(MountFailure) in
            guard state.files.count < Self.limit else { throw .tooMany }
            let handle = state.next
            state.next &+= 1
            state.files[handle] = Opened(path: path, due: due)
            if state.watch == nil {
                state.watch = Task { [weak self, time] in
                    while !Task.isCancelled, let pause = self?.tellDue() { try? await time.clock.sleep(for: pause) }
                }
            }
            return handle
        }
    }

    /// The name of the file whose handle this was; nil if it is none.
    func close(_ handle: UInt64) -> String? {
        state.withLock { state in
            let path = state.files.removeValue(forKey: handle)?.path
            if state.files.isEmpty {
                state.watch?.cancel()
                state.watch = nil
            }
            return path
        }
    }

    var handles: [UInt64] { state.withLock { Array($0.files.keys) } }

    /// Files got other names.
    ///
    /// - Parameter names: the new ones, by the old ones.
    func renamed(_ names: [String: String]) {
        state.withLock { state in
            for (handle, file) in state.files { if let name = names[file.path] { state.files[handle]?.path = name } }
        }
    }

    /// Names what is due, and gives the pause until more is; nil if nothing is open.
    private func tellDue() -> Duration? {
        let now = time.monotonic()
        let (names, first) = state.withLock { state in
            var names: Set<String> = []
            for (handle, file) in state.files where file.due <= now {
                names.insert(file.path)
                state.files[handle]?.due = now + Self.tellingPause
            }
            return (names, state.files.values.map(\.due).min())
        }
        if !names.isEmpty { tell(names) }
        return first.map { max(.zero, $0 - now) }
    }
}
