import AgentConfiguration
import BlockExchange
import ControlAPI
import Cryptography
import Foundation
import SessionTestKit
import Testing

@testable import FolderSync
@testable import IndexStore
@testable import SyncAgent

/// A folder whose index has no more room on its disk.
struct FolderStoringTests {
    private static let id = FolderID("docs")
    private static let nas = DeviceID(certificateDER: [1])
    private static let localDevice = DeviceID(certificateDER: [9])

    private final class Scene {
        let home = FileManager.default.temporaryDirectory.appending(path: "storing-\(UUID().uuidString)").path
        let index: IndexStore
        let folder: FolderSync.Folder

        init() async throws {
            try FileManager.default.createDirectory(
                atPath: "\(home)/files/.stfolder", withIntermediateDirectories: true)
            index = try IndexStore.open(path: "\(home)/index.sqlite")
            try await index.addFolder(id, newIndexID: IndexID(rawValue: 1))
            folder = FolderSync.Folder(
                idle: FolderConfiguration(id: id, path: "\(home)/files", mode: .full, devices: [nas]), of: localDevice,
                index: index)
        }

        deinit { try? FileManager.default.removeItem(atPath: home) }

        /// Lets the database have so many pages; 1 for no more than it has.
        func limit(pages: Int) async throws {
            try await index.pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA max_page_count = \(pages)") }
        }

        func status() async -> FolderStatus { await FolderStatusReading(folder: folder, index: index).status() }

        func exchange(announced: Int64) async throws {
            try await folder.exchange.settle(
                IndexExchange.Settlement(
                    folder: id, position: IndexPosition(indexID: IndexID(rawValue: 7), sequence: announced)),
                with: nas, client: "syncthing")
        }

        func announce(_ sequences: ClosedRange<Int64>, isFirst: Bool = false) async throws {
            try await folder.exchange.apply(
                IndexBatch(
                    folder: id,
                    files: sequences.map { number in
                        FileInfo(
                            name: "name of some length so that pages are needed \(number)", kind: .directory,
                            version: VersionVector([.init(id: ShortID(rawValue: 1), value: 1)]), sequence: number)
                    }, isFullIndex: isFirst, isFirst: true, isLast: true), from: nas)
        }
    }

    @Test func whatCannotBeStoredIsSaidUntilItIs() async throws {
        let scene = try await Scene()
        try await scene.exchange(announced: 4000)
        try await scene.announce(1...1000, isFirst: true)
        var status = await scene.status()
        #expect(!status.isIncomplete && status.condition != .error)
        #expect(status.global.directories == 1000)

        try await scene.limit(pages: 1)
        await #expect(throws: IndexStoreError.self) { try await scene.announce(1001...4000) }
        status = await scene.status()
        #expect(status.condition == .error && status.isIncomplete)
        let message = try #require(status.message)
        #expect(
            message.hasPrefix("no space left for the index \(scene.home)/index.sqlite; free some space on that disk; "))
        #expect(message.contains("`synctrain fetch`"))
        #expect(status.global.directories == 1000, "what was stored before is there")
        // A new link alone mends nothing.
        try await scene.exchange(announced: 4000)
        #expect(await scene.status().isIncomplete)

        try await scene.limit(pages: 1_000_000)
        try await scene.announce(1001...2000)
        #expect(await scene.status().isIncomplete, "not all of it is there yet")
        try await scene.announce(2001...4000)
        status = await scene.status()
        #expect(!status.isIncomplete && status.condition != .error)
        #expect(status.global.directories == 4000)
    }
}
