import AgentContext
import AsyncTools
import Logging

/// Ends pauses when their time is over.
struct PauseEnder: Sendable {
    let configuration: RunningConfiguration
    let changes: ConfigurationChanges
    /// Notified when the configuration changes what is paused, or until when.
    let changed: Signal
    let time: AgentTime
    let logger: Logger

    /// Runs until cancelled.
    func run() async {
        /// A change of the wall clock is noticed within this time, in seconds.
        let longest: Int64 = 3600
        while !Task.isCancelled {
            let now = time.wall().seconds
            let (over, next) = configuration.current.pausesOver(at: now)
            if over.isEmpty {
                if let next {
                    let pause = min(max(1, next - now), longest)
                    await changed.wait(atMost: .seconds(pause), clock: time.clock)
                } else {
                    await changed.wait()
                }
                continue
            }
            do {
                try await changes.edit { _ in over }
            } catch {
                logger.error("a pause that is over cannot be ended: \(error)")
                // The file may be mended meanwhile.
                await changed.wait(atMost: .seconds(60), clock: time.clock)
            }
        }
    }
}
