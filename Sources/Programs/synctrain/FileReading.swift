import Arithmetic
import ControlAPI
import Synchronization

/// Reads a file's bytes from the agent and shows how far it is.
struct FileReading: Sendable {
    let context: CommandContext

    /// `emit` gets the bytes in order. Progress is shown if they do not go to the terminal themselves.
    func read(_ path: String, range: ByteRange?, emit: @Sendable ([UInt8]) async throws -> Void) async throws {
        let reference = context.path(path)
        let line = ProgressLine(
            errors: context.process.errors,
            isShown: context.terminal.hasProgress(variables: context.process.variables) && !context.options.quiet
                && !context.terminal.isOutputTTY, width: context.terminal.width)
        let tally = Tally()
        do {
            try await context.agent().read(reference, range: range) { _, part in
                tally.begin(total: part.map { $0.upperBound - $0.lowerBound + 1 } ?? 0)
            } emit: { chunk in
                try await emit(chunk)
                let (done, total, rate) = tally.add(chunk.count)
                try line.show(path: path, done: done, total: total, bytesPerSecond: rate, holders: [])
            }
        } catch {
            try line.clear()
            throw error
        }
        try line.clear()
    }

    /// Bytes so far and how fast they came.
    private final class Tally: Sendable {
        private struct State {
            var start = ContinuousClock.now
            var done: Int64 = 0
            var total: Int64 = 0
        }

        private let state = Mutex(State())

        func begin(total: Int64) { state.withLock { $0 = State(total: total) } }

        func add(_ count: Int) -> (done: Int64, total: Int64, bytesPerSecond: Int64) {
            state.withLock { state in
                state.done += Int64(count)
                let milliseconds = max(1, Int64((ContinuousClock.now - state.start) / .milliseconds(1)))
                return (state.done, state.total, Int64(nearest: Double(state.done) * 1000 / Double(milliseconds)))
            }
        }
    }
}
