import AgentContext
import AsyncTools
import FileAccess
import FolderWatcher
import Logging

/// Watches the directories of a folder, whichever root it has.
struct RootWatch {
    /// How long a root that cannot be opened is not watched, if nothing else is heard of it: the reason may pass while the folder
    /// works, as a lack of descriptors does.
    private static let retry: Duration = .seconds(60)

    let program: String
    let boards: FolderBoards
    /// Notified when the root may be another.
    let rootChanged: Signal
    let time: AgentTime
    let logger: Logger

    /// Until cancelled.
    ///
    /// - Parameter set: is told which watcher works, and nil when none does.
    func run(_ set: (FolderWatcher?) -> Void) async {
        let (places, inbox, status) = (boards.places, boards.inbox, boards.status)
        while !Task.isCancelled {
            // The selection need not be readable: that it was mended is what one watches for.
            guard let root = try? RootDirectory(path: places.configuration.path) else {
                status.setWatch("off")
                await rootChanged.wait(atMost: Self.retry, clock: time.clock)
                continue
            }
            let watcher = FolderWatcher(
                root: root, program: program, isWatched: { $0.map { places.isWatched($0.text) } ?? true },
                clock: time.clock,
                logger: logger)
            set(watcher)
            await withTaskGroup(of: Void.self) { group in
                group.addTask { [time, logger] in
                    await watcher.run { report in
                        inbox.take(report, at: time.monotonic(), isOnShare: places.isOnShare)
                        status.take(report, logger)
                    }
                }
                group.addTask { await rootChanged.wait() }
                await group.next()
                group.cancelAll()
            }
            set(nil)
        }
    }
}

extension FolderEffects {
    /// Has other directories watched where a step calls for that.
    func tell(_ watcher: FolderWatcher) {
        if selectionChanged { watcher.selectionChanged() }
        if !changedMounts.isEmpty { watcher.mountsChanged(at: changedMounts) }
    }
}
