import AgentConfiguration
import BlockExchange
import Cryptography
import IndexStore
import LinkSecurity
import Logging
import NIOCore
import SyncTestKit
import Synchronization
import Testing
import Transport
import TransportTCP

@testable import AgentContext
@testable import Fetching
@testable import FolderSync
@testable import PeerLinks

/// Sessions over real links with a manual clock.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct PeerSessionTests {
    /// Admits every peer and shares nothing.
    private final class Owner: PeerSessionOwner {
        private let isOpened = Mutex(false)
        var hasHello: Bool { isOpened.withLock { $0 } }

        func admit(_ session: PeerSession, _ hello: Hello) async -> Bool {
            session.take(.primary)
            return true
        }
        func opened(_ session: PeerSession) async { isOpened.withLock { $0 = true } }
        func received(_ config: ClusterConfig, _ session: PeerSession) async {}
        func found(_ finding: LinkGauge.Finding, _ session: PeerSession) async {}
        func terms() -> [FolderID: IndexExchange.Terms] { [:] }
        func terms(of folder: FolderID) -> IndexExchange.Terms? { nil }
        func facts(_ terms: [FolderID: IndexExchange.Terms]) async throws -> [FolderID: IndexExchange.Facts] { [:] }
        func clusterConfig() async throws -> ClusterConfig { ClusterConfig() }
        func heard(_ config: ClusterConfig) async {}
        func perform(_ action: IndexExchange.Action) async throws {}
        func store(_ batch: IndexBatch, isUnnamed: Bool) async throws {}
        func dropped(_ folder: FolderID) async throws {}
        func couldNotRead(_ folder: FolderID, _ error: IndexStoreError) async {}
        func exchange(of folder: FolderID) -> FolderExchange? { nil }
        func serve(_ requests: [BlockRequest]) async -> [BlockAnswer] { requests.map { _ in BlockAnswer(.generic) } }
    }

    private static func authenticator() throws -> LinkAuthenticator {
        let certificate = try DeviceCertificate.generate(curve: .p256, notBefore: 1_700_000_000)
        return try LinkAuthenticator(
            identity: try LinkIdentity(
                certificatePEM: certificate.certificatePEM, keyPEM: certificate.privateKeyPEM))
    }

    /// Returns why a session ends if the peer sends `bytes` and then nothing, while the clock advances.
    private func end(after bytes: [UInt8], withHello: Bool = false) async throws -> String {
        let (here, there) = (try Self.authenticator(), try Self.authenticator())
        let listener = try await TCPTransport().listen(on: .tcp(host: "127.0.0.1", port: 0), install: here.install)
        let clock = ManualClock()
        let owner = Owner()
        let session = PairingSessionTests.Shared<PeerSession?>(nil)
        let reason = PairingSessionTests.Shared<String?>(nil)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for await link in listener {
                    let served = PeerSession(
                        link: link, of: DeviceID(certificateDER: [0]),
                        hello: Hello(deviceName: "", clientName: "c", clientVersion: "v"),
                        time: AgentTime(
                            clock: clock, monotonic: { clock.now.offset }, wall: { WallTime(seconds: 0) },
                            random: { 0.5 }), partials: PartialBlocks(),
                        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
                    session.change { $0 = served }
                    let end = await served.run(owner: owner).english
                    reason.change { $0 = end }
                }
            }
            group.addTask {
                while !Task.isCancelled, reason.current == nil {
                    let hasCome = session.current?.bytesReceived == Int64(bytes.count)
                    if hasCome, owner.hasHello == withHello { clock.advance(by: .seconds(1)) }
                    await Task.yield()
                }
                await listener.close()
            }
            let link = try await TCPTransport().dial(
                listener.address, timeout: .seconds(60), install: there.install)
            try await link.executeThenClose { inbound, outbound in
                if !bytes.isEmpty { try await outbound.write(ByteBuffer(bytes: bytes)) }
                for try await _ in inbound {}
            }
            try await group.waitForAll()
        }
        return try #require(reason.current)
    }

    @Test(arguments: [0, 1, 5]) func aLinkWithoutHelloEnds(byteCount: Int) async throws {
        #expect(
            try await end(after: Array(Frame.hello().prefix(byteCount))) == "the peer sent no Hello within 20 s")
    }

    @Test func aLinkWithoutMessagesEndsLater() async throws {
        #expect(try await end(after: Frame.hello(), withHello: true) == "the peer sent no complete message for 300 s")
    }
}
