import Transport

/// Port Control Protocol (RFC 6887), version 2: the operations MAP and ANNOUNCE, without options.
///
/// For IPv4 behind NAT a MAP makes a mapping; for IPv6 it opens the firewall for the client's own address (section 11).
package enum PCP {
    package static let version: UInt8 = 2
    /// Longest packet (section 7).
    package static let maximumByteCount = 1100

    package struct Map: Equatable, Sendable {
        /// Twelve bytes, the same for every request of a mapping (section 11.2).
        package var nonce: [UInt8]
        package var transport: MappedTransport
        package var internalPort: UInt16
        /// In requests the one that is suggested, 0 for any.
        package var externalPort: UInt16
        /// In requests the one that is suggested; unspecified for any.
        package var externalAddress: IPAddress

        package init(
            nonce: [UInt8], transport: MappedTransport, internalPort: UInt16, externalPort: UInt16,
            externalAddress: IPAddress
        ) {
            self.nonce = nonce
            self.transport = transport
            self.internalPort = internalPort
            self.externalPort = externalPort
            self.externalAddress = externalAddress
        }
    }

    package struct Request: Equatable, Sendable {
        /// Has to be the packet's source address, or the router answers ADDRESS_MISMATCH.
        package var client: IPAddress
        /// In seconds; 0 deletes.
        package var lifetime: UInt32
        /// nil: ANNOUNCE, which changes nothing.
        package var map: Map?

        package init(client: IPAddress, lifetime: UInt32 = 0, map: Map? = nil) {
            self.client = client
            self.lifetime = lifetime
            self.map = map
        }

        package var bytes: [UInt8] {
            var bytes: [UInt8] = [PCP.version, map == nil ? 0 : 1, 0, 0] + lifetime.networkBytes + client.mappedBytes
            if let map {
                bytes += (map.nonce + [UInt8](repeating: 0, count: 12)).prefix(12)
                bytes += [map.transport.rawValue, 0, 0, 0]
                bytes += map.internalPort.networkBytes + map.externalPort.networkBytes
                bytes += map.externalAddress.mappedBytes
            }
            return bytes
        }
    }

    package struct Response: Equatable, Sendable {
        /// The version that the router speaks.
        package var version: UInt8
        package var operation: UInt8
        package var result: UInt8
        /// In seconds; with an error, how long the router would give the same answer.
        package var lifetime: UInt32
        /// Seconds since the router's table of mappings began.
        package var epoch: UInt32
        /// What a MAP was answered with; nil for other operations, and for transports other than TCP and UDP.
        package var map: Map?

        /// Reads an answer or an announcement.
        /// - Throws: `malformed` if it is no answer of PCP, or too short; `tooLarge` above 1100 bytes.
        package init(_ bytes: some Sequence<UInt8>) throws(PortMappingError) {
            var reader = FieldReader(bytes)
            guard reader.remainingCount <= PCP.maximumByteCount else {
                throw PortMappingError(.tooLarge, "the PCP answer is longer than \(PCP.maximumByteCount) bytes")
            }
            version = try reader.uint8()
            guard version != 0 else { throw .malformed("the answer is of NAT-PMP") }
            let operation = try reader.uint8()
            guard operation & 0x80 != 0 else { throw .malformed("the PCP packet is not an answer") }
            self.operation = operation & 0x7F
            _ = try reader.uint8()
            result = try reader.uint8()
            lifetime = try reader.uint32()
            epoch = try reader.uint32()
            _ = try reader.bytes(12)
            guard self.operation == 1, version == PCP.version else { return }
            // A refusal of what the router could not read need not repeat it.
            guard result == 0 || reader.remainingCount >= 36 else { return }
            let nonce = try reader.bytes(12)
            let transport = MappedTransport(rawValue: try reader.uint8())
            _ = try reader.bytes(3)
            let internalPort = try reader.uint16()
            let externalPort = try reader.uint16()
            let external = IPAddress(packed: try reader.bytes(16))
            guard let transport, let external else { return }
            map = Map(
                nonce: nonce, transport: transport, internalPort: internalPort, externalPort: externalPort,
                externalAddress: external)
        }

        /// Why the router refused (section 7.4); nil if it did not.
        package var refusal: PortMappingError? {
            let number = Int(result)
            switch result {
            case 0: return nil
            case 1: return PortMappingError(.unsupported, "it speaks another version of PCP", result: number)
            case 2: return PortMappingError(.refused, "it does not let this device map ports", result: number)
            case 3, 6: return PortMappingError(.malformed, "it could not read the request", result: number)
            case 4, 5, 9: return PortMappingError(.unsupported, "it cannot map this kind of port", result: number)
            case 7: return PortMappingError(.routerOffline, "it is not connected to the internet", result: number)
            case 8: return PortMappingError(.noFreePort, "it has no room for another mapping", result: number)
            case 10: return PortMappingError(.noFreePort, "this device has used up its mappings there", result: number)
            case 11: return PortMappingError(.noFreePort, "it cannot give that external port", result: number)
            case 12:
                return PortMappingError(
                    .refused, "another NAT is between this device and the router", result: number)
            case 13: return PortMappingError(.noFreePort, "it maps no more ports of other devices", result: number)
            default: return PortMappingError(.refused, "it refused for the unknown reason \(result)", result: number)
            }
        }
    }
}
