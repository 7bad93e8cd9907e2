import BlockExchange
import ControlAPI
import Cryptography
import FileAccess
import GhostDrop
import Logging
import SyncTestKit
import Testing

@testable import AgentContext
@testable import FileDrop
@testable import PeerLinks
@testable import SyncDecisions

/// What transfers between paired devices do while no link is there.
@Suite(.timeLimit(.minutes(1))) struct DeviceDropTests {
    private static let device = DeviceID(digest: SHA256.digest([1]))

    private let clock = ManualClock()
    private let directory = TemporaryDirectory()
    private let conversation = DropConversation(number: 1)

    private var environment: DropEnvironment {
        let clock = clock
        return DropEnvironment(
            registry: DropRegistry(), devices: DeviceRegistry(), known: { [] },
            folderFile: { throw ControlError(.noSuchPath, "\($0)") }, transports: [], nearby: [], start: { _ in },
            threads: .singleton,
            time: AgentTime(
                clock: clock, monotonic: { clock.now.offset }, wall: { WallTime(seconds: 0) }, random: { 0 }),
            logger: Logger(label: "drop", factory: { _ in SwiftLogNoOpLogHandler() }))
    }

    private func number() -> UniqueID {
        var random = SystemRandomNumberGenerator()
        return UniqueID(using: &random)
    }

    @Test func offersThatAreCancelledWhileTheyWaitAreForgotten() async throws {
        let session = try await DropReceiveSession(
            DropReceiveRequest(directory: directory.path), listening: [], conversation: conversation,
            environment: environment)
        while true {
            let id = number()
            guard session.offered(id, by: Self.device) else { break }
            session.cancelled(id, by: Self.device)
        }
        let running = Task { try await session.run() }
        defer { running.cancel() }
        while !session.offered(number(), by: Self.device) { await Task.yield() }
    }
}
