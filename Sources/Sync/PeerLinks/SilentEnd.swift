import AgentContext
import BlockExchange
import Phrases

/// How much a peer has said on a link so far.
enum PeerWords: Equatable, Sendable {
    case nothing
    /// Its Hello, with the name of its program.
    case hello(client: String)
    /// Also what it shares: it knows this device and takes part.
    case config(client: String)

    /// The name of its program; nil before its Hello.
    var client: String? {
        switch self {
        case .nothing: nil
        case .hello(let client), .config(let client): client
        }
    }

    var isSynctrain: Bool { client == AgentVersion.clientName }

    /// The peer has greeted this device and not said that it shares anything with it. Syncthing and synctrain close the link
    /// then if they do not know the device, or have paused it.
    var isTurnedAway: Bool {
        if case .hello = self { true } else { false }
    }

    mutating func hear(_ hello: Hello) { self = .hello(client: hello.clientName) }

    mutating func hearConfig() { self = .config(client: client ?? "") }
}

/// Why a link ended of which nobody said why: the likeliest cause, and what to do. Pure.
enum SilentEnd {
    /// - Parameters:
    ///   - words: what the peer had said by then.
    ///   - localDevice: this device, which is to be accepted there.
    ///   - cause: what the system said; nil if the peer closed the link in order.
    static func reason(_ words: PeerWords, localDevice: DeviceID, cause: String? = nil) -> Phrase {
        switch words {
        case .nothing:
            cause.map {
                Phrase(
                    "the device closed the connection without a greeting (\($0)); check that a Syncthing or synctrain runs there"
                )
            }
                ?? Phrase(
                    "the device closed the connection without a greeting; check that a Syncthing or synctrain runs there"
                )
        case .hello:
            turnedAway(cause, acceptance(words, of: localDevice))
        case .config:
            cause.map {
                Phrase(
                    "the connection broke (\($0)); it is dialled again; check that both devices are on a network")
            }
                ?? Phrase(
                    "the device closed the connection; it has stopped, or removed or paused this device; it is dialled again"
                )
        }
    }

    private static func turnedAway(_ cause: String?, _ remedy: Phrase) -> Phrase {
        cause.map {
            Phrase(
                "the device closed the connection (\($0)): it has not accepted this device yet, or has paused it; \(remedy)"
            )
        }
            ?? Phrase(
                "the device closed the connection: it has not accepted this device yet, or has paused it; \(remedy)")
    }

    /// How a person lets `device` in at the peer.
    private static func acceptance(_ words: PeerWords, of device: DeviceID) -> Phrase {
        words.isSynctrain
            ? Phrase("accept it there: `synctrain device add \(device)`")
            : Phrase("accept it there: open its GUI and choose Add Device in the notice, or add the id \(device)")
    }
}
