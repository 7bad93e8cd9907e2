import BlockExchange
import ControlAPI
import Cryptography
import FileAccess
import Foundation
import GhostDrop
import Logging
import NIOCore
import NIOPosix
import SyncTestKit
import Synchronization
import Testing
import Transport
import TransportVirtual

@testable import FileDrop
@testable import PeerLinks

/// A sender and a receiver of GhostDrop's first version with a virtual radio between them, and directories of their own.
private final class DropLab: Sendable {
    let air: VirtualAir
    let from = TemporaryDirectory()
    let into = TemporaryDirectory()
    private let jobs = AsyncStream.makeStream(of: (@Sendable () async -> Void).self)

    private init(_ air: VirtualAir) { self.air = air }

    /// - Parameter speed: of the air, as a multiple of a real one's.
    static func run(
        speed: Double = 20, _ change: (inout RadioConditions) -> Void = { _ in },
        _ body: @Sendable @escaping (DropLab) async throws -> Void
    ) async throws {
        var conditions = RadioConditions()
        conditions.phy = .twoMegabit
        change(&conditions)
        let air = try await VirtualAir.open(
            at: "/tmp/drop-\(getpid())-\(UInt32.random(in: 0 ... .max))", conditions: conditions, speed: speed)
        let lab = DropLab(air)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { for await job in lab.jobs.stream { await job() } }
            group.addTask {
                defer { lab.jobs.continuation.finish() }
                try await body(lab)
            }
            try await group.waitForAll()
        }
        await air.close()
    }

    func environment(_ name: String) -> DropEnvironment {
        DropEnvironment(
            registry: DropRegistry(), devices: DeviceRegistry(), known: { [] },
            folderFile: { text in
                // `lab:NAME` is a file of the directory that is sent from.
                let name = String(text.dropFirst("lab:".count))
                let entry = Entry(
                    kind: .file, folder: "lab", path: name, size: 0, modified: nil, state: .present, selected: .explicit
                )
                return try FolderFile(entry, in: try RootDirectory(path: self.from.path), named: text)
            },
            transports: [VirtualTransport(air: air.path, name: name)], nearby: [],
            start: { self.jobs.continuation.yield($0) }, threads: .singleton,
            space: SpaceReservations(), time: .system,
            logger: Logger(label: "drop", factory: { _ in SwiftLogNoOpLogHandler() }))
    }
}

/// What a request told and how it ended.
private struct Course: Sendable {
    var notices: [DropNotice] = []
    var error: ControlError?

    func count(_ type: String) -> Int { notices.filter { $0.type == type }.count }
}

/// Runs one side of a transfer; the script answers what it is asked.
private func play(
    _ conversation: DropConversation, _ work: @escaping @Sendable () async throws -> Void,
    _ script: @Sendable (DropNotice) async throws -> DropAnswer.Action?
) async -> Course {
    var course = Course()
    do {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                defer { conversation.finish() }
                try await work()
            }
            for await notice in conversation.notices {
                course.notices.append(notice)
                guard let action = try await script(notice) else { continue }
                var code: String?
                if case .code(let shown, _) = notice { code = shown }
                try conversation.put(DropAnswer(session: conversation.number, action: action, code: code))
            }
            try await group.waitForAll()
        }
    } catch let error as ControlError {
        course.error = error
    } catch {
        course.error = ControlError(.interrupted, "\(error)")
    }
    return course
}

private let yes: @Sendable (DropNotice) async throws -> DropAnswer.Action? = { notice in
    switch notice {
    case .code: .confirm
    case .offer: .accept
    default: nil
    }
}

private struct Stop: Error {}

/// As `yes`, and stops when a transfer has failed.
private let yesUntilItFails: @Sendable (DropNotice) async throws -> DropAnswer.Action? = { notice in
    if case .failed = notice { throw Stop() }
    return try await yes(notice)
}

extension DropLab {
    func send(
        _ paths: [String], _ script: @Sendable (DropNotice) async throws -> DropAnswer.Action? = yes
    ) async -> Course {
        await send(DropSendRequest(files: paths, target: "virtual://two", seconds: 60)) { notice, _ in
            try await script(notice)
        }
    }

    /// Sends files that `client` has. It is asked for parts of them, and answers with bytes, or with why there are none.
    func send(
        _ files: [ProvidedFile], client: @Sendable (_ place: Int, Range<Int>) -> (bytes: [UInt8], DropPart.Problem?)
    ) async -> Course {
        await send(DropSendRequest(provided: files, target: "virtual://two", seconds: 60)) { notice, conversation in
            guard case .wanted(let place, let offset, let count) = notice else { return try await yes(notice) }
            let (bytes, problem) = client(place, Int(offset)..<Int(offset) + count)
            try conversation.put(
                DropPart(
                    session: conversation.number, place: place, offset: offset, bytes: bytes, problem: problem))
            return nil
        }
    }

    private func send(
        _ request: DropSendRequest,
        _ script: @Sendable (DropNotice, DropConversation) async throws -> DropAnswer.Action?
    ) async -> Course {
        let environment = environment("one")
        guard let conversation = try? environment.registry.begin() else { return Course() }
        defer { environment.registry.end(conversation) }
        let session = DropSendSession(request: request, conversation: conversation, environment: environment)
        return await play(conversation, { try await session.run() }) { try await script($0, conversation) }
    }

    /// Listens as an agent does, and receives.
    func receive(
        count: Int = 1,
        _ script: @Sendable (DropNotice) async throws -> DropAnswer.Action? = yes
    ) async throws -> Course {
        let environment = environment("two")
        let conversation = try environment.registry.begin()
        let session = try await DropReceiveSession(
            DropReceiveRequest(directory: into.path, count: count), listening: [],
            conversation: conversation, environment: environment)
        let listener = try await environment.transports[0].listen(on: .virtual("two")) { channel, _ in
            channel.close(promise: nil)
            return channel.eventLoop.makeSucceededVoidFuture()
        }
        let course = await play(conversation, { try await session.run() }, script)
        // An agent goes on listening, and what it has begun is over some time.
        await withCheckedContinuation { continuation in jobs.continuation.yield { continuation.resume() } }
        await listener.close()
        return course
    }

    func both(
        _ paths: [String], sending: @escaping @Sendable (DropNotice) async throws -> DropAnswer.Action? = yes,
        receiving: @escaping @Sendable (DropNotice) async throws -> DropAnswer.Action? = yes
    ) async throws -> (sent: Course, received: Course) {
        async let received = receive(count: paths.count, receiving)
        async let sent = send(paths, sending)
        return (await sent, try await received)
    }
}

@Suite(.timeLimit(.minutes(10))) struct DropTransferTests {
    private static func content(_ byteCount: Int, seed: UInt64 = 1) -> [UInt8] {
        var random = SeededGenerator(seed: seed)
        return random.bytes(byteCount)
    }

    @Test(arguments: [(false, 0.0), (false, 0.1), (true, 0.0), (true, 0.1)])
    func filesArrive(refusesChannels: Bool, loss: Double) async throws {
        try await DropLab.run {
            $0.refusesChannels = refusesChannels
            $0.loss = loss
        } _: { lab in
            let contents = [Self.content(30_000), [], Self.content(181)]
            let paths = contents.enumerated().map { lab.from.put("\($0).bin", $1) }
            let (sent, received) = try await lab.both(paths)
            #expect(sent.error == nil && received.error == nil)
            #expect(lab.into.files == ["0.bin": contents[0], "1.bin": contents[1], "2.bin": contents[2]])
            #expect(sent.notices.last == .done(files: 3, bytes: 30_181, failed: 0))
            let transports = Set(
                sent.notices.compactMap { if case .sent(_, _, let peer, _) = $0 { peer.transport } else { nil } })
            #expect(transports == [refusesChannels ? "gatt" : "l2cap"])
        }
    }

    /// Beneath the folder's directory, and nothing that a link in it leads to.
    @Test func aFileOfAFolderArrivesAndLinksOutOfItAreNotFollowed() async throws {
        try await DropLab.run { lab in
            let content = Self.content(3_000)
            _ = lab.from.put("a.txt", content)
            let (sent, received) = try await lab.both(["lab:a.txt"])
            #expect(sent.error == nil && received.error == nil)
            #expect(lab.into.files == ["a.txt": content])
            let elsewhere = TemporaryDirectory()
            _ = elsewhere.put("secret", [1])
            try FileManager.default.createSymbolicLink(
                atPath: lab.from.path + "/out", withDestinationPath: elsewhere.path)
            let refused = await lab.send(["lab:out/secret"])
            #expect(refused.error != nil && refused.count("preparing") == 0)
        }
    }

    /// Files that nobody has put on a disk here: a short one, an empty one, and one of several parts and an odd end.
    @Test func whatTheClientReadsArrives() async throws {
        try await DropLab.run { lab in
            let contents = [Self.content(181), [], Self.content(2 * DropPart.longest + 4_321, seed: 7)]
            let files = contents.enumerated().map { ProvidedFile(name: "\($0).bin", size: Int64($1.count)) }
            let asked = Mutex<[Int: Int]>([:])
            async let received = lab.receive(count: 3)
            let sent = await lab.send(files) { place, range in
                asked.withLock { $0[place, default: 0] += range.count }
                return (Array(contents[place][range]), nil)
            }
            #expect(sent.error == nil)
            let there = try await received
            #expect(there.error == nil)
            #expect(lab.into.files == ["0.bin": contents[0], "1.bin": contents[1], "2.bin": contents[2]])
            #expect(sent.notices.first == .sending(session: 1, files: files.map(\.name)))
            // What was read for the digest is there when it is sent.
            #expect(asked.withLock { $0 } == [0: 181, 2: contents[2].count])
        }
    }

    /// The other files are sent, and both users read what happened to this one.
    @Test(arguments: [DropPart.Problem.changed, .unreadable])
    func aFileThatTheClientCannotReadIsNotSent(_ problem: DropPart.Problem) async throws {
        try await DropLab.run { lab in
            let content = Self.content(500)
            let files = ["gone", "there"].map { ProvidedFile(name: $0, size: Int64(content.count)) }
            async let received = lab.receive()
            let sent = await lab.send(files) { place, range in
                place == 0 ? ([], problem) : (Array(content[range]), nil)
            }
            #expect(sent.error?.code == .someFailed)
            let failures = sent.notices.compactMap {
                if case .failed(let file, let error) = $0 { (file, error) } else { nil }
            }
            #expect(failures.map(\.0) == ["gone"] && failures.first?.1.code == .dropFailed)
            #expect(failures.first?.1.message.contains(problem == .changed ? "it changed" : "cannot be read") == true)
            let there = try await received
            #expect(there.error == nil)
            #expect(lab.into.files == ["there": content])
        }
    }

    /// The file goes while it is sent, long after the whole of it was read for the digest.
    @Test func aFileThatGoesWhileItIsSentEndsIt() async throws {
        try await DropLab.run { lab in
            // More than is kept of what was read.
            let content = Self.content(12 * DropPart.longest)
            let reads = Mutex(0)
            async let received = lab.receive(yesUntilItFails)
            let sent = await lab.send([ProvidedFile(name: "a", size: Int64(content.count))]) { _, range in
                let isGone = reads.withLock { reads in
                    reads += 1
                    return reads > 13
                }
                return isGone ? ([], .unreadable) : (Array(content[range]), nil)
            }
            #expect(sent.error?.code == .dropFailed)
            #expect(sent.error?.message.contains("cannot be read any more") == true)
            let there = try await received
            #expect(there.count("failed") == 1)
            #expect(lab.into.files["a"] == nil)
        }
    }

    /// Hosts that drop and turn round values, once the two have greeted: v1 greets once, and has no words for that.
    @Test func valuesThatGetLostAreSentAgain() async throws {
        try await DropLab.run {
            $0.refusesChannels = true
        } _: { lab in
            let content = Self.content(20_000)
            let (sent, received) = try await lab.both(
                [lab.from.put("a", content)],
                receiving: { notice in
                    if case .offer = notice {
                        try await lab.air.change { conditions in
                            conditions.datagramLoss = 0.05
                            conditions.datagramReordering = 0.1
                        }
                    }
                    return try await yes(notice)
                })
            #expect(sent.error == nil && received.error == nil)
            #expect(lab.into.files == ["a": content])
        }
    }

    @Test(arguments: [false, true]) func aLostLinkIsGoneOnWith(refusesChannels: Bool) async throws {
        try await DropLab.run {
            $0.refusesChannels = refusesChannels
            $0.breakAfter = refusesChannels ? 90_000 : 60_000
        } _: { lab in
            let content = Self.content(60_000)
            let (sent, received) = try await lab.both([lab.from.put("a", content)])
            #expect(sent.error == nil && received.error == nil)
            #expect(lab.into.files == ["a": content])
            let statistics = try await lab.air.statistics()
            #expect(statistics.lostConnections == 1)
            #expect(sent.count("retrying") == 1 && sent.count("code") == 2)
            // It was asked about once: it is the same file.
            #expect(received.count("offer") == 1 && received.count("failed") == 1)
        }
    }

    /// Whoever stops in the middle: the other is told, and what has come stays for another attempt.
    @Test(arguments: [true, false]) func eitherMayStopInTheMiddle(isSender: Bool) async throws {
        try await DropLab.run(speed: 2) { lab in
            let content = Self.content(200_000)
            let path = lab.from.put("a", content)
            let stopping: @Sendable (DropNotice) async throws -> DropAnswer.Action? = { notice in
                if case .progress(_, _, _, let done, _) = notice, done > 20_000 { throw Stop() }
                return try await yes(notice)
            }
            let (sent, received) = try await lab.both(
                [path], sending: isSender ? stopping : yes, receiving: isSender ? yesUntilItFails : stopping)
            if isSender {
                #expect(received.count("failed") == 1)
            } else {
                #expect(sent.error?.code == .dropRefused)
            }
            #expect(lab.into.files.keys.allSatisfy { $0.hasPrefix(".syncthing.drop-") })
            let (again, rest) = try await lab.both([path])
            #expect(again.error == nil && rest.error == nil)
            #expect(lab.into.files == ["a": content])
            if case .offer(_, _, _, let present, _)? = rest.notices.first(where: { $0.type == "offer" }) {
                #expect(present >= 10_000)
            } else {
                Issue.record("nothing was offered")
            }
        }
    }

    @Test(arguments: ["sender's digits", "receiver's digits", "file"]) func aNoIsANo(_ what: String) async throws {
        try await DropLab.run { lab in
            let path = lab.from.put("a", Self.content(5_000))
            let (sent, received) = try await lab.both(
                [path],
                sending: { notice in
                    if case .code = notice, what == "sender's digits" { return .refuse }
                    return try await yes(notice)
                },
                receiving: { notice in
                    switch notice {
                    case .code where what == "receiver's digits": return .refuse
                    case .offer where what == "file": return .decline
                    default: return try await yesUntilItFails(notice)
                    }
                })
            #expect(sent.error?.code == (what == "sender's digits" ? .confirmationNeeded : .dropRefused))
            #expect(received.count("failed") == 1)
            #expect(received.count("offer") == (what == "file" ? 1 : 0))
            #expect(lab.into.files.isEmpty)
        }
    }

    @Test func aFileThatIsCutShortWhileItIsSentEndsIt() async throws {
        try await DropLab.run { lab in
            let path = lab.from.put("a", Self.content(200_000))
            let (sent, received) = try await lab.both(
                [path],
                sending: { notice in
                    if case .code = notice {
                        try FileHandle(forWritingTo: URL(fileURLWithPath: path)).truncate(atOffset: 9_000)
                    }
                    return try await yes(notice)
                }, receiving: yesUntilItFails)
            #expect(sent.error?.code == .dropFailed)
            #expect(received.count("failed") == 1)
            #expect(lab.into.files["a"] == nil)
        }
    }

    @Test func aDiskThatFillsUpEndsItWithTheReason() async throws {
        try await DropLab.run { lab in
            let path = lab.from.put("a", Self.content(100_000))
            let environment = lab.environment("two")
            let conversation = try environment.registry.begin()
            let root = try RootDirectory(path: lab.into.path, interposer: FullAfter(40_000))
            let links = AsyncStream.makeStream(of: LegacyLink.self)
            environment.transports[0].legacyDoor.open { channel, information in
                LegacyLink.install(channel, information, wake: conversation.wake).map { link in
                    links.continuation.yield(link)
                }
            }
            let listener = try await environment.transports[0].listen(on: .virtual("two")) { channel, _ in
                channel.eventLoop.makeSucceededVoidFuture()
            }
            async let sent = lab.send([path])
            let received = await play(
                conversation,
                {
                    for await link in links.stream {
                        _ = try await LegacyReceiver(
                            link: link, directory: root, peer: environment.peer(of: link), wasAccepted: { _ in false },
                            accepted: { _ in }, conversation: conversation, environment: environment
                        ).run()
                    }
                }, yes)
            #expect(received.error?.code == .noSpace && received.error?.path == "a")
            #expect(await sent.error?.code == .noSpace)
            #expect(lab.into.files.keys.allSatisfy { $0.hasPrefix(".syncthing.drop-") } && lab.into.files.count == 1)
            await listener.close()
        }
    }

    private final class FullAfter: DiskInterposer {
        private let left: Mutex<Int>

        init(_ byteCount: Int) { left = Mutex(byteCount) }

        func verdict(on change: DiskChange) -> DiskVerdict {
            guard case .write(_, _, let count) = change else { return .proceed }
            return left.withLock { left in
                left -= count
                return left < 0 ? .fail(ENOSPC) : .proceed
            }
        }
    }

    /// While nobody receives, what begins as v1 gets no answer.
    @Test(arguments: [false, true]) func withTheDoorClosedALinkIsEnded(refusesChannels: Bool) async throws {
        try await DropLab.run {
            $0.refusesChannels = refusesChannels
        } _: { lab in
            let transport = lab.environment("two").transports[0]
            let listener = try await transport.listen(on: .virtual("two")) { channel, _ in
                // As TLS does with what is none.
                channel.close(promise: nil)
                return channel.eventLoop.makeSucceededVoidFuture()
            }
            let sent = await lab.send([lab.from.put("a", [1])])
            #expect(sent.error?.code == .dropRefused && sent.count("code") == 0)
            await listener.close()
        }
    }
}
