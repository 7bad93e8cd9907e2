import Cryptography
import GhostDrop
import NIOCore
import TransportVirtual

/// A file sent as GhostDrop's first version sends it, over an L2CAP channel of the virtual link: what its frames of JSON cost.
struct GhostDropTransfer {
    /// One end: frames that wait for room on the link, and those that come.
    private struct End {
        var side: VirtualLink.Side
        var waiting = ByteBuffer()
        var reader = DropFrameReader()

        mutating func send(_ frame: DropFrame) { waiting.writeBytes(frame.bytes) }

        mutating func write(to connection: inout VirtualConnection, at now: Duration) {
            let room = min(connection.room(at: side), waiting.readableBytes)
            if room > 0, let bytes = waiting.readSlice(length: room) { connection.write(bytes, from: side, at: now) }
            if waiting.readableBytes == 0 { waiting.clear() }
        }
    }

    private let byteCount: Int
    private var connection: VirtualConnection
    private var sender: DropSender
    private var receiver: DropReceiver
    private var ends = (sender: End(side: .central), receiver: End(side: .peripheral))
    private var received = 0
    private var isDone = false

    /// Sends so many bytes. Throws `CryptographyError` or `GhostDropError`.
    static func run(_ byteCount: Int, _ conditions: RadioConditions) throws -> RadioBenchmark.Result {
        var transfer = try GhostDropTransfer(byteCount, conditions)
        return try transfer.run()
    }

    private init(_ byteCount: Int, _ conditions: RadioConditions) throws {
        self.byteCount = byteCount
        connection = VirtualConnection(.l2cap, conditions, seed: 1, start: .zero)
        var random = SystemRandomNumberGenerator()
        let capabilities = Capabilities(supportsL2CAP: true, protocolVersion: 1)
        sender = DropSender(
            file: .init(
                name: "film.bin", size: byteCount, mimeType: "application/octet-stream",
                sha256: [UInt8](repeating: 0, count: 32)),
            identity: .init(
                deviceID: UniqueID(using: &random), sessionID: UniqueID(using: &random),
                transferID: UniqueID(using: &random), privateKey: try P256PrivateKey(),
                nonce: SecureRandom.bytes(count: 32)),
            capabilities: capabilities, peer: capabilities, isOrdered: true, at: .zero)
        receiver = DropReceiver(
            identity: .init(privateKey: try P256PrivateKey(), nonce: SecureRandom.bytes(count: 32)),
            capabilities: capabilities)
    }

    private mutating func run() throws -> RadioBenchmark.Result {
        var now = Duration.zero
        try work(at: now)
        while !isDone {
            let deadlines = [connection.nextDeadline, sender.nextDeadline, receiver.nextDeadline].compactMap { $0 }
            guard let deadline = deadlines.min() else { break }
            now = max(now, deadline)
            connection.advance(to: now)
            try work(at: now)
        }
        return RadioBenchmark.Result(received, of: connection, finishedAt: now)
    }

    /// Everything that can be done at this moment.
    private mutating func work(at now: Duration) throws {
        var hasMoved = true
        while hasMoved {
            hasMoved = false
            for frame in try frames(for: .central, now) {
                sender.receive(frame, at: now)
                hasMoved = true
            }
            for frame in try frames(for: .peripheral, now) {
                receiver.receive(frame, at: now)
                hasMoved = true
            }
            while let event = sender.nextEvent() {
                if case .compare = event { sender.answerCode(true, at: now) }
                if case .finished = event { isDone = true }
                if case .failed(let error) = event { throw error }
            }
            while let event = receiver.nextEvent() {
                switch event {
                case .compare: receiver.answerCode(true, at: now)
                case .offer: receiver.accept(at: now)
                case .piece(_, let bytes):
                    received += bytes.count
                    isDone = isDone || received >= byteCount
                case .checkDigest: receiver.answerDigest(true)
                case .failed(let error): throw error
                case .progress, .finished: break
                }
            }
            while ends.sender.waiting.readableBytes < 4096 {
                if let frame = sender.nextFrame(at: now) {
                    ends.sender.send(frame)
                } else if let piece = sender.nextPiece(at: now) {
                    sender.provide([UInt8](repeating: 0x5A, count: piece.range.count), at: now)
                } else {
                    break
                }
                hasMoved = true
            }
            while let frame = receiver.nextFrame(at: now) {
                ends.receiver.send(frame)
                hasMoved = true
            }
            ends.sender.write(to: &connection, at: now)
            ends.receiver.write(to: &connection, at: now)
        }
    }

    private mutating func frames(for side: VirtualLink.Side, _ now: Duration) throws -> [DropFrame] {
        let bytes = connection.take(atMost: .max, at: side, now: now)
        let isSender = side == .central
        var reader = isSender ? ends.sender.reader : ends.receiver.reader
        reader.append(bytes.readableBytesView)
        var frames: [DropFrame] = []
        while let frame = try reader.next() { frames.append(frame) }
        if isSender { ends.sender.reader = reader } else { ends.receiver.reader = reader }
        return frames
    }
}
