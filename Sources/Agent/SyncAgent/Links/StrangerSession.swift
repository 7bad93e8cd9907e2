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

    func opened(_ session: PeerSession) async {}
    func received(_ config: ClusterConfig, _ session: PeerSession) async {}
    func terms() -> [FolderID: IndexExchange.Terms] { [:] }
    func terms(of folder: FolderID) -> IndexExchange.Terms? { nil }
    func facts(_ terms: [FolderID: IndexExchange.Terms]) async throws -> [FolderID: IndexExchange.Facts] { [:] }
    func clusterConfig() async throws -> ClusterConfig { ClusterConfig() }
    func heard(_ config: ClusterConfig) async {}
    func perform(_ action: IndexExchange.Action) async throws {}
    func store(_ batch: IndexBatch, isUnnamed: Bool) async throws {}
    func dropped(_ folder: FolderID) async throws {}
    func exchange(of folder: FolderID) -> FolderExchange? { nil }
    func serve(_ requests: [BlockRequest]) async -> [BlockAnswer] { requests.map { _ in BlockAnswer(.generic) } }
}
