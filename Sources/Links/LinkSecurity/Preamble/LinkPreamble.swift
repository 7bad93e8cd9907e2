import BlockExchange
import Cryptography
import NIOCore
import Transport

/// How links over a radio begin, where anybody nearby may connect or listen: a device shows its certificate only to
/// those who have proved that they know it, and hides even the handshake from others.
///
/// The proof is made of both devices' ids, which paired devices know of each other. It is no authentication: that is
/// TLS's, inside. While a device pairs it takes strangers as well, for pairing alone.
package struct LinkPreamble: Sendable {
    /// Whom a dial is meant for.
    package enum Target: Sendable {
        case device(DeviceID)
        /// Somebody to pair with.
        case pairing
    }

    private let own: DeviceID
    private let patience: Duration

    /// - Parameter patience: when links that did not begin right are closed, all alike; counted from their beginning.
    package init(own: DeviceID, patience: Duration = .seconds(5)) {
        self.own = own
        self.patience = patience
    }

    /// An installer for links that this side dials.
    ///
    /// Fails with `notWelcome` when the other side does not know this device, or is none, and with `notPairing` when it
    /// was dialled to pair and does not.
    package func dialling(_ target: Target, then authenticator: LinkAuthenticator) -> LinkInstaller<SecureLink> {
        { channel, information in
            let (role, expected, refusal): (PreambleMachine.Role, DeviceID?, LinkSecurityError) =
                switch target {
                case .device(let peer):
                    (
                        .dialler(own: own, peer: peer), peer,
                        LinkSecurityError(
                            .notWelcome,
                            "the device at \(information.remoteAddress) is not \(peer.shortID), or does not list this "
                                + "one; add each other by id, or run `synctrain pair` on both")
                    )
                case .pairing: (.pairingDialler, nil, .notPairing)
                }
            return install(role, on: channel) { handler, _ in
                authenticator.install(channel, information, expecting: expected).flatMapErrorThrowing { error in
                    // Who is not convinced closes without a word.
                    let isWordless = !handler.value.isAnswered && error is LinkSecurityError
                    throw isWordless ? refusal : error
                }
            }.flatMapErrorThrowing { error in
                guard let error = error as? LinkSecurityError, error.code == .notWelcome else { throw error }
                throw refusal
            }
        }
    }

    /// An installer for links that others dial.
    ///
    /// - Parameters:
    ///   - known: the devices that may, asked when the link begins.
    ///   - pairing: for those that want to pair; nil while this device does not.
    package func accepting(
        known: @escaping @Sendable () -> [DeviceID], usual: LinkAuthenticator,
        pairing: @escaping @Sendable () -> LinkAuthenticator?
    ) -> LinkInstaller<SecureLink> {
        { channel, information in
            let stranger = pairing()
            return install(
                .responder(own: own, known: known(), isPairing: stranger != nil), on: channel
            ) { _, peer in
                guard let peer else { return (stranger ?? usual).install(channel, information) }
                return usual.install(channel, information, expecting: peer)
            }
        }
    }

    private func install(
        _ role: PreambleMachine.Role, on channel: any Channel,
        _ next: @escaping @Sendable (NIOLoopBound<PreambleHandler>, DeviceID?) -> EventLoopFuture<SecureLink>
    ) -> EventLoopFuture<SecureLink> {
        let promise = channel.eventLoop.makePromise(of: PreambleHandler.Outcome.self)
        let handler = PreambleHandler(
            role, nonce: SecureRandom.bytes(count: PreambleKeys.nonceByteCount), patience: TimeAmount(patience),
            promise: promise)
        let bound = NIOLoopBound(handler, eventLoop: channel.eventLoop)
        // The handlers of TLS have to be in before what follows the preamble is passed on: this runs within the promise's
        // completion, on the loop.
        let link = promise.futureResult.flatMap { peer in next(bound, peer) }
        do {
            try channel.pipeline.syncOperations.addHandler(handler)
        } catch {
            promise.fail(error)
        }
        return link
    }
}
