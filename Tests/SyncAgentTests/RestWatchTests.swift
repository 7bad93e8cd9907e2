import SyncAgent
import Testing

@Suite struct RestWatchTests {
    /// Asks after each pause what is due when as much was used in it, gives at which seconds memory was given back, and
    /// how often it was asked.
    private func releases(used: (_ second: Int) -> Duration, until end: Int) -> (seconds: [Int], questions: Int) {
        var (watch, seconds, second, questions) = (RestWatch(used: .zero), [Int](), 0, 0)
        while true {
            second += Int(watch.pause.components.seconds)
            guard second <= end else { return (seconds, questions) }
            questions += 1
            if watch.isReleaseDue(used: used(second)) {
                seconds.append(second)
                watch.released(used: used(second))
            }
        }
    }

    @Test func whatStartingTookGoesAfterThreeSecondsAndWhatFollowsWhenItIsOver() {
        // Busy for 20 seconds, then at rest.
        let (seconds, questions) = releases(used: { .milliseconds(100 * min($0, 20)) }, until: 600)
        #expect(seconds.first == 3)
        #expect(seconds.count == 2)
        #expect((21...70).contains(seconds.last ?? 0))
        #expect(questions < 20)
    }

    @Test func workThatGoesOnKeepsItsMemory() {
        #expect(releases(used: { .milliseconds(100 * $0) }, until: 600).seconds == [3])
    }

    @Test func anAgentAtRestIsAskedOnceAMinute() {
        let (seconds, questions) = releases(used: { _ in .milliseconds(200) }, until: 3600)
        #expect(seconds == [3])
        #expect(questions <= 61)
    }

    @Test func aNewBurstIsFollowedByANewRelease() {
        let (seconds, _) = releases(used: { $0 < 1000 ? .milliseconds(200) : .milliseconds(900) }, until: 1200)
        #expect(seconds.count == 2)
        #expect((1000...1070).contains(seconds.last ?? 0))
    }
}
