import BlockExchange
import Cryptography
import NIOCore
import Transport

/// What a device tells its network about itself: one datagram of local discovery, version 4.
///
/// A big-endian magic number, then a protobuf message: 1 id (32 bytes), 2 addresses (repeated string), 3 instance_id
/// (int64). Nobody vouches for it; it is a hint where to dial.
package struct DiscoveryAnnouncement: Equatable, Sendable {
    package var device: DeviceID
    /// Link addresses as text, in the sender's words: other schemes than ours and hosts left open may be among them.
    package var addresses: [String]
    /// A random number that changes when the device's agent restarts.
    package var instanceID: Int64

    package init(device: DeviceID, addresses: [String], instanceID: Int64) {
        self.device = device
        self.addresses = addresses
        self.instanceID = instanceID
    }

    /// The announcement of a device that listens on `addresses`: only those that another machine can dial. A host left
    /// open stays open, for the receiver to fill in.
    package init(device: DeviceID, listeningOn addresses: [LinkAddress], instanceID: Int64) {
        let useful = addresses.compactMap { address -> String? in
            guard case .tcp(let host, let port) = address, port != 0 else { return nil }
            guard !host.isLocalhostName else { return nil }
            if let ip = address.ipAddress, ip.isLoopback || ip.isMulticast || ip.zone != nil { return nil }
            return host.isEmpty ? "tcp://0.0.0.0:\(port)" : address.description
        }
        self.init(device: device, addresses: Array(useful.prefix(Self.addressLimit)), instanceID: instanceID)
    }

    static let magic: UInt32 = 0x2EA7_D90B

    /// Largest datagram that is read.
    package static let maximumByteCount = 8192
    /// How many addresses of one announcement are read; the rest is passed over.
    package static let addressLimit = 16

    /// The datagram.
    package var encoded: ByteBuffer {
        var buffer = ByteBuffer()
        buffer.writeInteger(Self.magic)
        buffer.writeField(number: 1, bytes: device.digest.bytes)
        for address in addresses { buffer.writeField(number: 2, bytes: Array(address.utf8)) }
        if instanceID != 0 {
            buffer.writeVarint(3 << 3)
            buffer.writeVarint(UInt64(bitPattern: instanceID))
        }
        return buffer
    }

    /// Reads a datagram; unknown fields are passed over, and addresses that are no UTF-8 or beyond the limit as well.
    package init(datagram: ByteBuffer) throws(DiscoveryError) {
        guard datagram.readableBytes <= Self.maximumByteCount else { throw .tooLong }
        var buffer = datagram
        guard buffer.readInteger(as: UInt32.self) == Self.magic else { throw .foreign }
        var device: DeviceID?
        var addresses: [String] = []
        var instanceID: Int64 = 0
        while buffer.readableBytes > 0 {
            guard let key = buffer.readVarint() else { throw .malformed }
            switch (key >> 3, key & 7) {
            case (1, 2):
                guard let bytes = buffer.readDelimited(), let digest = SHA256Digest(bytes.readableBytesView) else {
                    throw .malformed
                }
                device = DeviceID(digest: digest)
            case (2, 2):
                guard let bytes = buffer.readDelimited() else { throw .malformed }
                guard addresses.count < Self.addressLimit,
                    let text = String(validating: bytes.readableBytesView, as: UTF8.self)
                else { continue }
                addresses.append(text)
            case (3, 0):
                guard let value = buffer.readVarint() else { throw .malformed }
                instanceID = Int64(bitPattern: value)
            case (0, _):
                throw .malformed
            case (_, let wireType):
                guard buffer.skipField(wireType: wireType) else { throw .malformed }
            }
        }
        guard let device else { throw .malformed }
        self.init(device: device, addresses: addresses, instanceID: instanceID)
    }
}

/// Why a datagram is no announcement.
package enum DiscoveryError: Error, Equatable, Sendable {
    case tooLong
    /// Another program's, or another version of the protocol.
    case foreign
    case malformed
}

extension String {
    var isLocalhostName: Bool {
        let name = lowercased()
        return name == "localhost" || name.hasSuffix(".localhost")
    }
}

// Protobuf's wire format, as far as one small message needs it.
extension ByteBuffer {
    fileprivate mutating func writeVarint(_ value: UInt64) {
        var value = value
        while value >= 0x80 {
            writeInteger(UInt8(truncatingIfNeeded: value) | 0x80)
            value >>= 7
        }
        writeInteger(UInt8(truncatingIfNeeded: value))
    }

    fileprivate mutating func writeField(number: UInt64, bytes: [UInt8]) {
        writeVarint(number << 3 | 2)
        writeVarint(UInt64(bytes.count))
        writeBytes(bytes)
    }

    /// A varint of at most ten bytes; nil for a longer or truncated one.
    fileprivate mutating func readVarint() -> UInt64? {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 70, by: 7) {
            guard let byte = readInteger(as: UInt8.self) else { return nil }
            value |= UInt64(byte & 0x7F) << shift
            if byte & 0x80 == 0 { return value }
        }
        return nil
    }

    fileprivate mutating func readDelimited() -> ByteBuffer? {
        guard let length = readVarint(), let count = Int(exactly: length) else { return nil }
        return count <= readableBytes ? readSlice(length: count) : nil
    }

    fileprivate mutating func skipField(wireType: UInt64) -> Bool {
        switch wireType {
        case 0: readVarint() != nil
        case 1: readSlice(length: 8) != nil
        case 2: readDelimited() != nil
        case 5: readSlice(length: 4) != nil
        // Groups left the language before this protocol was made.
        default: false
        }
    }
}
