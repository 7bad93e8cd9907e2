import CBluetooth
import Glibc
import Logging
import MessageBus
import NIOCore
import Threads
import Transport

/// Makes links of accepted L2CAP channels, each in a thread of its own.
struct Acceptor: Sendable {
    let core: BluetoothCore

    func accept(_ socket: L2CAPSocket, _ peer: BluetoothAddress) {
        guard core.reserveLink() else {
            core.logger.notice("Bluetooth: there are too many links.", metadata: ["peer": "\(peer)"])
            return
        }
        do throws(SystemError) {
            try OwnedThread.startWaiting("bluetooth-l2cap") {
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
            core.logger.debug("Bluetooth: a channel stayed silent.", metadata: ["peer": "\(peer)"])
            return
        }
        let device = core.client.facts.adapter.map { ObjectTree.devicePath(peer, of: $0.path) }
        if let device { core.client.beginAcceptedUse(device) }
        defer { if let device { core.client.endUse(device, wasGATT: false) } }
        let information = LinkInformation(kind: .l2cap, remoteAddress: "ble://\(peer)", isInitiator: false)
        do throws(SystemError) {
            let ends: StreamEnds
            switch FirstByte(first) {
            case .legacy:
                guard let legacy = core.legacyDoor.installer else {
                    core.logger.notice(
                        "A device wants to send a file; to accept it, run `synctrain drop receive`.",
                        metadata: ["peer": "\(peer)"])
                    return
                }
                ends = try StreamEnds(.forPackets)
                ends.channel(on: core.group) { $0.eventLoop.makeSucceededVoidFuture() }.whenSuccess { channel in
                    _ = information.start(on: channel, install: legacy)
                }
            case .link:
                guard core.sink.isOpen, let sink = core.sink.current else {
                    core.logger.debug("Bluetooth: links are not accepted.", metadata: ["peer": "\(peer)"])
                    return
                }
                ends = try StreamEnds(.forPackets)
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
