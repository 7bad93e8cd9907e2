import AgentConfiguration
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

    private var environment: DropEnvironment { environment(known: []) }

    private func environment(known: [DeviceConfiguration]) -> DropEnvironment {
        let clock = clock
        return DropEnvironment(
            registry: DropRegistry(), devices: DeviceRegistry(), known: { known },
            folderFile: { throw ControlError(.noSuchPath, "\($0)") }, transports: [], nearby: [], start: { _ in },
            threads: .singleton, space: SpaceReservations(),
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

    /// A file of 10 bytes, of which fewer can be read or none.
    private struct DamagedSource: DropSource {
        var name: String { "a.txt" }
        var size: Int64 { 10 }
        let result: Result<[UInt8], any Error>

        func digest() async throws -> SHA256Digest { SHA256.digest([1]) }

        func read(_ range: Range<Int64>) async throws -> [UInt8] { try result.get() }
    }

    private func drop(_ result: Result<[UInt8], any Error>) -> OutgoingDrop {
        OutgoingDrop(
            DamagedSource(result: result), digest: SHA256.digest([1]), to: Self.device, linkLimit: .seconds(10),
            conversation: conversation, environment: environment)
    }

    /// The receiver asks for all bytes, and says that it has failed when it does not get them.
    private func ask(_ drop: OutgoingDrop) async {
        let data = DeviceDropMessage(.data, drop.id)
        let answer = await drop.serve(data, data.request(offset: 0, size: 10))
        #expect(answer.code == .noSuchFile)
        let end = DeviceDropMessage(.end, drop.id, end: .failed)
        _ = await drop.serve(end, end.request())
    }

    @Test(
        arguments: [
            (.failure(FileAccessError(.io, .read, path: "a.txt")), .failed),
            (.failure(ControlError(.timeout, "Slow.")), .timeout), (.success([1, 2, 3]), .digestDiffers),
        ] as [(Result<[UInt8], any Error>, ControlError.Code)])
    func theSenderReadsWhyItsOwnFileCannotBeRead(
        _ result: Result<[UInt8], any Error>, _ code: ControlError.Code
    ) async throws {
        let drop = drop(result)
        await ask(drop)
        let error = await #expect(throws: ControlError.self) { try await drop.run() }
        #expect(error?.code == code && error?.message.contains("other device") == false)
    }

    /// The cause is the true one: on the other device is no message of any of these.
    @Test(
        arguments: [(.stopped, .dropRefused, "stopped receiving"), (.unanswered, .timeout, "Nobody accepted")]
            as [(DeviceDropMessage.End, ControlError.Code, String)])
    func theSenderReadsWhyNothingWasTaken(
        _ end: DeviceDropMessage.End, _ code: ControlError.Code, _ words: String
    ) async throws {
        let drop = drop(.success([]))
        let message = DeviceDropMessage(.end, drop.id, end: end)
        _ = await drop.serve(message, message.request())
        let error = await #expect(throws: ControlError.self) { try await drop.run() }
        #expect(error?.code == code && error?.message.contains(words) == true && error?.isRetryable == true)
    }

    /// Older devices know fewer words; for those, each of the others has one that they know.
    @Test func endsHaveAWordThatAllKnow() {
        let known: Set<DeviceDropMessage.End> = [.done, .declined, .noSpace, .digestDiffers, .failed]
        for end in DeviceDropMessage.End.allCases { #expect(known.contains(end.older ?? end)) }
    }

    @Test(arguments: [(0, nil, "no file"), (0, 3, "no file"), (2, 3, "2 of 3 files")] as [(Int64, Int?, String)])
    func aReceiverReadsHowManyFilesHaveCome(_ received: Int64, _ count: Int?, _ words: String) {
        let error = DropReceiveSession.timeout(received: received, of: count)
        #expect(error.code == .timeout && error.message.contains(words))
    }

    private func incoming(_ id: UniqueID, _ environment: DropEnvironment) throws -> IncomingDrop {
        IncomingDrop(
            id: id, device: Self.device, directory: try RootDirectory(path: directory.path), cancellation: .init(),
            wasAccepted: { _ in false }, accepted: { _ in }, conversation: conversation, environment: environment)
    }

    /// No link to it comes.
    @Test func aDeviceThatIsPausedHereIsNotWaitedFor() async throws {
        let environment = environment(known: [DeviceConfiguration(id: Self.device, name: "nas", isPaused: true)])
        let outgoing = OutgoingDrop(
            DamagedSource(result: .success([])), digest: SHA256.digest([1]), to: Self.device, linkLimit: .seconds(10),
            conversation: conversation, environment: environment)
        let incoming = try incoming(number(), environment)
        let sending = await #expect(throws: ControlError.self) { try await outgoing.run() }
        let receiving = await #expect(throws: ControlError.self) { try await incoming.run() }
        for error in [sending, receiving] {
            #expect(error?.message.contains("synctrain resume --device nas") == true)
        }
    }

    /// A device that turns this one away is not brought closer in vain.
    @Test(arguments: [nil, .given, .needed] as [DeviceStatus.Acceptance?])
    func whoTurnsThisDeviceAwayIsNotTooFar(_ acceptance: DeviceStatus.Acceptance?) {
        var state = DeviceSession.Snapshot(DeviceConfiguration(id: Self.device, name: "nas"))
        (state.acceptance, state.lastError) = (acceptance, "it has not accepted this device yet")
        let peer = DropPeer(device: Self.device.description, name: "nas", address: "", transport: "")
        let message = OutgoingDrop.unreachable(peer, state).message
        #expect(message.contains("not accepted") == (acceptance == .needed), "\(message)")
        #expect(message.contains("closer") == (acceptance != .needed), "\(message)")
    }

    /// A sender offers over its next link what has ended here, until it is told so: nobody is asked about it a second time.
    @Test func whatHasEndedIsNotTakenAgain() async throws {
        let (id, environment) = (number(), environment)
        let incoming = try incoming(id, environment)
        let running = Task { _ = await #expect(throws: ControlError.self) { try await incoming.run() } }
        // As often as a link is looked for.
        for _ in 0..<600 { await clock.advance(whenAsleep: 1) }
        await running.value
        let session = try await DropReceiveSession(
            DropReceiveRequest(directory: directory.path), listening: [], conversation: conversation,
            environment: environment)
        func answer(_ id: UniqueID, to device: DeviceID = Self.device) async -> ResponseCode {
            await environment.registry.serve(DeviceDropMessage(.offer, id).request(), from: device).code
        }
        #expect(await answer(id) == .ok, "it is going to be told")
        #expect(await answer(id, to: DeviceID(digest: SHA256.digest([2]))) == .noSuchFile)
        #expect(await answer(number()) == .noSuchFile)
        #expect(environment.registry.receive(session))
        // A receiver that takes no more is not asked.
        while session.offered(number(), by: Self.device) {}
        #expect(await answer(id) == .ok)
        environment.registry.told(id)
        #expect(await answer(id) == .noSuchFile)
    }

    @Test func anOfferThatNobodyAnswersSaysSo() async throws {
        let incoming = try incoming(number(), environment)
        let asking = Task {
            var end = DeviceDropMessage.End.failed
            let offer = DropOffer(name: "a.txt", size: 1, digest: SHA256.digest([1]), device: nil)
            await #expect(throws: ControlError.self) { try await incoming.isWanted(offer, present: 0, &end) }
            return end
        }
        await clock.advance(whenAsleep: 1)
        #expect(await asking.value == .unanswered)
    }

    /// The link that asked is gone: what it asked for is asked for over the next one.
    @Test func aReadThatIsCancelledEndsNothing() async throws {
        let drop = drop(.failure(CancellationError()))
        await ask(drop)
        let error = await #expect(throws: ControlError.self) { try await drop.run() }
        #expect(error?.message.contains("other device") == true, "as it said itself")
    }
}
