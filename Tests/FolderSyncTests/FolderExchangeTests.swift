import AgentConfiguration
import AgentContext
import BlockExchange
import IndexStore
import SessionTestKit
import SyncTestKit
import Testing

@testable import FolderSync

@Suite(.timeLimit(.minutes(1))) struct FolderExchangeTests {
    private let tree: TemporaryTree
    private let home: TemporaryDirectory
    private let clock = ManualClock()
    private let folder: FolderSync.Folder

    init() async throws {
        (tree, home) = (try TemporaryTree(), try TemporaryDirectory())
        let index = try IndexStore.open(path: home.path + "/index.sqlite")
        try await index.addFolder(StepScene.id, newIndexID: IndexID(rawValue: 1))
        let configuration = FolderConfiguration(
            id: StepScene.id, path: tree.root.path, mode: .full, devices: [StepScene.nas])
        let clock = self.clock
        folder = FolderSync.Folder(idle: configuration, of: StepScene.me, index: index) { tools in
            tools.time = AgentTime(
                clock: clock, monotonic: { clock.now.offset }, wall: { WallTime(seconds: 0) }, random: { 0.5 })
        }
    }

    /// An index comes in hundreds of parts, and the first scan of a large folder takes long.
    @Test func announcementsWaitForTheFirstScanOnce() async throws {
        async let first: Void = folder.exchange.waitForFirstScan()
        await clock.advance(whenAsleep: 1)
        await first
        // The clock stands still now: a second wait would have no end.
        await folder.exchange.waitForFirstScan()
        #expect(clock.now.offset == .seconds(10) && !Task.isCancelled)
    }

    /// A link may break in the middle of a message.
    @Test func withoutALinkNothingIsReceived() async throws {
        let file = FileInfo(
            name: "a", kind: .directory, version: VersionVector([.init(id: StepScene.nas.shortID, value: 1)]),
            sequence: 1)
        try await folder.exchange.apply(
            IndexBatch(folder: StepScene.id, files: [file], isFullIndex: true, isLast: false), from: StepScene.nas)
        #expect(folder.exchange.isReceiving)
        folder.exchange.linkEnded(with: StepScene.nas)
        #expect(!folder.exchange.isReceiving)
    }
}
