import CBluetooth
import Glibc
import Logging
import NIOCore
import Transport

/// Makes links of accepted L2CAP channels, each in a thread of its own.
struct Acceptor: Sendable {
    let core: BluetoothCore
    let legacy: BluetoothTransport.LegacyInstaller?

    /// Which protocol a channel's first byte begins.
    enum FirstByte: Equatable {
        /// GhostDrop's first version: its frames begin with `GHST`.
        case legacy
        /// Anything else is for whoever listens.
        case link

        init(_ byte: UInt8) { self = byte == UInt8(ascii: "G") ? .legacy : .link }
    }

    func accept(_ socket: L2CAPSocket, _ peer: BluetoothAddress) {
        guard core.reserveLink() else {
            core.logger.notice("Bluetooth: there are too many links.", metadata: ["peer": "\(peer)"])
            return
        }
        do throws(SystemError) {
            try OwnThread.start("bluetooth-l2cap") {
                serve(socket, peer)
                core.releaseLink()
            }
        } catch {
            core.releaseLink()
            core.logger.warning("Bluetooth: no thread for a link.", metadata: ["error": "\(error)"])
        }
    }

    private func serve(_ socket: L2CAPSocket, _ peer: BluetoothAddress) {
        var poll = Poll()
        poll.add(socket.descriptor.number, .readable)
        _ = poll.wait(core.configuration.firstByteLimit)
        var bytes = [UInt8](repeating: 0, count: L2CAPSocket.receiveLimit)
        let count = recv(socket.descriptor.number, &bytes, bytes.count, 0)
        guard count > 0, let first = bytes.first else {
            core.logger.debug("Bluetooth: a channel said nothing.", metadata: ["peer": "\(peer)"])
            return
        }
        let information = LinkInformation(kind: .l2cap, remoteAddress: "ble://\(peer)", isInitiator: false)
        do throws(SystemError) {
            let ends: StreamEnds
            switch FirstByte(first) {
            case .legacy:
                guard let legacy else {
                    core.logger.notice(
                        "A device speaks GhostDrop's first version, which is not served at the moment.",
                        metadata: ["peer": "\(peer)"])
                    return
                }
                ends = try StreamEnds()
                ends.channel(on: core.group) { $0.eventLoop.makeSucceededVoidFuture() }.whenSuccess { channel in
                    _ = information.start(on: channel, install: legacy)
                }
            case .link:
                guard core.sink.isOpen, let sink = core.sink.current else {
                    core.logger.debug("Bluetooth: nobody takes links.", metadata: ["peer": "\(peer)"])
                    return
                }
                ends = try StreamEnds()
                sink.accept(ends, information, on: core.group)
            }
            let pump = PacketPump(
                stream: ends.pumped, packets: socket.descriptor, packetLimit: try socket.packetLimit())
            let outcome = pump.run(received: Array(bytes[..<count]))
            core.logger.debug(
                "Bluetooth: a link has ended.", metadata: ["peer": "\(peer)", "how": "\(outcome)"])
        } catch {
            core.logger.warning("Bluetooth: a link failed.", metadata: ["peer": "\(peer)", "error": "\(error)"])
        }
    }
}
