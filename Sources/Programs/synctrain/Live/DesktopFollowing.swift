import MachineState
import Phrases
import ServiceLifecycle
import SyncAgent
import SyncDecisions
import Synchronization

/// Stays connected to the user's session bus while the agent runs, and opens the page where a notification is clicked.
struct DesktopFollowing: Service {
    let desktop: Desktop
    /// Opens a view of the page, logged in; returns when the program for it has ended, which may be the browser itself.
    let open: @Sendable (_ view: String) async -> Void

    private final class Openings: Sendable {
        let count = Mutex(0)
    }

    /// How many programs that were started may not have ended yet.
    private static let openLimit = 4

    func run() async throws {
        await cancelWhenGracefulShutdown {
            let openings = Openings()
            await withDiscardingTaskGroup { group in
                group.addTask { await desktop.run() }
                for await place in desktop.clicks {
                    guard let view = Notice.Kind(rawValue: place)?.view else { continue }
                    let hasRoom = openings.count.withLock { count in
                        guard count < Self.openLimit else { return false }
                        count += 1
                        return true
                    }
                    guard hasRoom else { continue }
                    group.addTask {
                        await open(view)
                        openings.count.withLock { $0 -= 1 }
                    }
                }
                group.cancelAll()
            }
        }
    }
}

extension Notice.Kind {
    /// The view of the page that has what to do; nil where there is nothing to do.
    var view: String? {
        switch self {
        case .conflicts, .halted: "attention"
        case .strangers: "devices"
        case .ready: nil
        }
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
                place: notice.kind.rawValue, summary: summary, body: body, isUrgent: notice.isUrgent,
                action: notice.kind.view.map { _ in translation.text(Phrase("Open the page")) }))
    }
}
