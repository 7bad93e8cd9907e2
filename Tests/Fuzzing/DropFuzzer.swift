import Cryptography

/// What GhostDrop reads from strangers: the first byte says as what the rest is taken, frames of a stream, packets of v1,
/// capabilities, packets of a GATT stream, or frames of a transfer. What is read must be written and read again alike.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzDrop(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    guard let first = input.first else { return 0 }
    let rest = Array(input.dropFirst())
    switch first % 5 {
    case 0: fuzzFrames(rest)
    case 1: fuzzPackets(rest)
    case 2: fuzzCapabilities(rest)
    case 3: fuzzStream(rest)
    default: fuzzTransfer(rest)
    }
    return 0
}

private func frames(_ bytes: [UInt8], inPiecesOf size: Int) -> (frames: [DropFrame], error: GhostDropError?) {
    var reader = DropFrameReader()
    var frames: [DropFrame] = []
    do throws(GhostDropError) {
        for start in stride(from: 0, to: bytes.count, by: size) {
            reader.append(bytes[start..<min(start + size, bytes.count)])
            while let frame = try reader.next() { frames.append(frame) }
        }
    } catch {
        return (frames, error)
    }
    return (frames, nil)
}

private func fuzzFrames(_ bytes: [UInt8]) {
    let whole = frames(bytes, inPiecesOf: max(1, bytes.count))
    let pieces = frames(bytes, inPiecesOf: 3)
    precondition(whole.frames == pieces.frames && whole.error == pieces.error, "pieces are read otherwise")
    for frame in whole.frames { precondition((try? DropFrame(parsing: frame.bytes)) == frame, "not read back") }
}

/// The input as packets: a length of one byte, then so many bytes.
private func packets(_ bytes: [UInt8]) -> [[UInt8]] {
    var packets: [[UInt8]] = []
    var rest = bytes[...]
    while let count = rest.popFirst() {
        packets.append(Array(rest.prefix(Int(count))))
        rest = rest.dropFirst(Int(count))
    }
    return packets
}

private func fuzzPackets(_ bytes: [UInt8]) {
    var reassembler = DropReassembler()
    for (index, packet) in packets(bytes).enumerated() {
        guard let frame = try? reassembler.receive(packet, at: .milliseconds(index * 100)) else { continue }
        precondition((try? DropFrame(parsing: frame.bytes)) == frame, "not read back")
    }
}

private func fuzzCapabilities(_ bytes: [UInt8]) {
    if let value = try? CapabilitiesValue(parsing: bytes) {
        precondition((try? CapabilitiesValue(parsing: value.bytes)) == value, "not read back")
    }
    if let value = try? DropJSON(parsing: bytes[...]) {
        precondition((try? DropJSON(parsing: value.text[...])) == value, "not read back")
    }
}

/// Two streams that are open; then each packet goes to one of them, as it is, or as the body of a packet whose check is
/// right: a check of 16 bits would keep the fuzzer out.
private func fuzzStream(_ bytes: [UInt8]) {
    var configuration = GATTStream.Configuration()
    configuration.receiveLimit = 4096
    var central = GATTStream(role: .central, maximumPacket: 60, token: 1, configuration: configuration)
    var peripheral = GATTStream(role: .peripheral, maximumPacket: 60, token: 2, configuration: configuration)
    let keys = [GATTStream.Role.central, .peripheral].map {
        StreamPacket.Key(centralToken: 1, peripheralToken: 2, sender: $0)
    }
    var now = Duration.zero
    func exchange() {
        for _ in 0..<100 {
            var isIdle = true
            while let packet = central.nextPacket(at: now) {
                peripheral.receive(packet, at: now)
                isIdle = false
            }
            while let packet = peripheral.nextPacket(at: now) {
                central.receive(packet, at: now)
                isIdle = false
            }
            if isIdle { return }
        }
        preconditionFailure("they talk without end")
    }
    exchange()
    for packet in packets(bytes) {
        _ = central.write(packet)
        _ = peripheral.write(packet)
        if packet.count > 4, let kind = StreamPacket.Kind(rawValue: packet[0] >> 6), kind != .control {
            let sequence = Int(packet[1]) << 4 | Int(packet[2] & 15)
            let forged = { (key: StreamPacket.Key) in
                StreamPacket.encode(
                    kind, sequence: sequence, wantsAnswer: packet[0] & 0x20 != 0, rest: Array(packet[3...]), key: key)
            }
            peripheral.receive(forged(keys[0]), at: now)
            central.receive(forged(keys[1]), at: now)
        } else {
            peripheral.receive(packet, at: now)
            central.receive(packet, at: now)
        }
        now += .milliseconds(Int64(packet.count) * 10)
        exchange()
        precondition(peripheral.readableCount <= 4096 + 512, "holds too much")
        _ = central.read(maximum: 50)
        if packet.count % 2 == 0 { _ = peripheral.read(maximum: 100) }
    }
}

/// A receiver and a sender in the middle of a transfer, and frames for them.
private func fuzzTransfer(_ bytes: [UInt8]) {
    guard let id = UniqueID([UInt8](0..<16)), let key = try? P256PrivateKey(scalar: [UInt8](repeating: 1, count: 32)),
        let other = try? P256PrivateKey(scalar: [UInt8](repeating: 2, count: 32))
    else { preconditionFailure("no keys") }
    let capabilities = Capabilities(supportsL2CAP: false)
    var sender = DropSender(
        file: .init(name: "f", size: 1000, mimeType: "", sha256: [UInt8](repeating: 0, count: 32)),
        identity: .init(
            deviceID: id, sessionID: id, transferID: id, privateKey: key, nonce: [UInt8](repeating: 0, count: 16)),
        capabilities: capabilities, peer: capabilities, isOrdered: false, at: .zero)
    var receiver = DropReceiver(
        identity: .init(privateKey: other, nonce: [UInt8](repeating: 1, count: 16)), capabilities: capabilities)
    var now = Duration.zero
    func exchange() {
        for _ in 0..<20 {
            var isIdle = true
            while let event = receiver.nextEvent() {
                isIdle = false
                if case .compare = event { receiver.answerCode(true, at: now) }
                if case .offer = event { receiver.accept(at: now) }
            }
            while let event = sender.nextEvent() {
                isIdle = false
                if case .compare = event { sender.answerCode(true, at: now) }
            }
            if let piece = sender.nextPiece(at: now) {
                sender.provide([UInt8](repeating: 5, count: piece.range.count), at: now)
            }
            while let frame = sender.nextFrame(at: now) {
                isIdle = false
                receiver.receive(frame, at: now)
            }
            while let frame = receiver.nextFrame(at: now) {
                isIdle = false
                sender.receive(frame, at: now)
            }
            if isIdle { return }
        }
    }
    for frame in frames(bytes, inPiecesOf: max(1, bytes.count)).frames {
        exchange()
        now += .milliseconds(700)
        receiver.receive(frame, at: now)
        sender.receive(frame, at: now)
    }
    exchange()
}
