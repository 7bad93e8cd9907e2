import AgentConfiguration
import AsyncTools
import BlockExchange
import MountProtocol
import MountRules
import MountServer
import SyncDecisions
import Synchronization

/// The mounts whose processes are connected to the agent.
final class MountBoard: Sendable {
    struct Connected: Sendable {
        var greeting: MountGreeting
        var readers: ReadingBoard
        /// Notified when the configuration may say something else of mounts.
        var changed: Signal
    }

    private struct State {
        var connected: [Int: Connected] = [:]
        var next = 0
        /// Where this agent's folders were mounted since it began: what the system still lists there is theirs.
        var seen: [String: MountGreeting] = [:]
        /// Connections whose mounts have said that somebody has unmounted them.
        var unmounted: Set<Int> = []
        /// The directories of those.
        var ended: Set<String> = []
        /// Mounts that were connected and left without that word, by their directories.
        var lost: [String: MountGreeting] = [:]
        /// Mounts of folders that this agent did not have, by their directories.
        var refused: [String: MountGreeting] = [:]
    }

    /// Directories that are remembered; the server takes fewer mounts at once.
    private static let seenLimit = 100

    private let state = Mutex(State())
    private let now: @Sendable () -> MonotonicTime

    init(now: @escaping @Sendable () -> MonotonicTime) { self.now = now }

    func enter(_ greeting: MountGreeting) -> (number: Int, Connected) {
        let mount = Connected(greeting: greeting, readers: ReadingBoard(now: now), changed: Signal())
        return state.withLock { state in
            // bounded: one for each connection
            state.next += 1
            state.connected[state.next] = mount
            let directory = greeting.origin.directory
            if state.seen[directory] != nil || state.seen.count < Self.seenLimit { state.seen[directory] = greeting }
            state.lost[directory] = nil
            return (state.next, mount)
        }
    }

    /// Somebody has unmounted it, and its connection ends.
    func unmounted(_ number: Int) {
        state.withLock { state in
            state.unmounted.insert(number)
            guard let directory = state.connected[number]?.greeting.origin.directory,
                state.ended.count < Self.seenLimit
            else { return }
            state.ended.insert(directory)
        }
    }

    func leave(_ number: Int) {
        state.withLock { state in
            let isMeant = state.unmounted.remove(number) != nil
            guard let greeting = state.connected.removeValue(forKey: number)?.greeting, !isMeant,
                state.lost.count < Self.seenLimit
            else { return }
            state.lost[greeting.origin.directory] = greeting
        }
    }

    /// A mount of a folder that this agent does not have has asked to be served.
    func refused(_ greeting: MountGreeting) {
        state.withLock { state in
            guard state.refused.count < Self.seenLimit else { return }
            state.refused[greeting.origin.directory] = greeting
        }
    }

    /// The mounts that have left without saying why, once each: their processes were killed, or come back in a moment.
    func takeLost() -> [MountGreeting] {
        state.withLock { state in
            defer { state.lost = [:] }
            return Array(state.lost.values)
        }
    }

    /// The directories of mounts that somebody has unmounted, once each.
    func takeEnded() -> Set<String> {
        state.withLock { state in
            defer { state.ended = [] }
            return state.ended
        }
    }

    /// The mounts that were refused, once each.
    func takeRefused() -> [MountGreeting] {
        state.withLock { state in
            defer { state.refused = [:] }
            return Array(state.refused.values)
        }
    }

    func settingsChanged() {
        for mount in state.withLock({ Array($0.connected.values) }) { mount.changed.notify() }
    }

    var connected: [Connected] { state.withLock { Array($0.connected.values) } }

    /// The last that was mounted at a directory and is not connected any more; nil if there was none.
    func seen(at directory: String) -> MountGreeting? { state.withLock { $0.seen[directory] } }

    /// All that were seen and are still listed; others are forgotten.
    func seen(of listed: Set<String>) -> [MountGreeting] {
        state.withLock { state in
            let connected = Set(state.connected.values.map(\.greeting.origin.directory))
            state.seen = state.seen.filter { listed.contains($0.key) || connected.contains($0.key) }
            return Array(state.seen.values)
        }
    }
}

extension MountSettings {
    init(_ settings: MountingSettings) {
        self.init(
            patience: UInt32(clamping: settings.patience),
            readBudget: settings.readBudget > 0 ? settings.readBudget : nil,
            scanners: Array(settings.scanners.prefix(Self.scannerCount)))
    }
}
