import AgentConfiguration
import BlockExchange
import IndexStore
import SessionTestKit
import SyncTestKit
import Testing

@testable import AgentContext
@testable import FolderSync

@Suite struct WatchRetryTests {
    /// As where the process had no descriptor left for a moment: the folder was not halted, so that no end of a halt is heard of.
    @Test(.timeLimit(.minutes(1))) func aRootThatCannotBeOpenedForAWhileIsWatchedAfterwards() async throws {
        let (tree, home, clock) = (try TemporaryTree(), try TemporaryDirectory(), ManualClock())
        let configuration = FolderConfiguration(id: FolderID("docs"), path: tree.path("later"))
        let folder = FolderSync.Folder(
            idle: configuration, of: DeviceID(certificateDER: [1]),
            index: try IndexStore.open(path: home.path + "/index.sqlite"), watchProgram: tree.path("no program")
        ) { tools in
            tools.time.clock = clock
        }
        let watching = Task { await folder.runner.watch() }
        while clock.sleeperCount < 1 { await Task.yield() }
        #expect(folder.boards.status.snapshot.watch.state == "off")
        try tree.makeDirectory("later")
        await clock.advance(whenAsleep: 1)
        // That the program cannot be started is told by the watcher.
        while folder.boards.status.snapshot.watch.state == "off" { await Task.yield() }
        watching.cancel()
        await watching.value
    }
}
