import AgentContext
import AsyncTools
import ControlAPI
import SyncDecisions

/// Shows how the agent is, as an icon on a desktop.
package protocol TrayBoard: Sendable {
    /// Whether a desktop shows such icons now.
    var isAsked: Bool { get }
    /// Something about `isAsked` may be other than before. Read by one task.
    var changes: AsyncStream<Void> { get }
    /// Shows an icon, or what it shows now; returns when that is done or cannot be.
    func show(_ view: TrayView) async
    /// Takes the icon away.
    func hide() async
}

/// Keeps a tray icon true to the agent's status. Events say when to look; while none come, and where no desktop shows icons, nothing
/// is looked at.
struct TrayFollower: Sendable {
    let board: any TrayBoard
    /// Whether the user wants an icon.
    let isEnabled: @Sendable () -> Bool
    let status: @Sendable () async throws -> AgentStatus
    let events: EventHub
    let time: AgentTime

    /// From one look to the next, while events come.
    private static let pause: Duration = .seconds(1)
    /// A look takes at most this share of the time: a status of many folders asks the index for many sums.
    private static let share = 20

    /// Runs until cancelled.
    func run() async {
        let changed = Signal()
        // Before the first look, so that nothing happens unheard between the two.
        let happening = events.listen().stream
        await withDiscardingTaskGroup { group in
            group.addTask { for await _ in happening { changed.notify() } }
            group.addTask { [board] in
                for await _ in board.changes { changed.notify() }
            }
            while !Task.isCancelled {
                let began = time.monotonic()
                if await look() {
                    let taken = time.monotonic() - began
                    // A cancellation ends the loop.
                    try? await time.clock.sleep(for: max(Self.pause, taken * Self.share))
                }
                await changed.wait()
            }
            group.cancelAll()
        }
    }

    /// Shows how things are; false where nobody was asked.
    private func look() async -> Bool {
        guard board.isAsked else { return false }
        guard isEnabled() else {
            await board.hide()
            return false
        }
        // What cannot be read now is read at the next event.
        guard let status = try? await status() else { return true }
        await board.show(TrayView(status))
        return true
    }
}
