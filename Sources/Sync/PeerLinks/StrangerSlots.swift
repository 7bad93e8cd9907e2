import LinkSecurity

/// Bounds how many links with unknown devices are open at the same time. Each purpose has slots of its own, so that
/// strangers who say nothing cannot block a pairing. Pure.
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
    }

    private var taken: [Purpose: Int] = [:]

    package init() {}

    /// Takes a slot. False if all of them are taken.
    package mutating func take(for purpose: Purpose) -> Bool {
        guard taken[purpose, default: 0] < purpose.limit else { return false }
        taken[purpose, default: 0] += 1
        return true
    }

    /// Frees a slot that `take` gave.
    package mutating func free(for purpose: Purpose) { taken[purpose, default: 0] -= 1 }
}
