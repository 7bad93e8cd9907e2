import SyncTestKit
import Testing

@testable import Pairing

/// Both ends under everything that can happen between them, in any order.
struct AgreementTests {
    /// What a run allows to happen.
    struct Weather {
        var linkBreaks = false
        var timesOut = false
        var diskFails = false
    }

    /// A run to its end, and what the users said in it.
    struct Run {
        var ends: [End]
        var saidYes: [Bool] = [false, false]
        var saidNo: [Bool] = [false, false]

        init(_ random: inout SeededGenerator, _ weather: Weather) {
            let pair = Pair(
                Sample.machine(.initiator, nonce: Sample.nonce(random.bytes(32))),
                Sample.machine(.responder, nonce: Sample.nonce(random.bytes(32))))
            ends = [pair.initiator, pair.responder]
            // Some users never say no: else most runs would end early.
            let refuses = random.isOne(in: 3)
            var isBroken = false
            for _ in 0..<random.int(5...120) {
                let side = random.int(0...1)
                switch random.int(0...11) {
                case 0...4 where !isBroken: carry(from: side, random.int(1...60))
                case 5...6: if ends[side].machine.codeToConfirm != nil { answer(side, yes: true) }
                case 7 where refuses && random.isOne(in: 3):
                    if ends[side].machine.phase == .comparing { answer(side, yes: false) }
                case 8: ends[side].store()
                case 9 where weather.diskFails && random.isOne(in: 4): ends[side].failToStore()
                case 10 where weather.timesOut && random.isOne(in: 6): ends[side].expire()
                case 11 where weather.linkBreaks && random.isOne(in: 6): isBroken = true
                default: break
                }
            }
            if !isBroken {
                // What is on its way arrives, what is asked for happens.
                for _ in 0..<12 {
                    for side in 0...1 {
                        carry(from: side, .max)
                        ends[side].store()
                    }
                }
            }
            for side in 0...1 {
                ends[side].store()
                ends[side].lose()
            }
        }

        private mutating func carry(from side: Int, _ count: Int) {
            let bytes = Array(ends[side].outgoing.prefix(count))
            ends[side].outgoing.removeFirst(bytes.count)
            ends[1 - side].receive(bytes)
        }

        private mutating func answer(_ side: Int, yes: Bool) {
            if yes {
                saidYes[side] = true
                ends[side].confirm()
            } else {
                saidNo[side] = true
                ends[side].refuse()
            }
        }
    }

    private static func runs(_ count: Int, seed: UInt64, _ weather: Weather) -> [Run] {
        var random = SeededGenerator(seed: seed)
        return (0..<count).map { _ in Run(&random, weather) }
    }

    private static let storm = Weather(linkBreaks: true, timesOut: true, diskFails: true)

    @Test func nothingIsStoredWithoutBothUsersYes() {
        var storing = 0
        for (number, run) in Self.runs(1000, seed: 11, Self.storm).enumerated() {
            for side in 0...1 {
                let end = run.ends[side]
                #expect(end.outcomes.count == 1, "run \(number)")
                if end.stores.isEmpty { continue }
                storing += 1
                #expect(run.saidYes == [true, true], "run \(number)")
                #expect(end.stores == [side == 0 ? Sample.desktop : Sample.laptop], "run \(number)")
                #expect(end.failure == nil, "run \(number): stored, and said to have failed")
            }
        }
        #expect(storing > 100, "the runs do not come far enough to show anything")
    }

    /// Whoever hears that the other has stored it, is stored there.
    @Test func mutualMeansMutual() {
        var mutual = 0
        for (number, run) in Self.runs(1000, seed: 12, Self.storm).enumerated() {
            for side in 0...1 {
                guard case .paired(_, isMutual: true)? = run.ends[side].outcome else { continue }
                mutual += 1
                #expect(!run.ends[1 - side].stores.isEmpty && !run.ends[side].stores.isEmpty, "run \(number)")
            }
        }
        #expect(mutual > 60)
    }

    /// On a link that holds, and with time enough, both have it or neither.
    @Test func inFairWeatherBothOrNeither() {
        var both = 0, neither = 0
        for (number, run) in Self.runs(1000, seed: 13, Weather()).enumerated() {
            #expect(run.ends[0].stores.isEmpty == run.ends[1].stores.isEmpty, "run \(number)")
            if run.ends[0].stores.isEmpty { neither += 1 } else { both += 1 }
        }
        #expect(both > 60 && neither > 60)
    }

    /// However it ended: pairing once more, in fair weather, gives both what they lack.
    @Test func whatIsHalfDoneHeals() {
        var halves = 0
        for (number, run) in Self.runs(1000, seed: 14, Self.storm).enumerated() {
            let known = run.ends.map { !$0.stores.isEmpty }
            if known[0] != known[1] { halves += 1 }
            var pair = Pair(
                Sample.machine(.initiator, knowsPeer: known[0]), Sample.machine(.responder, knowsPeer: known[1]))
            pair.settle()
            if known == [true, true] {
                #expect(pair.initiator.outcomes == [.alreadyPaired] && pair.responder.outcomes == [.alreadyPaired])
                continue
            }
            pair.initiator.confirm()
            pair.responder.confirm()
            pair.settle()
            pair.initiator.store()
            pair.responder.store()
            pair.settle()
            #expect(pair.initiator.outcome == .paired(Sample.desktop, isMutual: true), "run \(number)")
            #expect(pair.responder.outcome == .paired(Sample.laptop, isMutual: true), "run \(number)")
        }
        #expect(halves > 4, "no run ended half-done, so nothing was healed")
    }
}
