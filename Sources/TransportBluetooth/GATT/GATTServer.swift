import GhostDrop
import Glibc
import Logging
import NIOCore
import Synchronization
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
        var warnedOfLegacy: Set<String> = []
    }

    private let state = Mutex(State())
    private let logger: Logger
    private let sink: SinkPlace
    private let group: any EventLoopGroup

    init(logger: Logger, sink: SinkPlace, group: any EventLoopGroup) {
        self.logger = logger
        self.sink = sink
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
    func answer(_ call: BusNotice) -> BusAnswer {
        switch state.withLock({ $0.objects.effect(of: call) }) {
        case .answer(let answer): return answer
        case .written(let device, let characteristic, let bytes):
            return written(device, characteristic, bytes)
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
        _ device: String, _ characteristic: ExportedObjects.Characteristic, _ bytes: [UInt8]
    ) -> BusAnswer {
        guard characteristic == .data, !bytes.starts(with: [UInt8(ascii: "G"), UInt8(ascii: "D")]) else {
            let isFirst = state.withLock { state in
                if state.warnedOfLegacy.count > 100 { state.warnedOfLegacy = [] }
                return state.warnedOfLegacy.insert(device).inserted
            }
            if isFirst {
                logger.notice(
                    "A device speaks GhostDrop's first version over GATT; it is not served here.",
                    metadata: ["device": "\(device)"])
            }
            return .error(name: "org.bluez.Error.NotSupported", message: "protocolVersion 2 is spoken here")
        }
        let current = state.withLock { $0.current }
        if let current {
            guard current.device == device else {
                return .error(name: "org.bluez.Error.InProgress", message: "another device is connected by GATT")
            }
            current.inbox.put(bytes)
            return .nothing
        }
        guard let notifications = state.withLock({ $0.notifications }), sink.isOpen else {
            return .error(name: "org.bluez.Error.NotPermitted", message: "subscribe to the notifications first")
        }
        do throws(SystemError) {
            try start(device, notifications, first: bytes)
            return .nothing
        } catch {
            return .error(name: "org.bluez.Error.Failed", message: error.description)
        }
    }

    private func start(
        _ device: String, _ notifications: (socket: Descriptor, mtu: Int), first: [UInt8]
    ) throws(SystemError) {
        let inbox = try PacketInbox()
        inbox.put(first)
        state.withLock { $0.current = Current(device: device, inbox: inbox) }
        do throws(SystemError) {
            try OwnThread.start("bluetooth-gatt") {
                let machine = GATTStream(
                    role: .peripheral, maximumPacket: GATTPump.packetLimit(mtu: notifications.mtu),
                    token: .random(in: 0...UInt32.max))
                let pump = GATTPump(inlet: .inbox(inbox), outlet: .socket(notifications.socket))
                let outcome = pump.run(machine) {
                    guard self.sink.isOpen, let sink = self.sink.current, let ends = try? StreamEnds() else {
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

    /// bluetoothd writes a device's address into its path.
    private static func information(_ device: String) -> LinkInformation {
        let address = device.split(separator: "_").suffix(6).joined(separator: ":")
        return LinkInformation(kind: .gatt, remoteAddress: "ble://\(address)", isInitiator: false)
    }

    /// The device has disconnected: its link is over.
    func disconnected(_ device: String) {
        state.withLock { $0.current?.device == device ? $0.current : nil }?.inbox.close()
    }
}
