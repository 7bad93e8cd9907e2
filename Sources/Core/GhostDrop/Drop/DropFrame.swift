import Cryptography

/// A frame of GhostDrop v1: `GHST`, version 1, a kind, the length of a body, and a JSON body.
public enum DropFrame: Hashable, Sendable {
    case hello(Hello)
    case helloAck(HelloAck)
    case verify(transcriptHash: [UInt8], code: String)
    case verifyAck(accepted: Bool)
    case metadata(DropMetadata)
    /// A piece of the file, sealed under its number.
    case data(sequence: UInt64, payload: [UInt8])
    /// Everything up to `cumulative` has arrived; bit i of `missing`: `cumulative` + 1 + i has not.
    case ack(cumulative: UInt64, missing: UInt64)
    case resume(transferID: UniqueID, lastConfirmed: UInt64)
    case complete(transferID: UniqueID, sha256: [UInt8])
    case cancel(reason: String)
    case ping(id: UInt32)
    /// Another frame, sealed.
    case encrypted(sequence: UInt64, combined: [UInt8])

    public struct Hello: Hashable, Sendable {
        public var sessionID: UniqueID
        public var deviceID: UniqueID
        /// 65 bytes, X9.63.
        public var publicKey: [UInt8]
        /// 16 bytes.
        public var nonce: [UInt8]
        public var capabilities: Capabilities

        public init(
            sessionID: UniqueID, deviceID: UniqueID, publicKey: [UInt8], nonce: [UInt8], capabilities: Capabilities
        ) {
            self.sessionID = sessionID
            self.deviceID = deviceID
            self.publicKey = publicKey
            self.nonce = nonce
            self.capabilities = capabilities
        }
    }

    public struct HelloAck: Hashable, Sendable {
        public var sessionID: UniqueID
        public var publicKey: [UInt8]
        public var nonce: [UInt8]

        public init(sessionID: UniqueID, publicKey: [UInt8], nonce: [UInt8]) {
            self.sessionID = sessionID
            self.publicKey = publicKey
            self.nonce = nonce
        }
    }

    public static let headerByteCount = 10
    public static let nonceByteCount = 16
    /// The longest body that is read: more than any peer's, small enough to be held for each connection.
    public static let bodyLimit = 1 << 20
    /// The longest text in a body, in UTF-8: names, reasons.
    public static let textLimit = 4096
    static let magic = Array("GHST".utf8)
    static let version: UInt8 = 1

    private enum Kind: UInt8 {
        case hello = 1
        case helloAck, verify, verifyAck, metadata, dataPayload, ack, resume, complete, cancel, ping, encrypted

        private static let keys = [
            "hello", "helloAck", "verify", "verifyAck", "metadata", "dataPayload", "ack", "resume", "complete",
            "cancel",
            "ping", "encrypted",
        ]

        /// The body's only key.
        var key: String { Self.keys[Int(rawValue) - 1] }
    }

    private var kind: Kind {
        switch self {
        case .hello: .hello
        case .helloAck: .helloAck
        case .verify: .verify
        case .verifyAck: .verifyAck
        case .metadata: .metadata
        case .data: .dataPayload
        case .ack: .ack
        case .resume: .resume
        case .complete: .complete
        case .cancel: .cancel
        case .ping: .ping
        case .encrypted: .encrypted
        }
    }

    /// Whether GATT carries it as a write without response on the data characteristic.
    public var isBulk: Bool { kind == .dataPayload }
}

// MARK: - bytes

extension DropFrame {
    /// The whole frame.
    public var bytes: [UInt8] {
        let body = DropJSON.object([kind.key: .object(members)]).text
        var bytes = Self.magic + [Self.version, kind.rawValue]
        withUnsafeBytes(of: UInt32(truncatingIfNeeded: body.count).bigEndian) { bytes.append(contentsOf: $0) }
        return bytes + body
    }

    private var members: [String: DropJSON] {
        switch self {
        case .hello(let hello):
            [
                "sessionID": .string(hello.sessionID.description),
                "deviceID": .object(["rawValue": .string(hello.deviceID.description)]),
                "ephemeralPublicKey": .bytes(hello.publicKey), "nonce": .bytes(hello.nonce),
                "capabilities": hello.capabilities.json,
            ]
        case .helloAck(let hello):
            [
                "sessionID": .string(hello.sessionID.description), "ephemeralPublicKey": .bytes(hello.publicKey),
                "nonce": .bytes(hello.nonce),
            ]
        case .verify(let hash, let code): ["transcriptHash": .bytes(hash), "sasCode": .string(code)]
        case .verifyAck(let accepted): ["accepted": .boolean(accepted)]
        case .metadata(let metadata): metadata.members
        case .data(let sequence, let payload): ["sequence": .number(sequence), "payload": .bytes(payload)]
        case .ack(let cumulative, let missing):
            ["cumulativeSequence": .number(cumulative), "nackBitmap": .number(missing)]
        case .resume(let id, let lastConfirmed):
            ["transferID": .string(id.description), "lastConfirmedSequence": .number(lastConfirmed)]
        case .complete(let id, let sha256): ["transferID": .string(id.description), "sha256": .bytes(sha256)]
        case .cancel(let reason): ["reason": .string(reason)]
        case .ping(let id): ["id": .number(UInt64(id))]
        case .encrypted(let sequence, let combined): ["sequence": .number(sequence), "combined": .bytes(combined)]
        }
    }

    /// How long the frame is that begins with `bytes`; nil if they are too few to say.
    ///
    /// Throws `malformed` if they begin no frame of version 1, `tooLarge` if its body is longer than `bodyLimit`.
    public static func byteCount(_ bytes: some Collection<UInt8>) throws(GhostDropError) -> Int? {
        let header = Array(bytes.prefix(headerByteCount))
        guard zip(header, magic + [version]).allSatisfy({ $0 == $1 }),
            header.count < 6 || Kind(rawValue: header[5]) != nil
        else { throw .malformed("something other than GhostDrop v1 frames") }
        guard header.count == headerByteCount else { return nil }
        let count = header[6...].reduce(0) { $0 << 8 | Int($1) }
        guard count <= bodyLimit else {
            throw GhostDropError(.tooLarge, "the other side announced a frame of \(count) bytes; that is too long")
        }
        return headerByteCount + count
    }

    /// Reads one whole frame.
    ///
    /// Throws `malformed` or `tooLarge`; nothing of the bytes is kept.
    public init(parsing bytes: [UInt8]) throws(GhostDropError) {
        guard let count = try Self.byteCount(bytes), count == bytes.count, let kind = Kind(rawValue: bytes[5]) else {
            throw .malformed("a frame that is cut or too long")
        }
        let (name, body) = try FrameBody(DropJSON(parsing: bytes[Self.headerByteCount...])).only()
        guard name == kind.key else { throw .malformed("a frame of one kind with the body of another") }
        switch kind {
        case .hello:
            self = .hello(
                Hello(
                    sessionID: try body.uniqueID("sessionID"),
                    deviceID: try body.object("deviceID").uniqueID("rawValue"),
                    publicKey: try body.bytes("ephemeralPublicKey", count: P256PrivateKey.publicKeyByteCount),
                    nonce: try body.bytes("nonce", count: Self.nonceByteCount),
                    capabilities: try Capabilities(body.object("capabilities"))))
        case .helloAck:
            self = .helloAck(
                HelloAck(
                    sessionID: try body.uniqueID("sessionID"),
                    publicKey: try body.bytes("ephemeralPublicKey", count: P256PrivateKey.publicKeyByteCount),
                    nonce: try body.bytes("nonce", count: Self.nonceByteCount)))
        case .verify:
            self = .verify(
                transcriptHash: try body.bytes("transcriptHash", count: SHA256Digest.byteCount),
                code: try body.string("sasCode", limit: 16))
        case .verifyAck: self = .verifyAck(accepted: try body.boolean("accepted"))
        case .metadata: self = .metadata(try DropMetadata(body))
        case .dataPayload:
            self = .data(sequence: try body.unsigned("sequence"), payload: try body.bytes("payload"))
        case .ack:
            self = .ack(
                cumulative: try body.unsigned("cumulativeSequence"), missing: try body.unsigned("nackBitmap"))
        case .resume:
            self = .resume(
                transferID: try body.uniqueID("transferID"), lastConfirmed: try body.unsigned("lastConfirmedSequence"))
        case .complete:
            self = .complete(
                transferID: try body.uniqueID("transferID"),
                sha256: try body.bytes("sha256", count: SHA256Digest.byteCount))
        case .cancel: self = .cancel(reason: try body.string("reason", limit: Self.textLimit))
        case .ping: self = .ping(id: UInt32(try body.integer("id", in: 0...Int(UInt32.max))))
        case .encrypted:
            self = .encrypted(sequence: try body.unsigned("sequence"), combined: try body.bytes("combined"))
        }
    }
}

extension DropJSON {
    static func bytes(_ bytes: [UInt8]) -> DropJSON { .string(Base64.encode(bytes)) }

    static func number(_ value: UInt64) -> DropJSON { Int(exactly: value).map { .integer($0) } ?? .unsigned(value) }
}

/// Cuts the bytes of a stream into frames; holds at most one frame and what was given with its end.
public struct DropFrameReader: Sendable {
    private var buffer = Queue<UInt8>()

    public init() {}

    public mutating func append(_ bytes: some Collection<UInt8>) { buffer.append(contentsOf: bytes) }

    /// The next whole frame; nil: more bytes are needed. After an error the stream is of no use any more.
    ///
    /// - Throws: `malformed` for bytes that are not GhostDrop v1 frames, `tooLarge` for a frame above the limit.
    public mutating func next() throws(GhostDropError) -> DropFrame? {
        let header = (0..<min(buffer.count, DropFrame.headerByteCount)).map { buffer[$0] }
        guard let count = try DropFrame.byteCount(header), buffer.count >= count else { return nil }
        return try DropFrame(parsing: buffer.removeFirst(count))
    }
}
