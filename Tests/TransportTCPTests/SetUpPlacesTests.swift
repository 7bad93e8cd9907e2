import SyncTestKit
import Testing

@testable import Transport

@Suite struct SetUpPlacesTests {
    private static func address(_ text: String) -> AddressGroup { AddressGroup(IPAddress(text)) }

    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// The addresses of the links, in the order in which they come.
        var arrivals: [String]
        /// The numbers of the links that are closed, in order; the first link has the number 0.
        var closed: [Int]
    }

    /// Four places, three for each address.
    @Test(arguments: [
        Case(testDescription: "room for all", arrivals: ["10.0.0.1", "10.0.0.1", "10.0.0.2"], closed: []),
        Case(
            testDescription: "one address has its three; its oldest goes",
            arrivals: ["10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.1"], closed: [0, 1]),
        Case(
            testDescription: "a newcomer replaces the oldest of the address that has most",
            arrivals: ["10.0.0.2", "10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.3"], closed: [1]),
        Case(
            testDescription: "all have one; the oldest goes",
            arrivals: ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5"], closed: [0]),
        Case(
            testDescription: "an IPv6 network is one address",
            arrivals: ["2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8:0:0:9::4"], closed: [0]),
        Case(
            testDescription: "IPv6 networks are several",
            arrivals: ["2001:db8:0:1::1", "2001:db8:0:2::1", "2001:db8:0:3::1", "2001:db8:0:4::1"], closed: []),
    ])
    func table(_ entry: Case) {
        var places = SetUpPlaces<Int>(limits: .init(all: 4, perAddress: 3))
        let closed = entry.arrivals.enumerated().compactMap { places.add($0.offset, from: Self.address($0.element)) }
        #expect(closed == entry.closed)
        #expect(places.count == entry.arrivals.count - entry.closed.count)
    }

    @Test func aLinkThatIsSetUpIsNotReplaced() {
        var places = SetUpPlaces<Int>(limits: .init(all: 2, perAddress: 2))
        #expect(places.add(0, from: Self.address("10.0.0.1")) == nil)
        #expect(places.add(1, from: Self.address("10.0.0.1")) == nil)
        places.remove(0)
        places.remove(7)
        #expect(places.add(2, from: Self.address("10.0.0.1")) == nil)
        #expect(places.add(3, from: Self.address("10.0.0.1")) == 1)
    }

    /// However many links come: no more than the limits are kept, a new one always is, and an address that keeps one link
    /// loses it only if no address has more.
    @Test(arguments: UInt64(0)..<50) func limitsHold(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let limits = SetUpPlaces<Int>.Limits(all: random.int(1...12), perAddress: random.int(1...6))
        var places = SetUpPlaces<Int>(limits: limits)
        var kept: [Int: String] = [:]
        for number in 0..<200 {
            if random.isOne(in: 5), let gone = kept.keys.min() {
                places.remove(gone)
                kept[gone] = nil
            }
            let address = "10.0.0.\(random.pick([1, 1, 1, 1, 2, 3, random.int(4...50)]))"
            let before = Dictionary(kept.values.map { ($0, 1) }, uniquingKeysWith: +)
            let closed = places.add(number, from: Self.address(address))
            if let closed, let loser = kept.removeValue(forKey: closed) {
                #expect(loser == address || before[loser] == before.values.max())
            }
            kept[number] = address
            #expect(places.count == kept.count && kept.count <= limits.all)
            #expect(kept.values.count { $0 == address } <= limits.perAddress)
        }
    }
}
