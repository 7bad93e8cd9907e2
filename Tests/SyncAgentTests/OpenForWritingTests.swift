import AgentContext
import MountProtocol
import SyncTestKit
import Synchronization
import Testing

@testable import SyncAgent

/// Files that stay open for writing are told to others every minute, and nothing wakes up once they are closed.
struct OpenForWritingTests {
    private final class World: Sendable {
        let clock = ManualClock()
        let told = Mutex<[Set<String>]>([])
        let files: OpenForWriting

        init() {
            let clock = clock
            let box = Box()
            files = OpenForWriting(
                time: AgentTime(
                    clock: clock, monotonic: { clock.now.offset }, wall: { WallTime(seconds: 0) }, random: { 0 }),
                tell: { box.tell($0) })
            box.world.withLock { $0 = { [weak self] names in self?.told.withLock { $0.append(names) } } }
        }

        private final class Box: Sendable {
            let world = Mutex<(@Sendable (Set<String>) -> Void)?>(nil)
            func tell(_ names: Set<String>) { world.withLock { $0 }?(names) }
        }

        func asleep(_ count: Int) async {
            while !Task.isCancelled, clock.sleeperCount != count { await Task.yield() }
        }

        func pass(_ seconds: Int) async {
            await asleep(1)
            clock.advance(by: .seconds(seconds))
            await asleep(1)
        }

        func takeTold() -> [Set<String>] {
            told.withLock { told in
                defer { told = [] }
                return told
            }
        }
    }

    @Test(.timeLimit(.minutes(1))) func aFileThatIsOpenIsToldEveryMinute() async throws {
        let world = World()
        _ = try world.files.open("a")
        await world.pass(30)
        let other = try world.files.open("b")
        await world.pass(29)
        #expect(world.takeTold() == [])
        await world.pass(1)
        #expect(world.takeTold() == [["a"]])
        world.files.renamed(["b": "c"])
        await world.pass(30)
        #expect(world.takeTold() == [["c"]])
        #expect(world.files.close(other) == "c" && world.files.close(other) == nil)
        await world.pass(30)
        #expect(world.takeTold() == [["a"]])
    }

    @Test(.timeLimit(.minutes(1))) func nothingWaitsOnceAllAreClosed() async throws {
        let world = World()
        let handle = try world.files.open("a")
        await world.asleep(1)
        #expect(OpenForWriting.isHandle(handle) && !OpenForWriting.isHandle(1))
        #expect(world.files.close(handle) == "a")
        await world.asleep(0)
        #expect(world.files.handles == [])
        _ = try world.files.open("a")
        await world.pass(60)
        #expect(world.takeTold() == [["a"]])
    }
}
