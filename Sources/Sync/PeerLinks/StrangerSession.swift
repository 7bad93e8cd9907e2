import BlockExchange
import Fetching
import FolderSync
import IndexStore
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
    package func found(_ finding: LinkGauge.Finding, _ session: PeerSession) async {}
    package func terms() -> [FolderID: IndexExchange.Terms] { [:] }
    package func terms(of folder: FolderID) -> IndexExchange.Terms? { nil }
    package func facts(_ terms: [FolderID: IndexExchange.Terms]) async -> [FolderID: IndexExchange.Facts] { [:] }
    package func clusterConfig() async -> ClusterConfig { ClusterConfig() }
    package func heard(_ config: ClusterConfig) async {}
    package func perform(_ action: IndexExchange.Action) async {}
    package func store(_ batch: IndexBatch, isUnnamed: Bool) async {}
    package func dropped(_ folder: FolderID) async {}
    package func couldNotRead(_ folder: FolderID, _ error: IndexStoreError) async {}
    package func exchange(of folder: FolderID) -> FolderExchange? { nil }
    package func serve(_ requests: [BlockRequest]) async -> [BlockAnswer] {
        requests.map { _ in BlockAnswer(.generic) }
    }
}
