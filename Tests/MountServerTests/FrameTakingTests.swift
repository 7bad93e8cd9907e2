import Glibc
import LocalSocket
import Logging
import MountProtocol
import Testing
import Threads

@testable import MountServer

@Suite struct FrameTakingTests {
    /// Its disk is slow for some names, until they are let go.
    private final class SlowSession: MountSession {
        let isLetGo = Guarded(false)

        var access: MountAccess { .writable }

        func answerNow(_ request: MountRequest) -> MountReply? {
            guard case .look(let path) = request else { return nil }
            if path.hasPrefix("slow") { _ = isLetGo.wait { $0 ? true : nil } }
            return MountReply(.failed(.notFound))
        }

        func answer(_ request: MountRequest) async -> MountReply { MountReply(.done) }

        func follow(_ send: @Sendable (MountAnswer) -> Void) async {}

        func end() async {}
    }

    /// The mount's end of a connection whose other end takes frames.
    private struct Connected {
        let session = SlowSession()
        let mount: LocalSocket
        let isOver = Guarded(false)
        private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 16)
        private var decoder = MountFrame.Decoder(limit: MountLimits.answerByteCount)

        init() throws {
            let (mount, agent) = try socketPair()
            self.mount = mount
            let (frames, others) = AsyncStream.makeStream(of: MountFrame.self)
            let connection = MountConnection(
                socket: agent, begin: { [session] _ in session }, logger: Logger(label: "test"))
            let taking = FrameTaking(
                socket: agent, connection: connection, others: others, logger: Logger(label: "test"))
            Task { await connection.run(frames) }
            let isStarted = OwnedThread.start("test") { [isOver] in
                taking.run()
                isOver.with { $0 = true }
            }
            guard isStarted else { throw NoThread() }
            mount.send(
                MountRequest.hello(version: MountLimits.version, folder: "docs", MountOrigin()).frame(number: 0).bytes)
        }

        func ask(_ number: UInt64, _ request: MountRequest) { mount.send(request.frame(number: number).bytes) }

        mutating func nextAnswer() throws -> UInt64 {
            while true {
                if let frame = try decoder.next() { return frame.number }
                guard let (count, _) = mount.receive(into: buffer) else { throw ConnectionEnded() }
                decoder.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            }
        }
    }

    /// Fewer than there are threads wait for a disk that does not answer: all else is answered, and that the agent runs is seen.
    @Test(.timeLimit(.minutes(1))) func aSlowDiskHoldsUpNoOtherRequest() async throws {
        let slow = (1..<FrameTaking.threadCount).map { UInt64($0) }
        let answered = try await onThread {
            var connected = try Connected()
            let greeting = try connected.nextAnswer()
            for number in slow { connected.ask(number, .look(path: "slow \(number)")) }
            connected.ask(11, .look(path: "quick"))
            connected.ask(12, .ping)
            connected.ask(13, .space)
            // What a task answers comes when it comes.
            let quick = try (0..<3).map { _ in try connected.nextAnswer() }
            connected.session.isLetGo.with { $0 = true }
            let late = try slow.map { _ in try connected.nextAnswer() }
            connected.mount.end()
            _ = connected.isOver.wait { $0 ? true : nil }
            return [[greeting], quick.sorted(), late.sorted()]
        }
        #expect(answered == [[0], [11, 12, 13], slow])
    }

    /// What comes behind requests that one thread has read and others take is taken as well, however the two meet.
    @Test(.timeLimit(.minutes(1))) func whatComesWhileOthersAreTakenIsAnswered() async throws {
        let slow = (1..<FrameTaking.threadCount).map { UInt64($0) }
        let together = slow.flatMap { MountRequest.look(path: "slow \($0)").frame(number: $0).bytes }
        for _ in 0..<50 {
            let answered = try await onThread {
                var connected = try Connected()
                _ = try connected.nextAnswer()
                connected.mount.send(together)
                connected.ask(11, .look(path: "quick"))
                let quick = try connected.nextAnswer()
                connected.session.isLetGo.with { $0 = true }
                let late = try slow.map { _ in try connected.nextAnswer() }
                connected.mount.end()
                _ = connected.isOver.wait { $0 ? true : nil }
                return [quick] + late.sorted()
            }
            #expect(answered == [11] + slow)
        }
    }

    /// The end of a connection waits for what is being answered: what is opened then is closed with all else.
    @Test(.timeLimit(.minutes(1))) func whatIsBeingAnsweredIsWaitedForAtTheEnd() async throws {
        let wasOver = try await onThread {
            var connected = try Connected()
            _ = try connected.nextAnswer()
            connected.ask(1, .look(path: "slow"))
            connected.ask(2, .ping)
            while try connected.nextAnswer() != 2 {}
            connected.mount.end()
            let wasOver = connected.isOver.with { $0 }
            connected.session.isLetGo.with { $0 = true }
            _ = connected.isOver.wait { $0 ? true : nil }
            return wasOver
        }
        #expect(!wasOver)
    }
}

@Suite struct LocalSocketTests {
    /// More than a socket has room for, with descriptors in between: nothing overtakes anything.
    @Test(.timeLimit(.minutes(1))) func messagesArriveInOrder() async throws {
        // The first are sent before anybody takes what has no room.
        let sizes = [1, 1 << 20, 7, 300_000, 1, 2 << 20, 100]
        let (frames, descriptors) = try await onThread {
            let (sender, receiver) = try socketPair()
            let file = open("/dev/null", O_RDONLY | O_CLOEXEC)
            defer { close(file) }
            for (number, size) in sizes.enumerated() {
                let content = Array(repeating: UInt8(number), count: size)
                let message = MountFrame(kind: 1, number: UInt64(number), content: content)
                sender.send(message.bytes, number % 2 == 1 ? LocalSocket.Enclosed(number: file, owner: 0) : nil)
            }
            guard sender.startSending("test-send") else { throw NoThread() }
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
            defer { buffer.deallocate() }
            var decoder = MountFrame.Decoder(limit: MountLimits.answerByteCount)
            var frames: [MountFrame] = []
            var descriptors = 0
            while frames.count < sizes.count {
                guard let (count, descriptor) = receiver.receive(into: buffer) else { throw ConnectionEnded() }
                if let descriptor {
                    descriptors += 1
                    close(descriptor)
                }
                decoder.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                while let frame = try decoder.next() { frames.append(frame) }
            }
            return (frames, descriptors)
        }
        #expect(frames.map(\.number) == Array(0..<UInt64(sizes.count)) && frames.map(\.content.count) == sizes)
        #expect(frames.allSatisfy { frame in frame.content.allSatisfy { UInt64($0) == frame.number } })
        #expect(descriptors == 3)
    }
}
