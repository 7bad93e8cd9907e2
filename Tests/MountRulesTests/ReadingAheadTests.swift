import SyncTestKit
import Testing

@testable import MountRules

@Suite struct ReadingAheadTests {
    private let names = (0..<200).map { "f" + String(1000 + $0) }

    /// What a directory of small files that are not here lists, in pages of so many names.
    private func list(
        _ question: ReadingAhead.Question, _ names: [String], size: Int64 = 4096, page: Int = 256
    ) -> ReadingAhead.Listing {
        let behind = names.filter { name in
            question.after.map { $0.utf8.lexicographicallyPrecedes(name.utf8) } ?? true
        }
        return ReadingAhead.Listing(
            candidates: behind.prefix(page).map { .init(name: $0, size: size) }, last: behind.prefix(page).last,
            isAtEnd: behind.count <= page)
    }

    /// Reads files in this order; gives what was got before it was read, and all that was got.
    private func reading(
        _ order: [String], in directory: String = "d", of names: [String], size: Int64 = 4096,
        at now: Duration = .zero, by rule: inout ReadingAhead
    ) -> (hits: [String], got: Set<String>) {
        var (hits, got) = ([String](), Set<String>())
        for name in order {
            if got.contains(name) { hits.append(name) }
            if let question = rule.read(name, in: directory, at: now) {
                got.formUnion(rule.listed(question, list(question, names, size: size), at: now))
            }
        }
        return (hits, got)
    }

    @Test func theThirdFileInOrderBeginsARun() {
        var rule = ReadingAhead()
        #expect(rule.read(names[4], in: "d", at: .zero) == nil)
        #expect(rule.read(names[5], in: "d", at: .zero) == nil)
        let question = rule.read(names[6], in: "d", at: .zero)
        #expect(question == .init(directory: "d", after: names[4]))
        #expect(rule.listed(question!, list(question!, names), at: .zero) == Array(names[7..<15]))
        // Half of eight: then sixteen.
        for name in names[7..<10] {
            #expect(rule.read(name, in: "d", at: .zero)?.after == (name == names[7] ? names[14] : nil))
        }
    }

    @Test func allOfADirectoryButItsBeginningIsGotBefore() {
        var rule = ReadingAhead()
        let (hits, got) = reading(names, of: names, by: &rule)
        #expect(hits == Array(names[3...]))
        #expect(got == Set(names[3...]))
    }

    @Test func threadsThatOvertakeEachOtherAreARun() {
        var rule = ReadingAhead()
        var order = names
        for index in stride(from: 0, to: order.count - 1, by: 2) { order.swapAt(index, index + 1) }
        let (hits, _) = reading(order, of: names, by: &rule)
        #expect(hits.count >= order.count - 4)
    }

    @Test(arguments: [0, 1, 2]) func whatIsNoRunGetsNothing(way: Int) {
        var rule = ReadingAhead()
        let order =
            switch way {
            case 0: Array(names.reversed())
            case 1: stride(from: 0, to: 200, by: 20).map { names[$0] }
            default: [names[3], names[3], names[3], names[3]]
            }
        let (_, got) = reading(order, of: names, by: &rule)
        #expect(got.isEmpty)
    }

    @Test func aMissEndsIt() {
        var rule = ReadingAhead()
        _ = reading(Array(names[0..<6]), of: names, by: &rule)
        #expect(rule.read(names[150], in: "d", at: .zero) == nil)
        #expect(rule.read(names[7], in: "d", at: .zero) == nil)
        let (hits, got) = reading([names[60], names[20]], of: names, by: &rule)
        #expect(hits.isEmpty && got.isEmpty)
    }

    @Test func limitsHold() {
        var rule = ReadingAhead()
        let large = ReadingAhead.fileByteLimit
        for index in 0..<200 {
            guard let question = rule.read(names[index], in: "d", at: .zero) else { continue }
            let got = rule.listed(question, list(question, names, size: large), at: .zero)
            #expect(Int64(got.count) * large <= ReadingAhead.byteLimit && got.count <= ReadingAhead.countLimit)
        }
        // Sizes from outside cannot overflow.
        var other = ReadingAhead()
        for name in names.prefix(2) { _ = other.read(name, in: "d", at: .zero) }
        let question = other.read(names[2], in: "d", at: .zero)!
        #expect(other.listed(question, list(question, names, size: .max), at: .zero).isEmpty)
    }

    @Test func theNextDirectoryBeginsAtOnce() {
        var rule = ReadingAhead()
        let few = Array(names.prefix(12))
        #expect(reading(few, in: "a", of: few, by: &rule).hits.count == 9)
        #expect(reading(few, in: "b", of: few, by: &rule).hits.count == 11)
        // One that was not read to its end gives no such trust.
        #expect(reading(Array(few.prefix(5)), in: "c", of: few, by: &rule).hits.count == 4)
        #expect(reading(few, in: "d", of: few, by: &rule).hits.count == 9)
        #expect(reading(few, in: "e", of: few, at: .seconds(1), by: &rule).hits.count == 9)
    }

    @Test func aListingThatFailsIsForgotten() {
        var rule = ReadingAhead()
        for name in names.prefix(2) { _ = rule.read(name, in: "d", at: .zero) }
        let question = rule.read(names[2], in: "d", at: .zero)!
        rule.failed(question)
        #expect(rule.listed(question, list(question, names), at: .zero).isEmpty)
        #expect(rule.read(names[3], in: "d", at: .zero) == nil)
    }

    /// Whatever is read in whatever order: nothing is got twice within a run, or in larger numbers than permitted.
    @Test(arguments: 0..<50) func randomReadsStayWithinTheLimits(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var rule = ReadingAhead()
        var asked: [ReadingAhead.Question] = []
        for _ in 0..<2000 {
            let directory = "d\(Int.random(in: 0..<30, using: &random))"
            if let question = rule.read(names.randomElement(using: &random)!, in: directory, at: .zero) {
                asked.append(question)
            }
            if Bool.random(using: &random), let question = asked.popLast() {
                let got = rule.listed(question, list(question, names, page: 10), at: .zero)
                #expect(got.count <= ReadingAhead.countLimit && Set(got).count == got.count)
            }
        }
    }
}
