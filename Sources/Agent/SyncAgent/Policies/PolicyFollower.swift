import AgentContext
import Logging
import PeerLinks

/// Has all links go by the policies, and by what is known of the machine.
struct PolicyFollower: Sendable {
    let policies: PolicyBoard
    let rates: AgentRates
    let devices: DeviceRegistry
    let events: EventHub
    let time: AgentTime
    let logger: Logger

    /// Runs until cancelled.
    func run() async {
        /// A change of the wall clock is noticed within this time.
        let longest: Int64 = 3600
        await withDiscardingTaskGroup { group in
            if let source = policies.source {
                group.addTask { [policies] in for await _ in source.changes { policies.changed.notify() } }
            }
            while !Task.isCancelled {
                if let next = await refresh() {
                    let pause = min(max(1, next - time.wall().seconds), longest)
                    await policies.changed.wait(atMost: .seconds(pause), clock: time.clock)
                } else {
                    await policies.changed.wait()
                }
            }
            group.cancelAll()
        }
    }

    /// Has all links go by the policies that hold now; gives when to look again by the clock.
    @discardableResult
    func refresh() async -> Int64? {
        let (isOther, next) = policies.refresh(at: time.wall().seconds)
        guard isOther else { return next }
        rates.policiesChanged()
        let holds = policies.held.holds
        let message =
            holds.isEmpty ? "nothing is restricted any more" : holds.map(\.text.english).joined(separator: "; ")
        logger.info("policies: \(message)")
        events.post("policies-changed", message: message)
        // What waited may come, and what comes has to wait.
        devices.linkChanged()
        // What a link costs decides which one is used.
        for device in devices.all { await device.networkChanged() }
        return next
    }
}
