import AgentContext
import BlockExchange
import FolderSync
import MountProtocol
import Names
import SyncTestKit
import Synchronization
import Testing

@testable import SyncAgent

/// Files that stay open for writing are announced every minute, and nothing wakes up a minute after they were closed.
struct OpenForWritingTests {
    private final class World: Sendable {
        let clock = ManualClock()
        let board = WritingBoard()
        let announced: Announced
        let files: OpenForWriting

        init() {
            let (clock, board, announced) = (clock, board, Announced())
            self.announced = announced
            files = OpenForWriting(
                time: AgentTime(
                    clock: clock, monotonic: { clock.now.offset }, wall: { WallTime(seconds: 0) }, random: { 0 }),
                announce: { holds in announced.names.withLock { $0.append(board.announceOnce(holds)) } })
        }

        final class Announced: Sendable {
            let names = Mutex<[Set<NameKey>]>([])
        }

        func open(_ name: String) throws -> UInt64 { try files.open(#require(board.open(name))) }

        func close(_ handle: UInt64) -> String? { files.close(handle).flatMap { board.close($0) } }

        func asleep(_ count: Int) async {
            while !Task.isCancelled, clock.sleeperCount != count { await Task.yield() }
        }

        func pass(_ seconds: Int) async {
            await asleep(1)
            clock.advance(by: .seconds(seconds))
            await asleep(1)
        }

        func takeAnnounced() -> [Set<NameKey>] {
            announced.names.withLock { names in
                defer { names = [] }
                return names
            }
        }
    }

    @Test(.timeLimit(.minutes(1))) func aFileThatIsOpenIsAnnouncedEveryMinute() async throws {
        let world = World()
        _ = try world.open("a")
        await world.pass(30)
        let other = try world.open("b")
        await world.pass(29)
        #expect(world.takeAnnounced() == [])
        await world.pass(1)
        #expect(world.takeAnnounced() == [["a"]])
        world.board.rename("b", to: "c")
        await world.pass(30)
        #expect(world.takeAnnounced() == [["c"]])
        #expect(world.close(other) == "c" && world.close(other) == nil)
        await world.pass(30)
        #expect(world.takeAnnounced() == [["a"]])
    }

    @Test(.timeLimit(.minutes(1))) func nothingWaitsAMinuteAfterAllWereClosed() async throws {
        let world = World()
        let handle = try world.open("a")
        await world.asleep(1)
        #expect(OpenForWriting.isHandle(handle) && !OpenForWriting.isHandle(1))
        #expect(world.close(handle) == "a")
        world.clock.advance(by: .seconds(60))
        await world.asleep(0)
        #expect(world.takeAnnounced() == [])
        #expect(world.files.handles == [])
        _ = try world.open("a")
        await world.pass(60)
        #expect(world.takeAnnounced() == [["a"]])
    }
}
