import AgentConfiguration
import AsyncTools
import BlockExchange
import LinkRules
import LinkSecurity
import Logging
import NIOCore
import Phrases

/// Why a link ended, of the error that ended it. Pure.
///
/// A reason travels to the other device in English. One that this program gives is recognised there, so that people read it in
/// their language.
enum LinkEnd {
    static let agentStops = Phrase("the agent closed the link")
    static let paused = Phrase("the device is paused")
    static let notShared = Phrase("this device no longer shares with you")
    static let network = Phrase("links from this network are not allowed")
    static let storage = Phrase("this device cannot store the index at the moment")
    static let newerLinks = Phrase("newer links with the device replace it")
    static let unreadable = Phrase("the folders' indexes cannot be read")
    static let rebuilding = Phrase("the index is being rebuilt")

    static func waitingBlocks(_ limit: Int) -> Phrase {
        Phrase("more than \(limit) requests are waiting for an answer")
    }
    static func waitingKeeps(_ limit: Int) -> Phrase {
        Phrase("more than \(limit) requests about promises are waiting for an answer")
    }
    static func waitingReaches(_ limit: Int) -> Phrase {
        Phrase("more than \(limit) requests to test addresses are waiting for an answer")
    }
    static func waitingRenames(_ limit: Int) -> Phrase {
        Phrase("more than \(limit) requests to rename are waiting for an answer")
    }

    static func replaced(_ reason: ConnectionSet.Reason) -> Phrase {
        switch reason {
        case .replaced: Phrase("replacing connection")
        case .silent: Phrase("the connection does not answer")
        }
    }

    static func givenUp(_ reason: LinkProbes.Reason) -> Phrase {
        switch reason {
        case .addressGone: Phrase("this device left the network of the link")
        case .silent: Phrase("the link does not answer after a change of the network")
        case .stalled: Phrase("the other device acknowledges nothing that is sent")
        }
    }

    /// What the machine of the protocol says when nothing comes.
    private static let silences = [
        Phrase("the peer sent no complete message for \(0) s"), Phrase("the peer sent no Hello within \(0) s"),
        Phrase("the peer answered no request for a block for \(0) s"),
    ]

    /// All that a device of this program says when it closes a link.
    private static let said =
        [
            agentStops, paused, notShared, network, storage, newerLinks, unreadable, rebuilding,
            waitingBlocks(0),
            waitingKeeps(0), waitingReaches(0), waitingRenames(0), replaced(.replaced), replaced(.silent),
        ] + DeviceQuota.allCases.map(\.closeReason) + silences

    /// - Parameter silent: the reason where nobody gave one, of what the system said.
    static func reason(_ error: any Error, silent: (_ cause: String) -> Phrase) -> Phrase {
        switch error {
        case let error as ProtocolError: words(of: error)
        case is CancellationError: agentStops
        case let error as IOError: silent(SystemText.text(error.errnoCode))
        default: Phrase(of: error)
        }
    }

    /// What a device breaks a link for; its own text is for those who read protocols, and stays English.
    static func words(of error: ProtocolError) -> Phrase {
        guard error.code != .timedOut else { return known(error.message, silences) }
        return Phrase("this device does not accept what the peer sent: \(error.message)")
    }

    /// The peer has closed the link and said why.
    static func closed(saying reason: String) -> Phrase {
        guard !reason.isEmpty else { return Phrase("the peer closed the link") }
        return Phrase("the peer closed the link: \(known(reason, said))")
    }

    private static func known(_ text: String, _ phrases: [Phrase]) -> Phrase {
        phrases.lazy.compactMap { $0.matching(text) }.first ?? "\(text)"
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
