import AgentConfiguration
import AgentContext
import BlockExchange
import IndexStore
import SessionTestKit
import SyncTestKit
import Testing

@testable import FolderSync

@Suite(.timeLimit(.minutes(1))) struct FirstScanTests {
    /// An index comes in hundreds of parts, and the first scan of a large folder takes long.
    @Test func announcementsWaitForTheFirstScanOnce() async throws {
        let (tree, home, clock) = (try TemporaryTree(), try TemporaryDirectory(), ManualClock())
        let index = try IndexStore.open(path: home.path + "/index.sqlite")
        try await index.addFolder(StepScene.id, newIndexID: IndexID(rawValue: 1))
        let configuration = FolderConfiguration(
            id: StepScene.id, path: tree.root.path, mode: .full, devices: [StepScene.nas])
        let folder = FolderSync.Folder(idle: configuration, of: StepScene.me, index: index) { tools in
            tools.time = AgentTime(
                clock: clock, monotonic: { clock.now.offset }, wall: { WallTime(seconds: 0) }, random: { 0.5 })
        }
        async let first: Void = folder.exchange.waitForFirstScan()
        await clock.advance(whenAsleep: 1)
        await first
        // The clock stands still now: a second wait would have no end.
        await folder.exchange.waitForFirstScan()
        #expect(clock.now.offset == .seconds(10) && !Task.isCancelled)
    }
}
