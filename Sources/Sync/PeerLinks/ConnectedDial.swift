import BlockExchange
import LinkRules
import Phrases

/// A dial that has led to somebody. Pure.
struct ConnectedDial {
    struct Problem: Equatable {
        var failure: DialFailure
        /// For people; nil if it is of no use to them.
        var text: Phrase?
    }

    private let attempt: DialPlan.Attempt
    private let peer: DeviceID
    private let remoteAddress: String

    /// - Parameters:
    ///   - peer: who has answered, by the certificate.
    ///   - remoteAddress: where; of a name, the address that it led to.
    init(_ attempt: DialPlan.Attempt, peer: DeviceID, remoteAddress: String) {
        (self.attempt, self.peer, self.remoteAddress) = (attempt, peer, remoteAddress)
    }

    /// Why the link is of no use to `localDevice`, which dialled `device`; nil if it is.
    func problem(dialling device: DeviceID, from localDevice: DeviceID, policy: DialPolicy?) -> Problem? {
        guard peer == device else {
            let isOurself = peer == localDevice
            let text =
                isOurself
                ? Phrase("this device itself answers at this address")
                : Phrase("another device answers, \(peer); correct the address or the id")
            // Others may say what they like of where the device is.
            return Problem(
                failure: isOurself ? .ourself : .otherDevice, text: attempt.source == .configured ? text : nil)
        }
        return DialPlan.problem(of: attempt, connectedTo: remoteAddress, policy: policy)
            .map { Problem(failure: .notAllowed, text: Self.text($0)) }
    }

    private static func text(_ problem: DialPlan.NameProblem) -> Phrase {
        switch problem {
        case .noDevice(let address):
            Phrase("the name leads to \(address), which is not the address of a device; correct the name")
        case .excluded(let address):
            Phrase("the name leads to \(address), which allowed-networks excludes; add the network or another address")
        }
    }
}
