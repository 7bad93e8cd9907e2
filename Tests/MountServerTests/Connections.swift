import Glibc
import LocalSocket
import MountProtocol
import Threads

struct NoThread: Error {}
struct ConnectionEnded: Error {}

/// Away from the threads that carry tasks: what is tested waits for some of these.
func onThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        let isStarted = OwnedThread.start("test") { continuation.resume(with: Swift.Result(catching: body)) }
        if !isStarted { continuation.resume(throwing: NoThread()) }
    }
}

func socketPair() throws -> (LocalSocket, LocalSocket) {
    var ends: [CInt] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
        throw ConnectionEnded()
    }
    return (LocalSocket(owning: ends[0]), LocalSocket(owning: ends[1]))
}

/// Takes frames from a socket.
struct FrameReading {
    private static let byteLimit = 4096

    let socket: LocalSocket
    private var decoder = MountFrame.Decoder(limit: MountLimits.answerByteCount)

    init(_ socket: LocalSocket) { self.socket = socket }

    mutating func next() async throws -> MountFrame {
        while true {
            if let frame = try decoder.next() { return frame }
            let bytes = try await onThread { [socket] in
                try withUnsafeTemporaryAllocation(byteCount: Self.byteLimit, alignment: 16) { buffer in
                    guard let (count, _) = socket.receive(into: buffer) else { throw ConnectionEnded() }
                    return Array(buffer[..<count])
                }
            }
            bytes.withUnsafeBytes { decoder.append($0) }
        }
    }
}
