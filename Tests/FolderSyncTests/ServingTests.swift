import AgentConfiguration
import BlockExchange
import Cryptography
import FileAccess
import Foundation
import IndexStore
import Logging
import NIOCore
import NIOPosix
import Testing

@testable import FolderSync

/// What a folder answers to requests, from a real disk and a real index.
@Suite struct ServingTests {
    private static let id = FolderID("f")
    private static let blockSize = 128 << 10

    /// A folder of one file, `d/film`, of three blocks, the last a short one.
    private final class Scene {
        let home = FileManager.default.temporaryDirectory.appending(path: "serving-\(UUID().uuidString)").path
        let index: IndexStore
        let root: RootDirectory
        let server: BlockServer
        var contents: [UInt8]

        init(ignoring: String = "") async throws {
            contents = (0..<300_000).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 13) }
            root = try RootDirectory(creating: "\(home)/files")
            try FileManager.default.createDirectory(
                atPath: "\(home)/files/.stfolder", withIntermediateDirectories: false)
            try ignoring.write(toFile: "\(home)/files/.stignore", atomically: false, encoding: .utf8)
            index = try IndexStore.open(path: "\(home)/index.sqlite")
            try await index.addFolder(ServingTests.id, newIndexID: IndexID(rawValue: 1))
            let configuration = FolderConfiguration(id: ServingTests.id, path: "\(home)/files", mode: .full)
            server = BlockServer(
                places: FolderPlaces(configuration), index: index, threads: .singleton,
                logger: Logger(label: "serving", factory: { _ in SwiftLogNoOpLogHandler() }))
            try write(contents)
            try await announce(1)
        }

        deinit { try? FileManager.default.removeItem(atPath: home) }

        /// Changes the file where it lies; the index does not hear of it.
        func write(_ bytes: [UInt8]) throws {
            contents = bytes
            try FileManager.default.createDirectory(atPath: "\(home)/files/d", withIntermediateDirectories: true)
            let path = "\(home)/files/d/film"
            if !FileManager.default.fileExists(atPath: path) {
                #expect(FileManager.default.createFile(atPath: path, contents: nil))
            }
            let file = try #require(FileHandle(forUpdatingAtPath: path))
            try file.truncate(atOffset: 0)
            try file.write(contentsOf: Data(bytes))
            try file.close()
        }

        var blocks: [BlockInfo] {
            stride(from: 0, to: contents.count, by: ServingTests.blockSize).map { start in
                let bytes = contents[start..<min(start + ServingTests.blockSize, contents.count)]
                return BlockInfo(offset: Int64(start), size: Int32(bytes.count), hash: SHA256.digest(Array(bytes)))
            }
        }

        /// The index has the file as it is now.
        func announce(_ version: UInt64, flags: LocalFlags = []) async throws {
            let status = try #require(try root.status(of: RelativePath(parsing: "d/film")))
            var file = FileInfo(name: "d/film", size: Int64(contents.count), blocks: blocks)
            file.blockSize = Int32(ServingTests.blockSize)
            file.version = VersionVector([.init(id: ShortID(rawValue: 1), value: version)])
            file.blocksHash = FileInfo.blocksHash(of: blocks)
            let entry = LocalEntry(file: file, flags: flags, status: IndexedStatus(status))
            _ = try await index.applyLocal(in: ServingTests.id, [.set(entry)], isIgnored: { _ in false })
        }

        func ask(
            _ block: BlockInfo, name: String = "d/film", hash: SHA256Digest?? = nil
        ) async -> (bytes: [UInt8], code: ResponseCode) {
            let request = BlockRequest(
                folder: ServingTests.id, name: name, offset: block.offset, size: block.size, hash: hash ?? block.hash)
            let answers = await server.serve([request])
            return (answers.first.map { Array($0.data.readableBytesView) } ?? [], answers.first?.code ?? .generic)
        }

        func bytes(of block: BlockInfo) -> [UInt8] {
            Array(contents[Int(block.offset)..<Int(block.offset) + Int(block.size)])
        }
    }

    @Test func everyBlockIsServedAgainAndAgain() async throws {
        let scene = try await Scene()
        for _ in 0..<2 {
            for block in scene.blocks {
                let answer = await scene.ask(block)
                #expect(answer.code == .ok)
                let isSame = answer.bytes == scene.bytes(of: block)
                #expect(isSame)
            }
        }
    }

    @Test func bytesThatChangedSinceTheIndexSawThemAreNotServedUnderTheOldHash() async throws {
        let scene = try await Scene()
        let before = scene.blocks
        _ = await scene.ask(before[0])
        var changed = scene.contents
        changed[5] ^= 1
        try scene.write(changed)
        #expect(await scene.ask(before[0]).code == .noSuchFile)
        #expect(await scene.ask(before[1]).code == .ok)
        // Whoever knows better than the index gets what is there.
        #expect(await scene.ask(scene.blocks[0]).bytes == scene.bytes(of: scene.blocks[0]))
    }

    @Test func aNewVersionIsServedOnceTheIndexHasIt() async throws {
        let scene = try await Scene()
        let before = scene.blocks
        _ = await scene.ask(before[1])
        try scene.write(scene.contents.map { ~$0 })
        try await scene.announce(2)
        #expect(await scene.ask(scene.blocks[1]).bytes == scene.bytes(of: scene.blocks[1]))
        #expect(await scene.ask(before[1]).code == .noSuchFile)
    }

    @Test func onlyTheHashOfTheVeryBlockCounts() async throws {
        let scene = try await Scene()
        #expect(await scene.ask(scene.blocks[0], hash: scene.blocks[1].hash).code == .noSuchFile)
        #expect(await scene.ask(scene.blocks[0], hash: .some(nil)).bytes == scene.bytes(of: scene.blocks[0]))
        // Not at a block's beginning: the bytes themselves are hashed.
        let odd = BlockInfo(
            offset: 1, size: 131_072, hash: SHA256.digest(Array(scene.contents[1..<131_073])))
        #expect(await scene.ask(odd).code == .ok)
        #expect(await scene.ask(odd, hash: scene.blocks[0].hash).code == .noSuchFile)
    }

    @Test func whatIsNotThereOrNotKeptIsNotServed() async throws {
        let scene = try await Scene()
        let last = try #require(scene.blocks.last)
        #expect(await scene.ask(BlockInfo(offset: last.offset, size: 131_072, hash: last.hash)).code == .noSuchFile)
        #expect(await scene.ask(BlockInfo(offset: -1, size: 131_072, hash: last.hash)).code == .noSuchFile)
        #expect(await scene.ask(BlockInfo(offset: 0, size: -1, hash: last.hash)).code == .generic)
        #expect(await scene.ask(last, name: "d/other").code == .noSuchFile)
        #expect(await scene.ask(last, name: "../d/film").code == .noSuchFile)
        #expect(await scene.ask(last, name: ".stignore").code == .invalidFile)
        try await scene.announce(2, flags: .ignored)
        #expect(await scene.ask(last).code == .invalidFile)
    }

    /// In their order, whatever is wrong with some of them.
    @Test func requestsThatWaitTogetherAreAnsweredEach() async throws {
        let scene = try await Scene()
        func request(_ number: Int, name: String = "d/film", hash: Int? = nil) -> BlockRequest {
            let block = scene.blocks[number]
            return BlockRequest(
                folder: Self.id, name: name, offset: block.offset, size: block.size,
                hash: scene.blocks[hash ?? number].hash)
        }
        let answers = await scene.server.serve([
            request(2), request(0, name: "film"), request(0), request(1, hash: 0), request(0, name: "/"),
            request(0, name: ""), request(0, name: ".stignore"), request(1, name: "d/film/x"), request(1),
        ])
        #expect(
            answers.map(\.code) == [
                .ok, .noSuchFile, .ok, .noSuchFile, .noSuchFile, .noSuchFile, .invalidFile, .noSuchFile, .ok,
            ])
        let served = answers.filter { $0.code == .ok }.map { Array($0.data.readableBytesView) }
        let isRight = served == [2, 0, 1].map { scene.bytes(of: scene.blocks[$0]) }
        #expect(isRight)
    }
}
