import SyncDecisions
import Testing

@Suite struct OfferPatienceTests {
    /// The receiver is busy with others for an hour, and says each time that it still has the offer.
    @Test func aFileIsOfferedAgainWhileTheReceiverIsBusy() {
        var patience = OfferPatience(at: .seconds(5))
        var offers: [Duration] = []
        for second in 5...3605 {
            let now = Duration.seconds(second)
            switch patience.step(at: now) {
            case .wait: break
            case .offerAgain:
                offers.append(now)
                patience.offered(at: now)
            case .giveUp: Issue.record("after \(second) s")
            }
        }
        #expect(offers == (1...60).map { .seconds(5 + 60 * $0) })
        patience.asked(at: .seconds(3700))
        #expect(patience.step(at: .seconds(3880)) == .wait)
    }

    /// It has begun with this one: it asks for more, or it is gone.
    @Test func aReceiverThatAskedAndStoppedIsGivenUp() {
        var patience = OfferPatience(at: .zero)
        patience.asked(at: .seconds(30))
        patience.asked(at: .seconds(100))
        let steps = [101, 170, 280, 281].map { patience.step(at: .seconds($0)) }
        #expect(steps == [.wait, .wait, .wait, .giveUp])
        // Over the next link.
        patience.offered(at: .seconds(281))
        #expect(patience.isAskedFor && patience.step(at: .seconds(461)) == .wait)
    }
}
