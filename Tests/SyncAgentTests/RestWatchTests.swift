import SyncAgent
import Testing

@Suite struct RestWatchTests {
    /// At which seconds memory was given back, and how often that was asked, when so much was used by each second.
    private func releases(
        until end: Int, milliseconds: (_ second: Int) -> Int, faults: (_ second: Int) -> Int
    ) -> (seconds: [Int], questions: Int) {
        func usage(_ second: Int) -> RestWatch.Usage {
            RestWatch.Usage(processorTime: .milliseconds(milliseconds(second)), pageFaults: faults(second))
        }
        var (watch, seconds, second, questions) = (RestWatch(usage(0)), [Int](), 0, 0)
        while true {
            second += Int(watch.pause.components.seconds)
            guard second <= end else { return (seconds, questions) }
            questions += 1
            if watch.isReleaseDue(usage(second)) {
                seconds.append(second)
                watch.released(usage(second))
            }
        }
    }

    @Test func whatStartingTookGoesAfterThreeSecondsAndWhatFollowsWhenItIsOver() {
        // Busy for 20 seconds, then at rest.
        let (seconds, questions) = releases(
            until: 600, milliseconds: { 100 * min($0, 20) }, faults: { 500 * min($0, 20) })
        #expect(seconds.first == 3)
        #expect(seconds.count == 2)
        #expect((21...35).contains(seconds.last ?? 0))
        #expect(questions < 30)
    }

    @Test func pagesThatCostNoTimeGoAsWell() {
        // A link is made eight seconds after the start: much code, little work.
        let (seconds, _) = releases(until: 600, milliseconds: { _ in 200 }, faults: { $0 < 8 ? 0 : 400 })
        #expect(seconds == [3, 8])
    }

    @Test func workThatGoesOnKeepsItsMemory() {
        #expect(releases(until: 600, milliseconds: { 100 * $0 }, faults: { 50 * $0 }).seconds == [3])
    }

    @Test func anAgentAtRestIsAskedTwiceAMinute() {
        // A ping now and then.
        let (seconds, questions) = releases(until: 3600, milliseconds: { $0 / 90 }, faults: { $0 / 90 })
        #expect(seconds == [3])
        #expect(questions <= 122)
    }

    @Test func aNewBurstIsFollowedByANewRelease() {
        let (seconds, _) = releases(
            until: 1200, milliseconds: { $0 < 1000 ? 200 : 900 }, faults: { $0 < 1000 ? 10 : 2000 })
        #expect(seconds.count == 2)
        #expect((1000...1070).contains(seconds.last ?? 0))
    }
}
