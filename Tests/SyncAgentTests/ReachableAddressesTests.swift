import ControlAPI
import Testing
import Transport

@testable import SyncAgent

/// Addresses that `status` shows as listened on.
struct ReachableAddressesTests {
    private static let listening: [LinkAddress] = [
        .tcp(host: "192.0.2.1", port: 22000), .bluetooth("00:00:00:00:00:00"),
    ]

    @Test(arguments: ["ready", "not-advertising"])
    func anAdapterThatCanBeUsedIsShownByItsAddress(state: String) {
        let radio = RadioStatus(state: state, message: "", adapter: "hci0", address: "AA:BB:CC:DD:EE:FF")
        #expect(
            StatusRequests.reachable(Self.listening, radio) == ["tcp://192.0.2.1:22000", "ble://AA:BB:CC:DD:EE:FF"])
    }

    @Test(arguments: ["starting", "no-bus", "no-bluetoothd", "no-adapter", "powered-off", "blocked", "not-permitted"])
    func whatCannotBeUsedIsNotShown(state: String) {
        let radio = RadioStatus(state: state, message: "", adapter: "hci0", address: "AA:BB:CC:DD:EE:FF")
        #expect(StatusRequests.reachable(Self.listening, radio) == ["tcp://192.0.2.1:22000"])
        #expect(StatusRequests.reachable(Self.listening, nil) == ["tcp://192.0.2.1:22000"])
    }
}
