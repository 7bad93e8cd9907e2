import AgentConfiguration
import AgentContext
import AsyncTools
import BlockExchange
import SyncTestKit
import Synchronization
import Testing

@testable import SyncAgent

/// Changes of the configuration whose client hangs up.
@Suite(.timeLimit(.minutes(1))) struct ConfigurationChangesTests {
    private static let me = DeviceID(certificateDER: Array("me".utf8))
    private static let phone = DeviceID(certificateDER: Array("phone".utf8))

    /// What runs by the configuration: it is changed in two steps, and a test stands between them.
    private final class World: Sendable {
        let directory: TemporaryDirectory
        let file: ConfigurationFile
        let changes: ConfigurationChanges
        let running: RunningConfiguration
        let begun = Latch()
        let goOn = Latch()
        let applied: Applied

        final class Applied: Sendable {
            let devices = Mutex<[[String]]>([])
        }

        init() throws {
            directory = try TemporaryDirectory()
            let places = try AgentPlaces.resolve(home: "\(directory.path)/home", environment: [:])
            try places.createDirectories()
            let file = ConfigurationFile(places, hostName: "x")
            self.file = file
            let running = RunningConfiguration(try file.create(name: "x"), of: ConfigurationChangesTests.me)
            self.running = running
            let (begun, goOn, applied) = (begun, goOn, Applied())
            self.applied = applied
            changes = ConfigurationChanges(file: file, running: running) { new, _ in
                running.set(new)
                begun.open()
                await goOn.wait()
                // As each write of the index does.
                try Task.checkCancellation()
                applied.devices.withLock { $0.append(new.devices.map(\.name)) }
            }
        }
    }

    @Test func aChangeThatHasBegunIsMadeToItsEnd() async throws {
        let world = try World()
        let client = Task {
            try await world.changes.edit { _ in [.addDevice(DeviceConfiguration(id: Self.phone, name: "phone"))] }
        }
        await world.begun.wait()
        client.cancel()
        world.goOn.open()
        _ = await client.result
        #expect(world.applied.devices.withLock { $0 } == [["phone"]])
        // And the next one has its turn.
        try await world.changes.edit { _ in [.renameDevice(Self.phone, name: "tablet")] }
        #expect(world.applied.devices.withLock { $0 } == [["phone"], ["tablet"]])
    }

    /// A command that finds no agent edits the file itself, also while the agent starts.
    @Test func whatWasWrittenWhileTheAgentStartedIsApplied() async throws {
        let world = try World()
        world.goOn.open()
        try await world.changes.catchUp()
        #expect(world.applied.devices.withLock { $0 }.isEmpty)
        _ = try world.file.apply([.addDevice(DeviceConfiguration(id: Self.phone, name: "phone"))])
        try await world.changes.catchUp()
        try await world.changes.catchUp()
        #expect(world.applied.devices.withLock { $0 } == [["phone"]])
    }

    /// A pause whose end comes while a change gives it another end.
    @Test func aPauseThatIsExtendedGoesOn() async throws {
        let world = try World()
        world.goOn.open()
        try await world.changes.edit { _ in
            [
                .addDevice(DeviceConfiguration(id: Self.phone, isPaused: true, pausedUntil: 100)),
                .addFolder(FolderConfiguration(id: FolderID("f"), path: "/f")),
                .setFolderPaused(FolderID("f"), true, until: 100),
            ]
        }
        let ending = try await world.changes.inTurn { turn in
            let ending = Task { try await world.changes.endPauses(at: 100) }
            try await turn.edit([.setDevicePaused(Self.phone, true, until: 200)])
            return ending
        }
        try await ending.value
        let configuration = world.running.current
        #expect(configuration.devices.map(\.isPaused) == [true] && configuration.devices.map(\.pausedUntil) == [200])
        #expect(configuration.folders.map(\.isPaused) == [false])
    }

    @Test func whatGoesWrongIsStillReported() async throws {
        struct Full: Error {}
        await #expect(throws: Full.self) { try await uncancelled { throw Full() } }
        let client = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await uncancelled { Task.isCancelled }
        }
        #expect(try await client.value == false)
    }
}
