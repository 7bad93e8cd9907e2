import AgentConfiguration
import AgentContext
import AsyncTools
import BlockExchange
import IndexStore
import Logging
import SyncTestKit
import Synchronization
import Testing

@testable import SyncAgent

@Suite(.timeLimit(.minutes(1))) struct AdminFollowerTests {
    private static let me = DeviceID(certificateDER: Array("me".utf8))
    private static let nas = DeviceID(certificateDER: Array("nas".utf8))
    private static let phone = DeviceID(certificateDER: Array("phone".utf8))

    /// An agent's parts that write into its configuration, and the quotas that devices are over.
    private final class World: Sendable {
        let directory: TemporaryDirectory
        let running: RunningConfiguration
        let inbox: IntroductionInbox
        let clock = ManualClock()
        let applied = Signal()
        let asked = Signal()
        let exceeded = Mutex<[DeviceID: DeviceQuota]>([:])
        private let changes: ConfigurationChanges
        private let index: IndexStore
        private let places: AgentPlaces

        init() throws {
            directory = try TemporaryDirectory()
            places = try AgentPlaces.resolve(home: "\(directory.path)/home", environment: [:])
            try places.createDirectories()
            index = try IndexStore.open(path: places.index)
            let file = ConfigurationFile(places, hostName: "x")
            let configuration = try file.create(
                edits: [AdminFollowerTests.nas, AdminFollowerTests.phone].map {
                    .addDevice(DeviceConfiguration(id: $0))
                })
            let (running, applied) = (RunningConfiguration(configuration, of: AdminFollowerTests.me), applied)
            self.running = running
            inbox = IntroductionInbox(running)
            changes = ConfigurationChanges(file: file, running: running) { new, _ in
                running.set(new)
                applied.notify()
            }
        }

        var follower: AdminFollower {
            AdminFollower(
                inbox: inbox, localDevice: AdminFollowerTests.me, changes: changes, index: index, places: places,
                exceededQuota: { [self] device in
                    defer { asked.notify() }
                    return exceeded.withLock { $0[device] }
                },
                time: AgentTime(
                    clock: clock, monotonic: { .zero }, wall: { WallTime(seconds: 0) }, random: { 0 }),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        }

        func pause(_ device: DeviceID, over quota: DeviceQuota) {
            exceeded.withLock { $0[device] = quota }
            inbox.putPause(device, over: quota)
        }

        /// Nothing can be written into it then.
        ///
        /// - Returns: what the file had.
        func breakConfiguration() throws -> String {
            let good = try directory.text("home/config.toml")
            try directory.write(good + "\nbogus = 1\n", to: "home/config.toml")
            return good
        }

        func waitForSleep() async {
            while !Task.isCancelled, clock.sleeperCount == 0 { await Task.yield() }
        }
    }

    /// Until it is written nobody can resume the device.
    @Test func aPauseThatCannotBeWrittenIsTriedAgain() async throws {
        let world = try World()
        let good = try world.breakConfiguration()
        let follower = world.follower
        let run = Task { await follower.run() }
        defer { run.cancel() }
        world.pause(Self.nas, over: .offers)
        await world.waitForSleep()
        world.clock.advance(by: .seconds(60))
        await world.waitForSleep()
        #expect(world.running.current.devices.map(\.isPaused) == [false, false])
        try world.directory.write(good, to: "home/config.toml")
        world.clock.advance(by: .seconds(60))
        await world.applied.wait()
        #expect(world.running.current.devices.map(\.exceededQuota) == [.offers, nil])
    }

    @Test func onlyWhatStillHoldsIsTriedAgain() async throws {
        let world = try World()
        let good = try world.breakConfiguration()
        let follower = world.follower
        let run = Task { await follower.run() }
        defer { run.cancel() }
        world.pause(Self.nas, over: .offers)
        await world.asked.wait()
        await world.waitForSleep()
        try world.directory.write(good, to: "home/config.toml")
        world.exceeded.withLock { $0 = [:] }
        world.clock.advance(by: .seconds(60))
        await world.asked.wait()
        world.pause(Self.phone, over: .names)
        await world.applied.wait()
        #expect(world.running.current.devices.map(\.exceededQuota) == [nil, .names])
    }
}
