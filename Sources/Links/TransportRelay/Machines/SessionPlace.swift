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
        if let address = invitation.address, address != own, address.isPublic, port == 443 || port >= 1024 {
            host = address.description
        } else {
            host = own?.description ?? relay
        }
    }
}
