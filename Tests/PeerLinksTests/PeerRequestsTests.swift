import BlockExchange
import Cryptography
import Testing

@testable import PeerLinks

@Suite struct PeerRequestsTests {
    private static func block(_ id: Int32, size: Int32 = 128 << 10) -> ConnectionEvent {
        .request(id: id, BlockRequest(folder: FolderID("f"), name: "a", offset: 0, size: size, hash: nil))
    }

    @Test func eachKindHasItsLimit() {
        let requests = PeerRequests()
        for id in 0..<Int32(PeerRequests.blockLimit) { #expect(requests.take(Self.block(id)) == nil) }
        #expect(requests.take(Self.block(-1))?.english.contains("4096 requests are waiting") == true)
        let keep = KeepRequest(folder: FolderID("f"), kind: .ask)
        for id in 0..<Int32(PeerRequests.keepLimit) { #expect(requests.take(.keepRequest(id: id, keep)) == nil) }
        #expect(requests.take(.keepRequest(id: -1, keep))?.english.contains("8 requests about promises") == true)
        let reach = ReachRequest(addresses: [])
        for id in 0..<Int32(PeerRequests.reachLimit) { #expect(requests.take(.reachRequest(id: id, reach)) == nil) }
        #expect(requests.take(.reachRequest(id: -1, reach))?.english.contains("2 requests to test") == true)
        let rename = RenameRequest(folder: FolderID("f"), from: "a", to: "b", nameCount: 1, digest: nil)
        for id in 0..<Int32(PeerRequests.renameLimit) { #expect(requests.take(.renameRequest(id: id, rename)) == nil) }
        #expect(requests.take(.renameRequest(id: -1, rename))?.english.contains("8 requests to rename") == true)
    }

    @Test(arguments: [
        // As many as come together, by number and by bytes.
        (40, Int32(1), 32), (3, 1, 3), (10, 16 << 10, 4), (10, 64 << 10, 1), (5, 16 << 20, 1),
    ])
    func smallOnesAreAnsweredTogether(_ count: Int, _ size: Int32, _ expected: Int) async throws {
        let requests = PeerRequests()
        for id in 0..<Int32(count) { _ = requests.take(Self.block(id, size: size)) }
        let first = try #require(await requests.nextBlock())
        #expect(requests.batch(with: first).map(\.id) == Array(0..<Int32(expected)))
    }

    @Test func nothingComesOnceItIsOver() async {
        let requests = PeerRequests()
        requests.finish()
        #expect(await requests.nextBlock() == nil)
        #expect(await requests.keeps.next() == nil)
        #expect(await requests.reaches.next() == nil)
        #expect(await requests.renames.next() == nil)
    }
}
