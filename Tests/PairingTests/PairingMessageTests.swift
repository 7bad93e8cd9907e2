import SyncTestKit
import Testing

@testable import Pairing

struct PairingMessageTests {
    static let messages: [PairingMessage] =
        [
            .commit(Sample.initiator, knowsPeer: false), .commit(Sample.responder, knowsPeer: true),
            .nonce(Sample.responderNonce, knowsPeer: false), .nonce(Sample.initiatorNonce, knowsPeer: true),
            .reveal(Sample.initiatorNonce), .confirm, .introduce(Sample.desktop), .introduce(Sample.laptop),
            .introduce(PairingIntroduction(name: "", addresses: [])), .introduce(largest), .done,
        ] + PairingRefusal.allCases.map { .refuse($0) }

    static let largest = PairingIntroduction(
        name: String(repeating: "n", count: 255),
        addresses: (0..<16).map { String(repeating: "\($0 % 10)", count: 300) })

    @Test func areReadAsTheyAreWritten() throws {
        var random = SeededGenerator(seed: 4)
        let bytes = Array(Self.messages.map(\.encoded).joined())
        for round in 0..<50 {
            var reader = PairingMessageReader()
            var read: [PairingMessage] = []
            var rest = bytes[...]
            while !rest.isEmpty {
                // Once all at once, once byte by byte, then in pieces of any size.
                let count = round == 0 ? rest.count : round == 1 ? 1 : random.int(1...min(rest.count, 400))
                reader.append(rest.prefix(count))
                rest = rest.dropFirst(count)
                while let message = try reader.next() { read.append(message) }
            }
            #expect(read == Self.messages)
        }
    }

    @Test func theLargestFits() {
        #expect(PairingMessage.introduce(Self.largest).encoded.count == 3 + PairingMessage.bodyLimit)
    }

    @Test(
        arguments: [
            [1, 0, 33, 2] + Array(repeating: 0, count: 32), [2, 0, 33, 0xFF] + Array(repeating: 0, count: 32),
            // A name longer than its message, bytes behind the last address, more addresses than there may be.
            [5, 0, 2, 1, 0], [5, 0, 3, 0, 0, 0], [5, 0, 2, 0, 1], [5, 0, 4, 0, 1, 0, 1],
            [5, 0, 2 + 17 * 3, 0, 17] + Array(repeating: [0, 1, 0x61], count: 17).joined(),
            // Not UTF-8; a control character; an address with a space, an empty one, one that is not ASCII.
            [5, 0, 3, 1, 0xFF, 0], [5, 0, 3, 1, 0x1B, 0], [5, 0, 5, 0, 1, 0, 1, 0x20], [5, 0, 4, 0, 1, 0, 0],
            [5, 0, 6, 0, 1, 0, 2, 0xC3, 0xBC],
        ] as [[UInt8]])
    func refusesBodiesThatMakeNoSense(_ bytes: [UInt8]) {
        var reader = PairingMessageReader()
        reader.append(bytes)
        let failure = #expect(throws: PairingFailure.self) { try reader.next() }
        #expect(failure?.code == .malformedMessage)
    }

    @Test func anIntroductionIsCutToWhatFits() {
        let long = PairingIntroduction(
            name: "a\u{1b}[31m\u{9b}b\n" + String(repeating: "ü", count: 200),
            addresses: ["", "a b", "ü", String(repeating: "x", count: 301)] + (0..<20).map { "tcp://h:\($0)" })
        #expect(long.name == "a[31mb" + String(repeating: "ü", count: 124))
        #expect(long.addresses == (0..<16).map { "tcp://h:\($0)" })
        #expect(PairingIntroduction(decoding: long.encoded) == long)
    }

    /// Whatever comes: no trap, one end, and nothing stored unless everything was right.
    @Test func mutatedConversationsEndCleanly() {
        var random = SeededGenerator(seed: 77)
        for _ in 0..<1000 {
            var end = End(Sample.machine(random.isOne(in: 2) ? .initiator : .responder))
            end.start()
            for _ in 0..<random.int(1...8) {
                var bytes = random.pick(Self.messages).encoded
                if random.isOne(in: 3) { bytes[random.int(0...bytes.count - 1)] ^= UInt8(random.int(1...255)) }
                if random.isOne(in: 6) { bytes.removeLast(random.int(0...bytes.count)) }
                end.receive(bytes)
                if random.isOne(in: 3) { end.confirm() }
            }
            end.lose()
            #expect(end.outcomes.count == (end.toStore == nil ? 1 : 0))
            end.store()
            #expect(end.outcomes.count == 1)
        }
    }
}

struct PairingCodeTests {
    @Test(
        arguments: [
            ("042137", 42137), ("042 137", 42137), ("042-137", 42137), (" 0 0 0 0 0 0 ", 0), ("999999", 999_999),
        ] as [(String, UInt32)])
    func isReadAsPeopleWriteIt(_ text: String, _ value: UInt32) throws {
        let code = try #require(PairingCode(parsing: text))
        #expect(code.value == value)
        #expect(PairingCode(parsing: code.description) == code)
        #expect(code.description.utf8.count == 6)
    }

    @Test(arguments: ["", "12345", "1234567", "12345a", "１２３４５６", "+12345", "12.345", "99999999999999999999"])
    func isNothingElse(_ text: String) { #expect(PairingCode(parsing: text) == nil) }

    /// Computed by Python's hashlib from the formula in docs/decisions/pairing.md.
    @Test func isTheSpecifiedOne() {
        #expect(
            PairingTranscript.commitment(
                initiator: Sample.initiator, responder: Sample.responder, initiatorNonce: Sample.initiatorNonce
            ).description == "94a5d4e1b7e76ef5f892b44474b82c803663b5f09abf52a7d58d8493791c46b2")
        #expect(
            PairingTranscript.code(
                initiator: Sample.initiator, responder: Sample.responder, initiatorNonce: Sample.initiatorNonce,
                responderNonce: Sample.responderNonce
            ).description == "756464")
        let padded = Sample.nonce(Array(Array(repeating: [0, 0, 0, 37] as [UInt8], count: 8).joined()))
        #expect(
            PairingTranscript.code(
                initiator: Sample.initiator, responder: Sample.responder, initiatorNonce: Sample.initiatorNonce,
                responderNonce: padded
            ).description == "000954")
    }

    /// Who is who matters, and so does every part.
    @Test func everyPartChangesIt() {
        let (a, b, x, y) = (Sample.initiator, Sample.responder, Sample.initiatorNonce, Sample.responderNonce)
        let other = Sample.digest(first: 99)
        let codes = [
            (a, b, x, y), (b, a, x, y), (a, b, y, x), (other, b, x, y), (a, other, x, y), (a, b, Sample.nonce(7), y),
            (a, b, x, Sample.nonce(7)),
        ].map { PairingTranscript.code(initiator: $0.0, responder: $0.1, initiatorNonce: $0.2, responderNonce: $0.3) }
        #expect(Set(codes).count == codes.count)
    }
}

struct AttemptLimitTests {
    @Test func threeFailuresAreFree() {
        var limit = AttemptLimit()
        #expect(limit.wait(at: .zero) == nil)
        limit.failed(at: .seconds(1))
        limit.failed(at: .seconds(2))
        #expect(limit.wait(at: .seconds(2)) == nil)
        limit.failed(at: .seconds(3))
        #expect(limit.wait(at: .seconds(3)) == .seconds(60))
        #expect(limit.wait(at: .seconds(62)) == .seconds(1))
        #expect(limit.wait(at: .seconds(63)) == nil)
    }

    @Test func eachFurtherOneCostsTwiceAsMuch() throws {
        var limit = AttemptLimit()
        var now: Duration = .seconds(100)
        var pauses: [Int64] = []
        for _ in 0..<12 {
            limit.failed(at: now)
            let wait = limit.wait(at: now) ?? .zero
            pauses.append(wait.components.seconds)
            now += wait
        }
        #expect(pauses == [0, 0, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600, 3600])
    }

    @Test func aSuccessOrAnHourForgetsThem() {
        var limit = AttemptLimit()
        for second in 0..<5 { limit.failed(at: .seconds(second)) }
        limit.succeeded()
        #expect(limit.wait(at: .seconds(5)) == nil)
        for second in 5..<9 { limit.failed(at: .seconds(second)) }
        #expect(limit.wait(at: .seconds(9)) != nil)
        limit.failed(at: .seconds(8 + 120 + 3600))
        #expect(limit.wait(at: .seconds(8 + 120 + 3600)) == nil, "the first after a long time")
    }

    /// What an attacker gets who fails as often as he may, for a whole day on end.
    @Test func aDayOfAttackIsShort() {
        var limit = AttemptLimit()
        var now: Duration = .zero
        var attempts = 0
        while now < .seconds(86400) {
            limit.failed(at: now)
            attempts += 1
            now += limit.wait(at: now) ?? .zero
        }
        #expect(attempts < 35)
    }
}
