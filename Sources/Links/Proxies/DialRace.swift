import NIOCore
import Synchronization
import Transport

/// Two ways to connect to the same place. The first has a head start; the one that connects first is used.
///
/// A way wins when it is connected, before the installer runs: so the other end sees the installer's bytes once, and an
/// installer that fails is not tried on the other way.
final class DialRace: Sendable {
    /// To be asked by a way that has connected, on the channel's loop: nil when it has won; otherwise a failure, which
    /// is to be the result of its installer, so that its channel is closed.
    typealias Claim<Output: Sendable> = @Sendable (_ channel: any Channel) -> EventLoopFuture<Output>?
    typealias Attempt<Output: Sendable> = @Sendable (_ claim: @escaping Claim<Output>) async throws -> Output

    private enum Way { case first, second }

    private enum Event<Output: Sendable>: Sendable {
        case connected(Output)
        case failed(Way, any Error)
        case headStartOver
    }

    private let clock: any Clock<Duration>
    private let headStart: Duration
    private let winner = Mutex<Way?>(nil)

    init(clock: any Clock<Duration>, headStart: Duration) {
        self.clock = clock
        self.headStart = headStart
    }

    /// Runs the race once.
    ///
    /// - Throws: what the winner's installer failed with; when neither has connected, a `LinkError` with the words of
    ///   both; `CancellationError`.
    func run<Output: Sendable>(
        first: @escaping Attempt<Output>, second: @escaping Attempt<Output>
    ) async throws -> Output {
        let result = await withTaskGroup(of: Event<Output>.self) { group -> Result<Output, any Error> in
            group.addTask { await self.attempt(.first, first) }
            group.addTask {
                // Ends early only when the race is over.
                try? await self.clock.sleep(for: self.headStart)
                return .headStartOver
            }
            defer { group.cancelAll() }
            var firstError: (any Error)?
            var secondError: (any Error)?
            var isSecondBegun = false
            while let event = await group.next() {
                if case .connected(let output) = event { return .success(output) }
                if case .failed(let way, let error) = event {
                    if winner.withLock({ $0 }) == way { return .failure(error) }
                    if way == .first { firstError = error } else { secondError = error }
                }
                if Task.isCancelled { return .failure(CancellationError()) }
                if let firstError, let secondError {
                    return .failure(LinkError(through: firstError, directly: secondError))
                }
                if !isSecondBegun, winner.withLock({ $0 }) == nil {
                    isSecondBegun = true
                    group.addTask { await self.attempt(.second, second) }
                }
            }
            return .failure(CancellationError())
        }
        return try result.get()
    }

    private func attempt<Output: Sendable>(_ way: Way, _ connect: Attempt<Output>) async -> Event<Output> {
        do {
            let output = try await connect { channel in
                let isWinner = self.winner.withLock { winner in
                    if winner == nil { winner = way }
                    return winner == way
                }
                return isWinner ? nil : channel.eventLoop.makeFailedFuture(CancellationError())
            }
            return .connected(output)
        } catch {
            return .failed(way, error)
        }
    }
}

extension LinkError {
    /// Why neither way has led to the target.
    fileprivate init(through proxied: any Error, directly direct: any Error) {
        let error = proxied as? LinkError
        self.init(
            error?.code ?? .failed,
            "\(proxied); a direct connection failed too: \(direct)",
            isTransient: error?.isTransient ?? true || (direct as? LinkError)?.isTransient ?? true,
            cause: error?.cause)
    }
}
