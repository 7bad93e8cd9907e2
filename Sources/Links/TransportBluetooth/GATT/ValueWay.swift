import Logging
import MessageBus
import Synchronization

/// How a central's values go to the peer's characteristic and come from it: by bluetoothd's sockets, or, where it gives
/// none, by calls and signals on the bus, which are slower and lose more.
struct ValueWay: Sendable {
    let inlet: GATTPump.Inlet
    let outlet: GATTPump.Outlet
    /// Of the link, in bytes.
    let mtu: Int
    /// Undoes what opening did; sockets close by themselves.
    let close: @Sendable () -> Void

    /// The specification's least (Vol 3, Part F, 3.2.8): what is known of a link that nobody tells of.
    private static let leastMTU = 23
    /// Most calls that wait for bluetoothd's answer at the same time.
    static let callLimit = 8

    /// The notifications first: the peer answers by them.
    ///
    /// - Parameter path: of the characteristic.
    /// - Throws: `BusError`; on cancellation `CancellationError`.
    static func open(to path: String, core: BluetoothCore, limit: Duration) async throws -> ValueWay {
        let deadline = ContinuousClock.now + limit
        func ask(_ method: String) async throws -> [BusValue] {
            try await core.client.call(
                path, BlueZ.characteristic, method, method.hasPrefix("Acquire") ? [.properties([:])] : [],
                timeout: max(.zero, deadline - ContinuousClock.now))
        }
        let known = core.client.facts.tree.mtu(ofCharacteristic: path) ?? leastMTU
        let inlet: GATTPump.Inlet
        var mtu: Int
        var close: @Sendable () -> Void = {}
        if let socket = try await socket({ try await ask("AcquireNotify") }, core) {
            (inlet, mtu) = (.socket(socket.descriptor), socket.mtu)
        } else {
            let inbox = try core.client.takeValues(of: path)
            close = { [client = core.client] in
                client.leaveValues(of: path)
                client.bus.post(BusCall(BlueZ.service, path, BlueZ.characteristic, "StopNotify"))
            }
            do {
                _ = try await ask("StartNotify")
            } catch {
                close()
                throw error
            }
            (inlet, mtu) = (.inbox(inbox), known)
        }
        do {
            let outlet: GATTPump.Outlet
            if let socket = try await socket({ try await ask("AcquireWrite") }, core) {
                (outlet, mtu) = (.socket(socket.descriptor), min(mtu, socket.mtu))
            } else {
                (outlet, mtu) = (.call(calls(to: path, core.client)), min(mtu, known))
            }
            return ValueWay(inlet: inlet, outlet: outlet, mtu: mtu, close: close)
        } catch {
            close()
            throw error
        }
    }

    /// The socket that bluetoothd gives; nil if it has none to give: it is older than 5.46, or another program has it.
    private static func socket(
        _ ask: () async throws -> [BusValue], _ core: BluetoothCore
    ) async throws -> (descriptor: Descriptor, mtu: Int)? {
        guard core.configuration.usesValueSockets else { return nil }
        let answer: [BusValue]
        do {
            answer = try await ask()
        } catch let error as BusError where lacksSockets.contains(error.name) {
            core.logger.debug("Bluetooth: no socket for values.", metadata: ["error": "\(error)"])
            return nil
        }
        guard answer.count == 2, let socket = answer[0].openDescriptor, let mtu = answer[1].number else { return nil }
        try socket.makeNonBlocking()
        return (socket, mtu)
    }

    private static let lacksSockets: Set<String> = [
        "org.freedesktop.DBus.Error.UnknownMethod", "org.bluez.Error.NotSupported", "org.bluez.Error.NotPermitted",
        "org.bluez.Error.InProgress",
    ]

    /// Sends a value by a call each, a few at a time.
    static func calls(
        to path: String, _ client: BlueZClient, type: String = "command", limit: Int = callLimit
    ) -> @Sendable ([UInt8]) -> Bool {
        let underWay = Counter()
        return { packet in
            guard underWay.increment(upTo: limit) else { return false }
            let call = BusCall(
                BlueZ.service, path, BlueZ.characteristic, "WriteValue",
                [.bytes(packet), .properties(["type": .string(type)])])
            let isTaken = client.bus.post(call) { underWay.decrement() }
            if !isTaken { underWay.decrement() }
            return isTaken
        }
    }
}

private final class Counter: Sendable {
    private let count = Mutex(0)

    /// False if it would be more than `limit`.
    func increment(upTo limit: Int) -> Bool {
        count.withLock { count in
            guard count < limit else { return false }
            count += 1
            return true
        }
    }

    func decrement() { count.withLock { $0 -= 1 } }
}
