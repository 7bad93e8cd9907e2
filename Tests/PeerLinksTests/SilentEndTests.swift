import BlockExchange
import Cryptography
import Testing

@testable import PeerLinks

/// Why a link has ended of which nobody said why.
struct SilentEndTests {
    private static let own = DeviceID(certificateDER: [1, 2, 3])

    @Test(
        arguments: [
            (.nothing, nil, "check that a Syncthing or synctrain runs there"),
            (.hello(client: "syncthing"), nil, "choose Add Device in the notice, or add the id \(own)"),
            (.hello(client: "synctrain"), nil, "`synctrain device add \(own)`"),
            (
                .hello(client: "syncthing"), "Connection reset by peer",
                "(Connection reset by peer): it has not accepted"
            ),
            (.config(client: "syncthing"), nil, "it has stopped, or removed or paused this device"),
            (.config(client: "syncthing"), "Connection timed out", "the connection broke (Connection timed out)"),
        ] as [(PeerWords, String?, String)])
    func theLikeliestCauseIsNamed(_ words: PeerWords, _ cause: String?, _ text: String) {
        let reason = SilentEnd.reason(words, localDevice: Self.own, cause: cause).english
        #expect(reason.contains(text), "\(reason)")
    }

    @Test func onlyWhoHasGreetedAndSharesNothingTurnsAway() {
        var words = PeerWords.nothing
        #expect(!words.isTurnedAway && words.client == nil)
        words.hear(Hello(deviceName: "nas", clientName: "syncthing", clientVersion: "v2"))
        #expect(words.isTurnedAway && !words.isSynctrain && words.client == "syncthing")
        words.hearConfig()
        #expect(!words.isTurnedAway && words.client == "syncthing")
    }
}
