import Arithmetic
import BlockExchange
import Synchronization

/// How far a fetch has come and how fast it goes: a rate over the last few seconds, said at most ten times a second.
package final class FetchProgress: Sendable {
    private struct State {
        var bytesDone: Int64 = 0
        var lastReport: MonotonicTime?
        /// Moments and what was done by then, over the last `window`.
        var samples: [(time: MonotonicTime, bytes: Int64)] = []
        var holders: Set<DeviceID> = []
    }

    package struct Report: Equatable, Sendable {
        package var bytesDone: Int64
        package var bytesPerSecond: Int64
        package var holders: Set<DeviceID>
    }

    private static let interval: Duration = .milliseconds(100)
    private static let window: Duration = .seconds(3)

    private let state = Mutex(State())

    package init() {}

    /// Adds bytes; a report if the last one was long enough ago.
    package func add(_ bytes: Int64, from holder: DeviceID?, at now: MonotonicTime) -> Report? {
        state.withLock { state in
            state.bytesDone.addClamped(bytes)
            if let holder { state.holders.insert(holder) }
            if let last = state.lastReport, now - last < Self.interval { return nil }
            state.lastReport = now
            state.samples.append((now, state.bytesDone))
            state.samples.removeAll { now - $0.time > Self.window }
            var rate: Int64 = 0
            if let first = state.samples.first, now > first.time {
                let span = (now - first.time).components
                let seconds = Double(span.seconds) + Double(span.attoseconds) / 1e18
                rate = Int64(nearest: Double(state.bytesDone - first.bytes) / seconds)
            }
            return Report(bytesDone: state.bytesDone, bytesPerSecond: rate, holders: state.holders)
        }
    }
}
