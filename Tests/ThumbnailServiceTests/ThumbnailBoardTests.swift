import BlockExchange
import ControlAPI
import Cryptography
import Foundation
import Logging
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

/// Who waits for a thumbnail, and what becomes of the work when they go.
@Suite(.timeLimit(.minutes(2))) struct ThumbnailBoardTests {
    private static let device = DeviceID(digest: SHA256.digest([1]))
    /// No picture, whatever its name says.
    private static let bytes = Array("no picture".utf8)

    /// Answers when it is let, and says when it was asked and when it was left.
    private final class Holder: BlockSource {
        let kind = LinkKind.tcp
        let route = LinkRoute.localNetwork
        let isOpen = true
        let asked = Signal()
        let left = Signal()
        private let answers: Bool
        private let count = Mutex(0)

        init(answers: Bool) { self.answers = answers }

        var askedCount: Int { count.withLock { $0 } }

        func request(_ request: BlockRequest, isBulk: Bool) async throws -> ByteBuffer {
            count.withLock { $0 += 1 }
            asked.notify()
            guard !answers else { return ByteBuffer(bytes: ThumbnailBoardTests.bytes) }
            await Signal().wait()
            left.notify()
            throw CancellationError()
        }
    }

    private struct Scene {
        let holder: Holder
        let board: ThumbnailBoard
        let subject: ThumbnailSubject
        let time: Box
        let directory: String

        final class Box: Sendable {
            private let value = Mutex(MonotonicTime.zero)
            var now: MonotonicTime { value.withLock { $0 } }
            func set(_ time: MonotonicTime) { value.withLock { $0 = time } }
        }

        init(answers: Bool) throws {
            let directory = FileManager.default.temporaryDirectory.appending(path: "board-\(UUID().uuidString)").path
            let (holder, time) = (Holder(answers: answers), Box())
            let block = BlockInfo(
                offset: 0, size: Int32(ThumbnailBoardTests.bytes.count), hash: SHA256.digest(ThumbnailBoardTests.bytes))
            let hash = try #require(FileInfo.blocksHash(of: [block]))
            let file = FileInfo(
                name: "a.jpg", size: Int64(block.size), blockSize: 128 << 10, blocks: [block], blocksHash: hash)
            let (changes, _) = AsyncStream.makeStream(of: Void.self)
            let fetching = FetchEnvironment(
                sessions: { _ in [ThumbnailBoardTests.device: holder] }, linksChanged: { changes }, dialNow: { _ in },
                localBlock: { _, _ in nil }, blocksHere: { _, _ in [] }, budget: SharedFetchBudget(limit: 1 << 20),
                threads: .singleton,
                time: AgentTime(
                    clock: ContinuousClock(), monotonic: { time.now }, wall: { WallTime(seconds: 0) },
                    random: { 0.5 }), settings: BlockScheduler.Settings())
            let maker = ThumbnailMaker(
                fetching: fetching, keep: { _, _, _ in }, sandbox: ThumbnailSandbox(now: { time.now }),
                workDirectory: directory + "/work",
                limits: ThumbnailMaker.Limits(usual: 1 << 20, slow: 1 << 20), isMetered: { false })
            board = ThumbnailBoard(
                ThumbnailBoard.Environment(maker: maker, shared: nil, logger: Logger(label: "test")),
                cache: ThumbnailCache(directory: directory + "/cache", byteLimit: 1 << 20))
            subject = try #require(
                ThumbnailSubject(folder: FolderID("f"), file: file, holders: [ThumbnailBoardTests.device]))
            (self.holder, self.time, self.directory) = (holder, time, directory)
        }

        /// What is thrown.
        ///
        /// - Parameter limit: bytes that may come from other devices, where that is less than usual.
        func ask(limit: Int64? = nil) async -> (any Error)? {
            var subject = subject
            subject.fetchLimit = limit
            do {
                _ = try await board.thumbnail(of: subject)
                return nil
            } catch {
                return error
            }
        }

        func clean() { try? FileManager.default.removeItem(atPath: directory) }
    }

    @Test func whatFailedIsRememberedForAWhile() async throws {
        let scene = try Scene(answers: true)
        defer { scene.clean() }
        #expect((await scene.ask() as? ControlError)?.code == .noThumbnail)
        #expect(scene.holder.askedCount == 1)
        #expect((await scene.ask() as? ControlError)?.code == .noThumbnail)
        #expect(scene.holder.askedCount == 1)
        scene.time.set(.seconds(3600))
        #expect((await scene.ask() as? ControlError)?.code == .noThumbnail)
        #expect(scene.holder.askedCount == 2)
    }

    /// A file manager's program may have less downloaded than the page: what that meets is not the page's answer.
    @Test func whoMayHaveMoreDownloadedWaitsForNobodyElses() async throws {
        let scene = try Scene(answers: false)
        defer { scene.clean() }
        let limited = Task { await scene.ask(limit: 100) }
        await scene.holder.asked.wait()
        let usual = Task { await scene.ask() }
        await scene.holder.asked.wait()
        // The one goes on without the other.
        limited.cancel()
        #expect(await limited.value is CancellationError)
        await scene.holder.left.wait()
        #expect(scene.holder.askedCount == 2)
        scene.board.close()
        #expect(await usual.value is CancellationError)
    }

    @Test func whoGoesEndsTheWorkUnlessAnotherWaits() async throws {
        let scene = try Scene(answers: false)
        defer { scene.clean() }
        let first = Task { await scene.ask() }
        await scene.holder.asked.wait()
        let second = Task { await scene.ask() }
        first.cancel()
        #expect(await first.value is CancellationError)
        second.cancel()
        #expect(await second.value is CancellationError)
        // The request was left, and is made anew for the next who asks.
        await scene.holder.left.wait()
        let third = Task { await scene.ask() }
        await scene.holder.asked.wait()
        #expect(scene.holder.askedCount >= 2)
        scene.board.close()
        #expect(await third.value is CancellationError)
        #expect(await scene.ask() is CancellationError)
    }
}
