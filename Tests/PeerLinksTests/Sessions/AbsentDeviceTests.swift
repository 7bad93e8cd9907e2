import AgentConfiguration
import BlockExchange
import Foundation
import LinkRules
import SyncTestKit
import Synchronization
import Testing

@testable import AgentContext
@testable import PeerLinks
@testable import SessionTestKit

/// A device that nobody finds.
@Suite(.timeLimit(.minutes(1))) struct AbsentDeviceTests {
    /// Times at which a device was looked for within an hour, and how the clock stood then.
    private func searches(
        of device: DeviceConfiguration, pause: Duration, hearingAt moment: Duration? = nil
    ) async throws -> [Duration] {
        let home = FileManager.default.temporaryDirectory.appending(path: "absent-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: home) }
        let agent = try await SessionAgent(
            DeviceID(certificateDER: Array("me".utf8)), home: home, peers: [], clock: ManualClock())
        let clock = ManualClock()
        let searches = Mutex<[Duration]>([])
        var environment = agent.environment
        environment.time = AgentTime(
            clock: clock, monotonic: { clock.now.offset }, wall: { WallTime(seconds: 1_800_000_000) }, random: { 0.5 })
        environment.found = { _, isSought in
            if isSought { searches.withLock { $0.append(clock.now.offset) } }
            return [:]
        }
        environment.foundPause = { _ in pause }
        let session = DeviceSession(device, lastSeen: nil, environment: environment)
        let running = Task { await session.run() }
        var hasHeard = false
        while clock.now.offset < .seconds(3600) {
            await clock.advance(whenAsleep: 1)
            guard let moment, clock.now.offset >= moment, !hasHeard else { continue }
            hasHeard = true
            // What it does at this time by itself is done, and the clock stands until it has looked again.
            while !Task.isCancelled, clock.sleeperCount == 0 { await Task.yield() }
            let count = searches.withLock(\.count)
            await session.dialNow()
            while !Task.isCancelled, searches.withLock(\.count) == count { await Task.yield() }
        }
        running.cancel()
        await running.value
        try await agent.stop()
        return searches.withLock { $0 }
    }

    private let device = DeviceConfiguration(id: DeviceID(certificateDER: Array("absent".utf8)))

    /// Each wake-up costs a laptop's battery: nothing is asked before the servers want to be.
    @Test func isLookedForAsSeldomAsServersWant() async throws {
        #expect(try await searches(of: device, pause: .seconds(1800)).count <= 4)
        #expect(try await searches(of: device, pause: .seconds(60)).count <= 64)
    }

    @Test func isLookedForAtOnceWhenSomebodyHearsOfIt() async throws {
        let searches = try await searches(of: device, pause: .seconds(600), hearingAt: .seconds(1200))
        #expect(searches.count { $0 == .seconds(1200) } >= 2)
    }

    @Test func aPausedOneIsNotLookedFor() async throws {
        var paused = device
        paused.isPaused = true
        #expect(try await searches(of: paused, pause: .seconds(60)).isEmpty)
    }
}
