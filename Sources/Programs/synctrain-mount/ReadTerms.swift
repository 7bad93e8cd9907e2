import MountProtocol
import MountRules
import Synchronization

/// What holds for programs that read: as the configuration says, or as it was set for this mount alone.
final class ReadTerms: Sendable {
    private struct State {
        var budget = ReadBudget()
        /// Whether the budget is this mount's own, whatever the configuration says.
        var isOwn = false
        var limit = MountDeadlines.readLimit(patience: MountDeadlines.patience)
    }

    private let state = Mutex(State())

    /// How much each program may have downloaded.
    var budget: ReadBudget { state.withLock { $0.budget } }
    /// How long a read may take; the agent ends it before, by the patience.
    var limit: Duration { state.withLock { $0.limit } }

    func setBudget(_ budget: ReadBudget) {
        state.withLock { state in
            state.budget = budget
            state.isOwn = true
        }
    }

    func follow(_ settings: MountSettings) {
        state.withLock { state in
            state.limit = MountDeadlines.readLimit(patience: .seconds(Int64(settings.patience)))
            if !state.isOwn { state.budget = ReadBudget(limit: settings.readBudget) }
        }
    }

    /// The request that tells the agent the mount's own budget; nil if it has none.
    var setting: MountRequest? { state.withLock { $0.isOwn ? Self.setting($0.budget) : nil } }

    static func setting(_ budget: ReadBudget) -> MountRequest {
        .setAttribute(path: "", name: AttributeName.budget, value: Array(budget.text.utf8))
    }
}
