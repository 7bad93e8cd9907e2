import NIOCore
import Testing
import Transport

@testable import TransportTCP

extension LinkTests {
    /// From which port public addresses are dialled.
    @Suite struct SharedPortTests {
        @Test(arguments: [
            // All addresses, as this program and as Syncthing write it; IPv6 alone is both families on Linux.
            ("", true, true), ("0.0.0.0", true, false), ("::", true, true),
            // One address: nobody else is told of another one.
            ("127.0.0.1", false, false),
        ])
        func whatListensAtAllAddressesIsShared(host: String, sharesIPv4: Bool, sharesIPv6: Bool) async throws {
            let shared = SharedPort()
            let listener = try await TCPTransport(sharedPort: shared)
                .listen(on: .tcp(host: host, port: 0), install: raw)
            guard case .tcp(_, let port) = listener.address else {
                Issue.record("\(listener.address)")
                return
            }
            #expect(shared.origin(forHost: "8.8.8.8")?.port == (sharesIPv4 ? Int(port) : nil))
            #expect(shared.origin(forHost: "2001:4860:4860::8888")?.port == (sharesIPv6 ? Int(port) : nil))
            #expect(shared.origin(forHost: "192.168.1.2") == nil, "no router in between")
            await listener.close()
            #expect(shared.origin(forHost: "8.8.8.8") == nil)
        }
    }
}
