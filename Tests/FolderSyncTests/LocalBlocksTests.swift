import AgentConfiguration
import AgentContext
import BlockExchange
import Cryptography
import FileAccess
import IndexStore
import Logging
import NIOCore
import NIOPosix
import SessionTestKit
import SyncTestKit
import Testing

@testable import Fetching
@testable import FolderSync

/// Two folders on real disks in one index: what `docs` may get of the blocks of `private`.
@Suite struct LocalBlocksTests {
    private static let (docs, secrets) = (FolderID("docs"), FolderID("private"))
    private static let (me, alice, mallory) = (device("me"), device("alice"), device("mallory"))

    private static func device(_ name: String) -> DeviceID { DeviceID(certificateDER: Array(name.utf8)) }

    private final class Scene {
        private let home: TemporaryDirectory
        private let tree: TemporaryTree
        let folders: FolderRegistry
        let index: IndexStore
        let cache: BlockCache
        let blocks: LocalBlocks

        init() async throws {
            home = try TemporaryDirectory()
            tree = try TemporaryTree()
            index = try IndexStore.open(path: home.path + "/index.sqlite")
            cache = try BlockCache(directory: home.path + "/cache", byteLimit: 1 << 20)
            folders = FolderRegistry(
                pending: PendingRegistry(
                    index: index, ignored: { .init() }, events: EventHub(wall: { WallTime(seconds: 0) }), time: .system,
                    logger: Logger(label: "blocks", factory: { _ in SwiftLogNoOpLogHandler() })))
            blocks = LocalBlocks(of: me, cache: cache, index: index, folders: folders, threads: .singleton)
        }

        /// Shares a folder with these devices. The first time it is made, with a file that holds the text.
        func share(
            _ id: FolderID, with devices: [DeviceID], untrusted: [DeviceID] = [], holding text: String? = nil,
            flags: LocalFlags = []
        ) async throws {
            if let folder = folders.folder(id) {
                var configuration = folder.configuration
                (configuration.devices, configuration.untrusted) = (devices, untrusted)
                return folder.configure(configuration)
            }
            try tree.makeDirectory("\(id)/.stfolder")
            try await index.addFolder(id, newIndexID: IndexID(rawValue: 1))
            var configuration = FolderConfiguration(
                id: id, path: "\(tree.root.path)/\(id)", mode: .full, devices: devices)
            configuration.untrusted = untrusted
            let folder = FolderSync.Folder(idle: configuration, of: me, index: index)
            folder.boards.places.refresh()
            folders.insert(folder)
            guard let text else { return }
            try tree.write(text, to: "\(id)/file")
            let block = LocalBlocksTests.block(text)
            let file = FileInfo(
                name: "file", size: Int64(block.size), version: VersionVector([.init(id: me.shortID, value: 1)]),
                blockSize: 1 << 17, blocks: [block])
            let root = try RootDirectory(path: "\(tree.root.path)/\(id)")
            let status = IndexedStatus(try #require(try root.status(of: RelativePath(parsing: "file"))))
            try await index.applyLocal(in: id, [.set(LocalEntry(file: file, flags: flags, status: status))]) { _ in
                false
            }
        }

        /// What `folder` gets of a block with this text, and whether the block counts as one that is here.
        func found(_ text: String, for folder: FolderID) async -> (text: String?, isHere: Bool) {
            let block = LocalBlocksTests.block(text)
            let isHere = await blocks.blocksHere([block.hash], for: folder).contains(block.hash)
            return (await blocks.block(block, for: folder).map { String(buffer: $0) }, isHere)
        }
    }

    private static func block(_ text: String) -> BlockInfo {
        let bytes = Array(text.utf8)
        return BlockInfo(offset: 0, size: Int32(bytes.count), hash: SHA256.digest(bytes))
    }

    @Test(
        arguments: [
            ("shared with others", [mallory], [alice], [], false),
            ("shared with one more", [alice, mallory], [alice], [], false),
            ("shared with the same", [alice], [alice], [], true),
            ("shared with fewer", [alice], [alice, mallory], [], true),
            ("named itself", [me, alice], [alice], [], true),
            ("encrypted there", [mallory], [alice, mallory], [mallory], false),
        ] as [(String, [DeviceID], [DeviceID], [DeviceID], Bool)])
    func blocksOfAnotherFolderAreForThoseWhoMayHaveThem(
        _ name: String, docs: [DeviceID], secrets: [DeviceID], untrusted: [DeviceID], isAllowed: Bool
    ) async throws {
        let scene = try await Scene()
        try await scene.share(Self.secrets, with: secrets, untrusted: untrusted, holding: "PIN 4711")
        try await scene.share(Self.docs, with: docs)
        let onDisk = await scene.found("PIN 4711", for: Self.docs)
        #expect(onDisk == (isAllowed ? ("PIN 4711", true) : (nil, false)), "\(name)")
        let own = await scene.found("PIN 4711", for: Self.secrets)
        #expect(own == ("PIN 4711", true), "\(name)")

        let read = Array("read of a device that is away".utf8)
        scene.cache.keep(read, hash: SHA256.digest(read), of: Self.secrets)
        let cached = await scene.found("read of a device that is away", for: Self.docs)
        #expect(cached == (isAllowed ? ("read of a device that is away", true) : (nil, false)), "\(name)")
    }

    @Test func sharingIsWhatItIsNow() async throws {
        let scene = try await Scene()
        try await scene.share(Self.secrets, with: [Self.mallory], holding: "PIN 4711")
        try await scene.share(Self.docs, with: [Self.mallory])
        #expect(await scene.found("PIN 4711", for: Self.docs) == ("PIN 4711", true))
        try await scene.share(Self.secrets, with: [])
        #expect(await scene.found("PIN 4711", for: Self.docs) == (nil, false))
    }

    @Test func whatIsNotAnnouncedThereStaysThere() async throws {
        let scene = try await Scene()
        try await scene.share(Self.secrets, with: [Self.alice], holding: "PIN 4711", flags: .ignored)
        try await scene.share(Self.docs, with: [Self.alice])
        #expect(await scene.found("PIN 4711", for: Self.docs).text == nil)
        #expect(await scene.found("PIN 4711", for: Self.secrets).text == "PIN 4711")
    }
}
