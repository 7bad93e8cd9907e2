import Glibc
import LocalSocket
import Logging
import MountProtocol
import SyncTestKit
import Testing
import Threads

@testable import MountServer

@Suite struct MountServerTests {
    private struct IdleSession: MountSession {
        var access: MountAccess { .writable }

        func answerNow(_ request: MountRequest) -> MountReply? { nil }

        func answer(_ request: MountRequest) async -> MountReply { MountReply(.done) }

        func follow(_ send: @escaping @Sendable (MountAnswer) -> Void) async {}

        func end() async {}
    }

    private struct Recorder: LogHandler {
        let messages: Guarded<[String]>
        var metadata = Logger.Metadata()
        var logLevel = Logger.Level.trace

        init(_ messages: Guarded<[String]>) { self.messages = messages }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { messages.with { $0.append("\(event.message)") } }
    }

    /// A server whose accept(2) fails with these first, in their order.
    private func server(_ path: String, failing errors: [CInt], _ messages: Guarded<[String]>) -> MountServer {
        let left = Guarded(errors)
        return MountServer(
            path: path, logger: Logger(label: "test", factory: { _ in Recorder(messages) }),
            acceptNext: { socket in
                guard let error = left.with({ $0.isEmpty ? nil : $0.removeFirst() }) else {
                    return accept(socket, nil, nil)
                }
                errno = error
                return -1
            }, begin: { _ in IdleSession() })
    }

    /// Nil if the connection ends before.
    private func firstFrame(from server: LocalSocket) async throws -> MountFrame? {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 16)
        defer { buffer.deallocate() }
        var decoder = MountFrame.Decoder(limit: MountLimits.answerByteCount)
        while true {
            await Task.yield()
            switch server.receiveNow(into: buffer) {
            case .bytes(let count, _):
                decoder.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                if let frame = try decoder.next() { return frame }
            case .nothing: continue
            case .over: return nil
            }
        }
    }

    @Test(.timeLimit(.minutes(1))) func aLackThatPassesEndsNoMounts() async throws {
        let (directory, messages) = (try TemporaryDirectory(), Guarded<[String]>([]))
        let path = directory.path + "/mount"
        let server = server(path, failing: [EINTR, ENOBUFS, ENOMEM, EMFILE], messages)
        let running = Task { await server.run() }
        var connected: LocalSocket?
        while connected == nil {
            await Task.yield()
            connected = LocalSocket.connect(to: path)
        }
        let mount = try #require(connected)
        mount.send(
            MountRequest.hello(version: MountLimits.version, folder: "docs", MountOrigin()).frame(number: 7).bytes)
        let answer = try await firstFrame(from: mount)
        #expect(answer?.number == 7)
        running.cancel()
        await running.value
        #expect(messages.with { $0 } == [])
    }

    @Test(.timeLimit(.minutes(1))) func oneMountTooManyHearsOfIt() async throws {
        let (directory, messages) = (try TemporaryDirectory(), Guarded<[String]>([]))
        let path = directory.path + "/mount"
        let server = server(path, failing: [], messages)
        let running = Task { await server.run() }
        var mounts: [LocalSocket] = []
        while mounts.count < MountLimits.mountCount + 2 {
            await Task.yield()
            if let mount = LocalSocket.connect(to: path) { mounts.append(mount) }
        }
        for mount in mounts.suffix(2) {
            let answer = try #require(try await firstFrame(from: mount))
            #expect(try MountAnswer(answer) == .failed(.tooMany))
        }
        running.cancel()
        await running.value
        #expect(messages.with { $0 } == ["a mount was refused: there are \(MountLimits.mountCount) already"])
    }

    @Test(.timeLimit(.minutes(1))) func whatEndsMountsIsLogged() async throws {
        let (directory, messages) = (try TemporaryDirectory(), Guarded<[String]>([]))
        let server = server(directory.path + "/mount", failing: [EIO], messages)
        let running = Task { await server.run() }
        while messages.with({ $0.isEmpty }) { await Task.yield() }
        running.cancel()
        await running.value
        #expect(messages.with { $0.count == 1 && $0[0].contains("takes no mounts") })
    }
}
