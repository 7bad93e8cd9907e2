import AgentConfiguration
import BlockExchange
import Cryptography
import Foundation
import IndexStore
import SessionTestKit
import Testing

@testable import FolderSync

/// What a peer says of the index that it has of this device.
@Suite struct IndexExchangeTests {
    private static let folder = FolderID("f")
    private static let local = DeviceID(digest: SHA256.digest([0]))
    private static let peer = DeviceID(digest: SHA256.digest([1]))
    private static let ownIndex = IndexID(rawValue: 7)

    /// The exchange of a folder whose own index ends at sequence 3.
    private static func withExchange(_ body: (FolderExchange) async throws -> Void) async throws {
        let home = FileManager.default.temporaryDirectory.appending(path: "exchange-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: home) }
        try FileManager.default.createDirectory(atPath: home + "/files/.stfolder", withIntermediateDirectories: true)
        let index = try IndexStore.open(path: home + "/index.sqlite")
        try await index.addFolder(folder, newIndexID: ownIndex)
        for number in 1...3 {
            let file = FileInfo(
                name: "\(number)", kind: .directory,
                version: VersionVector([.init(id: local.shortID, value: UInt64(number))]))
            _ = try await index.applyLocal(in: folder, [.set(LocalEntry(file: file))], isIgnored: { _ in false })
        }
        #expect(try await index.localIndex(of: folder).maxSequence == 3)
        try await body(
            Folder(
                idle: FolderConfiguration(id: folder, path: home + "/files", mode: .full, devices: [peer]), of: local,
                index: index
            ).exchange)
        try index.close()
    }

    /// What a peer is sent that says this of its copy of the folder's index.
    private static func feed(
        of folder: FolderExchange, peerKnows id: IndexID, upTo said: Int64
    ) async throws -> IndexExchange.Feed {
        var exchange = IndexExchange(local: local, peer: peer)
        exchange.share([folder.id: .open])
        let config = ClusterConfig(folders: [
            ClusterConfig.Folder(
                id: folder.id,
                devices: [
                    ClusterConfig.Device(id: local, maxSequence: said, indexID: id),
                    ClusterConfig.Device(id: peer, maxSequence: said, indexID: IndexID(rawValue: 9)),
                ])
        ])
        for action in try exchange.heard(config, [folder.id: try await folder.facts(of: peer)]) {
            guard case .settle(let settlement) = action else { continue }
            try await folder.settle(settlement, with: peer, client: "syncthing")
        }
        exchange.performed()
        return try #require(exchange.feed(of: folder.id))
    }

    @Test(
        arguments: [
            (.min, 0), (-1, 0), (0, 0), (1, 1), (2, 2), (3, 3), (4, 0), (.max - 1, 0), (.max, 0),
        ] as [(said: Int64, after: Int64)])
    func `the index goes on behind what the peer has, if it can have that`(said: Int64, after: Int64) async throws {
        try await Self.withExchange { exchange in
            let feed = try await Self.feed(of: exchange, peerKnows: Self.ownIndex, upTo: said)
            #expect(feed.after == after)
            #expect(feed.isWhole == (after == 0))
        }
    }

    @Test(arguments: [.min, 0, 3, .max] as [Int64])
    func `of another index than this one nothing counts`(said: Int64) async throws {
        try await Self.withExchange { exchange in
            let feed = try await Self.feed(of: exchange, peerKnows: IndexID(rawValue: 8), upTo: said)
            #expect(feed.after == 0 && feed.isWhole)
        }
    }
}
