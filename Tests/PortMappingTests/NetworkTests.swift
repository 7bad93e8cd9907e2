import SyncTestKit
import Testing
import Transport

@testable import PortMapping

@Suite struct NetworkTests {
    static let ipv4 = """
        Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
        wlan0\t00000000\t0102A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0
        eth0\t00000000\t0101A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0
        tun0\t00000000\t00000000\t0001\t0\t0\t50\t00000000\t0\t0\t0
        eth0\t0001A8C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0
        eth0\t00000000\t0901A8C0\t0003\t0\t0\t0\t00000080\t0\t0\t0
        bad line
        """
    static let ipv6 = """
        00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003     eth0
        fe800000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth0
        00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo
        """

    @Test func defaultRoutes() {
        #expect(
            RouteTable.ipv4(Self.ipv4).map { "\($0.gateway) \($0.interface)" } == [
                "192.168.1.1 eth0", "192.168.2.1 wlan0",
            ])
        #expect(RouteTable.ipv6(Self.ipv6).map { "\($0.gateway) \($0.interface)" } == ["fe80::1%eth0 eth0"])
        #expect(RouteTable.ipv4("").isEmpty && RouteTable.ipv6("").isEmpty)
    }

    @Test func ipv6Addresses() {
        let text = """
            20010db8000000000000000000000002 02 40 00 80     eth0
            20010db8000000000000000000000003 02 40 00 01     eth0
            20010db8000000000000000000000004 02 40 00 20     eth0
            fe800000000000000000000000000002 02 40 20 80     eth0
            """
        #expect(NetworkView.ipv6Addresses(text).map { "\($0.address.address)" } == ["2001:db8::2", "fe80::2"])
    }

    @Test func gatewaysOfSeveralInterfaces() {
        let view = NetworkView(
            interfaces: [
                .init(
                    name: "eth0",
                    addresses: [
                        LocalAddress(address("10.0.0.5"), prefixLength: 8),
                        LocalAddress(address("192.168.1.7"), prefixLength: 24),
                        LocalAddress(address("2001:db8::2"), prefixLength: 64),
                        LocalAddress(address("fe80::2"), prefixLength: 64),
                    ]),
                .init(name: "wlan0", addresses: [LocalAddress(address("192.168.2.9"), prefixLength: 24)]),
                .init(name: "virbr0", addresses: [LocalAddress(address("192.168.9.1"), prefixLength: 24)]),
            ], defaultRoutes: RouteTable.ipv4(Self.ipv4) + RouteTable.ipv6(Self.ipv6))
        #expect(
            view.gateways.map { "\($0.address) from \($0.local.address)" } == [
                "192.168.1.1 from 192.168.1.7", "192.168.2.1 from 192.168.2.9", "fe80::1%eth0 from 2001:db8::2",
            ])
    }

    @Test(arguments: [
        ("192.168.1.1", 24, "192.168.1.254", true), ("192.168.1.1", 24, "192.168.2.1", false),
        ("10.1.2.3", 12, "10.15.0.1", true), ("10.1.2.3", 12, "10.16.0.1", false), ("1.2.3.4", 0, "9.9.9.9", true),
        ("1.2.3.4", 32, "1.2.3.5", false), ("fd00::1", 64, "fd00::2", true), ("fd00::1", 64, "1.2.3.4", false),
    ])
    func networks(own: String, prefix: Int, other: String, isInside: Bool) {
        #expect(LocalAddress(address(own), prefixLength: prefix).networkContains(address(other)) == isInside)
    }

    @Test(arguments: [
        ("8.8.8.8", true), ("11.7.0.10", true), ("10.1.1.1", false), ("172.16.0.1", false), ("172.32.0.1", true),
        ("192.168.0.1", false), ("100.64.0.1", false), ("100.127.9.9", false), ("100.128.0.1", true),
        ("127.0.0.1", false),
        ("169.254.1.1", false), ("0.0.0.0", false), ("224.0.0.1", false), ("255.255.255.255", false), ("2a00::1", true),
        ("fd00::1", false), ("fe80::1", false), ("::1", false),
    ])
    func publicAddresses(text: String, isPublic: Bool) { #expect(address(text).isPublic == isPublic) }

    /// Reading the real system does not fail, whatever it has.
    @Test func currentViewHasNoLoopback() {
        let view = NetworkView.current()
        #expect(view.interfaces.flatMap(\.addresses).allSatisfy { $0.address != address("127.0.0.1") })
    }

    @Test func externalPortsAreStableAndInRange() {
        let identity = MappingIdentity(secret: [1, 2, 3])
        let gateway = FakeRouter.gateway
        let ports = identity.externalPorts(port: ListenedPort(.tcp, 22000), gateway: gateway, count: 10)
        #expect(ports == identity.externalPorts(port: ListenedPort(.tcp, 22000), gateway: gateway, count: 10))
        #expect(Set(ports).count == 10 && ports.allSatisfy { (1024...65534).contains($0) })
        #expect(ports != identity.externalPorts(port: ListenedPort(.tcp, 22001), gateway: gateway, count: 10))
        #expect(
            ports
                != MappingIdentity(secret: [1, 2, 4]).externalPorts(
                    port: ListenedPort(.tcp, 22000), gateway: gateway, count: 10))
        #expect(identity.nonce(port: ListenedPort(.tcp, 22000), gateway: gateway).count == 12)
    }

    /// Elapsed and epoch since the first answer; whether the router restarted.
    @Test(arguments: [
        (600, 600, false, false), (600, 600, true, false), (600, 530, false, false), (600, 500, false, true),
        (600, 500, true, true), (600, -1000, false, true), (600, -1000, true, true), (600, 700, false, false),
        (600, 700, true, true), (0, 0, true, false), (1, -1, true, false), (5, 4, true, false),
    ])
    func epochs(elapsed: Int, advance: Int, isPCP: Bool, hasRestarted: Bool) {
        var tracker = EpochTracker()
        let first = tracker.hasRestarted(epoch: 5000, isPCP: isPCP, at: .seconds(100))
        let second = tracker.hasRestarted(epoch: UInt32(5000 + advance), isPCP: isPCP, at: .seconds(100 + elapsed))
        #expect(!first && second == hasRestarted)
    }
}
