import AsyncTools
import BlockExchange
import LinkSecurity
import Logging
import NIOCore
import Phrases

/// Why a link ended, of the error that ended it. Pure.
enum LinkEnd {
    /// - Parameter silent: the reason where nobody gave one, of what the system said.
    static func reason(_ error: any Error, silent: (_ cause: String) -> Phrase) -> Phrase {
        switch error {
        case let error as ProtocolError: "\(error.message)"
        case is CancellationError: Phrase("the agent closed the link")
        case let error as IOError: silent(SystemText.text(error.errnoCode))
        default: Phrase(of: error)
        }
    }
}

extension SecureLink {
    /// What Syncthing warns of, too, and accepts.
    var oddities: [(level: Logger.Level, message: String)] {
        var oddities: [(level: Logger.Level, message: String)] = []
        if applicationProtocol == nil {
            oddities.append(
                (.warning, "\(peer.shortID) at \(information.remoteAddress) announced no protocol; assuming BEP"))
        }
        if !isNamedSyncthing {
            oddities.append(
                (
                    .info,
                    "the certificate of \(peer.shortID) is not named “syncthing”; a Syncthing needs `certName` for it"
                ))
        }
        return oddities
    }
}
