import GhostDrop
import Glibc
import Logging
import MessageBus
import NIOCore
import Synchronization
import Threads
import Transport

/// The peripheral's side of GATT: what bluetoothd calls, and the one link that there can be.
///
/// One at a time, because a notification goes to all devices that subscribed, and bluetoothd has no way to send it to
/// one.
final class GATTServer: Sendable {
    private struct Current {
        var device: String
        var inbox: PacketInbox
    }

    private struct State {
        var objects = ExportedObjects()
        /// This program's end of the socket for notifications.
        var notifications: (socket: Descriptor, mtu: Int)?
        var current: Current?
        var lastDevice: String?
        /// A v1 link, which has the notifications to itself, too.
        var legacy: Current?
        var warnedOfLegacy: Set<String> = []
    }

    /// What a stream's opening packet begins with (docs/bluetooth-wire.md).
    private static let openingByte: UInt8 = 0x81

    private let state = Mutex(State())
    private let logger: Logger
    private let sink: SinkPlace
    private let legacyDoor: LegacyDoor
    private let group: any EventLoopGroup

    init(logger: Logger, sink: SinkPlace, legacyDoor: LegacyDoor, group: any EventLoopGroup) {
        self.logger = logger
        self.sink = sink
        self.legacyDoor = legacyDoor
        self.group = group
    }

    /// What the capabilities and the advertisement say from now on.
    func offer(_ capabilities: CapabilitiesValue, advertisementLimit: Int) {
        state.withLock { state in
            state.objects.capabilities = capabilities.bytes
            state.objects.advertisementLimit = advertisementLimit
        }
    }

    /// Answers bluetoothd, in the bus's thread.
    func answer(_ call: BusNotice, for client: BlueZClient) -> BusAnswer {
        switch state.withLock({ $0.objects.effect(of: call) }) {
        case .answer(let answer): return answer
        case .written(let device, let characteristic, let bytes):
            return written(device, characteristic, bytes, client)
        case .notificationSocket(_, let mtu): return notificationSocket(mtu)
        case .notifying, .advertisementReleased: return .nothing
        }
    }

    private func notificationSocket(_ mtu: Int) -> BusAnswer {
        do throws(SystemError) {
            let (own, given) = try Descriptor.pair(.packets)
            state.withLock { $0.notifications = (own, mtu) }
            return .values([.descriptor(BusDescriptor(given)), .uint16(UInt16(clamping: mtu))])
        } catch {
            return .error(name: "org.bluez.Error.Failed", message: error.description)
        }
    }

    private func written(
        _ device: String, _ characteristic: ExportedObjects.Characteristic, _ bytes: [UInt8], _ client: BlueZClient
    ) -> BusAnswer {
        let current = state.withLock { $0.current }
        if characteristic == .data, let current {
            guard current.device == device else {
                return .error(name: "org.bluez.Error.InProgress", message: "another device is connected by GATT")
            }
            current.inbox.put(bytes)
            return .nothing
        }
        // Before a stream's opening packet only: later, an acknowledgement may begin like that, too.
        guard characteristic == .data, !bytes.starts(with: [UInt8(ascii: "G"), UInt8(ascii: "D")]) else {
            return legacyWritten(device, bytes, client)
        }
        // What is left of a link that is over opens none.
        guard bytes.first == Self.openingByte else { return .nothing }
        guard let notifications = state.withLock({ $0.legacy == nil ? $0.notifications : nil }), sink.isOpen else {
            return .error(name: "org.bluez.Error.NotPermitted", message: "subscribe to the notifications first")
        }
        do throws(SystemError) {
            try start(device, notifications, first: bytes, client)
            return .nothing
        } catch {
            return .error(name: "org.bluez.Error.Failed", message: error.description)
        }
    }

    private func start(
        _ device: String, _ notifications: (socket: Descriptor, mtu: Int), first: [UInt8],
        _ client: BlueZClient
    ) throws(SystemError) {
        let inbox = try PacketInbox()
        inbox.put(first)
        state.withLock { state in
            state.current = Current(device: device, inbox: inbox)
            state.lastDevice = device
        }
        do throws(SystemError) {
            try OwnedThread.startWaiting("bluetooth-gatt") {
                client.beginAcceptedUse(device)
                defer { client.endUse(device, wasGATT: false) }
                let machine = GATTStream(
                    role: .peripheral, maximumPacket: GATTPump.packetLimit(mtu: notifications.mtu),
                    token: .random(in: 0...UInt32.max))
                let pump = GATTPump(inlet: .inbox(inbox), outlet: .socket(notifications.socket))
                let outcome = pump.run(machine) {
                    guard self.sink.isOpen, let sink = self.sink.current, let ends = try? StreamEnds(.forValues) else {
                        return nil
                    }
                    sink.accept(ends, Self.information(device), on: self.group)
                    return ends.pumped
                }
                self.state.withLock { $0.current = nil }
                self.logger.debug("A GATT link has ended.", metadata: ["device": "\(device)", "how": "\(outcome)"])
            }
        } catch {
            state.withLock { $0.current = nil }
            throw error
        }
    }

    // MARK: GhostDrop's first version

    private func legacyWritten(_ device: String, _ bytes: [UInt8], _ client: BlueZClient) -> BusAnswer {
        guard let install = legacyDoor.installer else {
            warnOfLegacy(device)
            return .error(name: "org.bluez.Error.NotSupported", message: "no files are taken at the moment")
        }
        let (legacy, isTaken, notifications) = state.withLock { ($0.legacy, $0.current != nil, $0.notifications) }
        if let legacy {
            guard legacy.device == device else {
                return .error(name: "org.bluez.Error.InProgress", message: "another device is connected by GATT")
            }
            legacy.inbox.put(bytes)
            return .nothing
        }
        guard !isTaken, let notifications else {
            return .error(name: "org.bluez.Error.NotPermitted", message: "subscribe to the notifications first")
        }
        do throws(SystemError) {
            let inbox = try PacketInbox()
            inbox.put(bytes)
            let ends = try StreamEnds(.forValues)
            state.withLock { state in
                state.legacy = Current(device: device, inbox: inbox)
                state.lastDevice = device
            }
            ends.channel(on: group) { $0.eventLoop.makeSucceededVoidFuture() }.whenSuccess { channel in
                _ = Self.information(device).start(on: channel, install: install)
            }
            try OwnedThread.startWaiting("bluetooth-drop") {
                client.beginAcceptedUse(device)
                defer { client.endUse(device, wasGATT: false) }
                let outlet = GATTPump.Outlet.socket(notifications.socket)
                let outcome = LegacyPump(
                    inlet: .inbox(inbox), bulk: outlet, control: outlet,
                    valueLimit: GATTPump.packetLimit(mtu: notifications.mtu)
                ).run(ends.pumped)
                self.state.withLock { $0.legacy = nil }
                self.logger.debug("A v1 link has ended.", metadata: ["device": "\(device)", "how": "\(outcome)"])
            }
            return .nothing
        } catch {
            state.withLock { $0.legacy = nil }
            return .error(name: "org.bluez.Error.Failed", message: error.description)
        }
    }

    private func warnOfLegacy(_ device: String) {
        let isFirst = state.withLock { state in
            if state.warnedOfLegacy.count > 100 { state.warnedOfLegacy = [] }
            return state.warnedOfLegacy.insert(device).inserted
        }
        guard isFirst else { return }
        logger.notice(
            "A device wants to send a file; to accept it, run `synctrain drop receive`.",
            metadata: ["device": "\(device)"])
    }

    /// bluetoothd writes a device's address into its path.
    private static func information(_ device: String) -> LinkInformation {
        let address = device.split(separator: "_").suffix(6).joined(separator: ":")
        return LinkInformation(kind: .gatt, remoteAddress: "ble://\(address)", isInitiator: false)
    }

    /// Ends the notifications. Gives the device that used them last.
    func withdraw() -> String? {
        state.withLock { state in
            state.notifications = nil
            return state.lastDevice
        }
    }

    /// The device has disconnected, or all have if it is nil: their links are over.
    func disconnected(_ device: String?) {
        for link in state.withLock({ [$0.current, $0.legacy] }).compactMap(\.self)
        where device == nil || link.device == device {
            link.inbox.close()
        }
    }
}
