import BlockExchange
import Testing

@testable import PeerLinks

@Suite struct BackoffTests {
    @Test func backoffDoublesToAMinuteAndStartsAnew() {
        var backoff = RetryBackoff()
        #expect((0..<8).map { _ in backoff.failed(random: 0).components.seconds } == [1, 2, 4, 8, 16, 32, 60, 60])
        #expect(backoff.failed(random: 0.999) < .seconds(75))
        backoff.succeeded()
        #expect(backoff.failed(random: 0) == .seconds(1))
    }

    @Test func linksAreRefusedForLongerAndLongerWhileNothingCanBeStored() {
        var backoff = StorageBackoff()
        #expect(backoff.pause(at: .seconds(100)) == nil)
        var now: MonotonicTime = .seconds(100)
        for pause in [1, 2, 4, 8, 16, 32, 60, 60] {
            backoff.failed(at: now, random: 0)
            #expect(backoff.pause(at: now) == .seconds(pause))
            now += .seconds(pause)
            #expect(backoff.pause(at: now - .milliseconds(1)) == .milliseconds(1))
            #expect(backoff.pause(at: now) == nil)
        }
        // Asked for, one link is let in at once; if that is in vain, the pauses go on where they were.
        backoff.failed(at: now, random: 0)
        backoff.asked()
        #expect(backoff.pause(at: now) == nil)
        backoff.failed(at: now, random: 0)
        #expect(backoff.pause(at: now) == .seconds(60))
        #expect(backoff.reason == LinkEnd.storage)
        backoff.failed(at: now, random: 0, saying: LinkEnd.unreadable)
        #expect(backoff.reason == LinkEnd.unreadable)
        backoff.stored()
        #expect(backoff.pause(at: now) == nil && backoff.reason == LinkEnd.storage)
        backoff.failed(at: now, random: 0)
        #expect(backoff.pause(at: now) == .seconds(1))
    }
}
