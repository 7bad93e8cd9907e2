import NIOPosix
import Testing
import Transport
import TransportConformance
import TransportTCP

extension LinkTests {
    /// What every transport has to do.
    @Suite(.timeLimit(.minutes(10))) struct ConformanceTests {
        @Test(arguments: TransportConformance.Check.allCases)
        func conforms(check: TransportConformance.Check) async throws {
            let full = try #require(PlainSocket.full())
            defer { withExtendedLifetime(full) {} }
            let subject = ConformanceSubject(
                dialler: TCPTransport(), listener: TCPTransport(), address: { anyPort },
                silentAddress: .tcp(host: "127.0.0.1", port: full.socket.port), kind: .tcp,
                closesDirectionsApart: true, bufferLimit: 12 << 20, transferByteCount: 24 << 20,
                cycleCount: 10_000)
            try await TransportConformance(subject).run(check)
        }
    }
}
