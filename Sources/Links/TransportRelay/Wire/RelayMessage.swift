import BlockExchange
import Cryptography
import NIOCore
import Transport

/// A message of relay protocol v1 (Syncthing's relay-v1 specification).
package enum RelayMessage: Equatable, Sendable {
    case ping
    case pong
    /// Asks to stay joined; the token is empty where none is set.
    case joinRelayRequest(token: String)
    /// Begins a session: at most 32 bytes.
    case joinSessionRequest(key: [UInt8])
    case response(RelayResponse)
    /// Asks for a session with the device of these 32 bytes.
    case connectRequest(device: [UInt8])
    case sessionInvitation(SessionInvitation)
    case relayFull

    /// Longest payload, by the specification.
    package static let maximumPayloadByteCount = 1024
    static let headerByteCount = 12
    static let magic: UInt32 = 0x9E79_BC40
}

/// What a relay answers to a request.
package struct RelayResponse: Equatable, Sendable {
    package var code: Int32
    /// The relay's own words: text of somebody else.
    package var message: String

    package init(code: Int32, message: String) {
        self.code = code
        self.message = message
    }

    package static let success: Int32 = 0
    package static let notFound: Int32 = 1
    package static let alreadyConnected: Int32 = 2
    /// In relays from 1.23 on; the specification lacks it.
    package static let wrongToken: Int32 = 3
    package static let unexpectedMessage: Int32 = 100

    /// The code and at most 100 characters of the message, for people.
    var shown: String {
        let text = message.unicodeScalars.prefix(100).map { $0.value < 0x20 || $0.value == 0x7F ? "?" : $0 }
        return "“\(String(String.UnicodeScalarView(text)))” (code \(code))"
    }
}

/// An offer of one session, of which each side gets its own.
package struct SessionInvitation: Equatable, Sendable {
    /// The device at the other end, as the relay says; the session's own TLS decides.
    package var from: DeviceID
    /// Admits once: 1 to 32 bytes.
    package var key: [UInt8]
    /// Where the session takes place; nil for wherever the relay itself was reached.
    package var address: IPAddress?
    /// From 1 on.
    package var port: UInt16
    /// Whether this side is the TLS server of the session.
    package var isServer: Bool

    package init(from: DeviceID, key: [UInt8], address: IPAddress?, port: UInt16, isServer: Bool) {
        self.from = from
        self.key = key
        self.address = address
        self.port = port
        self.isServer = isServer
    }
}

extension RelayMessage {
    /// The number in the message's header.
    enum Kind: Int32 {
        case ping
        case pong
        case joinRelayRequest
        case joinSessionRequest
        case response
        case connectRequest
        case sessionInvitation
        case relayFull
    }

    var kind: Kind {
        switch self {
        case .ping: .ping
        case .pong: .pong
        case .joinRelayRequest: .joinRelayRequest
        case .joinSessionRequest: .joinSessionRequest
        case .response: .response
        case .connectRequest: .connectRequest
        case .sessionInvitation: .sessionInvitation
        case .relayFull: .relayFull
        }
    }

    /// The whole message with its header.
    package var encoded: ByteBuffer {
        var payload = ByteBuffer()
        switch self {
        case .ping, .pong, .relayFull: break
        case .joinRelayRequest(let token): payload.writeOpaque(token.utf8)
        case .joinSessionRequest(let key): payload.writeOpaque(key)
        case .response(let response):
            payload.writeInteger(response.code)
            payload.writeOpaque(response.message.utf8)
        case .connectRequest(let device): payload.writeOpaque(device)
        case .sessionInvitation(let invitation):
            payload.writeOpaque(invitation.from.digest.bytes)
            payload.writeOpaque(invitation.key)
            payload.writeOpaque(invitation.address.map(Self.sixteenBytes) ?? [])
            payload.writeInteger(UInt32(invitation.port))
            payload.writeInteger(UInt32(invitation.isServer ? 1 : 0))
        }
        var message = ByteBuffer()
        message.writeInteger(Self.magic)
        message.writeInteger(kind.rawValue)
        message.writeInteger(UInt32(truncatingIfNeeded: payload.readableBytes))
        message.writeBuffer(&payload)
        return message
    }

    /// Relays send IPv4 addresses mapped into IPv6.
    private static func sixteenBytes(_ address: IPAddress) -> [UInt8] {
        address.isIPv4 ? [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF] + address.bytes : address.bytes
    }

    /// Reads the payload of a message of `kind`. Bytes after the last known field are read over, as relays do with what
    /// later versions add.
    ///
    /// - Throws: `RelayError` with the code `malformed`.
    init(_ kind: Kind, payload: ByteBuffer) throws(RelayError) {
        var payload = payload
        switch kind {
        case .ping: self = .ping
        case .pong: self = .pong
        case .relayFull: self = .relayFull
        case .joinRelayRequest:
            // Before 1.23 it had no field.
            let token = payload.readableBytes == 0 ? [] : try payload.readOpaque(atMost: Self.maximumPayloadByteCount)
            self = .joinRelayRequest(token: String(decoding: token, as: UTF8.self))
        case .joinSessionRequest: self = .joinSessionRequest(key: try payload.readOpaque(atMost: 32))
        case .response:
            guard let code = payload.readInteger(as: Int32.self) else { throw .truncated }
            let message = try payload.readOpaque(atMost: Self.maximumPayloadByteCount)
            self = .response(RelayResponse(code: code, message: String(decoding: message, as: UTF8.self)))
        case .connectRequest: self = .connectRequest(device: try payload.readOpaque(atMost: 32))
        case .sessionInvitation: self = .sessionInvitation(try SessionInvitation(payload: &payload))
        }
    }
}

extension SessionInvitation {
    fileprivate init(payload: inout ByteBuffer) throws(RelayError) {
        guard let digest = SHA256Digest(try payload.readOpaque(atMost: 32)) else {
            throw RelayError(.malformed, "the relay sent an invitation of a device whose id is not 32 bytes long")
        }
        let key = try payload.readOpaque(atMost: 32)
        guard !key.isEmpty else { throw RelayError(.malformed, "the relay sent an invitation without a key") }
        let address = try payload.readOpaque(atMost: 32)
        guard [0, 4, 16].contains(address.count) else {
            throw RelayError(
                .malformed, "the relay sent an invitation to an address of \(address.count) bytes; 4 or 16 are right")
        }
        guard let port = payload.readInteger(as: UInt32.self), let isServer = payload.readInteger(as: UInt32.self)
        else { throw .truncated }
        guard let port = UInt16(exactly: port), port > 0 else {
            throw RelayError(.malformed, "the relay sent an invitation to port \(port)")
        }
        let socket = try? SocketAddress(packedIPAddress: ByteBuffer(bytes: address), port: 0)
        let ip = socket.flatMap { IPAddress($0) }
        self.init(
            from: DeviceID(digest: digest), key: key, address: ip?.isUnspecified == true ? nil : ip, port: port,
            isServer: isServer != 0)
    }
}

extension RelayError {
    static let truncated = RelayError(.malformed, "the relay sent a message that ends in the middle of a field")
}

/// XDR's opaque data (RFC 4506, section 4.10): a length, the bytes, zeros up to a multiple of four.
extension ByteBuffer {
    fileprivate mutating func writeOpaque(_ bytes: some Collection<UInt8>) {
        writeInteger(UInt32(truncatingIfNeeded: bytes.count))
        writeBytes(bytes)
        writeRepeatingByte(0, count: -bytes.count & 3)
    }

    fileprivate mutating func readOpaque(atMost limit: Int) throws(RelayError) -> [UInt8] {
        guard let length = readInteger(as: UInt32.self) else { throw .truncated }
        // Compared before anything is computed from it.
        guard let count = Int(exactly: length), count <= limit else {
            throw RelayError(.malformed, "the relay sent a field of \(length) bytes; at most \(limit) are right")
        }
        guard let bytes = readBytes(length: count), readBytes(length: -count & 3) != nil else { throw .truncated }
        return bytes
    }
}
