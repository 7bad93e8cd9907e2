import Glibc
import MessageBus
import Phrases

/// What is known about this machine's Bluetooth, from which follow its state and the next thing to do.
struct BluetoothFacts: Equatable, Sendable {
    enum Bus: Equatable, Sendable {
        case connecting
        case connected
        case lost(SystemError)
    }

    /// The switches of rfkill for Bluetooth.
    struct Blocks: Equatable, Sendable {
        var bySoftware = false
        var byHardware = false
    }

    var bus = Bus.connecting
    /// Whether this connection to the bus hears bluetoothd's signals and has asked who it is.
    var isWatching = false
    /// Unique name of bluetoothd on the bus; nil while it does not run.
    var owner: String?
    /// Whether the objects of this owner have been read.
    var isLoaded = false
    var tree = ObjectTree()
    /// bluetoothd's signals since its objects were asked for, while the answer is not here; a moment's worth.
    var arrivedWhileLoading: [BusNotice]?
    /// Devices that bluetoothd was asked to disconnect and that it has not disconnected yet: it takes two seconds, and
    /// then drops whatever was connected meanwhile.
    var leaving: Set<String> = []
    /// Devices that this side dials or has dialled, by path.
    var uses: [String: DeviceUse] = [:]

    /// The links of this side to one device.
    struct DeviceUse: Equatable, Sendable {
        /// Dials and links.
        var count = 0
        /// Whether bluetoothd has connected the device for them.
        var isConnectedForUs = false
        /// Whether one of them is by GATT: bluetoothd lets there be one.
        var hasGATT = false
    }

    /// Whether a dial to the device may begin: nothing is about to be torn down under it.
    func mayDial(_ device: String) -> Bool { !leaving.contains(device) && uses[device]?.hasGATT != true }

    /// Notes the end of a dial or link. Gives whether the device is to be disconnected: nobody uses it any more, and
    /// nobody else had connected it.
    mutating func endUse(_ device: String, wasGATT: Bool) -> Bool {
        guard var use = uses[device] else { return false }
        use.count -= 1
        if wasGATT { use.hasGATT = false }
        uses[device] = use.count > 0 ? use : nil
        return use.count <= 0 && use.isConnectedForUs
    }
    /// The adapter asked for, as `hci0`; nil: the first powered one.
    var wantedAdapter: String?
    var blocks = Blocks()

    /// Whether someone listens.
    var isListening = false
    /// The adapter's path that each of these was done for.
    var socketAdapter: String?
    var applicationAdapter: String?
    var advertisementAdapter: String?
    /// Why the last step failed, until one succeeds.
    var refusal: StepError?

    /// Those of `peers` that an adapter has heard from `start` on, or is connected with.
    func heard(_ peers: [BluetoothAddress], by adapter: String, since start: Duration) -> [BluetoothAddress] {
        peers.filter { peer in
            guard let device = tree.device(peer, of: adapter) else { return false }
            return device.isConnected || device.lastSeen.map { $0 >= start } == true
        }
    }

    /// The adapter that is used, powered or not.
    var adapter: ObjectTree.Adapter? {
        let adapters = tree.adapters
        if let wantedAdapter { return adapters.first { $0.name == wantedAdapter } }
        return adapters.first { $0.isPowered } ?? adapters.first
    }

    /// One thing to do so that others can find and reach this device.
    enum Step: String, Equatable, Sendable {
        case watch
        case load
        case openSocket
        case closeSocket
        case registerApplication
        case unregisterApplication
        case advertise
        case stopAdvertising
    }

    /// Why a step failed.
    struct StepError: Error, Equatable, Sendable {
        var step: Step
        var isDenied: Bool
        var message: String
    }

    /// The next step; nil when all is as it should be, or nothing can be done.
    var nextStep: Step? {
        guard bus == .connected else { return nil }
        guard isWatching else { return .watch }
        guard owner != nil else { return nil }
        guard isLoaded else { return .load }
        let target = isListening ? adapter.flatMap { $0.isPowered ? $0 : nil } : nil
        if let done = advertisementAdapter, done != target?.path { return .stopAdvertising }
        if let done = applicationAdapter, done != target?.path { return .unregisterApplication }
        if let done = socketAdapter, done != target?.path { return .closeSocket }
        guard let target else { return nil }
        if socketAdapter == nil { return .openSocket }
        // The capabilities that are served name the socket's PSM, so it comes first.
        if applicationAdapter == nil, target.canServe { return .registerApplication }
        if advertisementAdapter == nil, target.canAdvertise { return .advertise }
        return nil
    }

    /// The next step, but not the one that failed last before it is to be tried again. What else there is to do waits for no other.
    func nextStep(isRetryDue: Bool) -> Step? {
        guard let step = nextStep, isRetryDue || step != refusal?.step else { return nil }
        return step
    }

    /// bluetoothd is another one now, or none: nothing of what the last one was asked for holds.
    mutating func ownerChanged(to owner: String?) {
        guard self.owner != owner else { return }
        self.owner = owner
        isLoaded = false
        tree = ObjectTree()
        leaving = []
        applicationAdapter = nil
        advertisementAdapter = nil
        refusal = nil
    }

    /// Drops what an adapter that went away or was switched off has forgotten.
    mutating func treeChanged() {
        let paths = Set(tree.adapters.map(\.path))
        if let path = applicationAdapter, !paths.contains(path) { applicationAdapter = nil }
        if let path = advertisementAdapter, !paths.contains(path) { advertisementAdapter = nil }
    }

    var state: BluetoothState {
        switch bus {
        case .connecting: return BluetoothState(.starting, "Looking for Bluetooth.")
        case .lost(let reason):
            return BluetoothState(
                .noBus, "The system bus cannot be reached (\(reason)).",
                remedy: "Bluetooth needs D-Bus: see `systemctl status dbus`.", command: "systemctl status dbus")
        case .connected: break
        }
        guard isWatching else { return BluetoothState(.starting, "Looking for Bluetooth.") }
        guard owner != nil else {
            return BluetoothState(
                .noService, "bluetoothd is not running.",
                remedy: "Install the package bluez if it is missing, then `systemctl enable --now bluetooth`.",
                command: "systemctl enable --now bluetooth")
        }
        if let refusal, refusal.isDenied, !isLoaded { return Self.denied(refusal) }
        guard isLoaded else { return BluetoothState(.starting, "Looking for Bluetooth.") }
        guard let adapter else { return withoutAdapter }
        guard adapter.isPowered else { return unpowered(adapter) }
        if isListening, let refusal {
            return BluetoothState(
                .notAdvertising, "Other devices cannot find this one: \(refusal.message).",
                remedy: refusal.isDenied
                    ? Self.permissionRemedy : "See `journalctl -u bluetooth`; the agent retries periodically.",
                command: refusal.isDenied ? nil : "journalctl -u bluetooth",
                adapter: adapter.name, address: adapter.address)
        }
        return BluetoothState(
            .ready, "Bluetooth is ready on \(adapter.name).", adapter: adapter.name, address: adapter.address,
            isAdvertising: advertisementAdapter == adapter.path)
    }

    private static let permissionRemedy = Phrase(
        "Add your user to the group bluetooth (`usermod -aG bluetooth NAME`), then log in again.")

    private static func denied(_ refusal: StepError) -> BluetoothState {
        BluetoothState(
            .notPermitted, "This user may not use Bluetooth (\(refusal.message)).", remedy: permissionRemedy)
    }

    private var withoutAdapter: BluetoothState {
        if blocks.byHardware || blocks.bySoftware { return blocked(nil) }
        if let wantedAdapter {
            let others = tree.adapters.map(\.name).joined(separator: ", ")
            return BluetoothState(
                .noAdapter, "There is no Bluetooth adapter \(wantedAdapter).",
                remedy: others.isEmpty
                    ? "Plug it in." : "Plug it in, or choose another in the configuration; there is \(others).")
        }
        return BluetoothState(
            .noAdapter, "This machine has no Bluetooth adapter.",
            remedy: "Plug one in; if it has one, check `dmesg | grep -i bluetooth` for missing firmware.",
            command: "dmesg | grep -i bluetooth")
    }

    private func unpowered(_ adapter: ObjectTree.Adapter) -> BluetoothState {
        if blocks.byHardware || blocks.bySoftware || adapter.powerState == "off-blocked" { return blocked(adapter) }
        return BluetoothState(
            .poweredOff, "The Bluetooth adapter \(adapter.name) is switched off.",
            remedy: "Switch Bluetooth on in the desktop's settings, or with `bluetoothctl power on`.",
            command: "bluetoothctl power on",
            adapter: adapter.name, address: adapter.address)
    }

    private func blocked(_ adapter: ObjectTree.Adapter?) -> BluetoothState {
        BluetoothState(
            .blocked,
            blocks.byHardware
                ? "A hardware switch has turned Bluetooth off." : "Bluetooth is blocked, as in airplane mode.",
            remedy: blocks.byHardware ? "Use the radio switch or key." : "`rfkill unblock bluetooth`",
            command: blocks.byHardware ? nil : "rfkill unblock bluetooth",
            adapter: adapter?.name, address: adapter?.address)
    }
}
