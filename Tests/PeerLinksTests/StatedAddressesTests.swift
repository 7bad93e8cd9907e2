import AgentConfiguration
import BlockExchange
import LinkRules
import Testing

@testable import PeerLinks

@Suite struct StatedAddressesTests {
    private static let id = DeviceID(certificateDER: Array("device".utf8))
    private static let introducer = DeviceID(certificateDER: Array("introducer".utf8))
    private static let addresses = ["dynamic", "tcp://nas.example:22000", "ble://AA:BB:CC:DD:EE:FF"]

    @Test func theUsersAreTheUsers() {
        let device = DeviceConfiguration(id: Self.id, addresses: Self.addresses)
        #expect(device.statedAddresses == [.configured: Array(Self.addresses.dropFirst())])
    }

    /// A name that an introducer gave leads nowhere near this machine.
    @Test func anIntroducersAreHints() throws {
        let device = DeviceConfiguration(id: Self.id, addresses: Self.addresses, introducedBy: Self.introducer)
        #expect(
            device.statedAddresses == [
                .configured: ["ble://AA:BB:CC:DD:EE:FF"], .introduced: ["tcp://nas.example:22000"],
            ])
        var plan = DialPlan(seed: 1)
        var attempts: [DialPlan.Attempt] = []
        for (source, texts) in device.statedAddresses {
            for case .dial(let attempt) in plan.handle(.addresses(source, texts), at: .zero) {
                attempts.append(attempt)
            }
        }
        let attempt = try #require(attempts.first)
        #expect(DialPlan.problem(of: attempt, connectedTo: "tcp://127.0.0.1:22000", policy: nil) != nil)
        #expect(DialPlan.problem(of: attempt, connectedTo: "tcp://192.0.2.7:22000", policy: nil) == nil)
    }
}
