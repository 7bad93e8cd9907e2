import BlockExchange
import Fetching
import FolderSync
import LinkSecurity
import Logging
import NIOCore

/// A link with a device that is not known: both say Hello, and that is all it gets to see.
package struct StrangerSession: PeerSessionOwner {
    package let device: DeviceID
    package let address: String
    package let pending: PendingRegistry

    package init(device: DeviceID, address: String, pending: PendingRegistry) {
        self.device = device
        self.address = address
        self.pending = pending
    }

    package func admit(_ session: PeerSession, _ hello: Hello) async -> Bool {
        await pending.knocked(device, name: hello.deviceName, address: address)
        return false
    }

    package func opened(_ session: PeerSession) async {}
    package func received(_ config: ClusterConfig, _ session: PeerSession) async {}
    package func terms() -> [FolderID: IndexExchange.Terms] { [:] }
    package func terms(of folder: FolderID) -> IndexExchange.Terms? { nil }
    package func facts(_ terms: [FolderID: IndexExchange.Terms]) async throws -> [FolderID: IndexExchange.Facts] { [:] }
    package func clusterConfig() async throws -> ClusterConfig { ClusterConfig() }
    package func heard(_ config: ClusterConfig) async {}
    package func perform(_ action: IndexExchange.Action) async throws {}
    package func store(_ batch: IndexBatch, isUnnamed: Bool) async throws {}
    package func dropped(_ folder: FolderID) async throws {}
    package func exchange(of folder: FolderID) -> FolderExchange? { nil }
    package func serve(_ requests: [BlockRequest]) async -> [BlockAnswer] {
        requests.map { _ in BlockAnswer(.generic) }
    }
}
