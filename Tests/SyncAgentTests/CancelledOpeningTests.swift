import AgentConfiguration
import AgentContext
import BlockExchange
import FileAccess
import IndexStore
import Logging
import NIOCore
import NIOPosix
import SyncTestKit
import Synchronization
import Testing

@testable import AsyncTools
@testable import Fetching
@testable import FolderSync
@testable import SyncAgent
@testable import SyncDecisions

/// A program ends while a file that is not here is brought here for it to write to. Whatever is on the disk then is the folder's: a
/// file that is not selected would hide what other devices do with the name.
struct CancelledOpeningTests {
    private static let id = FolderID("docs")
    private static let nas = DeviceID(certificateDER: [1])
    private static let content = "what others have"

    /// Ends the program at one change of the disk.
    private final class Ending: DiskInterposer {
        struct State {
            var program: Task<Void, any Error>?
            var changes = 0
            var last: Int?
        }
        let state = Mutex(State())

        func verdict(on change: DiskChange) -> DiskVerdict {
            state.withLock { state in
                guard let program = state.program else { return }
                state.changes += 1
                if state.changes == state.last { program.cancel() }
            }
            return .proceed
        }
    }

    /// Opens `a` for writing, and ends the program at that change of the disk. Says how many changes there were.
    private static func opening(endingAt change: Int?) async throws -> Int {
        let (tree, home) = (try TemporaryTree(), try TemporaryDirectory())
        try tree.makeDirectory(".stfolder")
        try tree.write("!/b\n*\n", to: ".stignore")
        try tree.write(content, to: "b")
        let index = try IndexStore.open(path: home.path + "/index.sqlite")
        try await index.addFolder(id, newIndexID: IndexID(rawValue: 1))
        let ending = Ending()
        let folder = FolderSync.Folder(
            idle: FolderConfiguration(id: id, path: tree.root.path, mode: .selective, devices: [nas]),
            of: DeviceID(certificateDER: [9]), index: index, interposer: ending
        ) { tools in
            // Everything was written long ago.
            tools.diskTime = { FileTime(seconds: 4_000_000_000) }
        }
        _ = try await folder.runner.perform(ScanStep(isRequested: true))
        var file = try #require(try await index.local(id, "b")).file
        (file.name, file.sequence) = ("a", 1)
        file.version = VersionVector().updated(by: nas.shortID, unixSeconds: 1_700_000_000)
        try await index.applyIndex(
            of: id, device: nas, files: [file], replacesAll: false, isIgnored: { $0 == "a" })

        let environment = FetchEnvironment(
            sessions: { _ in [:] }, linksChanged: { AsyncStream { _ in } }, dialNow: { _ in },
            localBlock: { _, _ in ByteBuffer(string: content) }, budget: SharedFetchBudget(limit: 1 << 20),
            threads: NIOThreadPool.singleton, time: .system, settings: BlockScheduler.Settings())
        let pending = PendingRegistry(
            index: index, ignored: { Configuration.Ignored() }, isKnown: { _ in true },
            events: EventHub(wall: { WallTime(seconds: 0) }), time: .system,
            logger: Logger(label: "mount", factory: { _ in SwiftLogNoOpLogHandler() }))
        let entries = EntrySource(
            finder: FolderFinder(folders: FolderRegistry(pending: pending)), index: index,
            fetching: environment, transfers: TransferRegistry(now: AgentTime.system.monotonic))
        let changes = ProgramChanges(
            folder: folder, entries: entries, listing: MountListing(entries: entries, folder: folder),
            environment: environment)
        // It is on the board before it does anything: the state is locked until then.
        let program = ending.state.withLock { state in
            let program = Task {
                _ = try await changes.openWriting("a", version: 0, disk: 0, [], permissions: 0)
            }
            (state.program, state.last) = (program, change)
            return program
        }
        let outcome = await program.result
        let count = ending.state.withLock { $0.changes }
        if change == nil { try outcome.get() }

        let isHere = tree.text("a") != nil
        let isSelected = try !folder.boards.places.current.get().selection.isLeftOut("a")
        #expect(!isHere || isSelected, "ended at change \(change ?? 0) of the disk")
        if isHere {
            #expect(tree.text("a") == content)
            let local = try #require(try await index.local(id, "a"))
            #expect(local.file.version == file.version && !local.flags.contains(.ignored))
        }
        return count
    }

    @Test func aFileThatWasBroughtHereIsTheFolders() async throws {
        let count = try await Self.opening(endingAt: nil)
        #expect(count > 2)
        for change in 1...count { _ = try await Self.opening(endingAt: change) }
    }
}
