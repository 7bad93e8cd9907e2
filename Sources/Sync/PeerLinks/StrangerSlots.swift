import LinkSecurity
import Transport

/// Bounds how many links with unknown devices are open at the same time, in all and for each address. Each purpose has slots
/// of its own, so that strangers who say nothing cannot block a pairing, and no address has all of them. Pure.
package struct StrangerSlots {
    package enum Purpose: CaseIterable {
        /// BEP: the device introduces itself and becomes a pending device.
        case introduction
        case pairing
        /// Using an invitation.
        case invitation

        package init(applicationProtocol: String?) {
            switch applicationProtocol {
            case LinkAuthenticator.pairingProtocol: self = .pairing
            case LinkAuthenticator.invitationProtocol: self = .invitation
            default: self = .introduction
            }
        }

        package var limit: Int {
            switch self {
            case .introduction: 32
            // One attempt runs at a time; the others are refused at once.
            case .pairing: 8
            case .invitation: 16
            }
        }

        /// Of one address; what comes over a radio has none.
        package var limitPerAddress: Int { limit / 2 }
    }

    private struct Slots {
        var count = 0
        /// No address with none.
        var byAddress: [AddressGroup: Int] = [:]
    }

    private var taken: [Purpose: Slots] = [:]

    package init() {}

    /// Takes a slot. False if all of them are taken, or all that this address may have.
    package mutating func take(for purpose: Purpose, from address: AddressGroup) -> Bool {
        var slots = taken[purpose, default: Slots()]
        let own = slots.byAddress[address, default: 0]
        guard slots.count < purpose.limit, own < purpose.limitPerAddress || !address.isInternet else { return false }
        slots.count += 1
        slots.byAddress[address] = own + 1
        taken[purpose] = slots
        return true
    }

    /// Frees a slot that `take` gave.
    package mutating func free(for purpose: Purpose, from address: AddressGroup) {
        guard var slots = taken[purpose], let own = slots.byAddress[address] else { return }
        slots.count -= 1
        slots.byAddress[address] = own > 1 ? own - 1 : nil
        taken[purpose] = slots
    }
}
