import BlockExchange
import Glibc
import NIOCore
import Testing

@testable import PeerLinks

@Suite struct LinkEndTests {
    private struct Broken: Error {}

    @Test func theReasonIsTheErrors() {
        func reason(_ error: any Error) -> String { LinkEnd.reason(error) { "silent: \($0)" }.english }
        #expect(reason(ProtocolError(.malformed, "it made no sense")) == "it made no sense")
        #expect(reason(CancellationError()) == "the agent closed the link")
        #expect(reason(IOError(errnoCode: ECONNRESET, reason: "read")).hasPrefix("silent: "))
        #expect(reason(Broken()) == "Broken()")
    }
}
