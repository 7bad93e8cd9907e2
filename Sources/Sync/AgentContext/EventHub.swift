import AsyncTools
import BlockExchange
import ControlAPI
import Synchronization

/// Hands what happens in the agent to everyone who listens, and keeps the last of it for those who come back. A listener that
/// does not keep up loses the oldest events, and is told so.
package final class EventHub: Sendable {
    package struct Numbered: Sendable {
        package var number: Int
        package var event: AgentEvent
    }

    /// From where on a listener hears.
    package struct Beginning: Sendable {
        /// What it has missed.
        package var missed: [Numbered]
        /// There was more to miss than is known.
        package var hasGap: Bool
        /// The last event before `stream`.
        package var last: Int
        package var stream: AsyncStream<Numbered>
    }

    private static let eventsPerListener = 1000
    private static let historyLimit = 1000
    private static let historyByteLimit = 1 << 20

    private struct State {
        var listeners = Listeners<Numbered>()
        var history: [Numbered] = []
        var historyBytes = 0
        var last = 0
    }

    private let state = Mutex(State())
    private let wall: @Sendable () -> WallTime
    /// Tells the events of this run from those of others, in their ids.
    private let run: String

    /// - Parameter run: letters and digits.
    package init(run: String = "0", wall: @escaping @Sendable () -> WallTime) {
        self.run = run
        self.wall = wall
    }

    package var now: WallTime { wall() }

    package func post(
        _ type: String, device: DeviceID? = nil, folder: FolderID? = nil, message: String? = nil, job: Job? = nil
    ) {
        var event = AgentEvent(
            type: type, time: wall().rfc3339, device: device?.description, folder: folder?.rawValue, message: message)
        event.job = job
        state.withLock { state in
            state.last += 1
            event.id = id(state.last)
            let numbered = Numbered(number: state.last, event: event)
            state.history.append(numbered)
            state.historyBytes += Self.byteCount(event)
            var dropped = 0
            while state.history.count - dropped > Self.historyLimit || state.historyBytes > Self.historyByteLimit,
                dropped < state.history.count
            {
                state.historyBytes -= Self.byteCount(state.history[dropped].event)
                dropped += 1
            }
            state.history.removeFirst(dropped)
            state.listeners.send(numbered)
        }
    }

    package func id(_ number: Int) -> String { "\(run)-\(number)" }

    /// All events behind the one with this id, until the reading task ends; from now on without one.
    package func listen(after id: String? = nil) -> Beginning {
        state.withLock { state in
            let stream = state.listeners.add(bufferingPolicy: .bufferingNewest(Self.eventsPerListener))
            var beginning = Beginning(missed: [], hasGap: false, last: state.last, stream: stream)
            if let id {
                if let number = number(of: id, last: state.last) {
                    beginning.missed = state.history.filter { $0.number > number }
                    beginning.hasGap = beginning.missed.count < state.last - number
                } else {
                    beginning.hasGap = true
                }
            }
            return beginning
        }
    }

    /// The number in an id of this run; nil for any other text.
    private func number(of id: String, last: Int) -> Int? {
        guard id.hasPrefix(run + "-"), let number = Int(id.dropFirst(run.count + 1)), (0...last).contains(number) else {
            return nil
        }
        return number
    }

    private static func byteCount(_ event: AgentEvent) -> Int {
        // Paths and messages are what may be long.
        var count = 200 + (event.message?.utf8.count ?? 0) + (event.folder?.utf8.count ?? 0)
        switch event.job?.progress {
        case .progress(let path, _, _, _, let holders):
            count += path.utf8.count + holders.reduce(0) { $0 + $1.utf8.count }
        case .file(let path, let output, _, _): count += path.utf8.count + output.utf8.count
        case .failed(let path, let error): count += path.utf8.count + error.message.utf8.count
        case .plan, .done, nil: break
        }
        return count + (event.job?.error?.message.utf8.count ?? 0)
    }
}
