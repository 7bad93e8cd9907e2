import Transport

/// NAT Port Mapping Protocol (RFC 6886): UDP to port 5351 of the default gateway, IPv4 only.
package enum NATPMP {
    package static let serverPort: UInt16 = 5351
    /// Where routers announce to 224.0.0.1 that they restarted or have a new address.
    package static let announcementPort: UInt16 = 5350

    package enum Request: Equatable, Sendable {
        case externalAddress
        /// `externalPort` 0: any. `lifetime` in seconds; 0 deletes, and then `externalPort` has to be 0.
        case map(MappedTransport, internalPort: UInt16, externalPort: UInt16, lifetime: UInt32)

        package var bytes: [UInt8] {
            switch self {
            case .externalAddress: [0, 0]
            case .map(let transport, let internalPort, let externalPort, let lifetime):
                [0, transport == .udp ? 1 : 2, 0, 0] + internalPort.networkBytes + externalPort.networkBytes
                    + lifetime.networkBytes
            }
        }
    }

    /// What a router answered. The result says whether the rest means anything.
    package struct Response: Equatable, Sendable {
        package enum Body: Equatable, Sendable {
            /// nil if the result is not 0.
            case externalAddress(IPAddress?)
            case mapped(MappedTransport, internalPort: UInt16, externalPort: UInt16, lifetime: UInt32)
            /// The operation of the request, as it came back: only ever with a result other than 0.
            case failed(operation: UInt8)
        }

        package var result: UInt16
        /// Seconds since the router's table of mappings began.
        package var epoch: UInt32
        package var body: Body

        /// Reads an answer or an announcement.
        /// - Throws: `malformed` if it is none of version 0, or too short for what it says.
        package init(_ bytes: some Sequence<UInt8>) throws(PortMappingError) {
            var reader = FieldReader(bytes)
            guard try reader.uint8() == 0 else { throw .malformed("the answer is not of NAT-PMP") }
            let operation = try reader.uint8()
            guard operation & 0x80 != 0 else { throw .malformed("the NAT-PMP packet is not an answer") }
            result = try reader.uint16()
            // A router that knows no such version may answer without the epoch.
            guard result == 0 || reader.remainingCount >= 4 else {
                epoch = 0
                body = .failed(operation: operation & 0x7F)
                return
            }
            epoch = try reader.uint32()
            switch operation {
            case 0x80 where result == 0:
                body = .externalAddress(IPAddress(packed: try reader.bytes(4)))
            case 0x81 where result == 0, 0x82 where result == 0:
                body = .mapped(
                    operation == 0x81 ? .udp : .tcp, internalPort: try reader.uint16(),
                    externalPort: try reader.uint16(), lifetime: try reader.uint32())
            default:
                guard result != 0 else { throw .malformed("the NAT-PMP answer is to an unknown operation") }
                body = .failed(operation: operation & 0x7F)
            }
        }

        /// Why the router refused; nil if it did not.
        package var refusal: PortMappingError? {
            let number = Int(result)
            switch result {
            case 0: return nil
            case 1: return PortMappingError(.unsupported, "it speaks another version of NAT-PMP", result: number)
            case 2: return PortMappingError(.refused, "mapping ports is switched off there", result: number)
            case 3: return PortMappingError(.routerOffline, "it has no external address itself", result: number)
            case 4: return PortMappingError(.noFreePort, "it has no room for another mapping", result: number)
            case 5: return PortMappingError(.unsupported, "it cannot map this kind of port", result: number)
            default: return PortMappingError(.refused, "it refused for the unknown reason \(result)", result: number)
            }
        }
    }
}
