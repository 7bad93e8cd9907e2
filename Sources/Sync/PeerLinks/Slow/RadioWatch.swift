import AgentContext
import AsyncTools
import Phrases
import SyncDecisions
import Transport

/// Listens by radio for devices that are absent, all of them together in one duty cycle, as `RadioSearch` decides.
struct RadioWatch: Sendable {
    struct Settings: Equatable, Sendable {
        /// Nil for no search in the background.
        var cycle: DutyCycle?
        /// Whether a policy holds back what waits by itself.
        var isHeldBack = false
    }

    /// What one window has found.
    struct Findings: Equatable, Sendable {
        /// What was listened for.
        var targets: Set<LinkAddress>
        var heard: Set<LinkAddress> = []
        /// Why a radio could not listen for these, with what to do.
        var obstacles: [LinkAddress: String] = [:]

        /// Whether one of a device's addresses was heard.
        func hasHeard(_ addresses: Set<LinkAddress>) -> Bool { !heard.isDisjoint(with: addresses) }

        /// Why a device with these addresses was not heard; nil if nothing is known of that: it was not listened for, or not
        /// to the end of the window.
        func whyAbsent(_ addresses: Set<LinkAddress>) -> Phrase? {
            let missed = addresses.intersection(targets).sorted { $0.description < $1.description }
            guard heard.isEmpty, let address = missed.first else { return nil }
            if let obstacle = obstacles[address] { return "\(address): \(obstacle)" }
            return Phrase("\(address) is not in range; bring the device closer, it is searched for periodically")
        }
    }

    var settings: @Sendable () -> Settings
    /// The devices that may be absent; it is asked for before each window.
    var candidates: @Sendable () async -> [RadioSearch.Candidate]
    /// Listens without a pause, see `RadioTransport.search`.
    var search: @Sendable (Set<LinkAddress>, Duration) async -> Findings
    /// Takes what a window has found.
    var found: @Sendable (Findings) async -> Void
    /// Notified when a link or a setting may have changed.
    var changed: Signal
    var time: AgentTime

    /// Runs until the task is cancelled.
    func run() async {
        var windowBegan: Duration?
        while !Task.isCancelled {
            let settings = settings()
            let plan = RadioSearch.plan(
                await candidates(), isHeldBack: settings.isHeldBack, interval: settings.cycle?.interval)
            guard let cycle = settings.cycle, !plan.targets.isEmpty else {
                if let recheck = plan.recheck {
                    await changed.wait(atMost: recheck, clock: time.clock)
                } else {
                    await changed.wait()
                }
                continue
            }
            let now = time.monotonic()
            // However often something changes, the radio scans no more than its share.
            if let windowBegan, windowBegan + cycle.interval > now {
                await changed.wait(atMost: windowBegan + cycle.interval - now, clock: time.clock)
                continue
            }
            windowBegan = now
            let findings = await search(plan.targets, cycle.window)
            guard !Task.isCancelled else { return }
            await found(findings)
        }
    }
}
