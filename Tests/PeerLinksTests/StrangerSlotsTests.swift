import LinkSecurity
import Testing
import Transport

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

    private static func address(_ number: Int) -> AddressGroup { AddressGroup(IPAddress("192.0.2.\(number)")) }

    @Test(arguments: Purpose.allCases) func noAddressHasAllSlots(purpose: Purpose) {
        var slots = StrangerSlots()
        func given(_ count: Int, to address: AddressGroup) -> Int {
            (0..<count).count { _ in slots.take(for: purpose, from: address) }
        }
        #expect(given(100, to: Self.address(1)) == purpose.limit / 2)
        #expect(given(1, to: Self.address(2)) == 1)
        slots.free(for: purpose, from: Self.address(1))
        #expect(given(2, to: Self.address(1)) == 1)
        // What was never taken frees nothing.
        for _ in 0..<9 { slots.free(for: purpose, from: Self.address(3)) }
        #expect((4...200).count { slots.take(for: purpose, from: Self.address($0)) } == purpose.limit / 2 - 1)
    }

    @Test func whatComesOverARadioHasNoAddress() {
        var slots = StrangerSlots()
        let radio = AddressGroup(remoteAddress: "ble://C0:FF:EE:00:00:01")
        #expect((0..<20).count { _ in slots.take(for: .pairing, from: radio) } == Purpose.pairing.limit)
    }

    @Test(arguments: Purpose.allCases) func eachPurposeHasSlotsOfItsOwn(purpose: Purpose) {
        var slots = StrangerSlots()
        var next = 0
        func given(_ count: Int, for purpose: Purpose) -> Int {
            (0..<count).count { _ in
                next += 1
                return slots.take(for: purpose, from: Self.address(next))
            }
        }
        #expect(given(purpose.limit + 3, for: purpose) == purpose.limit)
        for other in Purpose.allCases where other != purpose {
            #expect(given(other.limit + 1, for: other) == other.limit)
        }
        slots.free(for: purpose, from: Self.address(1))
        #expect(given(2, for: purpose) == 1)
    }
}
