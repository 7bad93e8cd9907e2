import AgentConfiguration
import BlockExchange
import Foundation
import IndexStore
import LinkRules
import LinkSecurity
import Logging
import SyncTestKit
import Synchronization
import Testing
import Transport

@testable import AgentContext
@testable import AsyncTools
@testable import Fetching
@testable import FolderSync
@testable import PeerLinks
@testable import SessionTestKit

/// What the radio costs while paired devices are away: real sessions of devices, a model of the radio, and a clock that
/// jumps from one event to the next.
@Suite struct RadioAirtimeTests {
    private static let day: Duration = .seconds(24 * 60 * 60)

    /// A radio that counts how long it scans.
    private final class ModelRadio: Sendable {
        struct State {
            var scanned: Duration = .zero
            /// Since when each of the devices is near; the others are away.
            var near: [LinkAddress: Duration] = [:]
            var dials: [(address: LinkAddress, effort: RadioEffort, at: Duration)] = []
        }

        let clock: ManualClock
        let state = Mutex(State())

        init(clock: ManualClock) { self.clock = clock }

        private var now: Duration { clock.now.offset }

        func search(_ addresses: Set<LinkAddress>, _ limit: Duration) async -> RadioWatch.Findings {
            let start = now
            let end = state.withLock { state in
                addresses.compactMap { state.near[$0] }.map { max($0, start) }.filter { $0 < start + limit }.min()
            }
            try? await clock.sleep(for: (end ?? start + limit) - start)
            return state.withLock { [now] state in
                state.scanned += now - start
                return RadioWatch.Findings(
                    targets: addresses,
                    heard: addresses.filter { address in state.near[address].map { $0 <= now } == true })
            }
        }

        /// No dial gets a link, so that a device stays absent.
        func dial(_ address: LinkAddress, _ effort: RadioEffort) async throws -> SecureLink {
            state.withLock { [now] in $0.dials.append((address, effort, now)) }
            if effort == .searching {
                let (start, limit) = (now, LinkDialer.radioTimeout)
                while let stretch = DutyCycle.pairing.stretch(at: now - start, until: limit) {
                    try await clock.sleep(for: stretch.length)
                    if stretch.isScanning { state.withLock { $0.scanned += stretch.length } }
                }
            }
            throw LinkError(.unreachable, "\(address) is not in range", isTransient: true)
        }

        var scanned: Duration { state.withLock { $0.scanned } }
        var dials: [(address: LinkAddress, effort: RadioEffort, at: Duration)] { state.withLock { $0.dials } }
    }

    /// An agent's devices and its search for them.
    private final class Scene: Sendable {
        let clock = ManualClock()
        let radio: ModelRadio
        let devices = DeviceRegistry()
        let addresses: [LinkAddress]
        let settings: RadioWatch.Settings
        private let executor: SerialTaskExecutor
        private let home = FileManager.default.temporaryDirectory.appending(path: "radio-\(UUID().uuidString)").path
        private let sessions: [DeviceSession]

        private init(away count: Int, settings: RadioWatch.Settings, executor: SerialTaskExecutor) throws {
            self.settings = settings
            self.executor = executor
            try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
            let radio = ModelRadio(clock: clock)
            self.radio = radio
            let clock = clock
            let time = AgentTime(
                clock: clock, monotonic: { clock.now.offset }, wall: { WallTime(seconds: 0) }, random: { 0.5 })
            let index = try IndexStore.open(path: "\(home)/index.sqlite", blocksCaller: true)
            let events = EventHub(wall: { WallTime(seconds: 0) })
            let logger = Logger(label: "radio", factory: { _ in SwiftLogNoOpLogHandler() })
            let pending = PendingRegistry(
                index: index, ignored: { .init() }, events: events, time: time, logger: logger)
            let environment = LinkEnvironment(
                localDevice: DeviceID(certificateDER: [0]), deviceName: { "here" }, knownDevices: { [] },
                dial: { address, effort, _ in try await radio.dial(address, effort) }, found: { _, _ in [:] },
                foundPause: { _ in .seconds(3600) }, expect: { _ in }, dialPolicy: { DialPolicy() },
                networks: { MachineNetworks() },
                dialBudget: SharedDialBudget(),
                connections: { 1 },
                folders: FolderRegistry(pending: pending), linkChanged: { [devices] in devices.linkChanged() },
                index: index,
                transfers: TransferRegistry(now: time.monotonic), events: events, time: time,
                partials: PartialBlocks(), serveDrop: { _, _ in BlockAnswer(.noSuchFile) },
                slowLinkPolicy: { _, _ in nil },
                held: { HeldTransfers() }, limits: { _, _ in nil }, heard: { _, _, _ in }, distrust: { _, _ in },
                logger: logger)
            addresses = (1...count).map { LinkAddress.bluetooth("C0:FF:EE:00:00:0\($0)") }
            sessions = addresses.enumerated().map { number, address in
                DeviceSession(
                    DeviceConfiguration(
                        id: DeviceID(certificateDER: [UInt8(number + 1)]), name: "away",
                        addresses: ["dynamic", address.description]), lastSeen: nil, environment: environment)
            }
            for session in sessions { devices.insert(session) }
        }

        deinit { try? FileManager.default.removeItem(atPath: home) }

        /// Runs a test in which all is done by one thread, so that it is known when everybody sleeps.
        static func run(
            away count: Int, settings: RadioWatch.Settings = RadioWatch.Settings(cycle: .background),
            _ body: @escaping @Sendable (Scene) async throws -> Void
        ) async throws {
            try await SerialTaskExecutor.run { executor in
                try await body(Scene(away: count, settings: settings, executor: executor))
            }
        }

        /// Runs all until so much time has passed.
        func run(for duration: Duration) async throws {
            let clock = clock
            try await withThrowingTaskGroup(of: Void.self) { group in
                for session in sessions { group.addTask { await session.run() } }
                group.addTask { [self] in
                    await RadioWatch(
                        settings: { [settings] in settings },
                        candidates: { [devices] in
                            devices.all.compactMap { $0.radioCandidate(at: clock.now.offset) }
                        },
                        search: { [radio] in await radio.search($0, $1) },
                        found: { [devices] findings in
                            for device in devices.all { await device.wasSearchedFor(findings) }
                        }, changed: Signal(),
                        time: AgentTime(
                            clock: clock, monotonic: { clock.now.offset }, wall: { WallTime(seconds: 0) },
                            random: { 0.5 })
                    ).run()
                }
                while clock.now.offset < duration {
                    await executor.idle()
                    let next = try #require(clock.nextDeadline, "everybody waits, and nobody for time")
                    clock.advance(by: max(.zero, clock.now.duration(to: next)))
                }
                group.cancelAll()
            }
        }

        func seek() async { for session in sessions { #expect(await session.seek()) } }
    }

    @Test(arguments: [1, 3]) func aDayOfAbsence(_ count: Int) async throws {
        try await Scene.run(away: count) { scene in
            try await scene.run(for: Self.day)
            let share = scene.radio.scanned / Self.day
            print("\(count) absent: the radio scans \((share * 1000).rounded() / 10) % of a day")
            #expect(share <= 0.09)
            // It does search.
            #expect(share > 0.08)
            #expect(scene.radio.dials.count == 0)
            #expect(scene.devices.all.allSatisfy { $0.state.lastError?.english.contains("not in range") == true })
        }
    }

    @Test func aPersonWhoWaitsHasTheRadioSearchNearlyAllOfTheTime() async throws {
        try await Scene.run(away: 1, settings: RadioWatch.Settings()) { scene in
            await scene.seek()
            try await scene.run(for: .seconds(3600))
            // One dial of 45 s, and none once nobody waits any more.
            #expect(scene.radio.dials.map(\.effort) == [.searching])
            #expect(scene.radio.scanned == .seconds(41))
        }
    }

    @Test func withoutASearchInTheBackgroundThereIsNoScan() async throws {
        try await Scene.run(away: 1, settings: RadioWatch.Settings()) { scene in
            try await scene.run(for: .seconds(3600))
            #expect(scene.radio.scanned == .zero)
            #expect(scene.radio.dials.count == 0)
        }
    }

    /// At any time within the cycle; the device advertises, and the first scan that begins or is under way hears it.
    @Test(arguments: [0, 3, 4, 5, 6, 30, 59, 60]) func aDeviceThatComesNearIsConnected(_ second: Int) async throws {
        try await Scene.run(away: 2) { scene in
            let (arrival, cycle) = (Duration.seconds(600 + second), DutyCycle.background)
            scene.radio.state.withLock { $0.near[scene.addresses[0]] = arrival }
            try await scene.run(for: arrival + cycle.interval + .seconds(1))
            let first = try #require(scene.radio.dials.first)
            #expect(first.address == scene.addresses[0])
            #expect(first.effort == .connecting)
            #expect(first.at >= arrival)
            #expect(first.at <= arrival + cycle.interval - cycle.window)
            // The other one stays where it is.
            #expect(scene.radio.dials.allSatisfy { $0.address == scene.addresses[0] })
        }
    }
}
