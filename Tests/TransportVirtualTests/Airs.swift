import Glibc
import NIOCore
import NIOPosix
import Synchronization
import Testing
import Transport
import TransportConformance
import TransportVirtual

/// A path for a socket that nothing else uses.
func temporarySocketPath() -> String {
    let number = socketCount.add(1, ordering: .relaxed).newValue
    let directory = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    return "\(directory)/air-\(getpid())-\(number)"
}

private let socketCount = Atomic(0)

/// Runs `body` with an air of its own, a hundred times as fast as the world.
func withAir(
    _ conditions: RadioConditions = RadioConditions(), speed: Double = 100, _ body: (VirtualAir) async throws -> Void
) async throws {
    let air = try await VirtualAir.open(at: temporarySocketPath(), conditions: conditions, speed: speed)
    do {
        try await body(air)
        await air.close()
    } catch {
        await air.close()
        throw error
    }
}

func conditions(_ change: (inout RadioConditions) -> Void) -> RadioConditions {
    var conditions = RadioConditions()
    change(&conditions)
    return conditions
}

typealias RawLink = NIOAsyncChannel<ByteBuffer, ByteBuffer>

let raw: LinkInstaller<RawLink> = { channel, _ in
    channel.eventLoop.makeCompletedFuture { try RawLink(wrappingChannelSynchronously: channel) }
}

/// A socket at which a connection is closed with what it sent unread.
struct BrokenAir: Sendable {
    private let descriptor: CInt

    init(at path: String) throws {
        descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        let bound = try SocketAddress(unixDomainSocketPath: path).withSockAddr { bind(descriptor, $0, socklen_t($1)) }
        try #require(bound == 0 && Glibc.listen(descriptor, 1) == 0)
    }

    /// Takes one connection, waits until something was sent over it, and closes both.
    func breakOne() async {
        let descriptor = descriptor
        try? await NIOThreadPool.singleton.runIfActive {
            let connection = accept(descriptor, nil, nil)
            var waiting = pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
            poll(&waiting, 1, -1)
            close(connection)
            close(descriptor)
        }
    }
}
