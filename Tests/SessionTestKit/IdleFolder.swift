import AgentConfiguration
import BlockExchange
import FileAccess
import IndexStore
import Logging
import NIOPosix

@testable import AgentContext
@testable import AsyncTools
@testable import Fetching
@testable import FolderSync
@testable import SyncDecisions

extension FolderSync.Folder {
    /// A folder that nothing runs in, and that no device is connected to.
    package convenience init(
        idle configuration: FolderConfiguration, of localDevice: DeviceID, index: IndexStore,
        watchProgram: String? = nil, isExclusive: Bool = false, interposer: (any DiskInterposer)? = nil,
        changing: (inout FolderTools) -> Void = { _ in }
    ) {
        let logger = Logger(label: "idle", factory: { _ in SwiftLogNoOpLogHandler() })
        let fetching = FetchEnvironment(
            sessions: { _ in [:] }, linksChanged: { AsyncStream { _ in } }, dialNow: { _ in },
            localBlock: { _, _ in nil },
            budget: SharedFetchBudget(limit: 1 << 20), threads: NIOThreadPool.singleton, time: .system,
            settings: BlockScheduler.Settings())
        var tools = FolderTools(
            localDevice: localDevice, fetching: fetching, transfers: TransferRegistry(now: AgentTime.system.monotonic),
            time: .system, logger: logger)
        changing(&tools)
        self.init(
            configuration, index: index, tools: tools, events: EventHub(wall: { WallTime(seconds: 0) }),
            watchProgram: watchProgram, isExclusive: isExclusive, interposer: interposer)
    }
}
