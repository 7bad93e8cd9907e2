import Testing
import Transport

@testable import Reachability

@Suite struct OutsideAddressesTests {
    @Test(
        arguments: [
            // The first are none that links were made by.
            ([["a"]], [false]), ([["a"], ["a"]], [false, false]), ([["a"], ["b"]], [false, true]),
            // A second router is no reason to doubt links by the first; one that goes is.
            ([["a"], ["a", "b"]], [false, false]), ([["a", "b"], ["b"]], [false, true]),
            // A router that restarts tells none for a while.
            ([["a"], [], ["a"]], [false, false, false]), ([["a"], [], ["b"]], [false, false, true]),
            // Other ports, and a router that does not tell its address.
            ([["a"], ["a2"]], [false, false]), ([["a"], ["-"], ["a"]], [false, false, false]),
        ] as [([[String]], [Bool])])
    func movesAreSeen(told: [[String]], expected: [Bool]) throws {
        let addresses: [String: LinkAddress] = [
            "a": .tcp(host: "192.0.2.1", port: 22000), "a2": .tcp(host: "192.0.2.1", port: 22001),
            "b": .tcp(host: "192.0.2.2", port: 22000), "-": .tcp(host: "0.0.0.0", port: 22000),
        ]
        var outside = OutsideAddresses()
        #expect(told.map { outside.hasMoved(to: $0.compactMap { addresses[$0] }) } == expected)
    }
}
