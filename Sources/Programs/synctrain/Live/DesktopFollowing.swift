import MachineState
import ServiceLifecycle
import SyncDecisions
import Synchronization

/// Stays connected to the user's session bus while the agent runs, and does what is clicked: opens the page, pauses, resumes, quits.
struct DesktopFollowing: Service {
    let desktop: SessionDesktop
    /// Opens a view of the page, logged in; returns when the program for it has ended, which may be the browser itself.
    let open: @Sendable (_ view: String) async -> Void
    let setPaused: @Sendable (_ isPaused: Bool) async -> Void
    let quit: @Sendable () -> Void

    private final class Openings: Sendable {
        let count = Mutex(0)
    }

    /// How many programs that were started may not have ended yet.
    private static let openLimit = 4

    func run() async throws {
        await cancelWhenGracefulShutdown {
            let openings = Openings()
            await withDiscardingTaskGroup { group in
                group.addTask {
                    await follow(desktop.notifications.clicks, openings) { Notice.Kind(rawValue: $0)?.view }
                }
                group.addTask { await followTray(openings) }
                await desktop.run()
                group.cancelAll()
            }
        }
    }

    /// Opens what belongs to each word.
    private func follow(
        _ words: AsyncStream<String>, _ openings: Openings, view: @escaping @Sendable (String) -> String?
    ) async {
        await withDiscardingTaskGroup { group in
            for await word in words {
                guard let shown = view(word) else { continue }
                let hasRoom = openings.count.withLock { count in
                    guard count < Self.openLimit else { return false }
                    count += 1
                    return true
                }
                guard hasRoom else { continue }
                group.addTask {
                    await open(shown)
                    openings.count.withLock { $0 -= 1 }
                }
            }
        }
    }

    private func followTray(_ openings: Openings) async {
        let (views, opened) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingNewest(1))
        await withDiscardingTaskGroup { group in
            group.addTask { await follow(views, openings) { $0 } }
            for await word in desktop.tray.clicks {
                switch TrayView.Entry(rawValue: word) {
                case .open: opened.yield("files")
                case .attention: opened.yield("attention")
                case .pause: await setPaused(true)
                case .resume: await setPaused(false)
                case .quit: quit()
                case .state, .ready, nil: break
                }
            }
            opened.finish()
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
