import AgentConfiguration
import AgentContext
import BlockExchange
import ControlAPI
import IndexStore
import Logging
import SessionTestKit
import SyncTestKit
import Synchronization
import Testing

@testable import FolderSync
@testable import SyncAgent

/// What `log` shows.
struct ChangeRequestTests {
    private struct Enough: Error {}

    private static let me = DeviceID(certificateDER: [9])
    private static let now: Int64 = 1_000_000

    private final class Scene: Sendable {
        let home: TemporaryDirectory
        let index: IndexStore
        let events = EventHub(wall: { WallTime(seconds: 0) })
        let table: EndpointHandlers

        init(_ ids: [FolderID]) async throws {
            home = try TemporaryDirectory()
            index = try IndexStore.open(path: home.path + "/index.sqlite")
            var time = AgentTime.system
            time.wall = { WallTime(seconds: ChangeRequestTests.now) }
            let registry = FolderRegistry(
                pending: PendingRegistry(
                    index: index, ignored: { .init() }, events: events, time: time,
                    logger: Logger(label: "changes", factory: { _ in SwiftLogNoOpLogHandler() })))
            for (number, id) in ids.enumerated() {
                try await index.addFolder(id, newIndexID: IndexID(rawValue: UInt64(number + 1)))
                let settings = FolderConfiguration(id: id, path: home.path + "/\(id)", mode: .full)
                registry.insert(Folder(idle: settings, of: ChangeRequestTests.me, index: index))
            }
            var table = EndpointHandlers(
                bytes: EndpointHandlers.Bytes(
                    read: { _, _, _, _ in }, readMember: { _, _, _, _ in },
                    memberFacts: { _ in MemberFacts(size: 0, isSeekable: false) }), events: { _, _, _ in })
            ChangeRequests(
                finder: FolderFinder(folders: registry),
                configuration: RunningConfiguration(Configuration(name: "x"), of: ChangeRequestTests.me), index: index,
                events: events, time: time
            ).add(to: &table)
            self.table = table
        }

        func record(_ name: String, at time: Int64, in folder: FolderID) async throws {
            try await index.record([RecordedChange(time: time, kind: .added, name: name, device: nil)], in: folder)
        }
    }

    /// What is older than `--since` does not come with the first change that is.
    @Test func followingShowsNothingOlderThanWhatWasAskedFor() async throws {
        let (quiet, busy) = (FolderID("quiet"), FolderID("busy"))
        let scene = try await Scene([quiet, busy])
        try await scene.record("old", at: 5, in: quiet)
        try await scene.record("recent", at: Self.now, in: busy)
        let shown = Mutex<[String]>([])
        await #expect(throws: Enough.self) {
            try await scene.table.call(Endpoints.changes, ChangeQuery(since: 60, isFollowing: true)) { change in
                shown.withLock { $0.append(change.path) }
                switch change.path {
                case "recent":
                    // It listens by now. The clock may have been set back.
                    try await scene.record("new", at: 6, in: quiet)
                    scene.events.post("files-changed", folder: quiet)
                case "new": throw Enough()
                default: break
                }
            }
        }
        #expect(shown.withLock { $0 } == ["recent", "new"])
    }

    /// Notes, which are not shown, take no room from what is.
    @Test func theLimitCountsWhatIsShown() async throws {
        let id = FolderID("docs")
        let scene = try await Scene([id])
        try await scene.record("a", at: 1, in: id)
        for number in 0..<3 { try await scene.record(".synctrain/notes/\(number).json", at: 2, in: id) }
        let shown = Mutex<[String]>([])
        try await scene.table.call(Endpoints.changes, ChangeQuery(limit: 2)) { change in
            shown.withLock { $0.append(change.path) }
        }
        #expect(shown.withLock { $0 } == ["a"])
    }
}
