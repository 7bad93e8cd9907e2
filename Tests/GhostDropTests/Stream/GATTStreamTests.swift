import GhostDrop
import SyncTestKit
import Testing

@Suite struct GATTStreamTests {
    @Test func carriesBytesBothWaysAndEnds() {
        var random = SeededGenerator(seed: 1)
        let (up, down) = (random.bytes(200_000), random.bytes(50_000))
        var link = SimulatedLink(
            seed: 1, central: SimulatedUser(outgoing: up), peripheral: SimulatedUser(outgoing: down),
            toPeripheral: LinkConditions(), toCentral: LinkConditions())
        link.run(until: .seconds(60))
        #expect(link.received[1] == up)
        #expect(link.received[0] == down)
        #expect(link.streams.map(\.state) == [.closed(.finished), .closed(.finished)])
        #expect(link.streams.allSatisfy { $0.statistics.repeatedPackets == 0 && $0.statistics.ignoredPackets == 0 })
    }
}
