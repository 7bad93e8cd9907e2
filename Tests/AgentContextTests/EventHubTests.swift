import ControlAPI
import Testing

@testable import AgentContext

@Suite(.timeLimit(.minutes(1)))
struct EventHubTests {
    private func hub() -> EventHub { EventHub(run: "ab", wall: { WallTime(seconds: 0) }) }

    @Test func whoComesBackGetsWhatItMissed() async {
        let hub = hub()
        for number in 1...5 { hub.post("e\(number)") }
        let beginning = hub.listen(after: "ab-3")
        #expect(beginning.missed.map(\.event.type) == ["e4", "e5"])
        #expect(beginning.missed.map(\.event.id) == ["ab-4", "ab-5"])
        #expect(!beginning.hasGap && beginning.last == 5)
        hub.post("e6")
        var stream = beginning.stream.makeAsyncIterator()
        #expect(await stream.next()?.event.id == "ab-6")
        #expect(hub.listen().missed.isEmpty)
        let current = hub.listen(after: "ab-6")
        #expect(current.missed.isEmpty && !current.hasGap)
    }

    /// Of another run, of the future, or of nobody: what was missed is not known.
    @Test(arguments: ["cd-3", "ab-9", "ab--1", "ab", "", "ab-x", "ab-99999999999999999999"])
    func idsThatAreNone(id: String) {
        let hub = hub()
        hub.post("e1")
        let beginning = hub.listen(after: id)
        #expect(beginning.hasGap && beginning.missed.isEmpty)
    }

    @Test func theHistoryIsBounded() {
        let hub = hub()
        for _ in 0..<3000 { hub.post("e") }
        let all = hub.listen(after: "ab-0")
        #expect(all.hasGap)
        #expect(all.missed.count == 1000)
        #expect(all.missed.first?.number == 2001)
        let long = String(repeating: "x", count: 100_000)
        for _ in 0..<50 { hub.post("e", message: long) }
        let few = hub.listen(after: "ab-2900")
        #expect(few.hasGap)
        #expect(few.missed.count < 12 && few.missed.count > 5)
        #expect(few.missed.last?.number == 3050)
    }
}
