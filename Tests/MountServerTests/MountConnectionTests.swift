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
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 16)
        defer { buffer.deallocate() }
        var decoder = MountFrame.Decoder(limit: MountLimits.answerByteCount)
        var numbers: [UInt64] = []
        while numbers.last != 2 {
            let (count, _) = try #require(other.receive(into: buffer))
            decoder.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            while let frame = try decoder.next() { numbers.append(frame.number) }
        }
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
}
