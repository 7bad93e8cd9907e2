import AsyncTools
import BlockExchange
import Fetching
import SyncDecisions

/// Tells one device over one link which blocks of the files that this one is downloading are available here already.
struct ProgressFeed: Sendable {
    let board: DownloadBoard
    let clock: any Clock<Duration>
    /// The shared folders for which the device accepts progress.
    let folders: @Sendable () -> [FolderID]

    /// Runs until the link ends. While nothing is downloaded it waits, and nothing is sent.
    ///
    /// - Throws: `CancellationError`; `RequestError` when the link has ended.
    func run(_ outlet: LinkOutlet) async throws {
        let began = board.subscribe()
        defer { board.unsubscribe(began) }
        var report = ProgressReport()
        while !Task.isCancelled {
            if report.isEmpty, board.isIdle { await began.wait() }
            try await clock.sleep(for: ProgressReport.interval)
            let current = Dictionary(
                folders().map { ($0, board.files(of: $0)) }, uniquingKeysWith: { first, _ in first })
            for message in report.messages(for: current) {
                try await outlet.send(.downloadProgress(message)).get()
            }
        }
        try Task.checkCancellation()
    }
}

extension ClusterConfig {
    /// The folders for which the sender accepts DownloadProgress.
    var reportedFolders: Set<FolderID> {
        Set(folders.filter { $0.stopReason == 0 && !$0.disablesTemporaryIndexes }.map(\.id))
    }
}
