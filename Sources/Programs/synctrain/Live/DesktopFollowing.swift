import MachineState
import Phrases
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

/// Shows notices in the language of the session that the desktop is of.
struct DesktopBoard: NoticeBoard {
    let desktop: Desktop
    let translation: Translation

    func show(_ notice: Notice) async {
        let (summary, body) = notice.shown(in: translation)
        await desktop.show(
            Desktop.Message(
                place: notice.kind.rawValue, summary: summary, body: body, isUrgent: notice.isUrgent))
    }
}
