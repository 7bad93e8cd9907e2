import ControlAPI
import Glibc
import Logging
import ServiceLifecycle
import SyncAgent
import Transport
import TransportBluetooth

/// Bluetooth as a part of the agent's program: a service that runs it, a transport, and who is near.
struct BluetoothRadio: Service, NearbyDevices {
    /// How long a look around lasts; it is begun again while the user pairs.
    private static let lookAroundLimit: Duration = .seconds(120)

    let transport: BluetoothTransport

    init(_ configuration: BluetoothConfiguration, _ logger: Logger) throws {
        transport = try BluetoothTransport(configuration: configuration, logger: logger)
    }

    /// Whether there is a system bus, on which bluetoothd would be.
    static var hasSystemBus: Bool {
        getenv("DBUS_SYSTEM_BUS_ADDRESS") != nil || access("/run/dbus/system_bus_socket", F_OK) == 0
    }

    var radio: AgentSetup.Radio {
        AgentSetup.Radio(address: .bluetooth("00:00:00:00:00:00")) { [transport] in
            let state = transport.state
            return RadioStatus(
                state: state.code.word, message: state.text, remedy: state.remedyText, command: state.command,
                adapter: state.adapter, address: state.address?.description, isAdvertising: state.isAdvertising)
        }
    }

    func run() async {
        await cancelWhenGracefulShutdown { await transport.run() }
    }

    func lookAround() async {
        // Without Bluetooth nobody is found by it; `status` says why.
        _ = try? await transport.scan(for: Self.lookAroundLimit)
    }

    var nearby: [Transport.NearbyDevice] {
        transport.nearby().map { device in
            Transport.NearbyDevice(
                name: device.name, address: device.address, kind: .l2cap,
                signal: device.signal)
        }
    }
}

extension BluetoothState.Code {
    /// As programs read it.
    var word: String {
        switch self {
        case .starting: "starting"
        case .ready: "ready"
        case .noBus: "no-bus"
        case .noService: "no-bluetoothd"
        case .noAdapter: "no-adapter"
        case .poweredOff: "powered-off"
        case .blocked: "blocked"
        case .notPermitted: "not-permitted"
        case .notAdvertising: "not-advertising"
        }
    }
}
