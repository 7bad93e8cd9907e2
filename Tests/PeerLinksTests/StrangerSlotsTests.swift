import LinkSecurity
import Testing

@testable import PeerLinks

@Suite struct StrangerSlotsTests {
    typealias Purpose = StrangerSlots.Purpose

    @Test(
        arguments: [
            (nil, .introduction), ("bep/1.0", .introduction), ("another", .introduction),
            ("synctrain-pair/1", .pairing),
            ("synctrain-invite/1", .invitation),
        ] as [(String?, Purpose)])
    func theProtocolDecidesThePurpose(name: String?, purpose: Purpose) {
        #expect(Purpose(applicationProtocol: name) == purpose)
    }

    @Test func limits() {
        #expect(Purpose.allCases.map(\.limit) == [32, 8, 16])
    }

    @Test(arguments: Purpose.allCases) func eachPurposeHasSlotsOfItsOwn(purpose: Purpose) {
        var slots = StrangerSlots()
        func given(_ count: Int, for purpose: Purpose) -> Int {
            (0..<count).count { _ in slots.take(for: purpose) }
        }
        #expect(given(purpose.limit + 3, for: purpose) == purpose.limit)
        for other in Purpose.allCases where other != purpose {
            #expect(given(other.limit + 1, for: other) == other.limit)
        }
        slots.free(for: purpose)
        #expect(given(2, for: purpose) == 1)
    }
}
