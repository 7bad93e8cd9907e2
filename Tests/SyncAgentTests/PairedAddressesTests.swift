import Testing
import Transport

@testable import SyncAgent

struct PairedAddressesTests {
    private func addresses(
        _ introduced: [String], from remote: String = "tcp://192.0.2.7:51234", kind: LinkKind = .tcp,
        dialled: LinkAddress? = nil
    ) -> [String] {
        PairedAddresses.addresses(
            dialled: dialled,
            link: LinkInformation(kind: kind, remoteAddress: remote, isInitiator: dialled != nil),
            introduced: introduced)
    }

    @Test func whatLeadsToTheDeviceIsKept() {
        #expect(addresses([]) == ["dynamic"])
        #expect(addresses(["tcp://192.0.2.9:22000"]) == ["dynamic", "tcp://192.0.2.9:22000"])
        #expect(
            addresses(["tcp://:22000", "tcp://0.0.0.0:22001", "tcp://[::]:22002"])
                == ["dynamic", "tcp://192.0.2.7:22000", "tcp://192.0.2.7:22001", "tcp://192.0.2.7:22002"])
        #expect(
            addresses(["tcp://:22000"], from: "tcp://[2001:db8::1]:5") == ["dynamic", "tcp://[2001:db8::1]:22000"])
        #expect(
            addresses(["tcp://192.0.2.7:22000"], dialled: .tcp(host: "192.0.2.7", port: 22000))
                == ["dynamic", "tcp://192.0.2.7:22000"])
    }

    @Test(arguments: [
        "tcp://127.0.0.1:22000", "tcp://[::1]:22000", "tcp://192.0.2.9:0", "tcp://224.0.0.1:1", "tcp://host:1",
        "tcp://[fe80::1]:22000", "quic://192.0.2.9:1", "relay://x", "dynamic", "nonsense", "",
        "ble://AA:BB:CC:DD:EE:FF",
    ])
    func whatLeadsElsewhereIsNot(_ text: String) { #expect(addresses([text]) == ["dynamic"]) }

    @Test func loopbackIsGoodForNeighboursOnOneMachine() {
        #expect(
            addresses(["tcp://127.0.0.1:22001"], from: "tcp://127.0.0.1:5") == ["dynamic", "tcp://127.0.0.1:22001"])
    }

    /// A radio's address is dialled as it was heard; what the device says of its sockets needs an address of its own.
    @Test func radios() {
        #expect(
            addresses(["tcp://:22000", "tcp://192.0.2.9:1"], from: "ble://C0:FF:EE:00:00:01", kind: .l2cap)
                == ["dynamic", "ble://C0:FF:EE:00:00:01", "tcp://192.0.2.9:1"])
        #expect(addresses([], from: "virtual://desk", kind: .virtual) == ["dynamic", "virtual://desk"])
    }

    @Test func thereIsAnEndToThem() {
        #expect(addresses((1...50).map { "tcp://192.0.2.\($0):1" }).count < 8)
    }
}
