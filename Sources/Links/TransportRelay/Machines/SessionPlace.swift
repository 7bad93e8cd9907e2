import NIOCore
import Transport

/// Where a session is joined, decided from what the relay says and where the relay was reached.
///
/// The address in an invitation is the relay's to choose, so it must not lead this device to machines that only this
/// device can reach. It is followed if it is the relay's own or a public one, the latter on 443 and from 1024 on only, as
/// 32 bytes of what is sent there are of the relay's choice too. In all other cases the relay's own address stands in
/// for it, with the port that was said: right for relays that do not know their outer address, harmless for the rest.
package struct SessionPlace: Equatable, Sendable {
    /// A name or a number without brackets.
    package var host: String
    package var port: UInt16

    /// - Parameters:
    ///   - relay: the host of the relay's address, used if `reached` is nil.
    ///   - reached: the address of the socket that the relay was reached by; nil if a proxy stands between.
    package init(_ invitation: SessionInvitation, relay: String, reached: IPAddress?) {
        port = invitation.port
        let own = reached ?? IPAddress(relay)
        if let address = invitation.address, address != own, address.isInternetAddress, port == 443 || port >= 1024 {
            host = address.description
        } else {
            host = own?.description ?? relay
        }
    }
}

extension IPAddress {
    /// Whether the address is one of the internet's, not of a single network, machine or purpose (the registries of
    /// special-purpose addresses, RFC 6890).
    package var isInternetAddress: Bool {
        if isIPv4 {
            return switch (bytes[0], bytes[1], bytes[2]) {
            case (0, _, _), (10, _, _), (127, _, _), (224..., _, _): false
            case (100, 64...127, _), (169, 254, _), (172, 16...31, _), (192, 168, _), (198, 18...19, _): false
            case (192, 0, 0), (192, 0, 2), (192, 88, 99), (198, 51, 100), (203, 0, 113): false
            default: true
            }
        }
        // Only 2000::/3 is given out. Of it, 2001::/23 has protocols of its own, 2001:db8::/32 and 3fff::/20 are for
        // documents, and 2002::/16 has IPv4 addresses inside.
        guard bytes[0] & 0xE0 == 0x20 else { return false }
        return switch (bytes[0], bytes[1], bytes[2], bytes[3]) {
        case (0x20, 0x01, 0...1, _), (0x20, 0x01, 0x0D, 0xB8), (0x20, 0x02, _, _), (0x3F, 0xFF, 0...0x0F, _): false
        default: true
        }
    }
}
