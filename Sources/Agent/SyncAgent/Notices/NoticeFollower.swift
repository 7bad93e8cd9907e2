import AgentContext
import AsyncTools
import SyncDecisions

/// Shows notices on a desktop.
package protocol NoticeBoard: Sendable {
    /// Shows a notice in place of the last one of its kind; returns when that is done or cannot be.
    func show(_ notice: Notice) async
}

/// Tells a person of what happens, by what `NoticeRule` decides.
struct NoticeFollower: Sendable {
    let board: any NoticeBoard
    /// Whether the user wants to be told.
    let isEnabled: @Sendable () -> Bool
    /// How things are.
    let facts: @Sendable () async throws -> NoticeFacts
    let events: EventHub
    let time: AgentTime

    /// How long events gather before how things are is looked at: each look asks the index for sums.
    private static let gathering: Duration = .seconds(3)
    /// How long nothing may happen until it is looked at all the same: not all that counts has an event.
    private static let longest: Duration = .seconds(60)

    /// Runs until cancelled.
    func run() async {
        var rule = NoticeRule()
        let changed = Signal()
        await withDiscardingTaskGroup { group in
            group.addTask { [events] in
                for await _ in events.listen().stream { changed.notify() }
            }
            while !Task.isCancelled {
                let rest = await look(&rule)
                let pause = min(rest.map { .seconds($0) } ?? Self.longest, Self.longest)
                await changed.wait(atMost: pause, clock: time.clock)
                try? await time.clock.sleep(for: Self.gathering)
            }
            group.cancelAll()
        }
    }

    /// Looks how things are and shows what is new; gives the seconds until what waits may be shown.
    private func look(_ rule: inout NoticeRule) async -> Int64? {
        guard isEnabled() else {
            // What happens meanwhile gets no notice later.
            rule = NoticeRule()
            return nil
        }
        guard let facts = try? await facts() else { return nil }
        let (notices, rest) = rule.notices(for: facts, at: time.wall().seconds)
        for notice in notices { await board.show(notice) }
        return rest
    }
}
