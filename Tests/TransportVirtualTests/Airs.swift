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
