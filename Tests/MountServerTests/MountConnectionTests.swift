import Glibc
import LocalSocket
import Logging
import MountProtocol
import Synchronization
import Testing

@testable import MountServer

@Suite struct MountConnectionTests {
    /// Opens what is asked for only once nobody waits for it any more.
    private final class LateSession: MountSession {
        static let handle: UInt64 = 7
        let closed: AsyncStream<UInt64>
        private let close: AsyncStream<UInt64>.Continuation

        init() { (closed, close) = AsyncStream.makeStream() }

        var access: MountAccess { .writable }

        func answerNow(_ request: MountRequest) -> MountReply? { nil }

        func answer(_ request: MountRequest) async -> MountReply {
            switch request {
            case .open:
                while !Task.isCancelled { await Task.yield() }
                return MountReply(.openedAbsent(handle: Self.handle))
            case .close(let handle):
                close.yield(handle)
                return MountReply(.done)
            default: return MountReply(.failed(.notSupported))
            }
        }

        func follow(_ send: @escaping @Sendable (MountAnswer) -> Void) async {}

        func end() async { close.finish() }
    }

    /// Answers at once whatever it is asked.
    private struct PromptSession: MountSession {
        var access: MountAccess { .writable }

        func answerNow(_ request: MountRequest) -> MountReply? { MountReply(.done) }

        func answer(_ request: MountRequest) async -> MountReply { MountReply(.done) }

        func follow(_ send: @escaping @Sendable (MountAnswer) -> Void) async {}

        func end() async {}
    }

    /// A thread of the mount would be woken for it.
    @Test(.timeLimit(.minutes(1))) func closingAFileHasNoAnswer() async throws {
        var ends: [CInt] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        let (socket, other) = (LocalSocket(owning: ends[0]), LocalSocket(owning: ends[1]))
        let connection = MountConnection(socket: socket, begin: { _ in PromptSession() }, logger: Logger(label: "test"))
        let (frames, say) = AsyncStream.makeStream(of: MountFrame.self)
        let running = Task { await connection.run(frames) }
        say.yield(MountRequest.hello(version: MountLimits.version, folder: "docs", MountOrigin()).frame(number: 0))
        var answers = FrameReading(other)
        let greeting = try await answers.next().number
        for (number, request) in [(1, MountRequest.close(handle: 7)), (2, .look(path: "a"))] as [(UInt64, MountRequest)]
        {
            guard case .now(let taken) = connection.take(request.frame(number: number)) else {
                Issue.record("the thread that took it answers it")
                return
            }
            connection.answer(taken)
        }
        let next = try await answers.next().number
        #expect([greeting, next] == [0, 2])
        say.finish()
        await running.value
    }

    /// Whatever the session has to do.
    @Test(.timeLimit(.minutes(1))) func aPingIsAnsweredBesideWhatWaits() async throws {
        var ends: [CInt] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        let (socket, other) = (LocalSocket(owning: ends[0]), LocalSocket(owning: ends[1]))
        try #require(socket.startSending("test-send"))
        let session = LateSession()
        let connection = MountConnection(socket: socket, begin: { _ in session }, logger: Logger(label: "test"))
        let (frames, say) = AsyncStream.makeStream(of: MountFrame.self)
        let running = Task { await connection.run(frames) }
        say.yield(MountRequest.hello(version: MountLimits.version, folder: "docs", MountOrigin()).frame(number: 0))
        say.yield(MountRequest.open(path: "a", version: 1, disk: 0, onlyHere: false, MountCaller()).frame(number: 1))
        say.yield(MountRequest.ping.frame(number: 2))
        var answers = FrameReading(other)
        let numbers = [try await answers.next().number, try await answers.next().number]
        #expect(numbers == [0, 2])
        say.finish()
        await running.value
    }

    /// A program that is killed while it opens a file leaves nothing open.
    @Test(.timeLimit(.minutes(1))) func whatIsOpenedForNobodyIsClosed() async throws {
        var ends: [CInt] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        defer { close(ends[1]) }
        let session = LateSession()
        let connection = MountConnection(
            socket: LocalSocket(owning: ends[0]), begin: { _ in session }, logger: Logger(label: "test"))
        let (frames, say) = AsyncStream.makeStream(of: MountFrame.self)
        let running = Task { await connection.run(frames) }
        say.yield(MountRequest.hello(version: MountLimits.version, folder: "docs", MountOrigin()).frame(number: 0))
        say.yield(MountRequest.open(path: "a", version: 1, disk: 0, onlyHere: false, MountCaller()).frame(number: 1))
        say.yield(MountRequest.cancel(number: 1).frame(number: 2))
        var closed = session.closed.makeAsyncIterator()
        #expect(await closed.next() == LateSession.handle)
        say.finish()
        await running.value
    }
    /// Who waits for other devices when the machine goes to sleep hears that none has it, also who asks meanwhile; all else goes on.
    @Test(.timeLimit(.minutes(1))) func nobodyWaitsWhileTheMachineSleeps() async throws {
        var ends: [CInt] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        let (socket, other) = (LocalSocket(owning: ends[0]), LocalSocket(owning: ends[1]))
        try #require(socket.startSending("test-send"))
        let session = WaitingSession()
        let connection = MountConnection(socket: socket, begin: { _ in session }, logger: Logger(label: "test"))
        let sleep = MountSleep()
        let number = sleep.add(connection)
        let (frames, say) = AsyncStream.makeStream(of: MountFrame.self)
        let running = Task { await connection.run(frames) }
        say.yield(MountRequest.hello(version: MountLimits.version, folder: "docs", MountOrigin()).frame(number: 0))
        say.yield(MountRequest.read(handle: 1, offset: 0, count: 1).frame(number: 1))
        var begun = session.begun.makeAsyncIterator()
        _ = await begun.next()
        await sleep.begin()
        // Everything up to here has been taken when the ping is answered.
        say.yield(MountRequest.read(handle: 1, offset: 0, count: 1).frame(number: 2))
        say.yield(MountRequest.space.frame(number: 3))
        say.yield(MountRequest.ping.frame(number: 4))
        var said = FrameReading(other)
        var answers: [UInt64: MountAnswer] = [:]
        while answers.count < 5 {
            let frame = try await said.next()
            answers[frame.number] = try MountAnswer(frame)
        }
        #expect(answers[1] == .failed(.noHolder) && answers[2] == .failed(.noHolder))
        #expect(answers[3] == .failed(.notSupported) && answers[4] == .done)
        sleep.end()
        say.yield(MountRequest.read(handle: 1, offset: 0, count: 1).frame(number: 5))
        #expect(await begun.next() != nil)
        sleep.remove(number)
        say.finish()
        await running.value
    }

    /// Reads wait until they are cancelled.
    private final class WaitingSession: MountSession {
        let begun: AsyncStream<Void>
        private let begin: AsyncStream<Void>.Continuation

        init() { (begun, begin) = AsyncStream.makeStream() }

        var access: MountAccess { .writable }

        func answerNow(_ request: MountRequest) -> MountReply? { nil }

        func answer(_ request: MountRequest) async -> MountReply {
            guard case .read = request else { return MountReply(.failed(.notSupported)) }
            begin.yield()
            let (never, end) = AsyncStream.makeStream(of: Void.self)
            for await _ in never {}
            withExtendedLifetime(end) {}
            return MountReply(.failed(.cancelled))
        }

        func follow(_ send: @escaping @Sendable (MountAnswer) -> Void) async {}

        func end() async {}
    }
}
