import NIOCore
import Synchronization

/// One dial in progress and the channels it has opened, so that a cancelled or failed one leaves none of them open.
package final class LinkAttempt<Output: Sendable>: Sendable {
    private struct State {
        var isCancelled = false
        var channels: [any Channel] = []
    }

    private let state = Mutex(State())

    package init() {}

    /// Notes a channel that this attempt makes, before it connects. Fails when the attempt is cancelled already: the
    /// caller then closes the channel.
    package func opened(_ channel: any Channel) -> EventLoopFuture<Void> {
        let isCancelled = state.withLock { state in
            if !state.isCancelled { state.channels.append(channel) }
            return state.isCancelled
        }
        return isCancelled
            ? channel.eventLoop.makeFailedFuture(CancellationError()) : channel.eventLoop.makeSucceededVoidFuture()
    }

    /// What `future` gives. When it fails or the task is cancelled, every channel is closed before this throws.
    ///
    /// - Throws: what `future` fails with; `CancellationError` if the task is cancelled.
    package func output(of future: EventLoopFuture<Output>) async throws -> Output {
        // A promise of its own, as a name resolution that hangs must not hold up a cancelled dial.
        let promise = future.eventLoop.makePromise(of: Output.self)
        future.cascade(to: promise)
        do {
            let output = try await withTaskCancellationHandler {
                try await promise.futureResult.get()
            } onCancel: {
                for channel in cancel() { channel.close(promise: nil) }
                promise.fail(CancellationError())
            }
            if state.withLock({ $0.isCancelled }) { throw CancellationError() }
            return output
        } catch {
            let isCancelled = state.withLock { $0.isCancelled }
            for channel in cancel() {
                channel.close(promise: nil)
                try? await channel.closeFuture.get()
            }
            throw isCancelled ? CancellationError() : error
        }
    }

    private func cancel() -> [any Channel] {
        state.withLock { state in
            state.isCancelled = true
            return state.channels
        }
    }
}
