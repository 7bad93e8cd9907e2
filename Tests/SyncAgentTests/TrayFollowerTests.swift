import AgentContext
import AsyncTools
import ControlAPI
import SyncDecisions
import SyncTestKit
import Synchronization
import Testing

@testable import SyncAgent

struct TrayFollowerTests {
    /// A desktop, and an agent whose status counts how often it was asked.
    private final class World: TrayBoard {
        private struct State {
            var isAsked = true
            var isEnabled = true
            var pending = 0
            var shown: [Int64] = []
            var isHidden = false
        }

        let clock = ManualClock()
        let events = EventHub(wall: { WallTime(seconds: 0) })
        let done = Signal()
        let changes: AsyncStream<Void>
        private let changed: AsyncStream<Void>.Continuation
        private let state = Mutex(State())

        init() { (changes, changed) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

        var isAsked: Bool { state.withLock { $0.isAsked } }
        /// How many things waited for a person, each time that something was shown.
        var shown: [Int64] { state.withLock { $0.shown } }
        var isHidden: Bool { state.withLock { $0.isHidden } }

        func set(isAsked: Bool) {
            state.withLock { $0.isAsked = isAsked }
            changed.yield()
        }

        func set(isEnabled: Bool) {
            state.withLock { $0.isEnabled = isEnabled }
            events.post("configuration-changed")
        }

        func happen(pending: Int) {
            state.withLock { $0.pending = pending }
            events.post("device-pending")
        }

        func show(_ view: TrayView) async {
            state.withLock { $0.shown.append(view.attention) }
            done.notify()
        }

        func hide() async {
            state.withLock { $0.isHidden = true }
            done.notify()
        }

        var follower: TrayFollower {
            TrayFollower(
                board: self, isEnabled: { self.state.withLock { $0.isEnabled } },
                status: {
                    AgentStatus(
                        device: "X", name: "x", version: "1", startedAt: "", listening: [], folders: [], devices: [],
                        transfers: [], pending: self.state.withLock { $0.pending })
                }, events: events,
                time: AgentTime(
                    clock: clock, monotonic: { [clock] in clock.now.offset }, wall: { WallTime(seconds: 0) },
                    random: { 0 }))
        }
    }

    @Test func manyEventsAreOneLook() async {
        let world = World()
        let run = Task { await world.follower.run() }
        defer { run.cancel() }
        await world.done.wait()
        for pending in 1...100 { world.happen(pending: pending) }
        #expect(world.shown == [0])
        await world.clock.advance(whenAsleep: 1)
        await world.done.wait()
        #expect(world.shown == [0, 100])
        #expect(world.clock.now.offset == .seconds(1))
    }

    @Test func nobodyIsShownAnythingWithoutADesktop() async {
        let world = World()
        world.set(isAsked: false)
        let run = Task { await world.follower.run() }
        defer { run.cancel() }
        world.happen(pending: 3)
        world.set(isAsked: true)
        await world.done.wait()
        #expect(world.shown == [3])
    }

    @Test func theSettingTakesTheIconAway() async {
        let world = World()
        let run = Task { await world.follower.run() }
        defer { run.cancel() }
        await world.done.wait()
        world.set(isEnabled: false)
        await world.clock.advance(whenAsleep: 1)
        await world.done.wait()
        #expect(world.isHidden)
        #expect(world.shown.count == 1)
    }
}
