import AgentConfiguration
import AgentContext
import AsyncTools
import Logging

/// Ends pauses when their time is over.
struct PauseEnder: Sendable {
    /// A change of the wall clock, or a suspend, is noticed within this time, in seconds. Nothing wakes while no pause has an end.
    static let patience: Int64 = 30

    let configuration: @Sendable () -> Configuration
    /// Ends the pauses that are over at that time, in seconds since 1970, by the configuration as it is then. Throws
    /// `ConfigurationError`.
    let end: @Sendable (_ now: Int64) async throws -> Void
    /// Notified when the configuration changes what is paused, or until when.
    let changed: Signal
    let time: AgentTime
    let logger: Logger

    /// Runs until cancelled.
    func run() async {
        while !Task.isCancelled {
            let now = time.wall().seconds
            let (over, next) = configuration().pausesOver(at: now)
            if over.isEmpty {
                if let next {
                    let (rest, isLong) = next.subtractingReportingOverflow(now)
                    let pause = isLong ? Self.patience : min(max(1, rest), Self.patience)
                    await changed.wait(atMost: .seconds(pause), clock: time.clock)
                } else {
                    await changed.wait()
                }
                continue
            }
            do {
                try await end(now)
            } catch {
                logger.error("a pause that is over cannot be ended: \(error)")
                // The file may be mended meanwhile.
                await changed.wait(atMost: .seconds(60), clock: time.clock)
            }
        }
    }
}
