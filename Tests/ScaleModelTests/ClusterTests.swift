import ScaleModel
import Testing

/// Up to sixty agents that share a folder: all end with the same, at a cost that the links bound.
@Suite struct ClusterTests {
    private static let topologies: [Topology] = [
        .hub(60), .hubs(30, hubs: 4), .ring(30, hubs: 5), .random(60, degree: 8, seed: 7), .mesh(12),
    ]

    @Test(arguments: topologies) func everyLinkCarriesAChangeOnceEachWay(topology: Topology) throws {
        var cluster = try Cluster(topology, fileCount: 20, seed: 3)
        #expect(cluster.hasConverged)
        cluster.resetTraffic()
        cluster.changeFiles(1)
        try cluster.settle()
        #expect(cluster.hasConverged)
        #expect(cluster.traffic.messageCount == 2 * topology.links.count)
        #expect(cluster.traffic.entryCount == 2 * topology.links.count)
    }

    @Test(arguments: topologies) func manyChangesShareMessages(topology: Topology) throws {
        var cluster = try Cluster(topology, fileCount: 40, seed: 4)
        cluster.resetTraffic()
        cluster.changeFiles(30)
        try cluster.settle()
        #expect(cluster.hasConverged)
        #expect(cluster.traffic.entryCount == 30 * 2 * topology.links.count)
        #expect(cluster.traffic.messageCount < 20 * 2 * topology.links.count)
    }

    @Test(arguments: topologies) func aConflictEnds(topology: Topology) throws {
        var cluster = try Cluster(topology, fileCount: 10, seed: 5)
        cluster.changeOneFile(byDevices: 2)
        try cluster.settle()
        #expect(cluster.hasConverged)
        #expect(cluster.conflictCopyCount > 0)
    }

    @Test func devicesWithNothingSelectedCostMessagesAndFewBytes() throws {
        var full = try Cluster(.hub(60), fileCount: 10, hubCount: 1, seed: 6)
        var selective = try Cluster(.hub(60), fileCount: 10, hubCount: 1, selectiveShare: 50, seed: 6)
        for change in 1...3 {
            full.resetTraffic()
            selective.resetTraffic()
            full.changeFiles(change)
            selective.changeFiles(change)
            try full.settle()
            try selective.settle()
            #expect(full.hasConverged && selective.hasConverged)
            #expect(selective.traffic.entryCount == full.traffic.entryCount)
            #expect(selective.traffic.byteCount < full.traffic.byteCount)
        }
    }

    @Test func theSameSeedGivesTheSameRun() throws {
        func run() throws -> (Traffic, Int) {
            var cluster = try Cluster(.random(30, degree: 8, seed: 1), fileCount: 10, seed: 2)
            cluster.changeFiles(10)
            cluster.changeOneFile(byDevices: 3)
            try cluster.settle()
            return (cluster.traffic, cluster.tick)
        }
        #expect(try run() == run())
    }
}
