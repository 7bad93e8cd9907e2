import PortMapping
import Testing
import Transport

@testable import Reachability

@Suite struct SeenNetworksTests {
    private func view(
        _ addresses: [String], interface: String = "eth0", gateway: String? = "192.168.1.1", metric: UInt32 = 100
    ) throws -> NetworkView {
        let locals = try addresses.map { LocalAddress(try #require(IPAddress($0)), prefixLength: 24) }
        let gateway = gateway.flatMap { IPAddress($0) }
        return NetworkView(
            interfaces: [.init(name: interface, addresses: locals)],
            defaultRoutes: gateway.map { [.init(gateway: $0, interface: interface, metric: metric)] } ?? [])
    }

    /// What a router advertisement renews is told as a change, and is none.
    @Test func anotherAddressOrRouteIsAChange() throws {
        let home = try view(["192.168.1.7"])
        let views = try [
            (home, false), (view(["192.168.1.7"]), false), (view(["192.168.1.7", "2001:db8::7"]), true), (home, true),
            (view(["192.168.1.7"], gateway: nil), true), (view(["192.168.1.7"], gateway: "192.168.1.2"), true),
            (view(["192.168.1.7"], interface: "wlan0", gateway: "192.168.1.2"), true),
            (view(["192.168.1.7"], interface: "wlan0", gateway: "192.168.1.2"), false), (home, true),
        ]
        var seen = SeenNetworks(home)
        #expect(views.map { seen.haveChanged(to: $0.0) } == views.map(\.1))
    }
}
