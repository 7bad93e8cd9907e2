import AgentConfiguration
import AgentContext
import AsyncTools
import BlockExchange
import Logging
import SyncTestKit
import Synchronization
import Testing

@testable import SyncAgent

/// A pause that has an end ends by the wall clock, whatever becomes of that clock.
struct PauseEnderTests {
    /// A folder `f` that is paused until the wall clock says 3,700 seconds, and whether that was ended.
    private final class World: Sendable {
        let clock = ManualClock()
        let changed = Signal()
        let ended = Signal()
        private let wall = Mutex<Int64>(100)
        private let isPaused = Mutex(true)

        var isOver: Bool { isPaused.withLock { !$0 } }

        func setWall(_ seconds: Int64) { wall.withLock { $0 = seconds } }

        var ender: PauseEnder {
            PauseEnder(
                configuration: { [self] in
                    Configuration(
                        name: "x",
                        folders: [
                            FolderConfiguration(
                                id: FolderID("f"), path: "/f", isPaused: !isOver, pausedUntil: isOver ? nil : 3700)
                        ])
                },
                end: { [self] now in
                    if now >= 3700 { isPaused.withLock { $0 = false } }
                    ended.notify()
                }, changed: changed,
                time: AgentTime(
                    clock: clock, monotonic: { .zero }, wall: { [self] in WallTime(seconds: wall.withLock { $0 }) },
                    random: { 0 }), logger: Logger(label: "test"))
        }
    }

    @Test func aJumpOfTheClockEndsThePauseWithinHalfAMinute() async {
        let world = World()
        let run = Task { await world.ender.run() }
        defer { run.cancel() }
        await world.clock.advance(whenAsleep: 1)
        #expect(!world.isOver)
        #expect(world.clock.now.offset == .seconds(30))
        while !Task.isCancelled, world.clock.sleeperCount == 0 { await Task.yield() }
        world.setWall(3700)
        world.clock.advance(by: .seconds(30))
        await world.ended.wait()
        #expect(world.isOver)
    }

    @Test func theLastRestIsNotLongerThanThePause() async {
        let world = World()
        world.setWall(3695)
        let run = Task { await world.ender.run() }
        defer { run.cancel() }
        await world.clock.advance(whenAsleep: 1)
        #expect(world.clock.now.offset == .seconds(5))
    }
}
