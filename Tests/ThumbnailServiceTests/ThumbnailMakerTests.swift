import BlockExchange
import ControlAPI
import Cryptography
import Foundation
import NIOCore
import NIOPosix
import Synchronization
import Testing
import Thumbnails
import Transport

@testable import AgentContext
@testable import AsyncTools
@testable import Fetching
@testable import SyncDecisions
@testable import ThumbnailService

/// What is asked of other devices for a thumbnail, block by block.
@Suite(.timeLimit(.minutes(2))) struct ThumbnailMakerTests {
    private static let device = DeviceID(digest: SHA256.digest([1]))
    private static let block = 128 << 10

    private final class Holder: BlockSource {
        let kind: LinkKind
        let route: LinkRoute
        let isOpen = true
        let bytes: [UInt8]
        private let asked = Mutex<[Int]>([])

        init(_ kind: LinkKind, _ route: LinkRoute, _ bytes: [UInt8]) {
            (self.kind, self.route, self.bytes) = (kind, route, bytes)
        }

        var blocks: [Int] { asked.withLock { $0.sorted() } }

        func request(_ request: BlockRequest, isBulk: Bool) async throws -> ByteBuffer {
            asked.withLock { $0.append(Int(request.offset) / ThumbnailMakerTests.block) }
            return ByteBuffer(bytes: bytes[Int(request.offset)..<(Int(request.offset) + Int(request.size))])
        }
    }

    /// What came of it, and the blocks that were asked for.
    private func make(
        _ bytes: [UInt8], over kind: LinkKind = .tcp, _ route: LinkRoute = .localNetwork, isMetered: Bool = false,
        here: Set<Int> = []
    ) async throws -> (result: Result<[UInt8]?, any Error>, asked: [Int]) {
        let directory = FileManager.default.temporaryDirectory.appending(path: "maker-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let blocks = stride(from: 0, to: bytes.count, by: Self.block).map { offset in
            let part = Array(bytes[offset..<min(bytes.count, offset + Self.block)])
            return BlockInfo(offset: Int64(offset), size: Int32(part.count), hash: SHA256.digest(part))
        }
        let hash = try #require(FileInfo.blocksHash(of: blocks))
        let file = FileInfo(
            name: "a.png", size: Int64(bytes.count), blockSize: Int32(Self.block), blocks: blocks, blocksHash: hash)
        let holder = Holder(kind, route, bytes)
        let known = Set(here.map { blocks[$0].hash })
        let (changes, _) = AsyncStream.makeStream(of: Void.self)
        let fetching = FetchEnvironment(
            sessions: { _ in [Self.device: holder] }, linksChanged: { changes }, dialNow: { _ in },
            localBlock: { block, _ in
                guard known.contains(block.hash) else { return nil }
                return ByteBuffer(bytes: bytes[Int(block.offset)..<(Int(block.offset) + Int(block.size))])
            }, blocksHere: { hashes, _ in known.intersection(hashes) }, budget: SharedFetchBudget(limit: 64 << 20),
            threads: .singleton,
            time: .system, settings: BlockScheduler.Settings())
        let maker = ThumbnailMaker(
            fetching: fetching, keep: { _, _, _ in }, sandbox: ThumbnailSandbox(now: { .zero }),
            workDirectory: directory, limits: ThumbnailMaker.Limits(usual: 1 << 20, slow: 256 << 10),
            isMetered: { isMetered })
        let subject = try #require(
            ThumbnailSubject(folder: FolderID("f"), file: file, holders: [Self.device]))
        let result: Result<[UInt8]?, any Error>
        do { result = .success(try await maker.make(subject)) } catch { result = .failure(error) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty)
        return (result, holder.blocks)
    }

    /// So many bytes that begin as a picture of this size.
    private static func picture(_ byteCount: Int, isHuge: Bool = false) -> [UInt8] {
        let head: [UInt8] =
            [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8)
            + [0, isHuge ? 1 : 0, 0, 100, 0, isHuge ? 1 : 0, 0, 100, 8, 0, 0, 0, 0]
        return head + (0..<(byteCount - head.count)).map { UInt8(truncatingIfNeeded: $0 / block &+ $0) }
    }

    @Test(arguments: [
        (LinkKind.l2cap, LinkRoute.radio, false), (.gatt, .radio, false), (.tcp, .internet, true),
    ])
    func whereEachByteIsFeltLittleIsAskedFor(kind: LinkKind, route: LinkRoute, isMetered: Bool) async throws {
        let (result, asked) = try await make(Self.picture(5 * Self.block), over: kind, route, isMetered: isMetered)
        let error = #expect(throws: ControlError.self) { try result.get() }
        #expect(error?.code == .noThumbnail)
        #expect(error?.message.contains("fetch-limit-slow") == true)
        #expect(asked == [0])
        // What is here costs nothing.
        let partly = try await make(
            Self.picture(5 * Self.block), over: kind, route, isMetered: isMetered, here: [0, 1, 2])
        #expect(partly.asked == [3, 4])
    }

    @Test(arguments: [(LinkRoute.localNetwork, true), (.internet, false)])
    func elsewhereUpToTheUsualLimit(route: LinkRoute, isMetered: Bool) async throws {
        let (result, asked) = try await make(Self.picture(5 * Self.block), over: .tcp, route, isMetered: isMetered)
        // It is no whole picture.
        #expect(try result.get() == nil)
        #expect(asked == [0, 1, 2, 3, 4])
        let large = try await make(Self.picture(9 * Self.block), over: .tcp, route, isMetered: isMetered)
        let error = #expect(throws: ControlError.self) { try large.result.get() }
        #expect(error?.message.contains("fetch-limit in") == true)
        #expect(large.asked == [0])
    }

    @Test func whatIsNoPictureCostsABlock() async throws {
        for bytes in [
            Self.picture(5 * Self.block, isHuge: true),
            Array("#EXTM3U".utf8) + [UInt8](repeating: 0x41, count: 300_000),
        ] {
            let (result, asked) = try await make(bytes)
            #expect(try result.get() == nil)
            #expect(asked == [0])
        }
    }
}
