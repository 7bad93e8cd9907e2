import BlockExchange
import LinkSecurity
import Logging
import NIOCore

/// A link with a device that is not known: both say Hello, and that is all it gets to see.
struct StrangerSession: PeerSessionOwner {
    let device: DeviceID
    let address: String
    let pending: PendingRegistry

    func admit(_ session: PeerSession, _ hello: Hello) async -> Bool {
        await pending.knocked(device, name: hello.deviceName, address: address)
        return false
    }

    func opened(_ session: PeerSession, _ hello: Hello) async {}
    func clusterConfig() async throws -> ClusterConfig { ClusterConfig() }
    func received(_ config: ClusterConfig, _ unnamed: Set<FolderID>) async throws -> [IndexFeed] { [] }
    func received(_ batch: IndexBatch) async throws {}
    func serve(_ requests: [BlockRequest]) async -> [BlockAnswer] { requests.map { _ in BlockAnswer(.generic) } }
}
