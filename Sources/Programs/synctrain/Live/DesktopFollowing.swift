import MachineState
import ServiceLifecycle
import SyncAgent
import SyncDecisions

/// Stays connected to the user's session bus while the agent runs.
struct DesktopFollowing: Service {
    let desktop: Desktop

    func run() async throws {
        await cancelWhenGracefulShutdown { await desktop.run() }
    }
}

extension Desktop: NoticeBoard {
    package func show(_ notice: Notice) async {
        await show(
            Message(
                place: notice.kind.rawValue, summary: notice.summary, body: notice.body, isUrgent: notice.isUrgent))
    }
}
