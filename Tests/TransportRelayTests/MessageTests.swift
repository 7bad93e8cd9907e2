import BlockExchange
import Foundation
import NIOCore
import SyncTestKit
import Testing
import Transport
import TransportRelay

/// The codec against bytes that real relays of 1.19 and 1.29 exchanged with a client that is not ours.
@Suite struct MessageTests {
    struct Captured: Sendable, CustomTestStringConvertible {
        var source: String
        var what: JSONValue

        var bytes: [UInt8] { what["hex"].bytes }
        var testDescription: String { "\(source) \(what["who"].string) \(what["type"].string)" }
    }

    static let captured: [Captured] = ["relay-1.19", "relay-1.29"].flatMap { name -> [Captured] in
        let url = Bundle.module.url(forResource: "Vectors/\(name)", withExtension: "json")
        guard let url, let data = try? Data(contentsOf: url),
            let list = try? JSONDecoder().decode(JSONValue.self, from: data)
        else { return [] }
        return list.array.map { Captured(source: name, what: $0) }
    }

    @Test func thereAreVectorsOfBothRelays() { #expect(Self.captured.count == 88) }

    @Test(arguments: captured) func readsAndWritesWhatRelaysSend(captured: Captured) throws {
        var reader = RelayFrameReader()
        reader.append(ByteBuffer(bytes: captured.bytes))
        guard captured.what["type"].string != "" else {
            // The one message of an unknown type.
            #expect(throws: RelayError.self) { try reader.next() }
            return
        }
        let message = try #require(try reader.next())
        #expect(reader.rest.readableBytes == 0)
        let decoded = captured.what["decoded"]
        switch message {
        case .ping: #expect(captured.what["type"].string == "Ping")
        case .pong: #expect(captured.what["type"].string == "Pong")
        case .relayFull: #expect(captured.what["type"].string == "RelayFull")
        case .joinRelayRequest(let token):
            #expect(captured.what["type"].string == "JoinRelayRequest")
            #expect(decoded["raw"].bytes.dropFirst(4).prefix(token.utf8.count).elementsEqual(token.utf8))
            // The form without a field is read, and never written.
            if decoded["raw"].string.isEmpty {
                #expect(token.isEmpty)
                return
            }
        case .joinSessionRequest(let key): #expect(key == decoded["opaque"].bytes)
        case .connectRequest(let device): #expect(device == decoded["opaque"].bytes)
        case .response(let response):
            #expect(Int64(response.code) == decoded["code"].int)
            #expect(response.message == decoded["message"].string)
        case .sessionInvitation(let invitation):
            #expect(invitation.from.description == decoded["from"].string)
            #expect(invitation.key == decoded["key"].bytes)
            #expect(invitation.address == IPAddress(decoded["address"].string))
            #expect(Int64(invitation.port) == decoded["port"].int)
            #expect(invitation.isServer == decoded["serverSocket"].bool)
        }
        #expect(Array(buffer: message.encoded) == captured.bytes)
    }

    /// A relay that listens on all addresses of its machine says none (1.19), or zeros.
    @Test(arguments: [[], [0, 0, 0, 0], [UInt8](repeating: 0, count: 16)])
    func noAddressIsTheRelaysOwn(address: [UInt8]) throws {
        #expect(try Self.invitation(address: address, port: 22067)?.address == nil)
    }

    @Test(arguments: [[11, 7, 0, 1], [UInt8](repeating: 0, count: 10) + [255, 255, 11, 7, 0, 1]])
    func anIPv4AddressHasFourBytesOrIsMapped(address: [UInt8]) throws {
        #expect(try Self.invitation(address: address, port: 443)?.address == IPAddress("11.7.0.1"))
    }

    @Test(arguments: [([1, 2, 3], 22067), ([], 0), ([], 65536), ([], .max)] as [([UInt8], UInt32)])
    func wrongAddressesAndPortsAreRefused(address: [UInt8], port: UInt32) {
        #expect(throws: RelayError.self) { try Self.invitation(address: address, port: port) }
    }

    @Test func unknownResponseCodesAreRead() throws {
        let message = RelayMessage.response(RelayResponse(code: 77, message: "later"))
        #expect(try Self.read(Array(buffer: message.encoded)) == message)
    }

    /// A later version may add fields, as 1.23 did to JoinRelayRequest.
    @Test func fieldsBehindTheLastAreReadOver() throws {
        let bytes = Self.message(type: 4, payload: [0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4])
        #expect(try Self.read(bytes) == .response(RelayResponse(code: 0, message: "")))
    }

    @Test func longestMessage() throws {
        let token = String(repeating: "t", count: RelayAddress.maximumTokenByteCount)
        let encoded = Array(buffer: RelayMessage.joinRelayRequest(token: token).encoded)
        #expect(encoded.count == 12 + RelayMessage.maximumPayloadByteCount)
        #expect(try Self.read(encoded) == .joinRelayRequest(token: token))
    }

    /// Decided from the header alone: the relay need not send the rest.
    @Test(arguments: [
        [0x9E, 0x79, 0xBC, 0x41], [0x9E, 0x79, 0xBC, 0x40, 0, 0, 0, 8], [0x9E, 0x79, 0xBC, 0x40, 255, 255, 255, 255],
        [0x9E, 0x79, 0xBC, 0x40, 0, 0, 0, 0, 0, 0, 4, 1], [0x9E, 0x79, 0xBC, 0x40, 0, 0, 0, 0, 255, 255, 255, 255],
        Array("HTTP/1.1 400".utf8),
    ])
    func wrongHeadersAreRefused(header: [UInt8]) {
        #expect(throws: RelayError.self) { try Self.read(header) }
    }

    @Test(
        arguments: [
            // No code, no message, a message that is cut off, one without its padding, a length that nothing could hold.
            (4, []), (4, [0, 0, 0, 0]), (4, [0, 0, 0, 0, 0, 0, 0, 4, 65]), (4, [0, 0, 0, 0, 0, 0, 0, 1, 65]),
            (4, [0, 0, 0, 0, 255, 255, 255, 255]), (3, []), (5, []), (6, []),
            // A key and a device of 33 bytes.
            (3, [0, 0, 0, 33] + [UInt8](repeating: 1, count: 36)),
            (5, [0, 0, 0, 33] + [UInt8](repeating: 1, count: 36)),
            // An invitation of a device whose id is cut short.
            (6, [0, 0, 0, 4, 1, 2, 3, 4] + [UInt8](repeating: 0, count: 40)),
        ] as [(Int32, [UInt8])])
    func wrongPayloadsAreRefused(type: Int32, payload: [UInt8]) {
        #expect(throws: RelayError.self) { try Self.read(Self.message(type: type, payload: payload)) }
    }

    @Test func anInvitationWithoutAKeyIsRefused() {
        #expect(throws: RelayError.self) { try Self.invitation(key: [], address: [], port: 1) }
    }

    /// However the bytes arrive, the same messages come out and the same error.
    @Test(arguments: 1...50) func piecesMakeNoDifference(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var bytes = (0..<8).flatMap { _ in random.pick(Self.captured).bytes }
        if random.isOne(in: 2) { bytes[random.int(0...bytes.count - 1)] ^= UInt8(random.int(1...255)) }
        let whole = Self.outcome(of: [bytes])
        var pieces: [[UInt8]] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            pieces.append(Array(rest.prefix(random.int(1...40))))
            rest = rest.dropFirst(pieces.last?.count ?? 0)
        }
        #expect(Self.outcome(of: pieces) == whole)
        #expect(Self.outcome(of: bytes.map { [$0] }) == whole)
    }

    /// No bytes bring the reader down, and what it makes of them it also writes so that it reads the same.
    @Test(arguments: 1...200) func mutatedMessagesAreReadOrRefused(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<50 {
            var bytes = random.pick(Self.captured).bytes
            for _ in 0..<random.int(1...4) {
                switch random.int(0...3) {
                case 0: bytes[random.int(0...bytes.count - 1)] = UInt8(random.int(0...255))
                case 1: bytes.insert(UInt8(random.int(0...255)), at: random.int(0...bytes.count))
                case 2: if bytes.count > 1 { bytes.remove(at: random.int(0...bytes.count - 1)) }
                default: bytes[random.int(0...bytes.count - 1)] ^= 1 << UInt8(random.int(0...7))
                }
            }
            guard let message = try? Self.read(bytes) else { continue }
            #expect(try Self.read(Array(buffer: message.encoded)) == message)
        }
    }

    private struct Outcome: Equatable {
        var messages: [RelayMessage] = []
        var error: RelayError?
    }

    private static func outcome(of pieces: [[UInt8]]) -> Outcome {
        var reader = RelayFrameReader()
        var outcome = Outcome()
        for piece in pieces where outcome.error == nil {
            reader.append(ByteBuffer(bytes: piece))
            do throws(RelayError) {
                while let message = try reader.next() { outcome.messages.append(message) }
            } catch {
                outcome.error = error
            }
        }
        return outcome
    }

    private static func read(_ bytes: [UInt8]) throws -> RelayMessage? {
        var reader = RelayFrameReader()
        reader.append(ByteBuffer(bytes: bytes))
        return try reader.next()
    }

    private static func message(type: Int32, payload: [UInt8]) -> [UInt8] {
        var buffer = ByteBuffer(bytes: [0x9E, 0x79, 0xBC, 0x40])
        buffer.writeInteger(type)
        buffer.writeInteger(UInt32(payload.count))
        buffer.writeBytes(payload)
        return Array(buffer: buffer)
    }

    private static func invitation(
        key: [UInt8] = [UInt8](repeating: 7, count: 32), address: [UInt8], port: UInt32
    ) throws -> SessionInvitation? {
        var payload = ByteBuffer()
        for field in [[UInt8](repeating: 1, count: 32), key, address] {
            payload.writeInteger(UInt32(field.count))
            payload.writeBytes(field)
            payload.writeRepeatingByte(0, count: -field.count & 3)
        }
        payload.writeInteger(port)
        payload.writeInteger(UInt32(1))
        guard case .sessionInvitation(let invitation)? = try read(message(type: 6, payload: Array(buffer: payload)))
        else { return nil }
        return invitation
    }
}
